"""OpenAI Chat Completions, streamed and as one document; every choice is an answer of its own.

    {"id", "created", "model", "choices": [{"index", "delta": {"role", "content", "reasoning_content", "tool_calls":
      [{"index", "id", "type", "function": {"name", "arguments"}}]}, "finish_reason"}], "usage"}, and then [DONE]

A document has a `message` instead of the delta. What is written has the fields of the first chunk.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Final

from .. import payload
from ..finish_reason import FinishWords
from ..mend import strict
from ..mend.finish import Finish
from ..mend.mender import Mender
from ..parts import Decided, Fragment, Json, Other, Part, Piece, Stop, Text, read_together
from ..payload import shown_text, string_of
from ..policy import Policy
from ..reasons import ANOTHER_CHOICE
from ..request.limit import tokens_of_chat
from ..request.request import Request
from ..wire import sse
from ..wire.events import Event
from . import chat_choice
from .chat_choice import CALLS, SHOWN, THOUGHTS, joined_choices, write_choice
from .chat_hosts import HostCalls, may_be_hosts
from .content import read_content
from .errors import error_in
from .protocol import Failed, Instead, Protocol

DONE: Final = b"data: [DONE]\n\n"
FOREIGN_REASONS: Final = {"sensitive": "content_filter", "model_context_window_exceeded": "length"}
"""Finish reasons of single servers that OpenAI clients do not know, in their exact spelling, and the word that
clients get instead, whatever it is. These two are Z.AI's."""
FAILURES: Final = frozenset({"network_error"})
"""Finish reasons that mean a failure of the server."""
_FAILED: Final = "error"
"""The finish reason with which routers report that their upstream failed."""

_OTHERS: Final = frozenset({"other", "unknown"})
_WORDS: Final = FinishWords("tool_calls", "stop", _OTHERS)
_LEGACY_WORDS: Final = FinishWords("function_call", "stop", _OTHERS)
_USUAL: Final = frozenset({"role", "content", "tool_calls"})
_KNOWN: Final = frozenset({"role", "index", "type", "content", *CALLS, *THOUGHTS, *SHOWN})
_IDLE: Final = ("role", "index", "type")
_CHOICE: Final = frozenset({"index", "delta", "message", "finish_reason", "native_finish_reason", "logprobs"})


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
    legacy: bool = False
    """The calls arrive in the old form, `function_call`."""
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
        self._calling: int | None = None
        """The first choice that has calls, if one choice was requested."""
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
            if "error" in choice and choice["error"] and not choice.get("finish_reason"):
                raise Failed
            if "usage" in choice or "usage" in chunk or "x_groq" in chunk:
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
            answer.note_tokens(self._tokens)

    def _read_rest(self, event: Event, chunk: Json) -> list[Part]:
        """A chunk without choices: usage, or an error that no client knows in this form."""
        error = error_in(chunk, event.type)
        if error is not None:
            raise Failed(_written({"error": error}))
        if "usage" in chunk and "choices" not in chunk and self._document is None:
            # Usage without `choices` crashes clients.
            raise Instead(_event({**chunk, "choices": []}))
        return []

    def _read_choice(self, chunk: Json, choice: Json) -> list[Part]:
        """The parts of one choice of a chunk."""
        reason = choice.get("finish_reason")
        if reason and isinstance(reason, str) and (reason in FOREIGN_REASONS or reason in FAILURES):
            raise Instead(*_renamed(chunk, reason))
        delta: Json = choice.get("delta") or {}
        again = "message" in choice or not isinstance(delta, dict)
        if again:
            delta, again = chat_choice.delta_of(choice)
        calls = bool(delta.get("tool_calls") or delta.get("function_call"))
        number, only = choice.get("index"), self._request.choices == 1
        number = number if type(number) is int else None
        index = 0 if only else number or 0
        state = self._choices.get(index) or self._new_choice(index)
        if delta is choice.get("message"):
            delta = chat_choice.without_repeated(delta, text=state.has_text, reasoning=state.has_reasoning)
        parts = self._read_delta(state, chunk, choice, delta, again)
        if calls and only:
            self._calling = (number or 0) if self._calling is None else self._calling
        other = number is not None and number != index
        for part in parts if calls and (other or number != self._calling) else ():
            if isinstance(part, Fragment):
                if other:
                    part.slot = (number, part.slot) if isinstance(part.slot, int) else None
                # Calls in two choices may be two answers to one question, or one answer in pieces.
                part.refusal = ANOTHER_CHOICE if only and number not in (None, self._calling) else ""
        if number != state.index and (calls or self.answers[state.index].engaged):
            read_together(_written({**chunk, "choices": [{**choice, "index": state.index}]}), parts)
        return parts

    def _new_choice(self, index: int) -> _Choice:
        state = self._choices[index] = _Choice(index, HostCalls(self._request.tools))
        self.answer_of(index).note_tokens(self._tokens)
        return state

    def _read_delta(self, state: _Choice, chunk: Json, choice: Json, delta: Json, again: bool) -> list[Part]:
        """The parts of a delta, or of a message. `again`: its calls repeat those of the answer."""
        index, text, reason = state.index, delta.get("content"), choice.get("finish_reason")
        answer = self.answers[index]
        identity = chunk.get("id")
        answer.id = identity if identity and isinstance(identity, str) else answer.id
        usual = delta.keys() <= _USUAL
        parts: list[Part] = [] if usual else self._read_besides(state, delta)
        calls = delta.get("tool_calls") or delta.get("function_call")
        if isinstance(text, str):
            dropped = calls and self._policy.null_content and self._document is None
            parts += [Text(text)] if text and not dropped else []
        elif text:
            for one in read_content(text if isinstance(text, list) else [text]):
                one.body = one.body if isinstance(text, list) else {"content": text}
                parts.append(one)
        state.has_text = state.has_text or bool(text)
        if calls:
            parts += self._read_calls(state, delta, again)
        more = {} if usual else {key: delta[key] for key in delta.keys() - _KNOWN if delta[key]}
        if reason or (self._document and reason is not None):
            state.stop = _stop(index, chunk, {**choice, "delta": more}, str(reason))
            parts.append(state.stop)
        elif more or chunk.get("usage") or choice.get("logprobs") or not choice.keys() <= _CHOICE:
            parts += self._read_more(state, chunk, choice, more, parts)
        if delta.get("role") and not state.has_role:
            state.has_role = True
            # It goes at once: the SDKs need the choices to begin in their order.
            parts = [Other(body={"role": delta["role"]}, quiet=True), *parts]
        parts = parts or [Other(quiet=True)]
        for part in parts:
            part.choice = index
        return parts

    def _read_besides(self, state: _Choice, delta: Json) -> list[Part]:
        """What a delta says before its text: reasoning, a refusal, citations, audio."""
        parts = chat_choice.thoughts(delta)
        state.has_reasoning = state.has_reasoning or bool(parts)
        shown = {key: delta[key] for key in SHOWN if delta.get(key)}
        state.refused = state.refused or bool(delta.get("refusal"))
        if delta.get("refusal") or any(map(chat_choice.says, shown.values())):
            audio = delta.get("audio")
            spoken = shown_text(audio.get("transcript")) if isinstance(audio, dict) else ""
            parts.append(Other(body=shown, shown=spoken, refusal=bool(delta.get("refusal"))))
        return parts

    def _read_more(self, state: _Choice, chunk: Json, choice: Json, more: Json, said: list[Part]) -> list[Part]:
        """What a chunk says beside what is known in its delta. Usage behind the reason goes with that. `said`: what
        the delta says."""
        index, usage = state.index, chunk.get("usage")
        beside = {key for key, value in choice.items() if value and key not in _CHOICE} | more.keys()
        logprobs = bool(choice.get("logprobs"))
        if usage and state.stop and self.answers[index].stops and not (beside or logprobs or said):
            return [Stop(state.stop.reason, state.stop.finish, {"usage": usage})]
        body = _with_choice(chunk, {**choice, "index": index, "delta": more})
        if not (beside or logprobs or usage):
            return []
        calls = any(isinstance(part, Fragment) or "tool_calls" in part.body for part in said)
        return [Other(body=body, quiet=True, waits=logprobs or bool(said), of_text=not calls)]

    def _read_calls(self, state: _Choice, delta: Json, again: bool) -> list[Part]:
        calls = delta.get("tool_calls")
        entries = (calls if isinstance(calls, list) else [calls]) if calls else [{"function": delta["function_call"]}]
        parts: list[Part] = []
        for number, entry in enumerate(entries):
            if not isinstance(entry, dict):
                continue
            fragment = chat_choice.fragment_of(entry)
            if (state.hosts.indices or may_be_hosts(entry)) and state.hosts.take(entry, fragment):
                if not again or self._document:
                    parts.append(Other(body={"tool_calls": [entry]}, waits=True))
                continue
            if self._document is not None:
                fragment.slot, fragment.whole = number, True
            fragment.again = again
            parts.append(fragment)
        answer = self.answers[state.index]
        if state.hosts.indices:
            answer.left_alone = answer.other_calls = True
            answer.passed = state.hosts.custom
        if (state.legacy or not calls) and any(isinstance(part, Fragment) for part in parts):
            return self._in_one_form(state, parts, legacy=not calls)
        return parts

    def _in_one_form(self, state: _Choice, parts: list[Part], *, legacy: bool) -> list[Part]:
        """Calls in the old form count only if they do not arrive as `tool_calls` too."""
        answer = self.answers[state.index]
        if legacy and not state.legacy and answer.has_calls:
            return []
        if state.legacy and not legacy:
            answer.forget_fragments()
            for part in parts if answer.sent else ():
                if isinstance(part, Fragment):
                    part.again = True
        state.legacy = legacy
        state.writes_legacy = legacy and self._request.legacy_functions
        answer.words = _LEGACY_WORDS if state.writes_legacy else _WORDS
        answer.needs_ids = not state.writes_legacy
        answer.live = None if legacy else answer.live
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
        if not self._waits:
            return super().end(half)
        answers = [answer for answer in self.answers.values() if answer.engaged]
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
        raw = event.raw if usual and not self._waits else sse.write(text, event.type)
        return Event(raw, text, event.type)

    # Writing

    def write(self, part: Part) -> bytes:
        match part:
            case Text():
                return self._chunk(part.choice, {"content": part.text})
            case Decided():
                return self._write_call(part)
            case Piece():
                return self._write_piece(part)
            case Fragment():
                return self._write_fragment(part)
            case Stop() if "choices" in part.body:
                [choice] = part.body["choices"]
                return _written({**part.body, "choices": [{**choice, "finish_reason": part.reason}]})
            case Stop():
                return self._chunk(part.choice, {}, part.reason)
        return _written(part.body) if "choices" in part.body else self._chunk(part.choice, part.body)

    def _write_call(self, part: Decided) -> bytes:
        state = self._choices[part.choice]
        entry = chat_choice.written_call(part)
        if state.writes_legacy:
            return self._chunk(part.choice, {"function_call": entry["function"]})
        return self._chunk(part.choice, {"tool_calls": [{"index": state.index_of(part.number), **entry}]})

    def _write_piece(self, part: Piece) -> bytes:
        if not (part.begins or part.arguments):
            return b""
        function = {"name": part.name} if part.begins else {}
        named = {"id": part.id, "type": "function"} if part.begins else {}
        function = chat_choice.beside(part.body, {**function, "arguments": part.arguments})
        index = self._choices[part.choice].index_of(part.number)
        return self._chunk(part.choice, {"tool_calls": [{"index": index, **named, **function}]})

    def _write_fragment(self, part: Fragment) -> bytes:
        function = {key: value for key, value in (("name", part.name), ("arguments", part.arguments)) if value}
        if self._choices[part.choice].legacy:
            return self._chunk(part.choice, {"function_call": function})
        index = part.slot[1] if isinstance(part.slot, tuple) else part.slot
        named = {"id": part.id, "type": "function"} if part.id else {}
        place = {} if index is None else {"index": index}
        return self._chunk(
            part.choice, {"tool_calls": [{**place, **named, **chat_choice.beside(part.body, function)}]}
        )

    def _chunk(self, choice: int, delta: Json, reason: str | None = None) -> bytes:
        return _written({**self._head, "choices": [{"index": choice, "finish_reason": reason, "delta": delta}]})

    # A document

    def document(self, body: bytes) -> bytes:
        self._document = {}
        return super().document(body)

    def _read_document(self, answer: Json, choices: list[Json]) -> list[Part]:
        """The parts of every message, under the position of its choice."""
        known = joined_choices(choices) if self._request.choices == 1 else choices
        known = [_with_known_reason(choice) for choice in known]
        if known != choices:
            text = payload.write({**answer, "choices": known})
            raise Instead(Event(text.encode("utf-8", "backslashreplace"), text))
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
                legacy = self._choices[position].writes_legacy
                choices[position] = write_choice(choice, mine, legacy=legacy, null_content=self._policy.null_content)
        written = {**document, "choices": choices}
        if written == payload.read_strict(body):
            return body
        return payload.write(written).encode("utf-8", "backslashreplace")


def _written(chunk: Json) -> bytes:
    return sse.write(payload.write(chunk))


def _event(chunk: Json) -> Event:
    text = payload.write(chunk)
    return Event(sse.write(text), text)


def _with_choice(chunk: Json, choice: Json) -> Json:
    """A chunk with this one choice, which says no reason."""
    kept = {key: value for key, value in choice.items() if key != "message"}
    return {**chunk, "choices": [{**kept, "finish_reason": None}]}


def _with_known_reason(choice: Json) -> Json:
    reason = choice.get("finish_reason")
    known = FOREIGN_REASONS.get(reason) if isinstance(reason, str) else None
    return choice if known is None else {**choice, "finish_reason": known}


def _renamed(chunk: Json, reason: str) -> list[Event]:
    """A chunk without a reason that no client knows, and an error if the reason means one."""
    choices = [_with_known_reason(choice) for choice in chunk["choices"]]
    if reason in FOREIGN_REASONS:
        return [_event({**chunk, "choices": choices})]
    choices = [{**one, "finish_reason": None} if one.get("finish_reason") == reason else one for one in choices]
    says = any(value for one in choices for key, value in chat_choice.delta_of(one)[0].items() if key not in _IDLE)
    error = {"message": f"The upstream ended the answer with {reason}.", "type": reason, "code": reason}
    return [*([_event({**chunk, "choices": choices})] if says else []), _event({"error": error})]


def _stop(index: int, chunk: Json, choice: Json, reason: str) -> Stop:
    """A router keeps the reason of its upstream beside its own."""
    finish = Finish.CUT if Finish.of(choice.get("native_finish_reason")) is Finish.CUT else Finish.of(reason)
    body = _with_choice(chunk, {**choice, "index": index})
    return Stop(reason, finish, body, failed=reason == _FAILED)
