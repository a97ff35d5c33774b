"""Mending an answer that arrived as one JSON document, for every protocol with a reader and a writer."""

from __future__ import annotations

from dataclasses import replace

from ..mend.mender import Mender
from ..policy import Policy
from ..request.request import Request
from ..turn.fragment_answer import FragmentAnswer
from ..turn.parts import Failure
from ..turn.whole_answer import mend_answer
from ..wire.events import Event
from .answer_io import AnswerReader, AnswerWriter


def mend_document(
    body: bytes, request: Request, policy: Policy, mender: Mender, reader: AnswerReader, writer: AnswerWriter
) -> bytes:
    """The body that the client gets; the same bytes if nothing changes."""
    read = reader.read(Event(body, body.decode("utf-8", "replace")))
    if read is None or any(isinstance(part, Failure) for part in read.parts):
        return body
    traits = reader.traits
    if read.stop is None:
        # The body may be the first line of a stream that was cut off there.
        traits = replace(traits, needs_finish_reason=True)
    mended = mend_answer(read, FragmentAnswer(request, policy, mender, traits), writer.words)
    if mended is None:
        return body
    silent = mended.calls and policy.null_content
    texts = ["" for _ in mended.texts] if silent else mended.texts
    reason = None if mended.reason is None else str(mended.reason)
    return writer.document(read, [*texts, *mended.notes], mended.calls, reason)
