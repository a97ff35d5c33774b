"""OpenAI Chat Completions, streamed and as one document; every choice is an answer of its own.

    {"id", "created", "model", "choices": [{"index", "delta": {"role", "content", "reasoning_content", "tool_calls":
      [{"index", "id", "type", "function": {"name", "arguments"}}]}, "finish_reason"}], "usage"}, and then [DONE]

A document has a `message` instead of the delta. What is written has the fields of the first chunk. What a choice says
is read in `chat_choice.py`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
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
from .chat_choice import CHOICE, CONTENT, KNOWN, HostCalls
from .errors import error_in
from .protocol import Failed, Instead, Protocol

DONE: Final = b"data: [DONE]\n\n"
UNKNOWN_TO_CLIENTS: Final = {"sensitive": "content_filter", "model_context_window_exceeded": "length"}
"""Finish reasons of single servers that OpenAI clients do not know, in their exact spelling, and the word that
clients get instead, whatever it is. These two are Z.AI's."""
FAILURES: Final = frozenset({"network_error"})
"""Finish reasons that mean a failure of the server."""
_FAILED: Final = "error"
"""The finish reason with which routers report that their upstream failed."""

_OTHERS: Final = frozenset({"other", "unknown"})
_WORDS: Final = FinishWords("tool_calls", "stop", _OTHERS)
_LEGACY_WORDS: Final = FinishWords("function_call", "stop", _OTHERS)
_COUNTS: Final = frozenset({"usage", "x_groq"})


@dataclass(slots=True)
class _Choice:
    """What the stream has said in one choice."""

    index: int
    hosts: HostCalls
    has_role: bool = False
    has_text: bool = False
    has_reasoning: bool = False
    refused: bool = False
    """The model refused to answer."""
    legacy: bool | None = None
    """The calls arrive in the old form, `function_call`; None before there is one."""
    writes_legacy: bool = False
    stop: Stop | None = None
    """The last reason."""
    indices: list[int] = field(default_factory=list)
    """The indices of the calls that the client has, by number."""

    def index_of(self, number: int) -> int:
        """The index of a call at the client: one that no call has that passes as it came."""
        while number >= len(self.indices):
            free = self.indices[-1] + 1 if self.indices else 0
            self.indices.append(next(index for index in itertools.count(free) if index not in self.hosts.indices))
        return self.indices[number]


class Chat(Protocol):
    words = _WORDS
    passes_calls = False

    def __init__(self, request: Request, policy: Policy, mender: Mender) -> None:
        super().__init__(request, policy, mender)
        self._head: Json = {}
        """What all chunks have in common."""
        self._choices: dict[int, _Choice] = {}
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
        choices = chunk.get("choices")
        if not choices or not isinstance(choices, list):
            self._note_tokens(chunk)
            return self._read_rest(event, chunk)
        for choice in choices:
            if not isinstance(choice, dict):
                return []
            if choice.get("error") and not choice.get("finish_reason"):
                raise Failed
            reason = choice.get("finish_reason")
            if isinstance(reason, str) and (reason in UNKNOWN_TO_CLIENTS or reason in FAILURES):
                raise Instead(*self._renamed(chunk, reason))
            if "usage" in choice or not _COUNTS.isdisjoint(chunk):
                self._note_tokens(chunk)
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

    def _note_tokens(self, chunk: Json) -> None:
        self._tokens = tokens_of_chat(chunk) or self._tokens
        for answer in self.answers.values():
            answer.end.note_tokens(self._tokens)

    def _read_rest(self, event: Event, chunk: Json) -> list[Part]:
        """A chunk without choices: usage, or an error that no client knows in this form."""
        error = error_in(chunk, event.type)
        if error is not None:
            raise Failed(_written({"error": error}))
        if "usage" in chunk and "choices" not in chunk and self._document is None:
            # Usage without `choices` crashes clients.
            raise Instead(self._event({**chunk, "choices": []}))
        return []

    def _renamed(self, chunk: Json, reason: str) -> list[Event]:
        """A chunk without a reason that no client knows; and an error, if the reason means one."""
        known = UNKNOWN_TO_CLIENTS.get(reason)
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
        calls = bool(delta.get("tool_calls") or delta.get("function_call"))
        if calls and self._one:
            self._calling = (number or 0) if self._calling is None else self._calling
            for part in parts:
                if number and isinstance(part, Fragment):
                    part.slot = (number, part.slot) if isinstance(part.slot, int) else None
                if isinstance(part, Fragment) and number not in (None, self._calling):
                    # Calls in two choices may be two answers to one question, or one answer in pieces.
                    part.refusal = ANOTHER_CHOICE
        self._learns_pieces = number == index
        if number != index and (calls or self.answers[index].has_work):
            read_together(_written({**chunk, "choices": [{**choice, "index": index}]}), parts)
        return parts

    def _new_choice(self, index: int) -> _Choice:
        state = self._choices[index] = _Choice(index, HostCalls(self._request.tools))
        self.answer_of(index).end.note_tokens(self._tokens)
        return state

    def _read_delta(self, state: _Choice, chunk: Json, choice: Json, delta: Json, again: bool) -> list[Part]:
        """The parts of a delta, or of a message. `again`: its calls repeat those of the answer."""
        index, reason, answer = state.index, choice.get("finish_reason"), self.answers[state.index]
        identity = chunk.get("id")
        answer.id = identity if identity and isinstance(identity, str) else answer.id
        parts = chat_choice.read_besides(delta) if delta.keys() - CONTENT else []
        state.has_reasoning = state.has_reasoning or any(isinstance(part, Thought) for part in parts)
        state.refused = state.refused or bool(delta.get("refusal"))
        calls = bool(delta.get("tool_calls") or delta.get("function_call"))
        if text := delta.get("content"):
            dropped = calls and self._policy.null_content and self._document is None and isinstance(text, str)
            parts += [] if dropped else chat_choice.read_text(text)
            state.has_text = True
        if calls:
            parts += self._read_calls(state, delta, again)
        more = {key: delta[key] for key in delta.keys() - KNOWN if says(delta[key])}
        if reason or (self._document and reason is not None):
            state.stop = _stop(chunk, {**choice, "index": index, "delta": more}, str(reason))
            parts.append(state.stop)
        elif more or chunk.get("usage") or choice.get("logprobs") or not choice.keys() <= CHOICE:
            parts += self._read_more(state, chunk, {**choice, "index": index, "delta": more}, parts)
        if delta.get("role") and not state.has_role:
            state.has_role = True
            # It goes at once: the SDKs need the choices to begin in their order.
            parts = [Other(body={"role": delta["role"]}, quiet=True), *parts]
        parts = parts or [Other(quiet=True)]
        for part in parts:
            part.choice = index
        return parts

    def _read_more(self, state: _Choice, chunk: Json, choice: Json, said: list[Part]) -> list[Part]:
        """What a chunk says beside what is known in its delta. Usage behind the reason goes with that. `said`: what
        the delta says."""
        usage, logprobs = chunk.get("usage"), bool(choice.get("logprobs"))
        beside = bool(choice["delta"]) or any(says(value) and key not in CHOICE for key, value in choice.items())
        if usage and state.stop and self.answers[state.index].reason_waits and not (beside or logprobs or said):
            return [Stop(state.stop.reason, state.stop.finish, {"usage": usage})]
        if not (beside or logprobs or usage):
            return []
        calls = any(isinstance(part, Fragment) or "tool_calls" in part.body for part in said)
        return [Other(body=_with_choice(chunk, choice), quiet=True, waits=logprobs or bool(said), of_text=not calls)]

    def _read_calls(self, state: _Choice, delta: Json, again: bool) -> list[Part]:
        """The calls of a delta. Those in the old form count only if they do not arrive as `tool_calls` too."""
        answer, listed = self.answers[state.index], delta.get("tool_calls")
        legacy = not listed
        if state.legacy not in (None, legacy) and answer.has_calls:
            return read_together(b"", [Other(quiet=True)])  # The client does not get them.
        if legacy:
            state.writes_legacy, answer.live = self._request.legacy_functions, None
            answer.end.words = _LEGACY_WORDS if state.writes_legacy else _WORDS
            answer.needs_ids = not state.writes_legacy
        state.legacy = legacy
        entries = (
            [{"function": delta["function_call"]}] if legacy else listed if isinstance(listed, list) else [listed]
        )
        parts: list[Part] = []
        for number, entry in enumerate(entries):
            if not isinstance(entry, dict):
                continue
            fragment = chat_choice.fragment_of(entry)
            if state.hosts.take(entry, fragment):
                parts += [] if again and self._document is None else [Other(body={"tool_calls": [entry]}, waits=True)]
                answer.end.left_alone = answer.other_calls = True
                answer.passed = state.hosts.custom
                continue
            if self._document is not None:
                fragment.slot, fragment.whole = number, True
            fragment.again = again
            parts.append(fragment)
        return parts

    # A stream

    @property
    def _has_begun(self) -> bool:
        return bool(self._choices)

    @property
    def _may_go_on(self) -> bool:
        return not any(choice.stop or choice.refused for choice in self._choices.values())

    @property
    def _has_text(self) -> bool:
        return any(choice.has_text for choice in self._choices.values())

    def end(self, half: bytes = b"") -> list[bytes]:
        if not self._has_work:
            return super().end(half)
        answers = [answer for answer in self.answers.values() if answer.has_work]
        called = any(answer.has_calls for answer in answers)
        out = super().end()  # Half an event does not show that the answer was cut off.
        if half and not (called or any(answer.sent for answer in answers)):
            return [*out, half]
        return [*out, DONE] if out and all(answer.complete for answer in answers) else out

    def keep_alive(self) -> bytes:
        """A chunk with an empty delta. It has no role, because clients that join deltas would get the role twice."""
        first = next(iter(self.answers), None)
        return super().keep_alive() if first is None else self._chunk(first, {})

    def write_error(self, error: Json) -> bytes:
        return _written({"error": error})

    def write_broken(self, event: Event, meant: Json) -> Event:
        text = strict.write_event(meant)
        data = event.data or ""
        usual = '"choices"' in data and "{'" not in data and payload.read_glued(data) is None
        # The broken part does not concern a call, and an answer without a call passes unchanged.
        raw = event.raw if usual and not self._has_work else sse.write(text, event.type)
        return Event(raw, text, event.type)

    # Writing

    def write(self, part: Part) -> bytes:
        match part:
            case Text():
                return self._chunk(part.choice, {"content": part.text})
            case Decided() | Fragment():
                return self._write_call(part)
            case Piece():
                return self._write_call(part) if part.begins or part.arguments else b""
            case Stop() if "choices" in part.body:
                [choice] = part.body["choices"]
                return _written({**part.body, "choices": [{**choice, "finish_reason": part.reason}]})
            case Stop():
                return self._chunk(part.choice, {}, part.reason)
        return _written(part.body) if "choices" in part.body else self._chunk(part.choice, part.body)

    def _write_call(self, part: Decided | Piece | Fragment) -> bytes:
        """A call, a piece of one, or a fragment as it came."""
        state, entry = self._choices[part.choice], chat_choice.written_call(part)
        if state.writes_legacy:
            return self._chunk(part.choice, {"function_call": entry["function"]})
        if isinstance(part, Fragment):
            place: Any = part.slot[1] if isinstance(part.slot, tuple) else part.slot
        else:
            place = state.index_of(part.number)
        return self._chunk(part.choice, {"tool_calls": [entry if place is None else {"index": place, **entry}]})

    def _chunk(self, choice: int, delta: Json, reason: str | None = None) -> bytes:
        return _written({**self._head, "choices": [{"index": choice, "finish_reason": reason, "delta": delta}]})

    # A document

    def document(self, body: bytes) -> bytes:
        self._document = {}
        return super().document(body)

    def _read_document(self, answer: Json, choices: list[Json]) -> list[Part]:
        """The parts of every message, under the position of its choice."""
        known = chat_choice.joined(choices) if self._one else choices
        if known != choices:
            raise Instead(self._event({**answer, "choices": known}))
        self._document = answer
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
                mine = [part for part in parts if part.choice == position]
                legacy, null = self._choices[position].writes_legacy, self._policy.null_content
                choices[position] = chat_choice.written(choice, mine, legacy=legacy, null_content=null)
        written = {**document, "choices": choices}
        if written == payload.read_strict(body):
            return body
        return payload.write(written).encode("utf-8", "backslashreplace")


def _written(chunk: Json) -> bytes:
    return sse.write(payload.write(chunk))


def _with_choice(chunk: Json, choice: Json) -> Json:
    """A chunk with this one choice, which says no reason."""
    kept = {key: value for key, value in choice.items() if key != "message"}
    return {**chunk, "choices": [{**kept, "finish_reason": None}]}


def _stop(chunk: Json, choice: Json, reason: str) -> Stop:
    """A router keeps the reason of its upstream beside its own."""
    finish = Finish.CUT if Finish.of(choice.get("native_finish_reason")) is Finish.CUT else Finish.of(reason)
    return Stop(reason, finish, _with_choice(chunk, choice), failed=reason == _FAILED)
