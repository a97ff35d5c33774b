"""What only MiniMax writes: the nested elements of M3, and `[TOOL_CALL]{tool => …}` of M2."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..tools.check import View
from ..tools.schema import ARRAY, OBJECT
from .json_calls import decode_string
from .known import Call, CutOff, Known, typed, write

if TYPE_CHECKING:
    from .formats import Row

_TAG = re.compile(re.escape("]<]minimax[>[") + r"<(/?)([\w.:-]+)>")
_DEPTH = 32
_ARROW_END = re.compile(r"\s*+\}")
_ARROW_ARGS = re.compile(r"\s*+,?\s*+args\s*=>\s*\{")
_ARROW = re.compile(r"""\s*+--([\w-]+)\s+("(?>[^"\\]|\\.)*+"|'(?>[^'\\]|\\.)*+'|[^\s"'{}\[\],]+)\s*+,?""", re.DOTALL)


def nested_value(text: str, view: View | None, depth: int = 0) -> Any:
    """What stands in an element of M3, whose tags are pairs: text, or elements, which are an object or a list.

    Raises ValueError where it is both, or where its schema takes neither an object nor a list.
    """
    tags = list(_TAG.finditer(text))
    if not tags:
        return typed(text, view.types) if view else text
    if depth > _DEPTH or (view is not None and view.types.isdisjoint((OBJECT, ARRAY))):
        raise ValueError
    keys: list[str] = []
    values: list[Any] = []
    at = begin = opened = 0
    for tag in tags:
        if not opened and text[at : tag.start()].strip():
            raise ValueError
        begin = begin if opened else tag.end()
        opened += -1 if tag[1] else 1
        if not opened:
            inner = (view.child(tag[2]) or view.item(0)) if view else None
            keys.append(tag[2])
            values.append(nested_value(text[begin : tag.start()], inner, depth + 1))
            at = tag.end()
    if text[at:].strip():
        raise ValueError
    if len(set(keys)) == 1 and (len(keys) > 1 or keys[0] == "item"):
        return values
    found = dict(zip(keys, values, strict=True))
    if any(found[key] != value for key, value in zip(keys, values, strict=True)):
        raise ValueError
    return found


def read_arrows(row: Row, head: re.Match[str], known: Known, final: bool) -> tuple[list[Call], int] | None:
    """`{tool => "N", args => {--k "v" --n 1}}`, from behind the name."""
    text, at = head.string, head.end()
    name, values = known.resolve(head["name"]), dict[str, Any]()
    if name is None:
        return None
    if re.compile(row.end).search(text, at) is None:
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
