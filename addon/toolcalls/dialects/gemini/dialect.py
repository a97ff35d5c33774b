"""Gemini as a dialect with a reader and a writer. A JSON array is treated as a stream whose events are its items."""

from __future__ import annotations

import json
import re
from typing import Final

from ...mend.mender import Mender
from ...policy import Policy
from ...request.request import Request
from ...turn import payload
from ...wire.events import PASS, Event, Replace, Verdict
from ..reader_writer import ReaderWriterDialect
from ..upstream_errors import error_in
from .envelope import Envelope
from .reader import GeminiReader
from .writer import GeminiWriter

_BETWEEN: Final = re.compile(r"[\s,]*")


class Gemini(ReaderWriterDialect):
    __slots__ = ("_envelope",)

    def __init__(self, request: Request, policy: Policy, mender: Mender, *, sse: bool = True) -> None:
        self._envelope = Envelope(sse=sse)
        reader = GeminiReader(request, policy, self._envelope)
        super().__init__(request, policy, mender, reader, GeminiWriter(self._envelope))
        reader.answer = self._stream.answer

    def read(self, event: Event) -> Verdict:
        if event.data is not None:
            return super().read(event)
        self.lesson = None
        return self._fail(event) if _is_bare_error(event) else PASS

    def break_off(self, half: Event) -> Verdict:
        return self._fail(half) if _is_bare_error(half) else super().break_off(half)

    def body(self, body: bytes) -> bytes:
        alone = Gemini(self._request, self._policy, self._mender, sse=False)
        items = _items(body)
        return alone.document(body) if items is None else alone.array(body, items)

    def document(self, body: bytes) -> bytes:
        """Mend one response object."""
        return super().body(body)

    def array(self, body: bytes, items: list[str]) -> bytes:
        """Mend the events of a stream in one JSON array (`:streamGenerateContent` without `alt=sse`)."""
        out: list[bytes] = []
        changed = False
        for item in items:
            raw = item.encode()
            verdict = self.read(Event(raw, item))
            changed = changed or verdict is not PASS
            if isinstance(verdict, Replace):
                out += verdict.out
            elif verdict is PASS:
                out.append(raw)
        closing = self.close()
        out += closing.out if closing is not None else ()
        if not changed or out == [item.encode() for item in items]:
            return body
        return b"[" + b",\n".join(out) + b"]\n"


def _is_bare_error(event: Event) -> bool:
    """Whether this is an error without `data:`. Some clients read it, so a held call has to be sent before it."""
    return error_in(payload.read_strict(event.raw.decode("utf-8", "replace"))) is not None


def _items(body: bytes) -> list[str] | None:
    """The items of a JSON array as their source text; None if the body is not an array."""
    text = body.decode("utf-8", "replace").strip().removeprefix("\ufeff")
    if not text.startswith("[") or not text.endswith("]"):
        return None
    decoder = json.JSONDecoder()
    items: list[str] = []
    at = 1
    try:
        while (at := _skip_separator(text, at)) < len(text) - 1:
            end = decoder.raw_decode(text, at)[1]
            items.append(text[at:end])
            at = end
    except (ValueError, RecursionError):
        return None
    return items


def _skip_separator(text: str, at: int) -> int:
    """The position after the separator between two items."""
    between = _BETWEEN.match(text, at)
    return between.end() if between else at
