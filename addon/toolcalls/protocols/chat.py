"""OpenAI Chat Completions, streamed and as one document; every choice is an answer of its own.

    {"id", "created", "model", "choices": [{"index", "delta": {"role", "content", "reasoning_content", "tool_calls":
      [{"index", "id", "type", "function": {"name", "arguments"}}]}, "finish_reason"}], "usage"}, and then [DONE]

A document has a `message` instead of the delta. What is written has the fields of the first chunk.
"""

from __future__ import annotations

from typing import Any, Final

from .. import payload
from ..finish_reason import FinishWords
from ..mend import strict
from ..mend.finish import Finish
from ..mend.mender import Mender
from ..parts import Decided, Fragment, Json, Other, Part, Piece, Stop, Text, Thought, read_together
from ..payload import says, string_of
from ..policy import Policy
from ..reasons import ANOTHER_CHOICE
from ..request.limit import tokens_of_chat
from ..request.request import Request
from ..wire import sse
from ..wire.sse import Event
from . import chat_choice
from .chat_choice import CALLS, CHOICE, CONTENT, KNOWN, Choice
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
_FAILED: Final = "error"
"""The finish reason with which routers report that their upstream failed."""

_OTHERS: Final = frozenset({"other", "unknown"})
_WORDS: Final = FinishWords("tool_calls", "stop", _OTHERS)
_LEGACY_WORDS: Final = FinishWords("function_call", "stop", _OTHERS)
_COUNTS: Final = frozenset({"usage", "x_groq"})


class Chat(Protocol):
    words = _WORDS
    passes_calls = False

    def __init__(self, request: Request, policy: Policy, mender: Mender) -> None:
        super().__init__(request, policy, mender)
        self._head: Json = {}
        """What all chunks have in common."""
        self._choices: dict[int, Choice] = {}
        self._one = request.choices == 1
        """One choice was asked for: what comes in further ones belongs to it."""
        self._calling: int | None = None
        """The first choice that has calls, if one was asked for."""
        self._tokens = 0
        self._document: Json | None = None
        """The answer, if it is one document."""

    # An event

    def read(self, event: Event) -> list[Part] | None:
        chunk = payload.read_strict(event.data or "")
        if not isinstance(chunk, dict):
            return None
        if chunk.get("error"):
            raise Failed
        listed = chunk.get("choices")
        choices = listed if isinstance(listed, list) else []
        if not all(isinstance(choice, dict) for choice in choices):
            return []
        parts = self._read_choices(chunk, choices) if choices else self._read_rest(event, chunk)
        counts = not _COUNTS.isdisjoint(chunk) or any("usage" in choice for choice in choices)
        self._tokens = (tokens_of_chat(chunk) if counts else 0) or self._tokens
        for answer in self.answers.values() if counts else ():
            answer.end.note_tokens(self._tokens)
        return parts

    def _read_rest(self, event: Event, chunk: Json) -> list[Part]:
        """A chunk without choices: usage, or an error that no client knows in this form."""
        error = error_in(chunk, event.type)
        if error is not None:
            raise Failed(_written({"error": error}))
        if "usage" in chunk and "choices" not in chunk and self._document is None:
            # Usage without `choices` crashes clients.
            raise Instead(self._event({**chunk, "choices": []}))
        return []

    def _read_choices(self, chunk: Json, choices: list[Json]) -> list[Part]:
        for choice in choices:
            reason = choice.get("finish_reason")
            if choice.get("error") and not reason:
                raise Failed
            if isinstance(reason, str) and reason in UNKNOWN_TO_CLIENTS:
                raise Instead(*self._renamed(chunk, reason))
        self._head = self._head or {key: value for key, value in chunk.items() if key not in ("choices", "usage")}
        if self._document is not None:
            return self._read_document(chunk, choices)
        if len(choices) == 1:
            return self._read_choice(chunk, choices[0])
        bare = {key: value for key, value in chunk.items() if key != "usage"}
        parts = [part for choice in choices[:-1] for part in self._read_choice(bare, choice)]
        parts += self._read_choice(chunk, choices[-1])
        for part in parts:
            part.source = None
        return parts

    def _renamed(self, chunk: Json, reason: str) -> list[Event]:
        """A chunk without a reason that no client knows; and an error, if the reason means one."""
        known = UNKNOWN_TO_CLIENTS[reason]
        choices = [
            one if one.get("finish_reason") != reason else {**one, "finish_reason": known} for one in chunk["choices"]
        ]
        error = {"message": f"The upstream ended the answer with {reason}.", "type": reason, "code": reason}
        failed = [self._event({"error": error})] if known is None else []
        return [self._event({**chunk, "choices": choices}), *failed]

    def _event(self, chunk: Json) -> Event:
        text = payload.write(chunk)
        return Event(sse.write(text) if self._document is None else text.encode("utf-8", "backslashreplace"), text)

    def _read_choice(self, chunk: Json, choice: Json) -> list[Part]:
        """The parts of one choice of a chunk."""
        number = choice.get("index")
        number = number if type(number) is int else None
        index = 0 if self._one else number or 0
        state = self._choices.get(index) or self._new_choice(index)
        delta: Json = choice.get("delta") or {}
        again = "message" in choice or not isinstance(delta, dict)
        if again:
            delta, again = chat_choice.delta_of(choice, text=state.has_text, reasoning=state.has_reasoning)
        parts = self._read_delta(state, chunk, choice, delta, again)
        fragments = [part for part in parts if isinstance(part, Fragment)] if self._one else []
        for part in fragments:
            self._calling = (number or 0) if self._calling is None else self._calling
            if number:
                part.slot = None if part.slot is None else (number, part.slot)
            if number not in (None, self._calling):
                # Calls in two choices may be two answers to one question, or one answer in pieces.
                part.refusal = ANOTHER_CHOICE
        self._learns = (Text, Fragment) if number == index else ()  # Else the client gets them in other bytes.
        if number != index and (fragments or self.answers[index].has_work):
            read_together(_written({**chunk, "choices": [{**choice, "index": index}]}), parts)
        return parts

    def _new_choice(self, index: int) -> Choice:
        state = self._choices[index] = Choice(index, self._request.tools)
        self.answer_of(index).end.note_tokens(self._tokens)
        self._started = True
        return state

    def _read_delta(self, state: Choice, chunk: Json, choice: Json, delta: Json, again: bool) -> list[Part]:
        """The parts of a delta, or of a message. `again`: its calls repeat those of the answer."""
        index, reason, answer = state.index, choice.get("finish_reason"), self.answers[state.index]
        identity = chunk.get("id")
        answer.id = identity if identity and isinstance(identity, str) else answer.id
        parts = chat_choice.read_besides(delta) if delta.keys() - CONTENT else []
        state.has_reasoning = state.has_reasoning or any(isinstance(part, Thought) for part in parts)
        calls = bool(delta.get("tool_calls") or delta.get("function_call"))
        text = delta.get("content")
        if text and not isinstance(text, str):
            parts += chat_choice.read_content(text)
        elif text and not (calls and self._policy.null_content and self._document is None):
            parts.append(Text(text))
        state.has_text = state.has_text or bool(text)
        if calls:
            parts += self._read_calls(state, delta, again)
        more = {key: delta[key] for key in delta.keys() - KNOWN if says(delta[key])}
        ends = reason is not None if self._document else reason
        if ends or more or chunk.get("usage") or choice.get("logprobs") or not choice.keys() <= CHOICE:
            kept = {key: value for key, value in choice.items() if key != "message"}
            kept |= {"index": index, "delta": more, "finish_reason": None}
            body = {**chunk, "choices": [kept]}
            parts += self._read_end(state, body, str(reason)) if ends else self._read_more(state, body, parts)
        if delta.get("role") and not state.has_role:
            state.has_role = True
            # It goes at once: the SDKs need the choices to begin in their order.
            parts = [Other(body={"role": delta["role"]}, quiet=True), *parts]
        parts = parts or [Other(quiet=True)]
        for part in parts:
            part.choice = index
        return parts

    def _read_end(self, state: Choice, body: Json, reason: str) -> list[Part]:
        # A router keeps the reason of its upstream beside its own.
        cut = Finish.of(body["choices"][0].get("native_finish_reason")) is Finish.CUT
        state.stop = Stop(reason, Finish.CUT if cut else Finish.of(reason), body, failed=reason == _FAILED)
        return [state.stop]

    def _read_more(self, state: Choice, body: Json, said: list[Part]) -> list[Part]:
        """What a chunk says beside what is known in its delta. Usage behind the reason goes with that. `said`: what
        the delta says."""
        [choice] = body["choices"]
        usage, logprobs = body.get("usage"), bool(choice.get("logprobs"))
        beside = any(says(value) for key, value in choice.items() if key == "delta" or key not in CHOICE)
        if usage and state.stop and self.answers[state.index].reason_waits and not (beside or logprobs or said):
            return [Stop(state.stop.reason, state.stop.finish, {"usage": usage})]
        if not (beside or logprobs or usage):
            return []
        calls = any(isinstance(part, Fragment) or "tool_calls" in part.body for part in said)
        return [Other(body=body, quiet=True, waits=logprobs or bool(said), of_text=not calls)]

    def _read_calls(self, state: Choice, delta: Json, again: bool) -> list[Part]:
        """The calls of a delta. Those in the old form count only if they do not arrive as `tool_calls` too."""
        answer, listed = self.answers[state.index], delta.get("tool_calls")
        legacy = not listed
        if state.legacy not in (None, legacy) and answer.has_calls:
            return read_together(b"", [Other(quiet=True)])  # The client does not get them.
        if legacy:
            state.writes_legacy, answer.live = self._request.legacy_functions, None
            answer.end.words = _LEGACY_WORDS if state.writes_legacy else _WORDS
            answer.needs_ids = not state.writes_legacy
            listed = [{"function": delta["function_call"]}]
        state.legacy = legacy
        parts: list[Part] = []
        for number, entry in enumerate(listed if isinstance(listed, list) else [listed]):
            if not isinstance(entry, dict):
                continue
            fragment = chat_choice.fragment_of(entry)
            if state.is_hosts(entry, fragment):
                parts += [] if again and self._document is None else [Other(body={"tool_calls": [entry]}, waits=True)]
                answer.end.left_alone = answer.end.other_tools = True
                answer.end.called = answer.sent > 0 or state.custom
                continue
            if self._document is not None:
                fragment.slot, fragment.whole = number, True
            fragment.again = again
            parts.append(fragment)
        return parts

    # A stream

    @property
    def _so_far(self) -> tuple[bool, bool, bool]:
        choices = self._choices.values()
        ended = any(choice.stop for choice in choices) or any(one.end.cut_off for one in self.answers.values())
        return bool(choices), not ended, any(choice.has_text for choice in choices)

    def end(self, half: bytes = b"") -> list[bytes]:
        if not self._has_work:
            return super().end(half)
        answers = [answer for answer in self.answers.values() if answer.has_work]
        called = any(answer.has_calls for answer in answers)
        out = super().end()  # Half an event does not show that the answer was cut off.
        if half and not (called or any(answer.sent for answer in answers)):
            return [*out, half]
        told = all(answer.sent or answer.end.reasons for answer in answers)
        broken = any(answer.end.broken or answer.end.left_alone for answer in answers)
        return [*out, DONE] if out and told and not broken else out

    def keep_alive(self) -> bytes:
        """A chunk with an empty delta. It has no role, because clients that join deltas would get the role twice."""
        first = next(iter(self.answers), None)
        return super().keep_alive() if first is None else self._chunk(first, {})

    def write_error(self, error: Json) -> bytes:
        return _written({"error": error})

    def write_broken(self, event: Event, meant: Json) -> Event:
        text, data = strict.write_event(meant), event.data or ""
        usual = '"choices"' in data and "{'" not in data and payload.read_glued(data) is None
        # The broken part does not concern a call, and an answer without a call passes unchanged.
        return Event(event.raw if usual and not self._has_work else sse.write(text, event.type), text, event.type)

    # Writing

    def write(self, part: Part) -> bytes:
        match part:
            case Text():
                return self._chunk(part.choice, {"content": part.text})
            case Piece() if not (part.begins or part.arguments):
                return b""
            case Decided() | Piece() | Fragment():
                state, entry = self._choices[part.choice], chat_choice.written_call(part)
                if state.writes_legacy:
                    return self._chunk(part.choice, {"function_call": entry["function"]})
                place = part.slot if isinstance(part, Fragment) else state.index_of(part.number)
                place = place[1] if isinstance(place, tuple) else place
                placed = entry if place is None else {"index": place, **entry}
                return self._chunk(part.choice, {"tool_calls": [placed]})
            case Stop() if "choices" in part.body:
                [choice] = part.body["choices"]
                return _written({**part.body, "choices": [{**choice, "finish_reason": part.reason}]})
            case Stop():
                return self._chunk(part.choice, {}, part.reason)
        return _written(part.body) if "choices" in part.body else self._chunk(part.choice, part.body)

    def _chunk(self, choice: int, delta: Json, reason: str | None = None) -> bytes:
        return _written({**self._head, "choices": [{"index": choice, "finish_reason": reason, "delta": delta}]})

    # A document

    def document(self, body: bytes) -> bytes:
        self._document = {}
        return super().document(body)

    def _read_document(self, answer: Json, choices: list[Json]) -> list[Part]:
        """The parts of every message, under the position of its choice."""
        choices = chat_choice.joined(choices) if self._one else choices
        self._document = {**answer, "choices": choices}
        parts: list[Part] = []
        for position, choice in enumerate(choices):
            message = choice.get("message")
            if isinstance(message, dict):
                told = {**choice, "finish_reason": string_of(choice.get("finish_reason"))}
                parts += self._read_delta(self._new_choice(position), answer, told, message, again=False)
        return [part for part in parts if not (isinstance(part, Other) and part.quiet)]

    def write_document(self, body: bytes, parts: list[Part]) -> bytes:
        document = self._document or {}
        choices = list(document["choices"])
        for position, choice in enumerate(choices):
            if isinstance(choice.get("message"), dict):
                own = [part for part in parts if part.choice == position]
                choices[position] = self._written_choice(choice, own, legacy=self._choices[position].writes_legacy)
        written = {**document, "choices": choices}
        if written == payload.read_strict(body):
            return body
        return payload.write(written).encode("utf-8", "backslashreplace")

    def _written_choice(self, choice: Json, parts: list[Part], *, legacy: bool) -> Json:
        """A choice of the document with these parts instead of its own."""
        message: Json = choice["message"]
        listed = message.get("tool_calls")
        calls: list[Any] = []
        for part in parts:
            if isinstance(part, Decided):
                given = listed[part.fragments[0].slot] if isinstance(listed, list) and part.fragments else {}
                call = chat_choice.written_call(part)
                calls.append(given if given.items() >= call.items() else call)
            elif isinstance(part, Other):
                calls += part.body.get("tool_calls", [])
        text = "".join(part.text for part in parts if isinstance(part, Text))
        made = {key: value for key, value in message.items() if key not in CALLS}
        if text or isinstance(message.get("content"), str):
            made["content"] = text
        if calls and legacy:
            made["function_call"] = calls[0]["function"]
        elif calls:
            made["tool_calls"] = calls
        if calls and (self._policy.null_content or (made != message and not made.get("content"))):
            made["content"] = None
        stop = next((part.reason for part in parts if isinstance(part, Stop)), "")
        stop = stop or ("stop" if listed and not calls else "")
        reason = {"finish_reason": stop} if stop and (listed or calls or choice.get("finish_reason")) else {}
        return {**choice, "message": made, **reason}


def _written(chunk: Json) -> bytes:
    return sse.write(payload.write(chunk))
