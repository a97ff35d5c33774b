"""The WHATWG event-stream format, on bytes.

Strategy: find the blank lines that end events, never decode more than one event, never look at a byte twice. An
event keeps its own bytes, so that an event that needs no change is forwarded byte for byte.

Lines end with LF, CRLF or CR. If the bytes that have arrived end with a CR, it may be half of a CRLF: in a stream
with CRLF line ends the LF is waited for. In a stream with CR line ends the CR ends its line at once; if an LF does
follow, it belongs to that event, and the stream sends or drops it like the event.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from .events import Event

BOM = b"\xef\xbb\xbf"
_LF = 0x0A
_LONG_LINE = 400
_LONG_EVENT = 64 * 1024
_FEW_LINES = 4

_WRAPPED = "data:"
_MOST_WRAPPERS = 3

# Atomic groups: a CRLF must never be read as two line ends.
_BLANK_LINE = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
_LINE_END = re.compile(rb"\r\n|\n|\r")
_LF_EVENT = re.compile(rb".*+\n(?>.++\n)*+\n|(?s:.++)")
"""An event of a block without CR: lines up to a blank one, or a rest without a blank line."""


def end_of_last_event(block: bytes | bytearray, start: int = 0) -> int:
    """The offset after the last complete event of the block, searched from `start`; -1 if there is none."""
    if block.find(b"\r", start) < 0:
        # Searching for one byte is much faster than for two, and most of a long event has no line feed at all.
        end = block.rfind(b"\n\n", start, block.rfind(b"\n", start) + 1)
        if end < 0:
            return -1
        if end and block[end - 1] == _LF:
            # The last of an odd run of line feeds belongs to the next event, wherever the network cut the stream.
            head = block[: end + 2]
            return end + 2 - (len(head) - len(head.rstrip(b"\n"))) % 2
        return end + 2
    end = -1
    # A CR after an LF is half of a CRLF: without its LF the event is not complete.
    most = len(block) - 1 if block.endswith(b"\n\r") else len(block)
    for match in _BLANK_LINE.finditer(block, start):
        if match.end() <= most:
            end = match.end()
    return end


def _blank_lines(block: bytes) -> Iterator[re.Match[bytes]]:
    """The blank lines, found by going from one LF or CR to the next, because long events have few line ends."""
    at = 0
    feed, line_return = block.find(b"\n"), block.find(b"\r")
    while feed >= 0 or line_return >= 0:
        at = min(place for place in (feed, line_return) if place >= 0)
        blank = _BLANK_LINE.match(block, at)
        ended = _LINE_END.match(block, at)
        at = blank.end() if blank else ended.end() if ended else at + 1
        if blank:
            yield blank
        feed = block.find(b"\n", at) if 0 <= feed < at else feed
        line_return = block.find(b"\r", at) if 0 <= line_return < at else line_return


def split(block: bytes) -> list[bytes]:
    """Cut a block that ends with a blank line into the bytes of its events."""
    if block.find(b"\r") < 0:
        end = block.find(b"\n\n", 0, _LONG_LINE)
        if end == len(block) - 2:
            return [block]
        if end < 0:
            return _split_long(block)
        return _LF_EVENT.findall(block)
    if len(block) > _LONG_LINE * (block.count(b"\n") + block.count(b"\r")):
        blank_lines = _blank_lines(block)
    else:
        blank_lines = _BLANK_LINE.finditer(block)
    events = []
    start = 0
    for blank_line in blank_lines:
        end = blank_line.end()
        events.append(block[start:end])
        start = end
    if start < len(block):
        events.append(block[start:])
    return events


def count_lines(raw: bytes) -> int:
    """The number of LFs and CRs. Finding a few one by one takes a tenth of the time of counting."""
    lines, at = 0, raw.find(b"\n")
    while at >= 0 and lines < _FEW_LINES:
        lines, at = lines + 1, raw.find(b"\n", at + 1)
    return (raw.count(b"\n") if at >= 0 else lines) + (raw.count(b"\r") if b"\r" in raw else 0)


def _split_long(block: bytes) -> list[bytes]:
    """Split a block of long lines: searching for one byte is several times faster than searching for two."""
    events = []
    start = at = 0
    while (at := block.find(b"\n", at) + 1) > 0:
        if block.startswith(b"\n", at):
            at += 1
            events.append(block[start:at])
            start = at
    if start < len(block):
        events.append(block[start:])
    return events


def read_event(raw: bytes) -> Event:
    """Parse the bytes of one event."""
    line = raw.find(b"\n") + 1 if raw.startswith(b"event: ") else 0
    if raw.startswith(b"data: ", line) and raw.find(b"\n", line) == len(raw) - 2 and raw.find(b"\r") < 0:
        # Long data is decoded without copying its bytes first.
        data = (raw if len(raw) < _LONG_EVENT else memoryview(raw))[line + 6 : -2]
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


def ended(raw: bytes) -> bytes:
    """The event with its blank line, which the stream did not send."""
    if raw.endswith((b"\n\n", b"\r\n\r\n", b"\r\r")):
        return raw
    return raw + (b"\n" if raw.endswith(b"\n") else b"\n\n")


def comment(text: str) -> bytes:
    """A comment that keeps a connection alive; `text` may be one that a gateway wrapped as data (`data: : wait`)."""
    return f":{text.strip().removeprefix(':')}\n\n".encode()


def lines_alone(event: Event) -> list[Event]:
    """Each data line of an event as an event of its own, if a "blank" line between events was not really blank."""
    lines = (event.data or "").split("\n")
    return [Event(write(line, event.type), line, event.type) for line in lines if line.strip()]


def write(data: str, kind: str = "") -> bytes:
    """An event of ours, in canonical form."""
    head = f"event: {kind}\n" if kind else ""
    # The data is JSON, in which a lone surrogate may be written as an escape: backslashreplace does just that.
    return f"{head}data: {data}\n\n".encode("utf-8", "backslashreplace")


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
