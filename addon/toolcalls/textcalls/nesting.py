"""Where a raw value ends, although it may contain tags of its own family.

A value is raw text, and a file that a call writes may contain the very tags that end the value. So two readings are
kept while the text arrives. In the first one the tags inside a value are pairs: a tag that opens in it also closes in
it, and the first closer without an opener is the value's own. In the second one a closer was forgotten: the value
contains no tag at all, and ends at the opener of a declared parameter that was not seen yet, or at the end of its
block. The reading that works counts; if neither works, or both work and differ, it is not a call. It is not a call
either if one block follows another inside a value: the value may have ended with the first block, and the second may
be the next call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from .cursor import CutOff, NotACall, Step
from .parameters import Parameters, trimmed
from .region import Region
from .tokens import ENDS_OF_TURN

PARAMETER, BLOCK, WRAPPER = range(3)

_QUOTES = frozenset("\"'`“”‘’«»")
_AROUND = _QUOTES | frozenset(" \t([{>|*_=:,/")
"""A closer in the middle of a line, right after one of these, is only mentioned."""
_BETWEEN_CALLS = re.compile(r"(?>\s*(?:function)?<[|｜][^<>\s]{1,40}[|｜]>)*+(?:\s*\Z|(?<=>)\S|\s*[<\[][/A-Za-z])")
"""What may follow a call if another one comes after it: special tokens, and then nothing or a call in another format,
which is glued to its token or begins with a tag or a bracket."""
_LINE = 200
_DEPTH = 256


@dataclass(slots=True, frozen=True)
class Markup:
    """The tags of one family, each in every spelling that was seen."""

    parameter: tuple[str, ...]
    parameter_end: tuple[str, ...]
    block: tuple[str, ...]
    block_end: tuple[str, ...]
    key: Callable[[Region, str], Step[str | None]]
    """Reads the rest of a parameter's tag, after its beginning: the key, or None if it is not such a tag."""
    opened: Callable[[Region, str], Step[bool]]
    """Reads the rest of a block's tag, after its beginning: whether it is such a tag."""
    wrapper: tuple[str, ...] = ()
    wrapper_end: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    """What else may follow the end of a value."""
    trim: bool = False
    """One newline on each side of a value belongs to the markup."""


@lru_cache(maxsize=256)
def _kinds(markup: Markup) -> dict[str, tuple[int, bool]]:
    """For each tag: what it belongs to, and whether it opens that."""
    kinds = {}
    for kind, opening, closing in (
        (WRAPPER, markup.wrapper, markup.wrapper_end),
        (BLOCK, markup.block, markup.block_end),
        (PARAMETER, markup.parameter, markup.parameter_end),
    ):
        kinds.update(dict.fromkeys(opening, (kind, True)))
        kinds.update(dict.fromkeys(closing, (kind, False)))
    return kinds


@lru_cache(maxsize=256)
def _stems(markup: Markup) -> frozenset[str]:
    """What the tags begin with, even if the rest is misspelt."""
    return frozenset(mark.rstrip("=> ") for mark in _kinds(markup))


@dataclass(slots=True)
class _Part:
    """A parameter of the second reading: where its value is, and whether it has a closer."""

    key: str
    start: int
    end: int = -1
    closed: bool = False


class _Value:
    """The state of the two readings of one value, after the tags in it so far."""

    __slots__ = ("_adjoins", "_parameters", "_runs_on", "_stack", "_whole_block_inside", "parameters_inside", "parts")

    def __init__(self, key: str, parameters: Parameters) -> None:
        self._parameters = parameters
        self._stack: list[tuple[int, bool]] = []
        """The open tags, each with whether it must be closed: an opener that prose follows may stay open."""
        self._adjoins = False
        """The closer of a parameter came last, outside any block."""
        self.parts: list[_Part] | None = [_Part(key, 0)]
        """The parameters of the second reading; None once it is ruled out."""
        self.parameters_inside: set[str] = set()
        """Declared parameters that have no value yet and whose tags are in this value."""
        self._runs_on = False
        """One of them came right after the closer of another parameter."""
        self._whole_block_inside = False
        """A whole block in the value has ended, and no prose came right after it."""

    @property
    def is_open(self) -> bool:
        return any(firm for _, firm in self._stack)

    @property
    def may_end(self) -> bool:
        """Whether a closer without an opener can only be the value's own."""
        doubled = self._adjoins and bool(self.parameters_inside)
        return not (self.is_open or self._runs_on or doubled or len(self.parts or ()) > 1)

    def note_parameter(self, name: str) -> None:
        """Note that the value contains the tag of a parameter, unless the tag is in a block inside the value."""
        if self._parameters.unseen(name) and (BLOCK, True) not in self._stack:
            self.parameters_inside.add(name)
            self._runs_on = self._runs_on or self._adjoins

    def text(self, text: str) -> None:
        self._adjoins = self._adjoins and not text.strip()
        self._whole_block_inside = self._whole_block_inside and _BETWEEN_CALLS.match(text) is not None

    def has_sibling(self, kind: int) -> bool:
        """Whether a tag of this kind opens a block after a whole block in the value, and no prose introduces it.

        Either both blocks are in this value, or the value ended with the first and the second is the next call.
        """
        return kind == BLOCK and self._whole_block_inside

    def open(self, kind: int, firm: bool) -> None:
        if len(self._stack) > _DEPTH:
            raise NotACall
        self._stack.append((kind, firm))
        self._adjoins = False
        self._whole_block_inside = self._whole_block_inside and kind == WRAPPER
        self.parts = None

    def open_parameter(self, name: str, at: int, behind: int) -> None:
        self.note_parameter(name)
        parts = self.parts
        self.open(PARAMETER, True)
        if parts and self._parameters.unseen(name) and all(part.key != name for part in parts):
            if not parts[-1].closed:
                parts[-1].end = at
            self.parts = [*parts, _Part(name, behind)]

    def close(self, kind: int, at: int, goes_on: bool) -> bool:
        """Close the tag that this closer belongs to. False: it belongs to no open tag in the value."""
        for index in range(len(self._stack) - 1, -1, -1):
            of_kind, firm = self._stack[index]
            if of_kind == kind:
                break
            if firm:
                return False
        else:
            return False
        del self._stack[index:]
        self._adjoins = kind == PARAMETER and (BLOCK, True) not in self._stack
        self._whole_block_inside = (kind == BLOCK and (BLOCK, True) not in self._stack) or (
            kind == WRAPPER and self._whole_block_inside
        )
        if self.parts and goes_on and not self.parts[-1].closed:
            self.parts[-1].end, self.parts[-1].closed = at, True
        else:
            self.parts = None
        return True


def read_value(region: Region, markup: Markup, key: str, parameters: Parameters) -> Step[None]:
    """Read the value of `key` from after its tag to after its closer.

    If the closer was forgotten, read up to the end of the block, with the parameters that follow.
    """
    start = region.offset
    region.closers = markup.parameter_end
    region.record()
    kinds = _kinds(markup)
    marks = tuple(kinds)
    value = _Value(key, parameters)
    line = ""
    while True:
        text, mark = yield from region.until(marks)
        if mark is None:
            raise CutOff
        value.text(text)
        line = _last_line(line, text)
        at = region.offset - start
        kind, opens = kinds[mark]
        if opens:
            region.pos += len(mark)
            name = yield from _opening(region, markup, mark, kind)
            before, line = line[-1:], ""
            if name is None:
                continue
            if before in _QUOTES and (yield from region.peek()) in _QUOTES:
                value.note_parameter(name)
                value.parts = None
                continue
            if kind == PARAMETER:
                value.open_parameter(name, at, region.offset - start)
            elif value.has_sibling(kind):
                region.inside = True
                raise NotACall
            else:
                within = (*markup.parameter, *markup.block_end) if kind == BLOCK else markup.block
                inside, _ = yield from region.ahead(within)
                value.open(kind, bool(inside))
            continue
        behind = yield from region.character(len(mark))
        after, _ = yield from region.ahead((*marks, *markup.between, *ENDS_OF_TURN), skip=len(mark))
        goes_on = after is not None and _goes_on(kinds, after)
        if line[-1:] in _QUOTES and behind in _QUOTES:
            value.parts = None
        elif value.close(kind, at, goes_on):
            pass
        elif after is None:
            # Prose follows: the closer is only mentioned, or the value ended here and this is not a call.
            if value.is_open or not _is_mention(line, behind):
                raise NotACall
            value.parts = None
        elif kind == PARAMETER:
            if not goes_on or not value.may_end:
                raise NotACall
            text = region.recorded()
            region.pos += len(mark)
            parameters.add(key, trimmed(text) if markup.trim else text, plain=value.parts is not None)
            return
        elif value.parts is None or not _ends(kinds, kind, after):
            raise NotACall
        else:
            _add_second_reading(region.recorded(), value.parts, markup, parameters)
            region.closer_missing = True
            return
        line += mark
        region.pos += len(mark)


def _opening(region: Region, markup: Markup, mark: str, kind: int) -> Step[str | None]:
    """Read the rest of an opening tag: the key of a parameter, empty for others, None if it is not a tag."""
    if kind == PARAMETER:
        return (yield from markup.key(region, mark))
    if kind == BLOCK:
        return "" if (yield from markup.opened(region, mark)) else None
    return ""


def _goes_on(kinds: Mapping[str, tuple[int, bool]], after: str) -> bool:
    """Whether this may follow the end of a value: a parameter, an outer closer, the end of the answer."""
    kind, opens = kinds.get(after, (PARAMETER, after not in ENDS_OF_TURN))
    return opens == (kind == PARAMETER)


def _ends(kinds: Mapping[str, tuple[int, bool]], kind: int, after: str) -> bool:
    """Whether this may follow a block with a forgotten closer: the end of its wrapper or of the answer."""
    return after not in kinds or (kind == BLOCK and kinds[after] == (WRAPPER, False))


def _add_second_reading(text: str, parts: list[_Part], markup: Markup, parameters: Parameters) -> None:
    """Add the parameters of the second reading."""
    for part in parts:
        value = text[part.start : part.end if part.end >= 0 else len(text)]
        if not value.strip():
            raise NotACall
        if not part.closed:
            parameters.add_unclosed(part.key, value, (*markup.between, *_stems(markup)), markup.trim)
        else:
            parameters.add(part.key, trimmed(value) if markup.trim else value, plain=False)


def _is_mention(line: str, behind: str) -> bool:
    return bool(line.strip()) and (line[-1:] in _AROUND or behind in _QUOTES)


def _last_line(line: str, text: str) -> str:
    """The last line of the text, or as much of its end as matters."""
    newline = text.rfind("\n")
    return text[newline + 1 :][-_LINE:] if newline >= 0 else (line + text[-_LINE:])[-_LINE:]
