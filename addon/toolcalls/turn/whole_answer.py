"""An answer that arrived as one document: what happens to its texts, its calls and its finish reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..mend.finish import Finish
from ..wire.events import MOST_CALLS, LimitReached
from ..work import TEXT
from .answer import Answer, CompletedCall
from .assembled_call import AssembledCall
from .block_call import BlockCall
from .finish_reason import FinishWords
from .parts import BlockStart, CallStart, Fragment, OtherDelta, ReadEvent, ReasoningDelta, Stop, TextDelta


@dataclass(slots=True, frozen=True)
class MendedAnswer:
    """What the client gets instead of an answer."""

    texts: list[str]
    """These replace the answer's own texts, one for one."""
    notes: list[str]
    """The notes about dropped calls."""
    calls: list[CompletedCall]
    reason: object
    """The finish reason; None if the answer gave none."""
    found: bool
    """Whether a call was found in text or reasoning."""


def mend_answer(
    read: ReadEvent, answer: Answer[Any], words: FinishWords, *, rewrite: bool = False
) -> MendedAnswer | None:
    """What the client gets instead of an answer that arrived as a whole; None if it gets the answer unchanged.

    `rewrite`: return the calls even if none changed; the caller compares them.
    """
    stop = read.stop
    finish = stop.finish if stop is not None else Finish.UNKNOWN
    answer.model_refused = any(isinstance(part, OtherDelta) and part.refusal for part in read.parts)
    answer.other_tools = any(isinstance(part, BlockStart) and part.calls for part in read.parts)
    texts = _searched(read, answer, finish)
    assembled_calls = _assembled(read)
    if not assembled_calls:
        _search_reasoning(read, answer, finish)
    calls_expected = stop is not None and words.needs_calls(stop.reason)
    found = bool(answer.outgoing.found)
    if not (assembled_calls or texts is not None or found or calls_expected or rewrite):
        return None
    if stop is not None:
        answer.note_reason(stop.reason, stop.finish)
    calls = answer.release(assembled_calls, finish)
    reason = answer.true_reason(words) if stop is not None else None
    whole = len(calls) == len(assembled_calls) and all(call.unchanged for call in calls)
    if whole and texts is None and (stop is None or reason == stop.reason) and not rewrite:
        return None
    sent = [call for call in calls if not call.outcome.dropped]
    return MendedAnswer(_texts(read) if texts is None else texts, answer.outgoing.pop_notes(), sent, reason, found)


def _assembled(read: ReadEvent) -> list[AssembledCall]:
    """The calls of an answer."""
    assembled_calls: list[AssembledCall] = []
    others = (number for number, part in enumerate(read.parts) if not isinstance(part, Fragment | Stop))
    last_other = max(others, default=-1)
    for number, part in enumerate(read.parts):
        last = assembled_calls[-1] if assembled_calls else None
        if isinstance(part, CallStart):
            followed = number < last_other
            assembled_calls.append(BlockCall.of_start(part, started=True, ended=True, followed=followed))
        elif isinstance(part, Fragment) and isinstance(last, BlockCall):
            last.add(part.arguments)
            last.steps += part.steps
        elif isinstance(part, Fragment) and last is not None and last.goes_on_with(part):
            last.take(part)
        elif isinstance(part, Fragment) and not part.empty:
            assembled_calls.append(AssembledCall.of(part))
        if len(assembled_calls) > MOST_CALLS:
            raise LimitReached
    return assembled_calls


def _searched(read: ReadEvent, answer: Answer[Any], finish: Finish) -> list[str] | None:
    """The texts of an answer without the calls in them; None if nothing changes."""
    texts = _texts(read)
    parts = [part for part in read.parts if isinstance(part, TextDelta | ReasoningDelta | OtherDelta)]
    if not texts or not answer.examines_text or not isinstance(parts[-1], TextDelta):
        return None
    searched: list[str] = []
    for part in parts[:-1]:
        # Something else is between two texts, so held text before it is no call.
        if isinstance(part, TextDelta):
            answer.spend(TEXT)
            known = answer.take_text(part.text)
            searched.append((part.text if known is None else known.text) + answer.release_text().text)
        elif isinstance(part, OtherDelta) and part.shown != "":
            answer.spend(TEXT)
            answer.take_other(part.shown)
            answer.release_text()
    searched.append(answer.search_whole(texts[-1], finish).text)
    return searched if answer.outgoing.found or searched != texts else None


def _search_reasoning(read: ReadEvent, answer: Answer[Any], finish: Finish) -> None:
    """Take the call that the reasoning may end with, if the answer has nothing else."""
    if any(
        isinstance(part, OtherDelta) or (isinstance(part, TextDelta) and part.text.strip()) for part in read.parts
    ):
        return
    for part in read.parts:
        if isinstance(part, ReasoningDelta):
            answer.take_reasoning(part.text)
    answer.end_reasoning(finish)


def _texts(read: ReadEvent) -> list[str]:
    return [part.text for part in read.parts if isinstance(part, TextDelta)]
