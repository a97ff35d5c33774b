"""Blocks of tagged parameters: `<invoke name="N"><parameter name="K">V</parameter></invoke>` and its family.

A value is raw text, so a closer counts only where its context says so: `</parameter>` when another parameter
or the end of the block follows, the end of the block when the end of the wrapper or of the answer follows. A
value that quotes a whole block of its own (a file about tool calls) is read over by counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .cursor import CutOff, NotACall, Step
from .jsontext import read_json
from .region import Region
from .values import properties, read


@dataclass(slots=True, frozen=True)
class Tags:
    """The literals of one family; of each the spellings that were seen."""

    format: str
    block: tuple[str, ...]
    block_end: tuple[str, ...]
    parameter: tuple[str, ...]
    parameter_end: tuple[str, ...]
    wrapper_end: tuple[str, ...] = ()
    trim: bool = False
    """One newline on each side of a value belongs to the markup."""
    children: bool = True
    """`<command>…</command>` may stand for `<parameter name="command">…`."""


_CDATA = ("<![CDATA[", "]]>")


def read_blocks(region: Region, tags: Tags, *, wrapped: bool, ends: Sequence[str] = ()) -> Step[None]:
    """Blocks one after the other, then the end of the wrapper."""
    count = 0
    while True:
        opener = yield from region.optional(tags.block)
        if opener is None:
            break
        yield from read_block(region, tags, opener, known=not wrapped and not count)
        count += 1
    if not count:
        raise CutOff if not (yield from region.peek()) else NotACall
    yield from region.optional((*tags.wrapper_end, *ends))


def read_block(region: Region, tags: Tags, opener: str, *, known: bool) -> Step[None]:
    """One block from behind its opener. `known`: the marker is weak, only a declared name counts."""
    if opener.endswith("="):
        written = yield from read_name(region, ">", known=known)
        closed = False
    else:
        if known:
            yield from _weak_attribute(region)
        attributes, closed = yield from region.tag()
        written = next((attributes[key] for key in ("name", "tool", "function") if key in attributes), "")
    name = region.names.resolve(written)
    if known and name is None:
        raise NotACall
    if closed:
        region.add(name, "{}", tags.format)
        return
    yield from read_body(region, tags, name, must_close=known)


def read_body(region: Region, tags: Tags, name: str | None, *, must_close: bool) -> Step[None]:
    raw: dict[str, Any] = {}
    yield from region.space()
    if (yield from region.peek()) == "{":
        body = yield from read_json(region, tags.block_end)
        yield from region.optional(tags.block_end)
        region.add(name, body, tags.format)
        return
    declared = tuple(properties(region.schema(name)))
    children = tuple(f"<{key}>" for key in declared) if tags.children else ()
    while True:
        found, length = yield from region.ahead((*tags.parameter, *tags.block_end, *children, *tags.wrapper_end))
        if found is None:
            raise NotACall
        if found == "":
            # Nothing but outer closers may be missing, and nothing at all when the answer was cut off.
            if region.finished and raw and not must_close and region.complete(name, raw):
                break
            raise CutOff
        if found in tags.wrapper_end:
            if not raw or must_close:
                raise NotACall
            break
        region.pos += length
        if found in tags.block_end:
            break
        if found in children:
            key = found[1:-1]
            raw[key] = yield from _child(region, key)
            continue
        key, is_json, closed = yield from _key(region, found)
        value = "" if closed else (yield from _value(region, tags, declared, raw))
        parsed = read(value) if is_json and key not in declared else None
        raw[key] = value if parsed is None else parsed
    region.add(name, region.typed(name, raw), tags.format)


def read_name(region: Region, stop: str, *, known: bool) -> Step[str]:
    """A name up to `stop`; where the marker is weak, given up as soon as no declared name begins like it."""
    written = ""
    while True:
        char = yield from region.peek()
        if not char:
            raise CutOff
        if char == stop:
            region.pos += 1
            return written.strip().strip("\"'")
        written += char
        if len(written) > 128 or char in "<{\n":
            raise NotACall
        if known and not region.names.begins(written.strip().lstrip("\"'").rstrip("\"'")):
            raise NotACall
        region.pos += 1


def _weak_attribute(region: Region) -> Step[None]:
    """Look at `name="N"` while it arrives, so that prose is not held for longer than its first letters."""
    length = 0
    head = "name="
    while True:
        while len(region.window) - region.pos <= length and not region.eof:
            yield
        rest = region.window[region.pos : region.pos + length + 1]
        if len(rest) <= length:
            raise CutOff
        length += 1
        if length <= len(head):
            if not head.startswith(rest):
                raise NotACall
            continue
        written = rest[len(head) :].lstrip("\"'")
        if written and written[-1] in "\"'> /":
            return
        if length > 160 or not region.names.begins(written):
            raise NotACall


def _key(region: Region, found: str) -> Step[tuple[str, bool, bool]]:
    """The parameter's name, whether its tag says that the value is JSON, whether it closes itself."""
    if found.endswith("="):
        written = yield from read_name(region, ">", known=False)
        return written, False, False
    attributes, closed = yield from region.tag()
    key = attributes.get("name") or attributes.get("key")
    if not key:
        raise NotACall
    return key, attributes.get("string") == "false", closed


def _child(region: Region, key: str) -> Step[str]:
    closer = f"</{key}>"
    value, found = yield from region.until((closer,))
    if found is None:
        raise CutOff
    region.pos += len(closer)
    return value


def _value(region: Region, tags: Tags, declared: Sequence[str], raw: dict[str, Any]) -> Step[str]:
    """A value from behind its tag, with its closer consumed where it has one."""
    cdata = yield from region.optional(_CDATA[:1])
    if cdata:
        value, found = yield from region.until(_CDATA[1:])
        if found is None:
            raise CutOff
        region.pos += len(found)
        yield from region.optional(tags.parameter_end)
        return value
    following = tuple(
        literal
        for opener in tags.parameter
        if opener.endswith("=")
        for literal in (f"{opener}{key}>" for key in declared if key not in raw)
    )
    after_parameter = (*tags.parameter, *tags.block_end, *tags.wrapper_end)
    marks = (*tags.parameter_end, *tags.block_end, *tags.wrapper_end, *tags.block, *following)
    pieces: list[str] = []
    nested = 0
    while True:
        text, mark = yield from region.until(marks)
        pieces.append(text)
        if mark is None:
            raise CutOff
        line_start = _at_line_start(pieces)
        if mark in tags.block and line_start:
            nested += 1
        elif mark in tags.block_end and nested:
            nested -= 1
        elif mark in tags.parameter_end and not nested:
            after, _ = yield from region.ahead(after_parameter, skip=len(mark))
            if after is not None:
                region.pos += len(mark)
                return _trimmed("".join(pieces), tags)
        elif mark in following and line_start and not nested:
            return _trimmed("".join(pieces), tags)
        elif mark in tags.block_end and line_start and not nested:
            after, _ = yield from region.ahead((*tags.wrapper_end, *tags.block), skip=len(mark))
            if after is not None and (after or region.finished):
                return _trimmed("".join(pieces), tags)
        elif mark in tags.wrapper_end and line_start and not nested:
            after, _ = yield from region.ahead(("\0",), skip=len(mark))
            if after == "" and region.finished:
                return _trimmed("".join(pieces), tags)
        pieces.append(mark)
        region.pos += len(mark)


def _at_line_start(pieces: list[str]) -> bool:
    for piece in reversed(pieces):
        stripped = piece.rstrip(" \t")
        if stripped:
            return stripped[-1] == "\n"
    return True


def _trimmed(value: str, tags: Tags) -> str:
    if not tags.trim:
        return value
    if value.startswith("\r\n"):
        value = value[2:]
    elif value.startswith("\n"):
        value = value[1:]
    if value.endswith("\r\n"):
        return value[:-2]
    return value[:-1] if value.endswith("\n") else value
