"""The one question before parsing: is this event like the last one, and can a byte of its text matter?

Most events are a piece of text, or of the arguments of a call, and differ from the one before in that piece alone.
What stands around the piece is remembered. A chunk of nothing but such events with text passes unparsed if no call
can begin in the texts; the search is given them when it needs them. Of all others only the piece is read.
"""

from __future__ import annotations

import re
from json import dumps, loads
from typing import Final

from .sizes import MOST_SEARCHED
from .textcalls.formats import BEGINNINGS, OPENERS
from .textcalls.wrappers import ENDS


def _marks() -> list[str]:
    """Texts of which one is in everything that can begin a call, or that ends the reasoning; a word stands for
    itself, since it counts at the beginning of a line only, all else for its first two characters."""
    marks = ["<"]
    for opener in sorted((*OPENERS, *ENDS), key=len):
        if not any(mark in opener for mark in marks):
            marks.append(opener if opener[0] in _WORDS else opener[:2])
    return marks


_WORDS: Final = frozenset(opener[0] for opener in OPENERS if opener[0].isalpha() or opener[0] == ">")
_MARKS: Final = (*_marks(), ".a")
"""`.assistant` may begin a call."""
_MAY_GO_ON: Final = (*sorted({opener[0] for opener in (*OPENERS, *ENDS)} - _WORDS), ".")
"""The ends of a text that may be the beginning of something with a mark."""
_UNUSUAL: Final = re.compile(rb'[^ -~]|["\\]')
"""What makes a piece worth a second look: an escape, a quote, a byte that is no printable ASCII."""
_RARE: Final = {next(char for char in mark if not char.isalnum()) for mark in _MARKS} | {*_MAY_GO_ON, '"', "\\"}
_MAY_MATTER: Final = re.compile(
    b"[^%b]" % re.escape("".join(char for char in map(chr, range(32, 127)) if char not in _RARE)).encode()
)
"""What makes a piece worth a second look if it is searched: one of these is in everything that can begin a call."""
_LONG: Final = 256
"""From this size on, looking for each mark in turn takes less time than one pattern for all characters."""
_VARYING: Final = re.compile(
    rb'"(?:sequence_number|created_at|obfuscation|p|candidatesTokenCount|totalTokenCount)": ?(?:"([^"\\]*)"|([0-9]+))'
)
"""What may differ between events that are alike."""
_QUOTE, _BACKSLASH = b'"\\'
_NOTHING: Final = b"\0"
"""What no event begins with."""


class Alike:
    """What the last event has around its piece of text or arguments."""

    __slots__ = ("_before", "_begin", "_behind", "_end")

    def __init__(self) -> None:
        self._begin = _NOTHING
        """What the event begins with, up to the piece or the first value that varies."""
        self._before: list[bytes] = []
        """What follows each such value before the piece."""
        self._end = b""
        """What follows the piece, up to the next such value."""
        self._behind: list[bytes] = []
        """What follows each such value behind the piece."""

    @property
    def varies(self) -> bool:
        """Whether such events differ in more than the piece."""
        return bool(self._before or self._behind)

    def learn(self, raw: bytes, piece: str) -> None:
        """An event says nothing but this piece."""
        self._begin = _NOTHING
        for ascii_only in (False, True):
            literal = dumps(piece, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
            begin = raw.find(literal) + 1
            if begin and raw.find(literal, begin) < 0:
                own = (begin, begin + len(literal) - 2)
                places = sorted([own, *(value.span(value.lastindex or 0) for value in _VARYING.finditer(raw))])
                ends = [*(start for start, _ in places[1:]), len(raw)]
                constants = [raw[at:end] for (_, at), end in zip(places, ends, strict=True)]
                at = places.index(own)
                self._begin = raw[: places[0][0]]
                self._before, self._end, self._behind = constants[:at], constants[at], constants[at + 1 :]
                return

    def texts(self, chunk: bytes, line_begun: bool | None) -> tuple[list[str], int, bool | None]:
        """The texts of the first events of a chunk, and where these events end: all that are alike and say nothing
        that matters. `line_begun`: whether the line has begun with words that begin no call, and then whether the
        next one has; None if the texts are not searched, so that none matters."""
        texts: list[str] = []
        passed = 0
        unusual = _UNUSUAL if line_begun is None else _MAY_MATTER
        while passed < len(chunk):
            piece, end = self._next(chunk, passed)
            if end < 0:
                break
            if len(piece) < _LONG and line_begun is not False and not unusual.search(piece):
                text = piece.decode()
            else:
                read = _text_of(piece)
                if read is None:
                    break
                # A call may begin in the text, or at its end; text that is too long to be searched ends the search.
                marked = line_begun is not None and (
                    read.endswith(_MAY_GO_ON) or any(mark in read for mark in _MARKS)
                )
                if marked or len(read) > MOST_SEARCHED:
                    break
                text = read
                if line_begun is False or (line_begun and "\n" in text):
                    line = text[text.rfind("\n") + 1 :].lstrip()
                    if line in BEGINNINGS:
                        break
                    line_begun = bool(line)
            texts.append(text)
            passed = end
        return texts, passed, line_begun

    def piece(self, event: bytes) -> str:
        """The piece of an event that is alike; empty if it has to be parsed."""
        piece, end = self._next(event, 0)
        return (_text_of(piece) or "") if end == len(event) else ""

    def _next(self, chunk: bytes, at: int) -> tuple[bytes, int]:
        """The piece of the event that begins here, and where that event ends; -1 if it is not like the last one."""
        if not chunk.startswith(self._begin, at):
            return b"", -1
        at += len(self._begin)
        begin = _behind_all(self._before, chunk, at) if self._before else at
        end = chunk.find(self._end, begin) if begin >= 0 else -1
        if end < 0:
            return b"", -1
        behind = end + len(self._end)
        return chunk[begin:end], _behind_all(self._behind, chunk, behind) if self._behind else behind


def _behind_all(constants: list[bytes], chunk: bytes, at: int) -> int:
    """Where all of these end, with a value in front of each, of which the first begins here; -1 if they do not."""
    for constant in constants:
        end = chunk.find(constant, at)
        value = chunk[at:end]
        if end < 0 or _QUOTE in value or _BACKSLASH in value:
            return -1
        at = end + len(constant)
    return at


def _text_of(piece: bytes) -> str | None:
    """What the inside of a JSON string means; None if this is none."""
    try:
        text = piece.decode()
        usual = text.isprintable() and '"' not in text and "\\" not in text
        return text if usual else str(loads(f'"{text}"'))
    except ValueError:
        return None
