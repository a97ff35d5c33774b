"""GLM: `<tool_call>N<arg_key>K</arg_key><arg_value>V</arg_value></tool_call>`, with newlines or without.

Hunyuan HY-V3 has `<tool_sep>` after the name and a nonce in every tag; LongCat has a prefix in every tag.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ..cursor import CutOff, NotACall, Step
from ..jsontext import read_json
from ..nesting import Markup, read_value
from ..parameters import Parameters
from ..region import Region

_NAME = re.compile(r"[\w.:/-]{1,128}")
_SEPARATORS = ("\\r\\n", "\\n")


@dataclass(slots=True, frozen=True)
class Pairs:
    """The tags of a format that writes arguments as pairs of a key and a value."""

    format: str
    end: str
    key: str = "<arg_key>"
    key_end: str = "</arg_key>"
    value: str = "<arg_value>"
    value_end: str = "</arg_value>"
    separator: str = "<tool_sep>"
    again: str = "<tool_call>"
    section: str = ""
    section_end: str = ""


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
        f"<tool_calls{nonce}>",
        f"</tool_calls{nonce}>",
    )


@lru_cache(maxsize=64)
def _markup(tags: Pairs) -> Markup:
    """The tags of the family as they may appear inside a value."""

    def key(region: Region, opener: str) -> Step[str | None]:
        return (yield from _key(region, tags)) if opener == tags.key else ""

    def opened(region: Region, opener: str) -> Step[bool]:
        while (char := (yield from region.peek())) and _NAME.fullmatch(char):
            region.pos += 1
        yield from region.optional((tags.separator,))
        return True

    return Markup(
        parameter=(tags.key, tags.value),
        parameter_end=(tags.value_end,),
        block=(tags.again,),
        block_end=(tags.end,),
        key=key,
        opened=opened,
        wrapper=(tags.section,) if tags.section else (),
        wrapper_end=(tags.section_end,) if tags.section_end else (),
        between=_SEPARATORS,
    )


def read_pairs(region: Region, tags: Pairs = GLM) -> Step[None]:
    """Read one call from after its opener."""
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
    parameters = Parameters(region.schema(name))
    while True:
        yield from _gap(region)
        found, length = yield from region.ahead((tags.key, tags.end))
        if found is None:
            raise NotACall
        if found == "":
            if region.finished and parameters.values and region.complete(name, parameters.values):
                break
            raise CutOff
        region.pos += length
        if found == tags.end:
            break
        region.inside = True
        key = yield from _key(region, tags)
        if key is None:
            raise CutOff if not (yield from region.peek()) else NotACall
        parameters.begin(key)
        yield from read_value(region, _markup(tags), key, parameters)
    region.add(name, region.typed(name, parameters.finish()), tags.format)
    region.inside = False


def _key(region: Region, tags: Pairs) -> Step[str | None]:
    """Read from after the tag of a key to after the tag of its value: the key; None if no value follows."""
    key, _ = yield from region.until(("<",), 256)
    yield from region.optional((tags.key_end,))
    yield from _gap(region)
    return key.strip() if (yield from region.optional((tags.value,))) else None


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
    """Skip white space, also newlines that the model wrote as a backslash and an n."""
    while True:
        yield from region.space()
        if not (yield from region.optional(_SEPARATORS, space=False)):
            return
