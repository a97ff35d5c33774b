"""What only MiniMax writes: the nested elements of M3, and `[TOOL_CALL]{tool => …}` of M2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..tools.check import View
from ..tools.schema import ARRAY, OBJECT
from .json_calls import decode_string
from .known import CutOff, ReadCall, WrittenTools, accepts, arguments_of, put, same_key, typed, write

if TYPE_CHECKING:
    from .formats import Row

_TAG = re.compile(re.escape("]<]minimax[>[") + r"<(/?)([\w.:-]+)>")
_PIECE = re.compile(r"\]<\]|\[>\[|\]minimax|minimax\[")
"""Of a mark that is broken: the value goes on behind it."""
_DEPTH = 32
_ARROW = r"""\s*+--([\w-]+)\s+("(?>[^"\\]|\\.)*+"|'(?>[^'\\]|\\.)*+'|[^\s"'{}\[\],]+)\s*+,?"""
_ARROWS = re.compile(rf"(?:\s*+,?\s*+args\s*=>\s*\{{(?P<args>(?>{_ARROW})*+)\s*+\}})?\s*+\}}", re.DOTALL)


def read_elements(
    row: Row, head: re.Match[str], known: WrittenTools, final: bool
) -> tuple[list[ReadCall], int] | None:
    """A parameter an element, whose tags are special tokens in pairs. Where one is lost or broken, it is no call."""
    tool, end = known.resolve(head["name"]), row.shut.search(head.string, head.end())
    if tool is None:
        return None
    if end is None:
        raise CutOff
    parts = _TAG.split(head.string[head.end() : end.start()])
    values = _element(iter([*parts, "/", ""]), "", tool.view, 0)
    if any(same_key(key, values) for key in values) or not accepts(tool, values):
        return None
    return [(tool, arguments_of(tool, values))], end.end()


def _element(parts: Iterator[str], name: str, view: View | None, depth: int) -> Any:
    """What stands in an element: text, or elements, which are an object or a list. `parts`: what follows its opener,
    text and tags by turns, each tag as the slash of a closer and the name.

    Raises ValueError where it is both, where a tag is lost, or where its schema takes neither an object nor a list.
    """
    text, found = next(parts), list[tuple[str, Any]]()
    while not next(parts, "/"):
        if text.strip() or depth > _DEPTH:
            raise ValueError
        key = next(parts)
        inner = (view.child(key) or view.item(0)) if view else None
        found.append((key, _element(parts, key, inner, depth + 1)))
        text = next(parts)
    if next(parts, None) != name:
        raise ValueError
    if not found and depth:
        if _PIECE.search(text):
            raise ValueError
        return typed(text, view)
    if text.strip() or (view is not None and view.types.isdisjoint((OBJECT, ARRAY))):
        raise ValueError
    keys = {key for key, _ in found}
    if depth and len(keys) == 1 and (len(found) > 1 or keys == {"item"}):
        return [value for _, value in found]
    values: dict[str, Any] = {}
    for key, value in found:
        put(values, key, value)
    return values


def read_arrows(row: Row, head: re.Match[str], known: WrittenTools, final: bool) -> tuple[list[ReadCall], int] | None:
    """`{tool => "N", args => {--k "v" --n 1}}`, from behind the name."""
    tool = known.resolve(head["name"])
    if tool is None:
        return None
    if row.shut.search(head.string, head.end()) is None:
        raise CutOff
    whole = _ARROWS.match(head.string, head.end())
    end = row.closer.match(head.string, whole.end()) if whole else None
    if whole is None or end is None:
        return None
    values: dict[str, Any] = {}
    for argument in re.finditer(_ARROW, whole["args"] or "", re.DOTALL):
        key, raw = argument[1], argument[2]
        child = tool.view.child(key) if tool.view else None
        value = decode_string(raw) if raw[0] in "\"'" else typed(raw, child)
        put(values, key, value)
    return [(tool, write(values))], end.end()
