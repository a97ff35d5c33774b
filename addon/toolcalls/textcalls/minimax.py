"""What only MiniMax writes: the nested elements of M3, and `[TOOL_CALL]{tool => …}` of M2."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..tools.check import View
from ..tools.schema import ARRAY, OBJECT
from .json_calls import decode_string
from .known import CutOff, ReadCall, WrittenTools, same_key, typed, with_one_value_each, write

if TYPE_CHECKING:
    from .formats import Row

_TAG = re.compile(re.escape("]<]minimax[>[") + r"<(/?)([\w.:-]+)>")
_PIECE = re.compile(r"\]<\]|\[>\[|\]minimax|minimax\[")
"""Of a mark that is broken: the value goes on behind it."""
_DEPTH = 32
_ARROW_END = re.compile(r"\s*+\}")
_ARROW_ARGS = re.compile(r"\s*+,?\s*+args\s*=>\s*\{")
_ARROW = re.compile(r"""\s*+--([\w-]+)\s+("(?>[^"\\]|\\.)*+"|'(?>[^'\\]|\\.)*+'|[^\s"'{}\[\],]+)\s*+,?""", re.DOTALL)


def read_elements(
    row: Row, head: re.Match[str], known: WrittenTools, final: bool
) -> tuple[list[ReadCall], int] | None:
    """A parameter an element, whose tags are special tokens in pairs. Where one is lost or broken, it is no call."""
    name = known.resolve(head["name"])
    if name is None:
        return None
    end = row.shut.search(head.string, head.end())
    if end is None:
        if final:
            return None
        raise CutOff
    text = head.string[head.end() : end.start()]
    try:
        values = _elements(text, known.view(name), 0) if text.strip() else {}
    except ValueError:
        return None
    if any(same_key(key, values) for key in values) or not known.accepts(name, values, weak=False):
        return None
    return [(name, known.typed(name, values))], end.end()


def _elements(text: str, view: View | None, depth: int) -> Any:
    """What stands in an element: text, or elements, which are an object or a list.

    Raises ValueError where it is both, or where its schema takes neither an object nor a list.
    """
    tags = list(_TAG.finditer(text))
    if not tags and depth:
        if _PIECE.search(text):
            raise ValueError
        return typed(text, view.types) if view else text
    if depth > _DEPTH or (view is not None and view.types.isdisjoint((OBJECT, ARRAY))):
        raise ValueError
    keys: list[str] = []
    values: list[Any] = []
    at = opened = 0
    first = None
    for tag in tags:
        if not opened:
            first = tag
            if tag[1] or text[at : tag.start()].strip():
                raise ValueError
        opened += -1 if tag[1] else 1
        if first is not None and not opened:
            if tag[2] != first[2]:
                raise ValueError
            inner = (view.child(tag[2]) or view.item(0)) if view else None
            keys.append(tag[2])
            values.append(_elements(text[first.end() : tag.start()], inner, depth + 1))
            at = tag.end()
    if text[at:].strip():
        raise ValueError
    if depth and len(set(keys)) == 1 and (len(keys) > 1 or keys[0] == "item"):
        return values
    return with_one_value_each([*zip(keys, values, strict=True)])


def read_arrows(row: Row, head: re.Match[str], known: WrittenTools, final: bool) -> tuple[list[ReadCall], int] | None:
    """`{tool => "N", args => {--k "v" --n 1}}`, from behind the name."""
    text, at = head.string, head.end()
    name, values = known.resolve(head["name"]), dict[str, Any]()
    if name is None:
        return None
    if row.shut.search(text, at) is None:
        raise CutOff
    view = known.view(name)
    if (opened := _ARROW_ARGS.match(text, at)) is not None:
        at = opened.end()
        while (argument := _ARROW.match(text, at)) is not None:
            key, raw = argument[1], argument[2]
            value = decode_string(raw) if raw[0] in "\"'" else known.value(view, key, raw)
            if values.setdefault(key, value) != value:
                return None
            at = argument.end()
        if (closed := _ARROW_END.match(text, at)) is None:
            return None
        at = closed.end()
    closed = _ARROW_END.match(text, at)
    end = row.closer.match(text, closed.end()) if closed else None
    return None if end is None else ([(name, write(values))], end.end())
