"""GLM: `<tool_call>N<arg_key>K</arg_key><arg_value>V</arg_value></tool_call>`, with newlines or without.

Hunyuan HY-V3 has `<tool_sep>` behind the name and a nonce in every tag, LongCat a prefix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..cursor import CutOff, NotACall, Step
from ..jsontext import read_json
from ..region import Region
from ..values import properties

_NAME = re.compile(r"[\w.:/-]{1,128}")
_SEPARATORS = ("\\r\\n", "\\n")


@dataclass(slots=True, frozen=True)
class Pairs:
    """The tags of a format that writes its arguments as pairs of a key and a value."""

    format: str
    end: str
    key: str = "<arg_key>"
    key_end: str = "</arg_key>"
    value: str = "<arg_value>"
    value_end: str = "</arg_value>"
    separator: str = "<tool_sep>"
    again: str = "<tool_call>"


GLM = Pairs("glm", "</tool_call>")
LONGCAT = Pairs(
    "longcat",
    "</longcat_tool_call>",
    "<longcat_arg_key>",
    "</longcat_arg_key>",
    "<longcat_arg_value>",
    "</longcat_arg_value>",
    again="<longcat_tool_call>",
)


def hunyuan(nonce: str) -> Pairs:
    return Pairs(
        "hunyuan",
        f"</tool_call{nonce}>",
        f"<arg_key{nonce}>",
        f"</arg_key{nonce}>",
        f"<arg_value{nonce}>",
        f"</arg_value{nonce}>",
        f"<tool_sep{nonce}>",
        f"<tool_call{nonce}>",
    )


def read_pairs(region: Region, tags: Pairs = GLM) -> Step[None]:
    """From behind the opener."""
    name = yield from _name(region, tags)
    yield from _gap(region)
    if (yield from region.peek()) == "{":
        body = yield from read_json(region, (tags.end,))
        found, length = yield from region.ahead((tags.end, tags.again))
        if found is None:
            raise NotACall
        if found == tags.end:
            region.pos += length
        region.add(name, body, tags.format)
        return
    raw: dict[str, str] = {}
    declared = properties(region.schema(name))
    while True:
        yield from _gap(region)
        found, length = yield from region.ahead((tags.key, tags.end))
        if found is None:
            raise NotACall
        if found == "":
            if region.finished and raw and region.complete(name, raw):
                break
            raise CutOff
        region.pos += length
        if found == tags.end:
            break
        key, end = yield from region.until((tags.key_end, tags.value), 256)
        if end is None:
            raise CutOff if not (yield from region.peek()) else NotACall
        if end == tags.key_end:
            region.pos += len(end)
        yield from _gap(region)
        yield from region.expect((tags.value,))
        raw[key.strip()] = yield from _value(region, tags, [known for known in declared if known not in raw])
    region.add(name, region.typed(name, raw), tags.format)


def _name(region: Region, tags: Pairs) -> Step[str | None]:
    yield from region.space()
    written = ""
    while (char := (yield from region.peek())) and char not in "<{\n\r \t\\":
        written += char
        if not _NAME.fullmatch(written):
            raise NotACall
        region.pos += 1
    if not char:
        raise CutOff
    if not written:
        raise NotACall
    yield from region.optional((tags.separator,))
    return region.names.resolve(written)


def _gap(region: Region) -> Step[None]:
    """White space, and the newlines that a model wrote as a backslash and an n."""
    while True:
        yield from region.space()
        if not (yield from region.optional(_SEPARATORS, space=False)):
            return


def _value(region: Region, tags: Pairs, declared: list[str]) -> Step[str]:
    following = tuple(f"{tags.key}{key}{tags.key_end}" for key in declared)
    pieces: list[str] = []
    nested = 0
    while True:
        text, mark = yield from region.until((tags.value_end, tags.end, tags.again, *following))
        pieces.append(text)
        if mark is None:
            raise CutOff
        if mark == tags.again:
            nested += text.endswith("\n") or not text
        elif nested:
            nested -= mark == tags.end
        elif mark in following:
            if text.endswith("\n"):
                return "".join(pieces)[:-1]
        elif mark == tags.value_end:
            after, _ = yield from region.ahead((tags.key, tags.end, *_SEPARATORS), skip=len(mark))
            if after is not None:
                region.pos += len(mark)
                return "".join(pieces)
        else:
            # No `</arg_value>`: the end of the call closes the value, if nothing is said after it.
            after, _ = yield from region.ahead((tags.again,), skip=len(mark))
            if after is not None and (after or region.finished):
                value = "".join(pieces)
                return value[:-1] if value.endswith("\n") else value
        pieces.append(mark)
        region.pos += len(mark)
