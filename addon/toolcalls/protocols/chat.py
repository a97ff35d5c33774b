"""OpenAI Chat Completions, streamed and as one document; every choice is an answer of its own.

    {"id", "created", "model", "choices": [{"index", "delta": {"role", "content", "reasoning_content", "tool_calls":
      [{"index", "id", "type", "function": {"name", "arguments"}}]}, "finish_reason"}], "usage"}, and then [DONE]

A document has a `message` instead of the delta. What is written has the fields of the first chunk.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .. import payload
from ..finish_reason import FinishWords
from ..mend.finish import Finish
from ..mend.mender import Mender
from ..parts import Fragment, Json, Other, Part, Piece, Stop, Text, read_together
from ..payload import says
from ..policy import Policy
from ..reasons import ANOTHER_CHOICE
from ..request.request import Request, tokens_of_chat
from ..wire import sse
from ..wire.sse import Event
from .chat_choice import CALLS, CHOICE, CONTENT, Choice, read_content, written_call
from .errors import error_in
from .protocol import Failed, Instead, Protocol

DONE: Final = b"data: [DONE]\n\n"
UNKNOWN_TO_CLIENTS: Final = {
    "sensitive": "content_filter",
    "model_context_window_exceeded": "length",
    "network_error": None,
}
"""Finish reasons of single servers that OpenAI clients do not know, in their exact spelling, and the word that
clients get instead, whatever it is; None if the reason means a failure of the server. These are Z.AI's."""


class Chat(Protocol):
    words = FinishWords("tool_calls", "stop", frozenset({"other", "unknown"}))
    answer_type = Choice
    answers: Mapping[int, Choice]
    passes_calls = False

    def __init__(self, request: Request, policy: Policy, mender: Mender) -> None:
        super().__init__(request, policy, mender)
        self._head: Json = {}
        """What all chunks have in common."""
        self._one = request.choices == 1
        """One choice was asked for: what comes in further ones belongs to it."""
        self._calling: int | None = None
        """The first choice that has calls, if one was asked for."""
        self._tokens = 0
        self._completion: Json = {}

    # Reading

    def read(self, event: Event) -> list[Part] | None:
        chunk = payload.read_strict(event.data or "")
        if not isinstance(chunk, dict):
            return None
        if chunk.get("error"):
            raise Failed
        choices = chunk.get("choices")
        if not choices or not isinstance(choices, list):
            error, choices = error_in(chunk, event.type), []
            if error is not None:  # No client knows it in this form.
                raise Failed(event.raw, self.write_error(error))
            if "usage" in chunk and "choices" not in chunk:
                raise Instead(_event({**chunk, "choices": choices}))  # Usage without `choices` crashes clients.
        if not all(isinstance(choice, dict) for choice in choices):
            return []
        if choices and not self._head:
            self._head = {key: value for key, value in chunk.items() if key not in ("choices", "usage")}
        parts = [part for choice in choices for part in self._read_choice(chunk, choice)]
        if self._tokens or '"usage"' in (event.data or ""):
            self._note_tokens(chunk)
        return parts

    def _note_tokens(self, said: Json) -> None:
        self._tokens = tokens_of_chat(said) or self._tokens
        for answer in self.answers.values():
            answer.end.note_tokens(self._tokens)

    def _read_choice(self, chunk: Json, said: Json) -> list[Part]:
        """The parts of a choice of a chunk."""
        number = said.get("index")
        number = number if type(number) is int else 0
        index = 0 if self._one else number
        parts = self._read_said(index, chunk, said)
        fragments = [part for part in parts if isinstance(part, Fragment)] if self._one else []
        for part in fragments:
            self._calling = number if self._calling is None else self._calling
            if number:
                part.slot = None if part.slot is None else (number, part.slot)
            if number != self._calling:
                # Calls in two choices may be two answers to one question, or one answer in pieces.
                part.refusal = ANOTHER_CHOICE
        other = said.get("index") != index  # The client gets it in other bytes.
        self._learns = () if other else (Text, Fragment)
        if other and (fragments or self.answers[index].has_work):
            read_together(_event({**chunk, "choices": [{**said, "index": index}]}).raw, parts)
        return parts

    def _read_said(self, index: int, chunk: Json, said: Json) -> list[Part]:
        """What a choice says, in its delta or its message. `chunk`: what it stands in, or the document."""
        identity, reason, delta, again = chunk.get("id"), said.get("finish_reason"), said.get("delta"), False
        if isinstance(reason, str) and reason in UNKNOWN_TO_CLIENTS:
            known = said["finish_reason"] = UNKNOWN_TO_CLIENTS[reason]
            error = {"message": f"The upstream ended the answer with {reason}.", "type": reason, "code": reason}
            raise Instead(_event(chunk), *([] if known else [_event({"error": error})]))
        if said.get("error") and not reason:
            raise Failed
        if index not in self.answers:
            self.answer_of(index)
        choice = self.answers[index]
        if "message" in said or not isinstance(delta, dict):
            delta, again = choice.delta_of(said)
        choice.id = identity if identity and isinstance(identity, str) else choice.id
        parts = choice.read_besides(delta) if delta.keys() - CONTENT else []
        text = delta.get("content")
        choice.has_text = choice.has_text or bool(text)
        texts = [Text(text) if isinstance(text, str) else read_content(text)] if text else []
        calls = choice.read_calls(delta, again=again) if delta.get("tool_calls") or delta.get("function_call") else []
        # The answer drops text behind a call, if the client wants none beside it.
        parts += [*calls, *texts] if self._policy.null_content else [*texts, *calls]
        parts += self._read_rest(index, chunk, said, parts)
        if delta.get("role") and not choice.has_role:
            choice.has_role = True
            # It goes at once: the SDKs need the choices to begin in their order.
            parts = [Other(body={"role": delta["role"]}, quiet=True), *parts]
        parts = parts or [Other(quiet=True)]
        for part in parts:
            part.choice = index
        return parts

    def _read_rest(self, index: int, chunk: Json, said: Json, parts: list[Part]) -> list[Part]:
        """The reason, with all that a chunk says beside its delta; or just that, which waits with these parts."""
        reason = said.get("finish_reason")
        beside = said.get("logprobs") or any(says(said[key]) for key in said if key not in CHOICE)
        if not (reason or beside or chunk.get("usage")):
            return []
        unknown = parts.pop().body if reason and parts and isinstance(parts[-1], Other) and parts[-1].quiet else {}
        kept = {key: value for key, value in said.items() if key != "message"}
        kept |= {"index": index, "delta": unknown, "finish_reason": None}
        body = {**chunk, "choices": [kept]}
        choice = self.answers[index]
        if choice.stop is not None and not (reason or beside or parts) and choice.reason_waits:
            # It goes with the reason before it.
            return [Stop(choice.stop.reason, choice.stop.finish, {"usage": chunk["usage"]})]
        if not reason:
            calls = any(isinstance(part, Fragment) or "tool_calls" in part.body for part in parts)
            return [Other(body=body, quiet=True, waits=True, of_text=not calls)]
        # A router keeps the reason of its upstream beside its own; `error` means that its upstream failed.
        cut = Finish.of(said.get("native_finish_reason")) is Finish.CUT
        choice.stop = Stop(str(reason), Finish.CUT if cut else Finish.of(reason), body, failed=reason == "error")
        return [choice.stop]

    # A stream

    @property
    def _may_recover(self) -> bool:
        return not any(choice.stop or choice.end.cut_off for choice in self.answers.values())

    def end(self, half: bytes = b"") -> list[bytes]:
        answers = [answer for answer in self.answers.values() if answer.has_work and not self._over]
        out = super().end(half)
        told = all(answer.sent or answer.end.reasons for answer in answers)
        broken = any(answer.end.broken or answer.end.left_alone for answer in answers)
        return [*out, DONE] if answers and out and out[-1] != half and told and not broken else out

    def keep_alive(self) -> bytes:
        """A chunk with an empty delta. It has no role, because clients that join deltas would get the role twice."""
        return self._chunk(next(iter(self.answers), 0), {})

    def write_error(self, error: Json) -> bytes:
        return _event({"error": error}).raw

    # Writing

    def write(self, part: Part) -> bytes:
        match part:
            case Text():
                return self._chunk(part.choice, {"content": part.text})
            case Piece() if not (part.begins or part.arguments):
                return b""
            case Piece() | Fragment():
                choice = self.answers[part.choice]
                if choice.writes_legacy:
                    return self._chunk(part.choice, {"function_call": written_call(part)["function"]})
                place = part.slot if isinstance(part, Fragment) else choice.index_of(part.number)
                entry = written_call(part, place[1] if isinstance(place, tuple) else place)
                return self._chunk(part.choice, {"tool_calls": [entry]})
            case Stop():
                return self._chunk(part.choice, part.body, part.reason)
        return self._chunk(part.choice, part.body) if part.body else b""

    def _chunk(self, choice: int | None, said: Json, reason: str | None = None) -> bytes:
        """A chunk with this delta, or with all that `said` is of one."""
        head, kept = self._head, {"index": choice or 0, "finish_reason": reason, "delta": said}
        if "choices" in said:
            head, kept = said, {**said["choices"][0], "finish_reason": reason}
        return _event({**head, "choices": [kept]}).raw

    # A document

    def read_document(self, body: bytes) -> list[Part] | None:
        answer = self._completion = payload.object_in(body) or {}
        choices = answer.get("choices")
        listed = isinstance(choices, list) and all(isinstance(choice, dict) for choice in choices)
        if not (choices and listed) or answer.get("error"):
            return None
        parts: list[Part] = []
        for place, said in enumerate(choices):
            first = not any(isinstance(part, Fragment) for part in parts)
            parts += self._read_said(place, answer, said)
            for part in parts if self._one and first else ():
                # The calls of another choice than the only one that was asked for are calls of that one.
                part.choice = 0 if isinstance(part, Fragment) else part.choice
        self._note_tokens(answer)
        return sorted(parts, key=lambda part: isinstance(part, Stop))

    def write_document(self, body: bytes, parts: list[Part]) -> bytes:
        choices = self._completion["choices"]
        made = [
            self._written_choice(said, [part for part in parts if part.choice == place], self.answers[place])
            for place, said in enumerate(choices)
        ]
        if made == choices:
            return body
        return payload.write({**self._completion, "choices": made}).encode("utf-8", "backslashreplace")

    def _written_choice(self, said: Json, parts: list[Part], choice: Choice) -> Json:
        """A choice of the document with these parts instead of its own."""
        message = said.get("message")
        if not isinstance(message, dict):
            return said
        calls: list[Any] = []
        for part in parts:
            calls += [written_call(part)] if isinstance(part, Piece) else part.body.get("tool_calls", [])
        text = "".join(part.text for part in parts if isinstance(part, Text))
        made = {key: value for key, value in message.items() if key not in CALLS}
        if text or isinstance(message.get("content"), str):
            made["content"] = text
        if calls and choice.writes_legacy:
            made["function_call"] = calls[0]["function"]
        elif calls:
            made["tool_calls"] = calls
        if calls and (self._policy.null_content or (made != message and not made.get("content"))):
            made["content"] = None
        reason = next((part.reason for part in parts if isinstance(part, Stop)), "")
        reason = reason or ("stop" if message.get("tool_calls") and not calls else "")
        return {**said, "message": made, **({"finish_reason": reason} if reason else {})}


def _event(chunk: Json) -> Event:
    text = payload.write(chunk)
    return Event(sse.write(text), text)
