"""What a response body is: decided by its first byte and, if it may be lines of JSON, by its first line."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum


class BodyKind(Enum):
    UNKNOWN = "nothing but white space so far"
    EVENTS = "an event stream"
    LINE = "a line that may be one JSON document"
    DOCUMENT = "one JSON document"
    PASSING = "passes unchanged"
    ENDED = "is swallowed: we ended the answer"


def kind_of(first: bytes, *, lines: bool) -> BodyKind:
    """The kind by the first byte that is not white space. `lines`: the protocol sends lines of JSON."""
    if lines:
        # Other servers use the same path, with any kind of body.
        return BodyKind.LINE if first == b"{" else BodyKind.PASSING
    if first in (b"{", b"["):
        return BodyKind.DOCUMENT
    # A page of HTML, or Amazon's event stream, which is binary and begins with a length.
    return BodyKind.PASSING if first in (b"<", b"\0") else BodyKind.EVENTS


def kind_of_first_line(body: bytes, is_document: Callable[[bytes], bool]) -> BodyKind:
    """The kind by the first line: it may be the whole body (LINE), or begin a longer document or a stream."""
    line, _, behind = body.lstrip().partition(b"\n")
    if line.strip() == b"{":
        return BodyKind.DOCUMENT
    return BodyKind.EVENTS if behind.strip() or not is_document(line) else BodyKind.LINE
