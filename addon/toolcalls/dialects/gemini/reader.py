"""Turns Gemini's events into parts.

A call arrives in one piece, in any event, with an object as its arguments (or none); `finishReason` is `STOP` even
with calls. An event with several different parts is split into several events, so that their order is kept. Only the
first candidate is parsed: an event with another candidate passes unchanged, and counts only for how the first ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from ...mend.finish import Finish
from ...mend.reading.strict import write
from ...policy import Policy
from ...request.request import Request
from ...turn.fragment_answer import FragmentAnswer
from ...turn.parts import (
    Failure,
    Fragment,
    OtherDelta,
    Part,
    ReadEvent,
    ReasoningDelta,
    Stop,
    TextDelta,
    shown_text,
    string_of,
)
from ...turn.refusal_reasons import BEHIND_THE_END, PIECES_UNCLEAR
from ...wire.events import Event
from ..answer_io import AnswerReader, ProtocolTraits
from ..upstream_errors import error_in
from .envelope import Envelope, Json, answer_of, candidates_of, entries_of, is_first, parts_of, reason_of
from .malformed import REASON, STEP, quoted_call
from .partial_args import PartialArguments

CALL: Final = "functionCall"
SIGNATURE: Final = "thoughtSignature"
_PIECES: Final = "partialArgs"
_OWN_KEYS: Final = frozenset({"id", "name", "args", _PIECES, "willContinue"})
_STOPPED: Final = "STOP"


@dataclass(slots=True)
class _Run:
    """Parts that can share one event without losing their order."""

    raw_parts: list[Any] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    has_other_content: bool = False


class GeminiReader(AnswerReader):
    traits = ProtocolTraits(whole_calls=True, needs_finish_reason=True, needs_ids=False, text_key="text")

    def __init__(self, request: Request, policy: Policy, envelope: Envelope) -> None:
        self.answer: FragmentAnswer | None = None
        """The answer before the event that is being parsed."""
        self._request = request
        self._policy = policy
        self._envelope = envelope
        self._calls = 0
        """The number of calls so far, used as the index of the next one."""
        self._unfinished: PartialArguments | None = None
        """The call that arrives in pieces, until its last piece."""
        self._calls_overlap = False
        """A call began before the last one was over, or pieces arrived before their call: the next pieces cannot be
        attributed with certainty."""
        self._orphaned: str | None = None
        """The id ("" if missing) of pieces that arrived before the beginning of their call; None: no such pieces."""
        self._quoted = False
        """A finish message quoted a call, which was sent: a call after it may be the same one in other words."""
        self._ended = False
        """A finish reason arrived: a finish message after it is not searched for a call."""

    def read(self, event: Event) -> ReadEvent | None:
        data = self._envelope.read(event)
        runs = self._runs(data)
        if runs is None:
            return None
        parts = [part for run in runs for part in run.parts]
        return _read_event(event.raw, data, parts, any(run.has_other_content for run in runs))

    def read_apart(self, event: Event) -> list[ReadEvent]:
        data = self._envelope.read(event)
        runs = self._runs(data)
        if runs is None:
            return []
        if len(runs) < 2:
            run = runs[0] if runs else _Run()
            return [_read_event(event.raw, data, run.parts, run.has_other_content)]
        apart: list[ReadEvent] = []
        for run in runs:
            alone = self._envelope.like(data, run.raw_parts, ends=run is runs[-1])
            apart.append(_read_event(self._envelope.write(alone), alone, run.parts, run.has_other_content))
        return apart

    def _runs(self, data: Any) -> list[_Run] | None:
        """The runs of an event, in order; None if it is not an event of this protocol."""
        if error_in(data) is not None:
            return [_Run(parts=[Failure()])]
        if not isinstance(data, dict):
            return None
        candidates = candidates_of(data)
        if not candidates:
            return _blocked(data)
        first = candidates[0]
        if len(candidates) > 1 or not is_first(first):
            return [_Run(parts=_beside_others(list(filter(is_first, candidates))), has_other_content=True)]
        runs: list[_Run] = []
        for part in entries_of(first):
            run = self._part(part)
            if runs and _is_calls(run) and _is_calls(runs[-1]):
                runs[-1].raw_parts += run.raw_parts
                runs[-1].parts += run.parts
            else:
                runs.append(run)
        reason = reason_of(first)
        if reason:
            text = "".join(part.text for run in runs for part in run.parts if isinstance(part, TextDelta))
            ends = self._end(reason, first.get("finishMessage"), text)
            if not runs or _is_thoughts(runs[-1]) or len(ends) > 1:
                # Reasoning, and text before a call, is sent at once, but the end may have to wait.
                runs.append(_Run())
            runs[-1].parts += ends
        return runs

    def _part(self, part: Any) -> _Run:
        if not isinstance(part, dict):
            return _Run([part], [OtherDelta(shown=shown_text(part))], has_other_content=True)
        if is_call(part):
            return _Run([part], [self._call(part)])
        if is_text(part):
            # A signature without text has no part, because it does not show that a call before it is complete.
            return _Run([part], [TextDelta(part["text"])] if part["text"] else [], SIGNATURE in part)
        if is_thought(part):
            return _Run([part], [ReasoningDelta(part["text"], "text")], has_other_content=True)
        self._request.read_by_model.add_results(part)
        return _Run([part], [OtherDelta(shown=_shown_in(part))], has_other_content=True)

    def _call(self, part: Json) -> Fragment:
        """The fragment for a part with a call: the whole call, or a piece of it."""
        call = part[CALL]
        more = {key: value for key, value in call.items() if key not in _OWN_KEYS}
        extra = {key: value for key, value in part.items() if key != CALL} | ({CALL: more} if more else {})
        identity, name = string_of(call.get("id")), string_of(call.get("name"))
        goes_on = call.get("willContinue") is True
        if _PIECES in call or goes_on or (self._unfinished is not None and not name and "args" not in call):
            return self._piece(call, identity, name, extra, goes_on=goes_on)
        if not (identity or name or "args" in call):
            return Fragment(None, "", "", "")
        self._calls_overlap = self._calls_overlap or self._unfinished is not None
        self._unfinished = None
        self._calls += 1
        args = call.get("args")
        steps = ("arguments made an object",) if isinstance(args, str) else ()
        refusal_reason = self._refusal_reason
        return Fragment(
            self._calls, identity, name, _arguments(args), extra, steps=steps, refusal_reason=refusal_reason
        )

    def _piece(self, call: Json, identity: str, name: str, extra: Json, *, goes_on: bool) -> Fragment:
        """The fragment for the beginning, a piece or the end of a call that arrives in pieces."""
        pieces = self._unfinished
        if pieces is None or name or (identity and pieces.id and identity != pieces.id):
            self._calls_overlap = self._calls_overlap or pieces is not None or not name
            self._calls += 1
            # Pieces that arrived without a call may be missing from this one.
            lacks = self._orphaned is not None and not (identity and self._orphaned and identity != self._orphaned)
            self._orphaned = None if name else identity
            pieces = self._unfinished = PartialArguments(self._calls, identity, begun=bool(name) and not lacks)
        elif self._calls_overlap and _PIECES in call and not (identity and identity == pieces.id):
            pieces.mark_unclear()
        pieces.take(call.get(_PIECES))
        if goes_on:
            return Fragment(pieces.index, identity, name, "", extra, unfinished=True)
        self._unfinished = None
        value = pieces.value()
        unclear = value is None or bool(call.get("args"))
        refusal_reason = PIECES_UNCLEAR if unclear else self._refusal_reason
        arguments = write(value) if value is not None else ""
        return Fragment(
            pieces.index, identity, name, arguments, extra, steps=("put together",), refusal_reason=refusal_reason
        )

    @property
    def _refusal_reason(self) -> str:
        """Why a call that arrives now must be refused; empty if it need not be."""
        return BEHIND_THE_END if self._quoted else ""

    def _end(self, reason: str, message: object, text: str) -> list[Part]:
        """The parts for a finish reason. `text`: the text of the event before the finish reason."""
        if reason == REASON and not self._calls and not self._ended:
            quoted = quoted_call(message, self._request, self._policy)
            if quoted is not None and not (self.answer is not None and self.answer.would_quote_after(text)):
                self._calls += 1
                self._quoted = True
                call = Fragment(self._calls, "", *quoted, steps=(STEP,))
                return [call, Stop(_STOPPED, Finish.COMPLETE)]
        self._ended = True
        return [Stop(reason, Finish.of(reason))]


def _read_event(raw: bytes, data: Any, parts: list[Part], has_other_content: bool) -> ReadEvent:
    event = data if isinstance(data, dict) else {}
    answer_id = string_of(answer_of(event).get("responseId"))
    return ReadEvent(raw, event, parts, has_other_content, answer_id=answer_id)


def _blocked(data: Json) -> list[_Run]:
    """The runs of an event without a candidate: a stop if the answer is blocked."""
    feedback = answer_of(data).get("promptFeedback")
    reason = feedback.get("blockReason") if isinstance(feedback, dict) else None
    return [_Run(parts=[Stop(str(reason), Finish.CUT)])] if reason else []


def _beside_others(candidates: list[Json]) -> list[Part]:
    """What an event with other candidates reports about the first one: that it continues, or how it ended."""
    own = [part for candidate in candidates for part in parts_of(candidate)]
    texts = list(map(_shown_in, own))
    shown = None if None in texts else "".join(text for text in texts if text)
    parts: list[Part] = [OtherDelta(of_other_answer=not own, shown=shown)]
    reason = next(filter(None, map(reason_of, candidates)), "")
    return [*parts, Stop(reason, Finish.of(reason))] if reason else parts


def _shown_in(part: Json) -> str | None:
    """The text of a part that the client sees, unless it is reasoning."""
    return "" if part.get("thought") is True else shown_text(part.get("text"))


def is_call(part: Json) -> bool:
    """Whether the part is a call of the answer. A call inside reasoning does not count."""
    return isinstance(part.get(CALL), dict) and part.get("thought") is not True


def is_text(part: Json) -> bool:
    """Whether the part is text of the answer, with or without a signature."""
    return (
        isinstance(part.get("text"), str)
        and part.get("thought") is not True
        and part.keys() <= {"text", SIGNATURE, "thought"}
    )


def is_thought(part: Json) -> bool:
    """Whether the part is reasoning, with or without a signature."""
    return isinstance(part.get("text"), str) and part.get("thought") is True


def _is_thoughts(run: _Run) -> bool:
    return isinstance(run.raw_parts[-1], dict) and is_thought(run.raw_parts[-1])


def _is_calls(run: _Run) -> bool:
    return bool(run.parts) and isinstance(run.parts[0], Fragment)


def _arguments(args: Any) -> str:
    """The arguments as JSON text. A call without arguments has no `args`: that is how this protocol writes `{}`."""
    if args is None:
        return "{}"
    return args if isinstance(args, str) else write(args)
