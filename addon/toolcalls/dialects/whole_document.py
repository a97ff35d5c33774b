"""An answer that came as one JSON document, in any protocol that is a reader and a writer."""

from __future__ import annotations

from dataclasses import dataclass

from ..mend.call import Mender
from ..mend.finish import Finish
from ..policy import Policy
from ..request.request import Request
from ..turn.answer import Answer
from ..turn.assembled_call import Slot
from ..turn.parts import Failure, OtherDelta, ReadEvent, ReasoningDelta, TextDelta
from ..wire.events import Event
from .answer_io import AnswerReader, AnswerWriter


@dataclass(slots=True, frozen=True)
class WholeDocument:
    """What has to be known to mend one."""

    request: Request
    policy: Policy
    mender: Mender
    reader: AnswerReader
    writer: AnswerWriter

    def mended(self, body: bytes) -> bytes:
        """What the client gets; the same bytes when nothing changes."""
        read = self.reader.read(Event(body, body.decode("utf-8", "replace")))
        if read is None or any(isinstance(part, Failure) for part in read.parts):
            return body
        answer = Answer(self.request, self.policy, self.mender, whole_calls=self.reader.form.whole_calls)
        stop, words = read.stop, self.writer.words
        finish = stop.finish if stop is not None else Finish.UNKNOWN
        answer.refused = any(isinstance(part, OtherDelta) and part.refusal for part in read.parts)
        texts = _searched(read, answer, finish)
        slots = _slots(read)
        if not slots:
            _look_into_thoughts(read, answer, finish)
        if (
            not slots
            and texts is None
            and not answer.turn.has_found
            and (stop is None or not words.needs_calls(stop.reason))
        ):
            return body
        if stop is not None:
            answer.stop(stop.reason, stop.finish)
        calls = answer.complete_whole(slots, finish, ids=self.writer.ids)
        reason = answer.true_reason(words) if stop is not None else None
        whole = len(calls) == len(slots) and all(call.unchanged for call in calls)
        if whole and texts is None and (stop is None or reason == stop.reason):
            return body
        spoken = texts if texts is not None else _texts(read)
        notes = answer.turn.take_notes()
        sent = [call for call in calls if not call.outcome.dropped]
        if sent and self.policy.null_content:
            spoken = ["" for _ in spoken]
        return self.writer.document(read, [*spoken, *notes], sent, None if reason is None else str(reason))


def _slots(read: ReadEvent) -> list[Slot]:
    """The calls of a body."""
    slots: list[Slot] = []
    for fragment in read.fragments:
        if slots and slots[-1].goes_on_with(fragment):
            slots[-1].take(fragment)
        elif not fragment.empty:
            slots.append(Slot.of(fragment))
    return slots


def _searched(read: ReadEvent, answer: Answer, finish: Finish) -> list[str] | None:
    """The texts of a body without the calls in them; None where there are none."""
    texts = _texts(read)
    said = [part for part in read.parts if isinstance(part, TextDelta | ReasoningDelta | OtherDelta)]
    if not texts or answer.search is None or not isinstance(said[-1], TextDelta):
        return None
    spoken: list[str] = []
    for text in texts[:-1]:
        # Something else stands between two texts: what is not decided then is none.
        known = answer.say(text)
        spoken.append(text if known is None else known.text + answer.pass_text_on().text)
    last = answer.search_whole(texts[-1], finish)
    spoken.append(texts[-1] if last is None else last.text)
    return spoken if answer.turn.has_found or spoken != texts else None


def _look_into_thoughts(read: ReadEvent, answer: Answer, finish: Finish) -> None:
    """Reasoning may end with the call of an answer that says nothing else."""
    if any(
        isinstance(part, OtherDelta) or (isinstance(part, TextDelta) and part.text.strip()) for part in read.parts
    ):
        return
    for part in read.parts:
        if isinstance(part, ReasoningDelta):
            answer.think(part.text)
    answer.end_text(finish)


def _texts(read: ReadEvent) -> list[str]:
    return [part.text for part in read.parts if isinstance(part, TextDelta)]
