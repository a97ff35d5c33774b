"""Hosts that reject a history in which something is missing: a session of several good calls, one after the other.

`reasoning` is DeepSeek's: it arrives with every call, and a request without it gets status 400 with DeepSeek's words.
`signatures` are those of Gemini 3, over Chat (`extra_content`) or in Google's own protocol.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tests.upstream import Play, Seen
from tests.validators import strict_hosts

from ..shared.answer_writers import Json
from .broken_calls import MARK, BrokenCall
from .model import EVENT_STREAM, FINAL, Model, declared

TURNS = 6


@dataclass(slots=True)
class StrictHost(Model):
    """A model that calls the shell six times, at a host that rejects what real hosts reject."""

    complaints: list[str] = field(default_factory=list)

    def __call__(self, seen: Seen) -> Play:
        try:
            request: Json = json.loads(seen.body)
        except ValueError:
            return Play([b"{}"], headers={"content-type": "application/json"})
        if self.tools.shell not in declared(request):
            return Model.__call__(self, seen)
        try:
            self._check(request)
        except strict_hosts.Rejected as rejected:
            self.complaints.append(str(rejected))
            headers = {"content-type": "application/json"}
            return Play([rejected.body], rejected.status, headers, content_length=len(rejected.body))
        return Play(self._next(request), headers=EVENT_STREAM)

    def _check(self, request: Json) -> None:
        if "contents" in request:
            strict_hosts.gemini(request)
        elif self.broken.strict == "signatures":
            strict_hosts.wants_signatures(request)
        else:
            strict_hosts.wants_reasoning(request)

    def _next(self, request: Json) -> list[bytes]:
        self.sent += 1
        if self.sent > TURNS:
            self.finished = True
            return _text(request, FINAL)
        command = f"echo {self.sent} >> {MARK}"
        given = {self.tools.command: command}
        if "contents" in request:
            return _google_call(self.sent, self.tools.shell, given)
        return _chat_call(self.sent, self.tools.shell, given, signed=self.broken.strict == "signatures")

    def judged(self, status: int | None, output: str) -> tuple[bool, str]:
        """Whether the session ended well, and a description of how it ended."""
        if status == 0 and self.done() and FINAL in output:
            return True, "ok"
        turns = min(self.sent, TURNS)
        refused = f", {len(self.complaints)} × 400" if self.complaints else ""
        return False, f"{'time-out' if status is None else f'exit {status}'} after {turns} of {TURNS} calls{refused}"

    def done(self) -> bool:
        mark = self.work / MARK
        return mark.is_file() and mark.read_text().split() == [str(number + 1) for number in range(TURNS)]


def _text(request: Json, text: str) -> list[bytes]:
    if "contents" in request:
        return [_google([{"text": text}], "STOP")]
    return [_chat({"role": "assistant", "reasoning_content": "That was all.", "content": text}), *_chat_end("stop")]


def _google_call(number: int, name: str, given: Json) -> list[bytes]:
    call = {"functionCall": {"name": name, "args": given}, "thoughtSignature": _signature(number)}
    return [_google([{"text": f"Now step {number}.", "thought": True}, call], "STOP")]


def _chat_call(number: int, name: str, given: Json, *, signed: bool) -> list[bytes]:
    call: Json = {"index": 0, "id": f"call_{number}", "type": "function"}
    call["function"] = {"name": name, "arguments": json.dumps(given)}
    thought: Json = {"role": "assistant", "content": None}
    if signed:
        call["extra_content"] = {"google": {"thought_signature": _signature(number)}}
    else:
        thought["reasoning_content"] = f"Now step {number}."
    return [_chat(thought), _chat({"tool_calls": [call]}), *_chat_end("tool_calls")]


def _signature(number: int) -> str:
    return f"c2lnbmF0dXJl{number}"


def _chat(delta: Json, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def _chat_end(finish: str) -> list[bytes]:
    return [_chat({}, finish), b"data: [DONE]\n\n"]


def _google(parts: list[Any], finish: str) -> bytes:
    candidate = {"content": {"parts": parts, "role": "model"}, "finishReason": finish, "index": 0}
    answer = {"candidates": [candidate], "modelVersion": "m", "responseId": "r"}
    return b"data: " + json.dumps(answer).encode() + b"\r\n\r\n"


def _wants(what: str) -> BrokenCall:
    return BrokenCall(f"the host wants its {what} back", lambda tools: (tools.shell, "{}"), strict=what)


STRICT = (_wants("reasoning"), _wants("signatures"))
PROTOCOLS = ("chat", "gemini")
"""The protocols of this host."""
