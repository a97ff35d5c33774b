"""A strict reader of Gemini's answers, written from what its clients accept and not from our engine.

A stream is `data: {…}`, one line each, ended by a blank line, without comments, event names and `[DONE]`; or one JSON
array. Each event is a response object: `candidates[].content.parts[]`, a part being a text, a thought or a whole
`functionCall` with an object as `args`. (https://ai.google.dev/api/generate-content; what breaks which client is in
the table of the facts about Gemini.)
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
_EVENT = re.compile(rb"data: ([^\r\n]+)(?:\r\n\r\n|\n\n|\r\r)")


class Illegal(AssertionError):
    """The answer is not what the protocol allows."""


@dataclass
class Answer:
    """What a client holds in the end."""

    text: str = ""
    thought: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    ids: list[str | None] = field(default_factory=list)
    signatures: list[tuple[str, str]] = field(default_factory=list)
    """What was signed, the name of a call or `text`, and the signature."""
    finishes: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    errors: list[Any] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    """Texts and names of calls as they came."""


def events(body: bytes) -> list[Any]:
    """The response objects of a stream, an array or a document."""
    if body.lstrip()[:1] in (b"{", b"["):
        said = json.loads(body)
        return said if isinstance(said, list) else [said]
    found: list[Any] = []
    at = 0
    while at < len(body):
        event = _EVENT.match(body, at)
        if event is None:
            raise Illegal(f"no event: {body[at : at + 80]!r}")
        found.append(json.loads(event[1]))
        at = event.end()
    return found


def read(body: bytes) -> Answer:
    """Read a whole answer or say what is illegal about it."""
    held = Answer()
    for said in events(body):
        if not isinstance(said, dict):
            raise Illegal("an event is an object")
        answer = said["response"] if isinstance(said.get("response"), dict) else said
        if "error" in answer:
            held.errors.append(answer["error"])
            continue
        for candidate in answer.get("candidates", []):
            _read_candidate(candidate, held)
    return held


def _read_candidate(candidate: Any, held: Answer) -> None:
    if not isinstance(candidate, dict):
        raise Illegal("a candidate is an object")
    for part in (candidate.get("content") or {}).get("parts", []):
        _read_part(part, held)
    if candidate.get("finishReason"):
        held.finishes.append(candidate["finishReason"])
    if candidate.get("finishMessage"):
        held.messages.append(candidate["finishMessage"])


def _read_part(part: Any, held: Answer) -> None:
    kinds = {"text", "functionCall", "inlineData", "executableCode", "codeExecutionResult"} & set(part)
    if len(kinds) != 1:
        raise Illegal(f"a part is one thing: {part}")
    signed = "text"
    if "functionCall" in part:
        call = part["functionCall"]
        signed = call.get("name")
        if not isinstance(signed, str) or not _NAME.fullmatch(signed):
            raise Illegal(f"a call needs a name: {call}")
        if not isinstance(call.get("args", {}), dict):
            raise Illegal(f"the arguments are an object: {call}")
        if call.keys() - {"id", "name", "args"}:
            raise Illegal(f"not a whole call: {call}")
        held.calls.append((signed, call.get("args", {})))
        held.ids.append(call.get("id"))
        held.order.append(signed)
    elif part.get("thought"):
        held.thought += part["text"]
    elif "text" in part:
        held.text += part["text"]
        held.order += [part["text"]] if part["text"] else []
    if "thoughtSignature" in part:
        held.signatures.append((signed, part["thoughtSignature"]))
