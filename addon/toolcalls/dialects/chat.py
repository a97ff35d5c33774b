"""OpenAI Chat Completions, streamed and not.

Strategy: an event without a tool call passes as it came. From the first fragment of a call on, every
event is read: fragments are held, whatever else an event says goes on at once without them. On a finish
reason, `[DONE]`, an error or the end of the stream each complete call goes out as one delta, and the
finish reason follows the calls that really went out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..calls import Outcome
from ..mend.arguments import Finish
from ..mend.call import Mender
from ..policy import Policy
from ..request import Question
from ..wire import sse
from ..wire.events import LINES_ALONE, PASS, Answer, Event, Hold, Reply
from . import payload
from .chat_body import mend_body
from .chat_calls import (
    NEEDS_CALLS,
    Json,
    calls_in,
    fragments_of,
    mend_slot,
    says_something,
    true_reason,
    written_call,
)
from .echo import Echo
from .slots import Fragment, Slot, Slots

DONE = b"data: [DONE]\n\n"
_NO_CALL = (b's":null', b's": null', b'":null', b'": null', b's":[]', b's": []')
"""How `tool_calls` or `function_call` go on when there is none."""


@dataclass(slots=True)
class _Choice:
    """One choice of the answer: the calls being gathered, and what of it went out."""

    index: int
    slots: Slots
    hold: Hold
    role: str = ""
    """A role that came with a held fragment: the first call that goes out carries it."""
    sent: int = 0
    finished: bool = False
    legacy: bool = False
    notes: list[str] = field(default_factory=list)


class Chat:
    """The dialect of `/chat/completions`."""

    __slots__ = (
        "_choices",
        "_done",
        "_echo",
        "_envelope",
        "_errored",
        "_last",
        "_mender",
        "_policy",
        "_question",
        "engaged",
    )

    def __init__(self, question: Question, policy: Policy, mender: Mender) -> None:
        self._question = question
        self._policy = policy
        self._mender = mender
        self._choices: dict[int, _Choice] = {}
        self._envelope: Json = {}
        self._errored = False
        self._done = False
        self._echo = Echo("arguments")
        self._last: tuple[Slot, Hold] | None = None
        """Where the fragment of the last event went, if the next one may repeat its form."""
        self.engaged = False

    # The stream

    def plain(self, block: bytes) -> bool:
        # From the end on: CPython searches backwards in half the time.
        mention = block.rfind(b"_call")
        while mention >= 0:
            if not block.startswith(_NO_CALL, mention + 5):
                return False
            mention = block.rfind(b"_call", 0, mention)
        if block.find(b"'") >= 0 and block.rfind(b"{'") >= 0:
            return False
        if block.rfind(b'"usage"') < 0:
            return True
        # Usage in an event without choices crashes clients. Inside a JSON string these quotes would be escaped.
        if block.rfind(b"data:") == 0:
            return block.find(b'"choices"') >= 0
        return block.count(b'"choices"') + block.count(b"data: [DONE]") >= block.count(b"data:")

    def read(self, event: Event) -> Answer:
        if self._last is not None:
            arguments = self._echo.match(event.raw)
            if arguments is not None:
                slot, hold = self._last
                if arguments:
                    slot.fragments.append(arguments)
                return hold
            self._last = None
        data = event.data or ""
        chunk = payload.read_strict(data)
        if isinstance(chunk, dict):
            return self._read_chunk(event, chunk)
        if data.strip() == "[DONE]":
            return self._finish_all(event.raw, Finish.UNKNOWN, done=True)
        if "\n" in data:
            return LINES_ALONE
        if chunk is not None or not data.lstrip().startswith("{"):
            return PASS
        mended = payload.read_broken(data)
        if mended is None:
            return PASS
        rewritten = Event(sse.write(payload.write(mended), event.type), "", event.type)
        answer = self._read_chunk(rewritten, mended)
        return Reply((rewritten.raw,)) if answer is PASS else answer

    def close(self) -> Reply | None:
        if self._done or not any(choice.slots.slots for choice in self._choices.values()):
            return None
        answer = self._finish_all(b"", Finish.CUT, done=False)
        return answer if isinstance(answer, Reply) else None

    def _read_chunk(self, event: Event, chunk: Json) -> Answer:
        if chunk.get("error"):
            return self._fail(event)
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            if "usage" in chunk and "choices" not in chunk:
                return Reply((self._write_event({**chunk, "choices": []}),))
            return PASS
        if len(choices) == 1 and isinstance(choices[0], dict):
            return self._read_choice(event, chunk, choices[0], alone=True)
        return self._read_choices(event, chunk, choices)

    def _read_choices(self, event: Event, chunk: Json, choices: list[Any]) -> Answer:
        """Several choices in one event: each is read as if it had come alone, usage with the last."""
        bare = {key: value for key, value in chunk.items() if key != "usage"}
        out: list[bytes] = []
        release: list[str] = []
        hold: list[tuple[str, bytes]] = []
        untouched = True
        for number, choice in enumerate(choices):
            if not isinstance(choice, dict):
                return PASS
            part = {**(chunk if number == len(choices) - 1 else bare), "choices": [choice]}
            raw = self._write_event(part)
            answer = self._read_choice(Event(raw, None, event.type), part, choice, alone=False)
            if isinstance(answer, Hold):
                hold.append((answer.key, raw))
            elif isinstance(answer, Reply):
                out += answer.out
                release += answer.release
                hold += answer.hold
            else:
                out.append(raw)
                continue
            untouched = False
        # What one of the choices taught no longer holds after the next one.
        self._last = None
        return PASS if untouched else Reply(tuple(out), tuple(release), tuple(hold))

    def _read_choice(self, event: Event, chunk: Json, choice: Json, *, alone: bool) -> Answer:
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            message = choice.get("message")
            delta = message if isinstance(message, dict) else {}
        reason = choice.get("finish_reason") or None
        fragments, legacy = fragments_of(delta)
        if not fragments and not reason:
            return self._silence(event, chunk, choice, delta)
        index = self._choice_index(choice, bool(fragments))
        state = self._choices.get(index)
        if state is None:
            if not fragments:
                # A finish reason of a choice without any call.
                return self._finish_without_calls(event, chunk, choice, reason)
            state = self._open_choice(index)
        slot = self._gather(state, chunk, fragments, legacy) if fragments else None
        if not reason:
            return self._keep_talking(event, chunk, choice, delta, state, slot)
        return self._finish_choice(event, chunk, choice, delta, state, str(reason))

    def _open_choice(self, index: int) -> _Choice:
        self.engaged = True
        state = _Choice(index, Slots(self._question.tools), Hold(str(index)))
        self._choices[index] = state
        return state

    def _choice_index(self, choice: Json, has_calls: bool) -> int:
        index = choice.get("index")
        number = index if isinstance(index, int) else 0
        # One choice was asked for: calls that come in a second one belong to the first.
        merged = self._question.choices == 1 and (has_calls or 0 in self._choices)
        return 0 if merged else number

    def _gather(self, state: _Choice, chunk: Json, fragments: list[Fragment], legacy: bool) -> Slot | None:
        """The call that the fragment went to, if an event that repeats its form goes there too."""
        if not self._envelope:
            self._envelope = {k: v for k, v in chunk.items() if k not in ("choices", "usage")}
        if legacy and not state.legacy and (state.slots.slots or state.sent):
            return None
        state.legacy = legacy
        slot = None
        for fragment in fragments:
            slot = state.slots.add(fragment)
        # A name may begin another call. Without one the index and the id decide, and they are part of the form.
        return slot if len(fragments) == 1 and not fragments[0].name else None

    def _silence(self, event: Event, chunk: Json, choice: Json, delta: Json) -> Answer:
        """Neither a call nor an end. Text beside calls goes on, unless the user wants content to be null."""
        if self._policy.null_content and self._choices and delta.get("content"):
            return Reply((self._write_choice(chunk, choice, {**delta, "content": None}),))
        return PASS

    def _keep_talking(
        self, event: Event, chunk: Json, choice: Json, delta: Json, state: _Choice, slot: Slot | None
    ) -> Answer:
        """A fragment is held; whatever else the event says goes out now."""
        rest = self._rest(delta) if len(delta) > 1 else {}
        if not says_something(rest) and not chunk.get("usage") and not choice.get("logprobs"):
            state.role = state.role or str(rest.get("role") or "")
            if slot is not None and self._echo.learn(event.raw, slot.fragments[-1] if slot.fragments else ""):
                self._last = slot, state.hold
            return state.hold
        calls = {key: delta[key] for key in ("tool_calls", "function_call") if delta.get(key)}
        residue = self._write_choice({**chunk, "usage": None}, {**choice, "logprobs": None}, calls)
        return Reply((self._write_choice(chunk, choice, rest),), hold=((state.hold.key, residue),))

    def _rest(self, delta: Json) -> Json:
        rest = {key: value for key, value in delta.items() if key not in ("tool_calls", "function_call")}
        if self._policy.null_content and rest.get("content"):
            rest["content"] = None
        return rest

    # The end

    def _finish_choice(
        self, event: Event, chunk: Json, choice: Json, delta: Json, state: _Choice, reason: str
    ) -> Answer:
        before_error = reason == "error"
        calls = self._emit(state, Finish.of(reason), before_error=before_error)
        rest = self._rest(delta)
        text: list[bytes] = []
        if says_something(rest):
            spoken = {**choice, "finish_reason": None}
            text.append(self._write_choice({**chunk, "usage": None}, spoken, rest))
            rest = {}
        truth = self._truth(state, reason)
        if state.finished:
            # One terminal reason a choice: a second one is dropped with its event, unless it carries usage.
            end = [self._write_event({**chunk, "choices": []})] if chunk.get("usage") else []
        elif not text and not calls_in(delta) and truth == reason and choice.get("index") == state.index:
            end = [event.raw]
        else:
            ended = {**choice, "index": state.index, "finish_reason": truth}
            end = [self._write_choice(chunk, ended, rest)]
        state.finished = True
        return Reply((*text, *calls, *end), release=(state.hold.key,))

    def _finish_without_calls(self, event: Event, chunk: Json, choice: Json, reason: Any) -> Answer:
        """`tool_calls` without any call makes agents loop: it becomes `stop`."""
        if reason not in NEEDS_CALLS:
            return PASS
        delta = choice.get("delta")
        kept = self._rest(delta) if isinstance(delta, dict) else {}
        return Reply((self._write_choice(chunk, {**choice, "finish_reason": "stop"}, kept),))

    def _truth(self, state: _Choice, reason: str | None) -> str | None:
        return true_reason(reason, calls=state.sent > 0, legacy=self._speaks_legacy(state))

    def _speaks_legacy(self, state: _Choice) -> bool:
        return state.legacy and self._question.legacy_functions

    def _finish_all(self, terminator: bytes, finish: Finish, *, done: bool) -> Answer:
        """`[DONE]` or the end of the stream: every held call comes out, with the finish that was missing."""
        out: list[bytes] = []
        keys: list[str] = []
        complete = True
        for state in self._choices.values():
            pending = bool(state.slots.slots)
            before = len(out)
            refused: list[Outcome] = []
            out += self._emit(state, finish, refused=refused)
            complete = complete and (done or not refused)
            if complete and not state.finished and not self._errored and (pending or state.sent):
                reason = self._truth(state, None)
                out.append(self._write_choice(self._envelope, {"index": state.index, "finish_reason": reason}, {}))
                state.finished = True
            if pending or len(out) > before:
                keys.append(state.hold.key)
        if done:
            self._done = True
            return Reply((*out, terminator), tuple(keys)) if keys or out else PASS
        if complete and out and not self._errored:
            out.append(DONE)
        return Reply(tuple(out), tuple(keys))

    def _fail(self, event: Event) -> Answer:
        """An error event: complete calls come out, unfinished ones are dropped, the error goes on."""
        self._errored = True
        out: list[bytes] = []
        keys: list[str] = []
        for state in self._choices.values():
            if state.slots.slots:
                keys.append(state.hold.key)
                out += self._emit(state, Finish.CUT, before_error=True)
        return Reply((*out, event.raw), tuple(keys)) if keys else PASS

    def _emit(
        self,
        state: _Choice,
        finish: Finish,
        *,
        before_error: bool = False,
        refused: list[Outcome] | None = None,
    ) -> list[bytes]:
        """Write the gathered calls of a choice as one delta each."""
        out: list[bytes] = []
        notes: list[str] = []
        for slot in state.slots.take():
            outcome = mend_slot(slot, self._question.tools, self._mender, finish, before_error=before_error)
            if outcome.status == "refused" and refused is not None:
                refused.append(outcome)
            if outcome.dropped:
                notes.append(outcome.note)
                continue
            delta: Json = {"role": state.role} if state.role else {}
            if self._speaks_legacy(state):
                delta["function_call"] = {"name": outcome.name, "arguments": outcome.arguments}
            else:
                delta["tool_calls"] = [
                    {"index": state.sent, **written_call(self._mender.ids.unique(slot.id), slot, outcome)}
                ]
            out.append(self._write_choice(self._envelope, {"index": state.index, "finish_reason": None}, delta))
            state.role = ""
            state.sent += 1
        if not state.sent:
            for note in filter(None, notes):
                told = {"role": state.role or "assistant", "content": note}
                out.append(self._write_choice(self._envelope, {"index": state.index, "finish_reason": None}, told))
        return out

    def _write_choice(self, chunk: Json, choice: Json, delta: Json) -> bytes:
        written = {key: value for key, value in choice.items() if key != "message"}
        return self._write_event({**chunk, "choices": [{**written, "delta": delta}]})

    def _write_event(self, chunk: Json) -> bytes:
        return sse.write(payload.write(chunk))

    def body(self, body: bytes) -> bytes:
        return mend_body(body, self._question, self._policy, self._mender)
