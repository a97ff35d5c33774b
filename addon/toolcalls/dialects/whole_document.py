"""An answer that came as one JSON document, in any protocol that is a reader and a writer."""

from __future__ import annotations

from dataclasses import dataclass

from ..mend.mender import Mender
from ..policy import Policy
from ..request.request import Request
from ..turn.fragment_answer import FragmentAnswer
from ..turn.parts import Failure
from ..turn.whole_answer import mend_answer
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
        form = self.reader.form
        answer = FragmentAnswer(
            self.request,
            self.policy,
            self.mender,
            whole_calls=form.whole_calls,
            # Without a finish reason it may be the first line of a stream that ended there.
            says_complete=form.says_complete or read.stop is None,
        )
        mended = mend_answer(read, answer, self.writer.words, ids=self.writer.ids)
        if mended is None:
            return body
        silent = mended.calls and self.policy.null_content
        texts = ["" for _ in mended.texts] if silent else mended.texts
        reason = None if mended.reason is None else str(mended.reason)
        return self.writer.document(read, [*texts, *mended.notes], mended.calls, reason)
