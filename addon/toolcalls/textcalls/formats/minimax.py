"""MiniMax M3, which nests tags and puts `]<]minimax[>[` before each; and `[TOOL_CALL]{tool => …}`, which M2 writes.

M2's usual format is in `invoke`.
"""

from __future__ import annotations

import re
from typing import Any

from ..cursor import CutOff, NotACall, Step
from ..envelope import add_calls
from ..jsontext import decode_string, read_json
from ..parameters import Parameters
from ..region import Format, Region
from ..values import properties, put, typed, types, write

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
        region.inside, region.closers = True, (f"{_M}</",)
        if region.closer_missing:
            raise NotACall
        region.add(name, write(_elements(region, name, body)), "minimax-m3")
        region.inside = False
        count += 1
    if not count:
        raise CutOff if not (yield from region.peek()) else NotACall
    yield from region.optional((f"{_M}</tool_call>",))


def _elements(region: Region, name: str | None, body: str) -> dict[str, Any]:
    schema = region.schema(name)
    tags = list(_TAG.finditer(body))
    try:
        values, at = _children(body, tags, 0, schema, schema, 0)
        if at != len(tags) or _between(body, tags, at).strip():
            raise NotACall
        return _once(values)
    except NotACall:
        flat = _flat(body, tags, Parameters(schema))
        region.closer_missing = True
        return {key: typed(value, properties(schema).get(key), schema) for key, value in flat.items()}


def _between(body: str, tags: list[re.Match[str]], at: int) -> str:
    """The text before tag `at`."""
    return body[tags[at - 1].end() if at else 0 : tags[at].start() if at < len(tags) else len(body)]


def _once(values: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values:
        put(found, key, value)
    return found


def _children(
    body: str, tags: list[re.Match[str]], at: int, schema: object, root: object, depth: int
) -> tuple[list[tuple[str, Any]], int]:
    """The elements from tag `at` on, up to a closing tag that closes none of them, and the index of that tag."""
    if depth > _DEPTH:
        raise NotACall
    declared = properties(schema)
    found: list[tuple[str, Any]] = []
    while at < len(tags) and not tags[at][1]:
        opened = tags[at]
        key = opened[2]
        inner = declared.get(key) or (schema.get("items") if isinstance(schema, dict) else None)
        if at + 1 >= len(tags) or _between(body, tags, at).strip():
            raise NotACall
        if tags[at + 1][1]:
            text = _between(body, tags, at + 1)
            if _M in text:
                raise NotACall
            value: Any = typed(text, inner, root)
            at += 1
        else:
            if types(inner, root) == {"string"}:
                raise NotACall
            children, at = _children(body, tags, at + 1, inner, root, depth + 1)
            keys = [child for child, _ in children]
            listed = len(set(keys)) == 1 and (len(keys) > 1 or keys[0] == "item")
            value = [child for _, child in children] if listed else _once(children)
            if at < len(tags) and _between(body, tags, at).strip():
                raise NotACall
        if at >= len(tags) or tags[at][2] != key or not tags[at][1]:
            raise NotACall
        found.append((key, value))
        at += 1
    return found, at


def _flat(body: str, tags: list[re.Match[str]], parameters: Parameters) -> dict[str, Any]:
    """The parameters, if some of them were not closed: all must be declared, and contain no tags."""
    current: re.Match[str] | None = None
    for at, tag in enumerate([*tags, None]):
        text = _between(body, tags, at)
        if tag is not None and tag[1]:
            if current is None or current[2] != tag[2] or _M in text or not text.strip():
                raise NotACall
            parameters.add(current[2], text, plain=False)
            current = None
            continue
        if current is not None:
            parameters.add_unclosed(current[2], text, (_M,))
        elif text.strip():
            raise NotACall
        if tag is not None and not parameters.unseen(tag[2]):
            raise NotACall
        current = tag
    return parameters.finish()


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
    region.inside = True
    name, arguments = _arrows(region, body.strip())
    region.add(name, arguments, "minimax-m2")
    region.inside = False


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
        put(values, key, decode_string(raw) if raw[0] in "\"'" else typed(raw, declared.get(key), schema))
        at = argument.end()
    return name, write(values)


FORMATS = (
    Format("minimax-m3", (f"{_M}<tool_call>",), read_m3),
    Format("minimax-m2", ("[TOOL_CALL]",), read_bracketed),
)
