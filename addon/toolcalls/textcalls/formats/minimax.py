"""MiniMax besides M2: M3 puts `]<]minimax[>[` before every tag and nests; `[TOOL_CALL]{tool => …}`."""

from __future__ import annotations

import re
from typing import Any

from ..cursor import CutOff, NotACall, Step
from ..envelope import add_calls
from ..jsontext import decode_string, read_json
from ..region import Format, Region
from ..values import properties, typed, write

_M = "]<]minimax[>["
_TAG = re.compile(re.escape(_M) + r"<(/?)([\w.:-]+)>")
_DEPTH = 32


def read_m3(region: Region) -> Step[None]:
    yield from region.expect((f"{_M}<tool_call>",))
    count = 0
    while (yield from region.optional((f"{_M}<invoke ",))):
        attributes, _ = yield from region.tag()
        name = region.names.resolve(attributes.get("name", ""))
        body, end = yield from region.until((f"{_M}</invoke>",))
        if end is None:
            raise CutOff
        region.pos += len(end)
        region.add(name, write(_elements(region, name, body)), "minimax-m3")
        count += 1
    if not count:
        raise CutOff if not (yield from region.peek()) else NotACall
    yield from region.optional((f"{_M}</tool_call>",))


def _elements(region: Region, name: str | None, body: str) -> dict[str, Any]:
    schema = region.schema(name)
    tokens = list(_TAG.finditer(body))
    values, at = _children(body, tokens, 0, schema, schema, 0)
    if at != len(tokens):
        raise NotACall
    return dict(values)


def _children(
    body: str, tags: list[re.Match[str]], at: int, schema: object, root: object, depth: int
) -> tuple[list[tuple[str, Any]], int]:
    """The elements from tag `at` on, up to a closing tag that is not theirs."""
    if depth > _DEPTH:
        raise NotACall
    declared = properties(schema)
    found: list[tuple[str, Any]] = []
    while at < len(tags) and not tags[at][1]:
        opened = tags[at]
        key = opened[2]
        inner = declared.get(key) or (schema.get("items") if isinstance(schema, dict) else None)
        if at + 1 >= len(tags):
            raise NotACall
        if tags[at + 1][1]:
            value: Any = typed(body[opened.end() : tags[at + 1].start()], inner, root)
            at += 1
        else:
            children, at = _children(body, tags, at + 1, inner, root, depth + 1)
            keys = [child for child, _ in children]
            listed = len(set(keys)) == 1 and (len(keys) > 1 or keys[0] == "item")
            value = [child for _, child in children] if listed else dict(children)
        if at >= len(tags) or tags[at][2] != key or not tags[at][1]:
            raise NotACall
        found.append((key, value))
        at += 1
    return found, at


_ARROW_TOOL = re.compile(
    r"""\{\s*tool\s*=>\s*("[^"]*"|'[^']*')\s*(?:,\s*)?(?:args\s*=>\s*\{(.*)\}\s*)?\}""", re.DOTALL
)
_ARROW_ARGUMENT = re.compile(r"""\s*--([\w-]+)\s+("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s"'{}\[\],]+)\s*,?""")


def read_bracketed(region: Region) -> Step[None]:
    yield from region.expect(("[TOOL_CALL]",))
    yield from region.space()
    if (yield from region.peek()) != "{":
        raise NotACall
    arrow, _ = yield from region.ahead(("tool",), skip=1)
    if not arrow:
        body = yield from read_json(region, ("[/TOOL_CALL]",))
        add_calls(region, body, "minimax-m2")
        yield from region.optional(("[/TOOL_CALL]",))
        return
    body, end = yield from region.until(("[/TOOL_CALL]",))
    if end is None:
        raise CutOff
    region.pos += len(end)
    name, arguments = _arrows(region, body.strip())
    region.add(name, arguments, "minimax-m2")


def _arrows(region: Region, body: str) -> tuple[str | None, str]:
    match = _ARROW_TOOL.fullmatch(body)
    if match is None:
        raise NotACall
    name = region.names.resolve(match[1][1:-1])
    schema = region.schema(name)
    declared = properties(schema)
    text = match[2] or ""
    values: dict[str, Any] = {}
    at = 0
    text = text.rstrip()
    while at < len(text):
        argument = _ARROW_ARGUMENT.match(text, at)
        if argument is None:
            raise NotACall
        key, raw = argument[1], argument[2]
        values[key] = decode_string(raw) if raw[0] in "\"'" else typed(raw, declared.get(key), schema)
        at = argument.end()
    return name, write(values)


FORMATS = (
    Format("minimax-m3", (f"{_M}<tool_call>",), read_m3, tokens=True),
    Format("minimax-m2", ("[TOOL_CALL]",), read_bracketed),
)
