"""One event of a stream, in any framing."""

from __future__ import annotations

from typing import Final, NamedTuple

LINE_ENDS: Final = "\x85\u2028\u2029"
"""The characters that `str.splitlines` cuts at, without the control characters, which JSON always escapes."""


def in_one_line(data: str) -> str:
    """JSON in which the characters are escaped that Python clients take for a line end: httpx reads lines of text."""
    for character in () if data.isascii() else LINE_ENDS:
        data = data.replace(character, f"\\u{ord(character):04x}")
    return data


class Event(NamedTuple):
    """One event of the upstream. `raw`: its bytes with its blank line; `data`: None if the event has no data."""

    raw: bytes
    data: str | None
    type: str = ""
