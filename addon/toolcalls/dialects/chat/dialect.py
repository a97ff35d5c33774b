"""OpenAI Chat Completions, streamed and not.

Strategy: every event is passed to its choice (`choice.py`), which is an answer of its own
(`dialects/answer_stream.py`). This file handles what concerns the stream as a whole: events in odd forms, errors,
several choices, the terminator.
"""

from __future__ import annotations

from typing import Any

from ...mend.arguments import Finish
from ...mend.mender import Mender
from ...policy import Policy
from ...request.request import Request
from ...turn import payload
from ...turn.parts import index_of
from ...turn.refusal_reasons import ANOTHER_CHOICE
from ...unread.fast_path import Lesson
from ...wire import sse
from ...wire.events import MOST_CALLS, PASS, SPLIT_LINES, Event, LimitReached, Replace, Verdict, joined
from ..data_kinds import DataKind, classify_data
from ..interface import KEEP_ALIVE_COMMENT, Dialect
from ..reply_builder import ReplyBuilder, replaced
from ..upstream_errors import error_in
from .body import mend_body
from .choice import Choice
from .reader import FAILURES, FOREIGN_REASONS, Json, delta_of, has_content
from .writer import DONE, write

_CHOICES, _PYTHON_STYLE = '"choices"', "{'"


class Chat(Dialect):
    """The dialect of `/chat/completions`."""

    __slots__ = (
        "_calling",
        "_choices",
        "_done",
        "_engaged",
        "_errored",
        "_mender",
        "_policy",
        "_request",
        "lesson",
    )
    lesson: Lesson | None

    def __init__(self, request: Request, policy: Policy, mender: Mender) -> None:
        self._request = request
        self._policy = policy
        self._mender = mender
        self._choices: dict[int, Choice] = {}
        self._calling: int | None = None
        """The first choice that has calls, if one choice was requested."""
        self._errored = False
        self._done = False
        self._engaged = False
        """A call was seen, or text or a finish reason was held: the answer no longer passes unchanged."""
        self.lesson = None

    # The stream

    def read(self, event: Event) -> Verdict:
        self.lesson = None
        data = event.data or ""
        chunk = payload.read_strict(data)
        if isinstance(chunk, dict):
            return self._read_chunk(event, chunk)
        odd = classify_data(event, chunk)
        match odd.kind:
            case DataKind.DONE:
                return self._read_done(event)
            case DataKind.ERROR:
                return self._fail(Event(write({"error": odd.value}), None), rewritten=True)
            case DataKind.KEEP_ALIVE if data.strip() and "\n" not in data and not event.type:
                return Replace((sse.comment(data.strip()),))
            case DataKind.SEVERAL_LINES:
                return SPLIT_LINES
            case DataKind.BROKEN:
                return self._read_broken(event, odd.value)
        return self.break_off(event) if odd.kind is DataKind.TRUNCATED else PASS

    def _read_done(self, event: Event) -> Verdict:
        if not self._engaged and not any(choice.thinking for choice in self._choices.values()):
            # There is nothing to end. `_done` stays False, so a call that follows nevertheless is not lost.
            return PASS
        self._done = True
        return self._end(event.raw, Finish.UNKNOWN)

    def _read_broken(self, event: Event, chunk: Json) -> Verdict:
        """Handle an event in broken JSON. `chunk`: the object that it stands for."""
        data = event.data or ""
        rewritten = Event(sse.write(payload.write(chunk), event.type), "", event.type)
        verdict = self._read_chunk(rewritten, chunk)
        self.lesson = None
        if verdict is not PASS:
            return verdict
        # The broken part does not concern a call, and an answer without a call passes unchanged.
        usual = _CHOICES in data and _PYTHON_STYLE not in data and payload.read_glued(data) is None
        return PASS if usual and not self._engaged else Replace((rewritten.raw,))

    def break_off(self, half: Event) -> Verdict:
        if self._done:
            return PASS
        self._done = True
        answers = [choice.stream.answer for choice in self._choices.values()]
        calls = any(answer.has_pending_calls for answer in answers)
        reply = ReplyBuilder(half.raw)
        complete = self._end_choices(Finish.CUT, reply)
        if not calls and not any(answer.outgoing.sent for answer in answers):
            reply.out.append(half.raw)
        elif reply.out and complete:
            reply.out.append(DONE)
        return reply.verdict()

    def close(self) -> Replace | None:
        if self._done:
            return None
        verdict = self._end(b"", Finish.CUT)
        return verdict if isinstance(verdict, Replace) else None

    def keep_alive(self) -> bytes:
        return next((choice.writer.keep_alive() for choice in self._choices.values()), KEEP_ALIVE_COMMENT)

    def body(self, body: bytes) -> bytes:
        return mend_body(body, self._request, self._policy, self._mender)

    def _read_chunk(self, event: Event, chunk: Json) -> Verdict:
        """Handle a chunk: an error, usage, or choices."""
        if chunk.get("error"):
            return self._fail(event)
        choices = chunk.get("choices")
        error = error_in(chunk, event.type) if not choices else None
        if error is not None:
            # No client knows this form of error, so it is repeated in the protocol's own form.
            return self._fail(event, write({"error": error}))
        if not isinstance(choices, list):
            if "usage" not in chunk or "choices" in chunk:
                return PASS
            # Usage without `choices` crashes clients.
            return self._after_ends(write({**chunk, "choices": []}), rewritten=True)
        if not choices:
            return self._after_ends(event.raw)
        if len(choices) == 1 and isinstance(choices[0], dict):
            return self._read_choice(event, chunk, choices[0])
        return self._read_choices(event, chunk, choices)

    def _read_choices(self, event: Event, chunk: Json, choices: list[Any]) -> Verdict:
        """Handle several choices in one event as if each had arrived alone, with the usage on the last."""
        if not all(isinstance(choice, dict) for choice in choices):
            return PASS
        bare = {key: value for key, value in chunk.items() if key != "usage"}
        apart = [({**bare, "choices": [choice]}, choice) for choice in choices[:-1]]
        apart.append(({**chunk, "choices": [choices[-1]]}, choices[-1]))
        events = [(Event(write(part), None, event.type), part, choice) for part, choice in apart]
        verdict = joined((one, self._read_choice(one, part, choice)) for one, part, choice in events)
        # The lesson of one choice no longer holds after the next one.
        self.lesson = None
        return verdict

    def _read_choice(self, event: Event, chunk: Json, choice: Json) -> Verdict:
        """Handle a chunk with one choice."""
        reason = choice.get("finish_reason")
        if choice.get("error") and not reason:
            return self._fail(event)
        if isinstance(reason, str) and (reason in FOREIGN_REASONS or reason in FAILURES):
            return self._read_odd_end(event, chunk, choice, reason)
        delta, fragments = delta_of(choice)
        number = index_of(choice.get("index"))
        state = self._choice(number or 0, bool(fragments))
        if number is not None and number != state.index:
            for fragment in fragments:
                fragment.index = (number, fragment.index) if isinstance(fragment.index, int) else None
        if fragments and self._request.choices == 1:
            self._calling = (number or 0) if self._calling is None else self._calling
            for fragment in fragments if number not in (None, self._calling) else ():
                # Calls in two choices may be two answers to one question, or one answer in pieces.
                fragment.refusal_reason = ANOTHER_CHOICE
        verdict = state.take(event.raw, chunk, choice, delta, fragments)
        self.lesson = state.stream.lesson
        self._engaged = self._engaged or state.stream.answer.engaged
        return verdict

    def _choice(self, number: int, has_calls: bool) -> Choice:
        """The state of the choice with this number; it is created when its first event arrives."""
        if self._request.choices == 1 and (has_calls or number not in self._choices):
            # The request asked for one choice, so calls in a second one belong to the first.
            number = 0
        state = self._choices.get(number)
        if state is None:
            if len(self._choices) >= MOST_CALLS:
                raise LimitReached
            state = self._choices[number] = Choice(number, self._request, self._policy, self._mender)
        return state

    # The end

    def _read_odd_end(self, event: Event, chunk: Json, choice: Json, reason: str) -> Verdict:
        """Translate a finish reason that no client knows, or send an error if the reason means a failure."""
        renamed = {**choice, "finish_reason": FOREIGN_REASONS.get(reason)}
        part = {**chunk, "choices": [renamed]}
        raw = write(part)
        verdict = self._read_choice(Event(raw, None, event.type), part, renamed)
        reply = ReplyBuilder()
        delta = choice.get("delta")
        if verdict is not PASS or reason in FOREIGN_REASONS or (isinstance(delta, dict) and has_content(delta)):
            reply.add(replaced(verdict, raw))
        if reason not in FOREIGN_REASONS:
            error = {"message": f"The upstream ended the answer with {reason}.", "type": reason, "code": reason}
            self._errored = True
            self._fail_choices(reply)
            reply.out.append(write({"error": error}))
        return reply.replacement()

    def _after_ends(self, raw: bytes, *, rewritten: bool = False) -> Verdict:
        """Forward an event that follows all choices (usage), after the finish reasons that wait."""
        reply = ReplyBuilder()
        for choice in self._choices.values():
            choice.stream.write_waiting_end(reply)
        if not reply.out and not rewritten:
            return PASS
        reply.out.append(raw)
        return reply.replacement()

    def _end(self, terminator: bytes, finish: Finish) -> Verdict:
        """`[DONE]` or the end of the stream: send everything that is held, and a finish reason if none arrived."""
        reply = ReplyBuilder()
        complete = self._end_choices(finish, reply)
        if not reply.out:
            return PASS
        if terminator or complete:
            reply.out.append(terminator or DONE)
        return reply.replacement()

    def _end_choices(self, finish: Finish, reply: ReplyBuilder) -> bool:
        """End all choices. True if nothing is missing in the answer."""
        if self._errored:
            self._fail_choices(reply)
            return False
        ends = [choice.end(finish, reply) for choice in self._choices.values()]
        return all(ends)

    def _fail(self, event: Event, again: bytes = b"", *, rewritten: bool = False) -> Verdict:
        """An error event: complete calls are sent, unfinished ones are dropped, and the error is forwarded.

        `again`: the same error in a form that clients know. `rewritten`: the event is one of ours.
        """
        self._errored = True
        reply = ReplyBuilder()
        self._fail_choices(reply)
        if not reply.out and not again and not rewritten and not self._engaged:
            return PASS
        reply.out += [event.raw, again] if again else [event.raw]
        return reply.replacement()

    def _fail_choices(self, reply: ReplyBuilder) -> None:
        for choice in self._choices.values():
            choice.fail(reply)
