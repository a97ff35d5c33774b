"""Blocks of tagged parameters: `<invoke name="N"><parameter name="K">V</parameter></invoke>` and its family.

Between two parameters there is only white space; `nesting` decides where a value ends.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from .cursor import CutOff, NotACall, Step, attributes_of
from .jsontext import read_json
from .nesting import Markup, read_value
from .parameters import Parameters
from .region import Region
from .values import read


@dataclass(slots=True, frozen=True)
class Tags:
    """The literals of one family of tags, each in every spelling that was seen."""

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


_ATTRIBUTES = frozenset(("name", "tool", "function", "id", "call_id", "tool_call_id", "index", "type", "xmlns"))
_CDATA = ("<![CDATA[", "]]>")
_KEY = re.compile(r"[^<>\"'\n]{1,128}")


@lru_cache(maxsize=256)
def _markup(tags: Tags) -> Markup:
    """The tags as they may appear inside a value, where tags in the form of a related family must be closed too."""
    return Markup(
        parameter=_in_any_form(tags.parameter),
        parameter_end=(*tags.parameter_end, *(f"{end[:-1]} >" for end in tags.parameter_end)),
        block=_in_any_form(tags.block),
        block_end=tags.block_end,
        key=_inner_key,
        opened=_inner_block,
        wrapper=tuple(end.replace("/", "", 1).replace("_end", "_begin") for end in tags.wrapper_end),
        wrapper_end=tags.wrapper_end,
        trim=tags.trim,
    )


def _in_any_form(openers: tuple[str, ...]) -> tuple[str, ...]:
    """The openers in the forms `<parameter=K>`, `<parameter name="K">` and `<parameter>`."""
    return tuple(dict.fromkeys(f"{opener[:-1]}{end}" for opener in openers for end in "= >"))


def read_blocks(region: Region, tags: Tags, *, wrapped: bool) -> Step[None]:
    """Read blocks one after the other, then the end of their wrapper."""
    count = 0
    while True:
        opener = yield from region.optional(tags.block)
        if opener is None:
            break
        yield from read_block(region, tags, opener, known=not wrapped and not count)
        count += 1
    if not count:
        raise CutOff if not (yield from region.peek()) else NotACall
    yield from region.optional(tags.wrapper_end)


def read_block(region: Region, tags: Tags, opener: str, *, known: bool) -> Step[None]:
    """Read one block from after its opener. `known`: the marker is weak, so the name must be declared."""
    if opener.endswith("="):
        written = yield from read_name(region, ">", known=known)
        closed = False
    else:
        if known:
            yield from _weak_attribute(region)
        attributes, closed = yield from region.tag()
        if not attributes.keys() <= _ATTRIBUTES:
            raise NotACall  # `disabled="true"` may mean that it must not run
        written = next((attributes[key] for key in ("name", "tool", "function") if key in attributes), "")
    name = region.names.resolve(written)
    if known and name is None:
        raise NotACall
    if closed:
        region.add(name, "{}", tags.format)
        return
    yield from read_body(region, tags, name, must_close=known)


def read_body(region: Region, tags: Tags, name: str | None, *, must_close: bool) -> Step[None]:
    yield from region.space()
    if (yield from region.peek()) == "{":
        body = yield from read_json(region, tags.block_end)
        yield from region.optional(tags.block_end)
        region.add(name, body, tags.format)
        return
    parameters = Parameters(region.schema(name))
    markup = _markup(tags)
    children = tuple(f"<{key}>" for key in parameters.declared) if tags.children else ()
    while True:
        found, length = yield from region.ahead((*tags.parameter, *tags.block_end, *children, *tags.wrapper_end))
        raw = parameters.values
        if found is None:
            raise NotACall
        if found == "":
            # Only outer closers may be missing, and nothing at all if the answer was cut off.
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
        region.inside = True
        if found in children:
            yield from read_value(region, _child(markup, found, children), found[1:-1], parameters)
            continue
        key, is_json, closed = yield from _key(region, found)
        parameters.begin(key)
        if closed:
            parameters.add(key, "")
        elif (yield from region.optional(_CDATA[:1])):
            parameters.add(key, (yield from _character_data(region, tags)))
        elif is_json and key not in parameters.declared:
            inner = Parameters(None)
            yield from read_value(region, markup, key, inner)
            value = inner.values[key]
            parsed = read(value)
            parameters.add(key, value if parsed is None else parsed)
        else:
            yield from read_value(region, markup, key, parameters)
    region.add(name, region.typed(name, parameters.finish()), tags.format)
    region.inside = False


def read_name(region: Region, stop: str, *, known: bool) -> Step[str]:
    """Read a name up to `stop`. `known`: raise NotACall as soon as no declared name begins like it."""
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
    """Check `name="N"` letter by letter while it arrives, so that only the first letters of prose are held back."""
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
    """Read a parameter's tag: the key, whether the tag says that the value is JSON, and whether it closes itself."""
    if found.endswith("="):
        written = yield from read_name(region, ">", known=False)
        return written, False, False
    attributes, closed = yield from region.tag()
    key = attributes.get("name") or attributes.get("key")
    if not key or not _KEY.fullmatch(key):
        raise NotACall
    return key, attributes.get("string") == "false", closed


def _child(markup: Markup, opener: str, children: tuple[str, ...]) -> Markup:
    """The markup inside `<command>…</command>`."""
    return replace(
        markup,
        parameter=(opener, *markup.parameter),
        parameter_end=(f"</{opener[1:]}", *markup.parameter_end),
        between=children,
    )


def _character_data(region: Region, tags: Tags) -> Step[str]:
    value, found = yield from region.until(_CDATA[1:])
    if found is None:
        raise CutOff
    region.pos += len(found)
    closer = yield from region.optional(tags.parameter_end)
    if _CDATA[0] in value or not closer:
        raise NotACall
    return value


def _inner_key(region: Region, opener: str) -> Step[str | None]:
    """The key of a parameter's tag inside a value; empty if it has no key, None if it is not a tag."""
    if opener.endswith(">"):
        return ""
    text = yield from _inner_tag(region)
    if text is None or not opener.endswith("="):
        return None if text is None or text.endswith("/") else _name_of(text, ("name", "key"))
    key = text.strip("\"'")
    return None if not key or any(char.isspace() or char in "\"'" for char in key) else key


def _inner_block(region: Region, opener: str) -> Step[bool]:
    return opener.endswith(">") or (yield from _inner_tag(region)) is not None


def _inner_tag(region: Region) -> Step[str | None]:
    """Read a tag inside a value up to and including its end: its text, or None if it is not a tag."""
    text, end = yield from region.until((">", "<"), 512)
    if end != ">":
        return None
    region.pos += 1
    return text.strip()


def _name_of(text: str, keys: Sequence[str]) -> str:
    attributes = attributes_of(text)
    return next((attributes[key] for key in keys if key in attributes), "")
