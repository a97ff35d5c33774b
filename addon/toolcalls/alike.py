"""The one question before parsing: is this event like the last one, and can a byte of its text matter?

Most events are a piece of text, or of the arguments of a call, and differ from the one before in that piece alone.
What stands around the piece is remembered. A chunk of nothing but such events with text passes unparsed if no call
can begin in the texts; the search is given them when it needs them. Of all others only the piece is read.
"""

from __future__ import annotations

import re
from json import dumps
from typing import Final

from .mend.strict import read_inside
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
_MARKS: Final = (*(mark.encode() for mark in _marks()), b".a", b"\\u")
"""As they stand in a JSON string, in which any character may be escaped. `.assistant` may begin a call."""
_FIRSTS: Final = sorted({opener[0] for opener in (*OPENERS, *ENDS)} - _WORDS)
_MAY_GO_ON: Final = (*(first.encode() for first in _FIRSTS), b".")
"""The ends of a text that may be the beginning of something with a mark."""
_MATTERS: Final = re.compile(b"|".join([*map(re.escape, _MARKS), *(re.escape(end) + rb"\Z" for end in _MAY_GO_ON)]))
_SPECIAL: Final = re.compile(rb'[\n"\\]')
"""What a piece is looked at twice for: the end of the string, an escape, the end of the event."""
_SPECIAL_OR_MARK: Final = re.compile(rb'\n|"|\\|' + _MATTERS.pattern)
_LONG: Final = 256
"""From this size on, looking for each mark takes less time than one pattern for all."""
_BEGINNINGS: Final = frozenset(beginning.encode() for beginning in BEGINNINGS)
"""Lines that may become the beginning of a call."""
_VARYING: Final = re.compile(
    rb'"(?:sequence_number|created_at|obfuscation|candidatesTokenCount|totalTokenCount)": ?("[^"\\]*"|[0-9]+)'
)
"""What may differ between events that are alike."""
_VALUE: Final = re.compile(rb'"[^"\\]*"|[0-9]+')
_LONGEST_VALUE: Final = 512


class Alike:
    """What the last event has around its piece of text or arguments."""

    __slots__ = ("_before", "_begin", "_behind", "_end")

    def __init__(self) -> None:
        self._begin = self._end = b""
        """What the event begins with, and what comes right behind the piece, up to the first value that varies."""
        self._before: list[bytes] = []
        """What stands between the beginning and the piece, each behind such a value."""
        self._behind: list[bytes] = []
        """What stands behind the piece, each behind such a value."""

    @property
    def varies(self) -> bool:
        """Whether such events differ in more than the piece."""
        return bool(self._before or self._behind)

    def learn(self, raw: bytes, piece: str) -> None:
        """An event says nothing but this piece."""
        self._begin = self._end = b""
        self._before, self._behind = [], []
        for ascii_only in (False, True):
            literal = dumps(piece, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
            before, found, behind = raw.partition(literal)
            if found and literal not in behind:
                for data, constants in ((before + b'"', self._before), (b'"' + behind, self._behind)):
                    at = 0
                    for value in _VARYING.finditer(data):
                        constants.append(data[at : value.start(1)])
                        at = value.end(1)
                    constants.append(data[at:])
                self._begin, self._end = self._before.pop(0), self._behind.pop(0)
                return

    def texts(self, chunk: bytes, line_begun: bool | None) -> tuple[list[bytes], int, bool | None]:
        """The texts of the first events of a chunk, as they stand in their JSON strings, and where these events end:
        all that are alike and say nothing that matters. `line_begun`: whether the line has begun with words that
        begin no call, and then whether the next one has; None if the texts are not searched, so that none matters."""
        texts: list[bytes] = []
        passed = 0
        special = _SPECIAL if line_begun is None else _SPECIAL_OR_MARK
        while passed < len(chunk):
            piece, end = self._next(chunk, passed)
            if end < 0:
                break
            if len(piece) > _LONG or line_begun is False or special.search(piece):
                if not _is_whole(piece) or (line_begun is not None and _has_mark(piece)):
                    break
                if line_begun is False or (line_begun and b"\\n" in piece):
                    line = piece[piece.rfind(b"\\n") + 2 if b"\\n" in piece else 0 :].lstrip()
                    if line in _BEGINNINGS:
                        break
                    line_begun = bool(line)
            texts.append(piece)
            passed = end
        return texts, passed, line_begun

    def piece(self, event: bytes) -> str:
        """The piece of an event that is alike; empty if it has to be parsed."""
        piece, end = self._next(event, 0)
        try:
            return read_inside(piece) if end == len(event) and _is_whole(piece) else ""
        except ValueError:
            return ""

    def _next(self, chunk: bytes, at: int) -> tuple[bytes, int]:
        """The piece of the event that begins here, if all of it is one, and where the event ends; -1 if it is not
        alike."""
        if not self._begin or not chunk.startswith(self._begin, at):
            return b"", -1
        at += len(self._begin)
        if self._before:
            at = _behind_all(self._before, chunk, at)
        end = chunk.find(self._end, at) if at >= 0 else -1
        if end < 0:
            return b"", -1
        behind = end + len(self._end)
        return chunk[at:end], _behind_all(self._behind, chunk, behind) if self._behind else behind


def _behind_all(constants: list[bytes], chunk: bytes, at: int) -> int:
    """Where all of these end, with a value in front of each, of which the first begins here; -1 if they do not."""
    for constant in constants:
        end = chunk.find(constant, at, at + len(constant) + _LONGEST_VALUE)
        if end < 0 or not (chunk[at:end].isdigit() or _VALUE.fullmatch(chunk, at, end)):
            return -1
        at = end + len(constant)
    return at


def _is_whole(piece: bytes) -> bool:
    """Whether these bytes are all of the inside of a JSON string."""
    if b"\n" in piece:
        return False
    if b'"' not in piece and b"\\" not in piece:
        return True
    bare = piece.replace(b"\\\\", b"")
    return not bare.endswith(b"\\") and bare.count(b'"') == bare.count(b'\\"')


def _has_mark(text: bytes) -> bool:
    """Whether a call may begin in a text, or at its end, in a line that has begun."""
    if len(text) < _LONG:
        return _MATTERS.search(text) is not None
    return text.endswith(_MAY_GO_ON) or any(mark in text for mark in _MARKS)
