"""Ollama's own `/api/chat`. `/api/generate` has no tools, so it is not handled."""

from __future__ import annotations

from ...mend.mender import Mender
from ...policy import Policy
from ...request.request import Request
from ...turn import payload
from ...wire.events import Event, Replace, Verdict
from ...wire.framing import NDJSON
from ..reader_writer import ReaderWriterDialect
from .reader import OllamaReader, is_last
from .writer import OllamaWriter


class Ollama(ReaderWriterDialect):
    __slots__ = ()
    framing = NDJSON

    def __init__(self, request: Request, policy: Policy, mender: Mender) -> None:
        reader = OllamaReader()
        super().__init__(request, policy, mender, reader, OllamaWriter(reader))

    def read(self, event: Event) -> Verdict:
        # Some clients stop at a blank line, so it is dropped while a call is held.
        return Replace() if event.data is None else super().read(event)

    def is_document(self, first: Event) -> bool:
        line = payload.read_strict(first.data or "")
        return isinstance(line, dict) and is_last(line)
