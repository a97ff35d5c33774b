"""The WHATWG event-stream format, on bytes.

Strategy: find the blank lines that end events, never decode more than one event, never look at a byte twice. An
event keeps its own bytes, so that an event that needs no change is forwarded byte for byte.

Lines end with LF, CRLF or CR. If the bytes that have arrived end with a CR, it may be half of a CRLF: after an LF,
which a stream with CRLF line ends has sent before, the LF is waited for. A second CR ends its event at once; if an LF
does follow, it is an empty line of the next event, wherever the network cut the stream.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Final, NamedTuple

LINE_ENDS: Final = "\x85\u2028\u2029"
"""The characters that `str.splitlines` cuts at, without the control characters, which JSON always escapes."""
BOM = b"\xef\xbb\xbf"
_BLANK_LINES = (b"\n\n", b"\n\r\n", b"\n\r", b"\r\r", b"\r\n\r\n")
"""The ends of bytes whose last line is blank."""
_HUGE_EVENT = 64 * 1024

_WRAPPED = "data:"
_MOST_WRAPPERS = 3

# A CRLF must never be read as two line ends. Each alternative begins with a letter, so the search is quick.
_BLANK_LINE = re.compile(rb"\r(?:\r|\n(?:\r\n?|\n))|\n(?:\r\n?|\n)")
_LINE_END = re.compile(rb"\r\n|\n|\r")
COMMENTS = re.compile(rb"(?>(?>:[^\r\n]*+)?+[\r\n])*+\s*+")
"""Nothing but white space and whole lines of comments."""


class Event(NamedTuple):
    """One event, in any framing. `raw`: its bytes with its blank line; `data`: None if the event has no data."""

    raw: bytes
    data: str | None
    type: str = ""


def cut(block: bytes | bytearray, start: int = 0) -> tuple[list[bytes], int]:
    """The complete events that a block begins with, and the offset after them; -1 if none ends behind `start`."""
    if block.find(b"\r", start) >= 0:
        # A CR after an LF is half of a CRLF: without its LF the event is not complete.
        most = len(block) - 1 if block.endswith(b"\n\r") else len(block)
        ends = (match.end() for match in _BLANK_LINE.finditer(block, start))
        end = max((end for end in ends if end <= most), default=-1)
    else:
        at = end = block.rfind(b"\n\n", start) + 2
        while block.endswith(b"\n\n\n", start, at):
            at -= 1
        # The last of an odd run of line ends belongs to the next event, wherever the network cut the stream.
        end = end - (end - at) % 2 if end >= 2 else -1
    return split(bytes(block[:end])) if end > 0 else [], end


def split(block: bytes) -> list[bytes]:
    """Cut a block that ends with a blank line into the bytes of its events."""
    mark = b"\n\n"
    if block.find(b"\r") >= 0:
        mark = b"\r\n\r\n"
        if not block.count(b"\r") == block.count(b"\n") == block.count(b"\r\n"):
            ends = [0, *(match.end() for match in _BLANK_LINE.finditer(block)), len(block)]
            return [block[start:end] for start, end in pairwise(ends) if start < end]
    events, start = list[bytes](), 0
    # One character is found much faster than two, and events have few lines.
    while (end := block.find(mark, block.find(b"\n", start) + 1 - len(mark) // 2) + len(mark)) >= len(mark):
        if end - start == len(block):
            return [block]
        events.append(block[start:end])
        start = end
    return [*events, block[start:]] if start < len(block) else events


def read_event(raw: bytes) -> Event:
    """Parse the bytes of one event."""
    line = raw.find(b"\n") + 1 if raw.startswith(b"event: ") else 0
    end = len(raw) - (2 if line or not raw.endswith(b"\r\n\r\n") else 4)
    one_line = raw.find(b"\n", line, end) < 0 and raw.find(b"\r", 0, end) < 0
    if raw.startswith(b"data: ", line) and one_line and raw[end:] in _BLANK_LINES:
        # Long data is decoded without copying its bytes first.
        data = (raw if len(raw) < _HUGE_EVENT else memoryview(raw))[line + 6 : end]
        kind = raw[7 : line - 1].decode("utf-8", "replace") if line else ""
        return Event(raw, str(data, "utf-8", "replace"), kind)
    return _read_lines(raw)


def _read_lines(raw: bytes) -> Event:
    data: list[bytes] = []
    kind = error = b""
    for line in _LINE_END.split(raw.removeprefix(BOM)):
        # "If the line contains a colon, the field is the part before it; one space after it is dropped.
        # Otherwise the whole line is the field name and the value is empty." A leading colon is a comment.
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            kind = value
        elif field == b"error":
            error = value
    if error and not data:
        # The standard has no `error` field. llama.cpp sends its errors in it, and clients would ignore them.
        data, kind = [error], b"error"
    text = b"\n".join(data).decode("utf-8", "replace") if data else None
    return Event(raw, text, kind.decode("utf-8", "replace"))


def unwrapped(event: Event) -> Event:
    """The event inside an event whose data is again an event (`data: data: {…}`), in canonical form."""
    for _ in range(_MOST_WRAPPERS):
        data = event.data or ""
        if not data.startswith(_WRAPPED) and not (data.startswith("event:") and "\n" + _WRAPPED in data):
            break
        inner = _read_lines(data.encode())
        lines = (inner.data or "").replace("\n", "\ndata: ")
        kind = inner.type or event.type
        event = Event(write(lines, kind), inner.data, kind)
    return event


def is_ended(raw: bytes) -> bool:
    """Whether an event has its blank line. Only the last one of a stream may lack it."""
    return raw.endswith(_BLANK_LINES)


def ended(raw: bytes) -> bytes:
    """The event with its blank line, which the stream did not send."""
    if is_ended(raw):
        return raw
    return raw + (b"\n" if raw.endswith(b"\n") else b"\n\n")


def comment(text: str) -> bytes:
    """A comment that keeps a connection alive; `text` may be one that a gateway wrapped as data (`data: : wait`)."""
    return f":{text.strip().removeprefix(':')}\n\n".encode()


def lines_alone(event: Event) -> list[Event]:
    """Each data line of an event as an event of its own, if a "blank" line between events was not really blank."""
    lines = (event.data or "").split("\n")
    events = [Event(write(line, event.type), line, event.type) for line in lines if line.strip()]
    if events and not is_ended(event.raw) and not is_whole(events[-1].data, say_done=True):
        events[-1] = events[-1]._replace(raw=events[-1].raw.rstrip(b"\n"))
    return events


def in_one_line(data: str) -> str:
    """JSON in which the characters are escaped that Python clients take for a line end: httpx reads lines of text."""
    for character in LINE_ENDS:
        data = data.replace(character, f"\\u{ord(character):04x}")
    return data


def write(data: str, kind: str = "") -> bytes:
    """An event of ours, in canonical form."""
    head = f"event: {kind}\n" if kind else ""
    # The data is JSON, in which a lone surrogate may be written as an escape: backslashreplace does just that.
    line = data if data.isascii() else in_one_line(data)
    return f"{head}data: {line}\n\n".encode("utf-8", "backslashreplace")


def is_whole(data: str | None, *, say_done: bool) -> bool:
    """Whether this is the complete data of an event. No JSON object is a prefix of another.

    `say_done`: `[DONE]` counts too. It means no more than the end of the stream, so in an answer that passes
    unchanged it is not given the blank line that it lacks.
    """
    if data is None or data.strip() == "[DONE]":
        return data is not None and say_done
    try:
        return isinstance(json.loads(data), dict)
    except (ValueError, RecursionError):
        return False
