"""Where a raw value ends: the tags of its own family, inside it and behind it.

A value is raw text, and a file that is written may show the very tags that end it. Two readings are kept while
the text comes. In the first one the tags inside a value are pairs: what opens in it is closed in it, and the
first closer that is left over is its own. In the second one a closer was forgotten: the value holds no tag at
all and ends at the opener of a declared parameter that was not seen yet, or at the end of its block. Where the
first one comes out, it counts; where it breaks, the second one; where neither or both do, it is no call. Nor is it
one where two blocks touch inside a value: the value may have ended with the first, in another call than the second.
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
"""Behind one of these, in the middle of a line, a closer is spoken of."""
_TOKEN = re.compile(r"(?:\bfunction)?<[|｜][^<>\s]{1,40}[|｜]>")
"""A special token, as templates have them between two calls."""
_LINE = 200
_DEPTH = 256


@dataclass(slots=True, frozen=True)
class Markup:
    """The tags of one family, of each the spellings that were seen."""

    parameter: tuple[str, ...]
    parameter_end: tuple[str, ...]
    block: tuple[str, ...]
    block_end: tuple[str, ...]
    key: Callable[[Region, str], Step[str | None]]
    """Reads on behind the beginning of a parameter's tag: its key, or None where it is no such tag."""
    opened: Callable[[Region, str], Step[bool]]
    """Reads on behind the beginning of a block's tag: is it one?"""
    wrapper: tuple[str, ...] = ()
    wrapper_end: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    """What else may follow the end of a value."""
    trim: bool = False
    """One newline on each side of a value belongs to the markup."""


@lru_cache(maxsize=256)
def _kinds(markup: Markup) -> dict[str, tuple[int, bool]]:
    """What each tag is of, and whether it opens."""
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
    """What the tags begin with, also where the rest is misspelt."""
    return frozenset(mark.rstrip("=> ") for mark in _kinds(markup))


@dataclass(slots=True)
class _Part:
    """A parameter of the second reading: where its value stands, and whether a closer was there."""

    key: str
    start: int
    end: int = -1
    closed: bool = False


class _Value:
    """What the tags inside a value have said so far."""

    __slots__ = ("_adjoins", "_parameters", "_runs_on", "_shown_whole", "_stack", "parts", "shown")

    def __init__(self, key: str, parameters: Parameters) -> None:
        self._parameters = parameters
        self._stack: list[tuple[int, bool]] = []
        """What is open; and whether that is firm, or an opener that prose follows and that may stay open."""
        self._adjoins = False
        self.parts: list[_Part] | None = [_Part(key, 0)]
        """The second reading, as long as it is one."""
        self.shown: set[str] = set()
        """Declared parameters, not seen yet, whose tags are in it."""
        self._runs_on = False
        """One of them stands right behind the closer of another parameter."""
        self._shown_whole = False
        """Nothing but tags of wrappers stands behind the end of a block that is shown as a whole."""

    @property
    def is_open(self) -> bool:
        return any(firm for _, firm in self._stack)

    @property
    def may_end(self) -> bool:
        """May a closer that is left over be its own, and nothing else?"""
        doubled = self._adjoins and bool(self.shown)
        return not (self.is_open or self._runs_on or doubled or len(self.parts or ()) > 1)

    def show(self, name: str) -> None:
        """A parameter's tag is in it, outside of any block that is shown as a whole."""
        if self._parameters.unseen(name) and (BLOCK, True) not in self._stack:
            self.shown.add(name)
            self._runs_on = self._runs_on or self._adjoins

    def text(self, text: str) -> None:
        self._adjoins = self._adjoins and not text.strip()
        self._shown_whole = self._shown_whole and not _TOKEN.sub("", text).strip()

    def has_sibling(self, kind: int) -> bool:
        """Does a block open right behind one that is shown as a whole?

        They are two blocks in this value; or the value ended with the first of them, and the second is the next call.
        """
        return kind == BLOCK and self._shown_whole

    def open(self, kind: int, firm: bool) -> None:
        if len(self._stack) > _DEPTH:
            raise NotACall
        self._stack.append((kind, firm))
        self._adjoins = False
        self._shown_whole = self._shown_whole and kind == WRAPPER
        self.parts = None

    def open_parameter(self, name: str, at: int, behind: int) -> None:
        self.show(name)
        parts = self.parts
        self.open(PARAMETER, True)
        if parts and self._parameters.unseen(name) and all(part.key != name for part in parts):
            if not parts[-1].closed:
                parts[-1].end = at
            self.parts = [*parts, _Part(name, behind)]

    def close(self, kind: int, at: int, goes_on: bool) -> bool:
        """Close what this closer belongs to. False: nothing that is open in the value."""
        for place in range(len(self._stack) - 1, -1, -1):
            of_kind, firm = self._stack[place]
            if of_kind == kind:
                break
            if firm:
                return False
        else:
            return False
        del self._stack[place:]
        self._adjoins = kind == PARAMETER and (BLOCK, True) not in self._stack
        self._shown_whole = (kind == BLOCK and (BLOCK, True) not in self._stack) or (
            kind == WRAPPER and self._shown_whole
        )
        if self.parts and goes_on and not self.parts[-1].closed:
            self.parts[-1].end, self.parts[-1].closed = at, True
        else:
            self.parts = None
        return True


def read_value(region: Region, markup: Markup, key: str, parameters: Parameters) -> Step[None]:
    """Read the value of `key` from behind its tag to behind its closer.

    Where the closer was forgotten, it is read up to the end of its block, with the parameters that follow.
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
                value.show(name)
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
            # Prose follows: the tag is spoken of, or the value ended here and this is no call.
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
            _forgotten(region.recorded(), value.parts, markup, parameters)
            region.forgotten = True
            return
        line += mark
        region.pos += len(mark)


def _opening(region: Region, markup: Markup, mark: str, kind: int) -> Step[str | None]:
    """The rest of an opening tag; None where it is none."""
    if kind == PARAMETER:
        return (yield from markup.key(region, mark))
    if kind == BLOCK:
        return "" if (yield from markup.opened(region, mark)) else None
    return ""


def _goes_on(kinds: Mapping[str, tuple[int, bool]], after: str) -> bool:
    """May this follow the end of a value: a parameter, an outer closer, the end of the answer?"""
    kind, opens = kinds.get(after, (PARAMETER, after not in ENDS_OF_TURN))
    return opens == (kind == PARAMETER)


def _ends(kinds: Mapping[str, tuple[int, bool]], kind: int, after: str) -> bool:
    """May this follow the end of a block with a forgotten closer: the end of its wrapper or of the answer?"""
    return after not in kinds or (kind == BLOCK and kinds[after] == (WRAPPER, False))


def _forgotten(text: str, parts: list[_Part], markup: Markup, parameters: Parameters) -> None:
    """Take the second reading."""
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
    """The line that the text ends in, or as much of its end as matters."""
    newline = text.rfind("\n")
    return text[newline + 1 :][-_LINE:] if newline >= 0 else (line + text[-_LINE:])[-_LINE:]
