"""MiniMax M3, which nests elements and puts `]<]minimax[>[` before each tag; and `[TOOL_CALL]{tool => …}`, which M2
writes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..tools.check import View
from ..tools.schema import STRING
from .json_calls import decode_string
from .known import Call, CutOff, Known, typed, write
from .tags import may_be_unclosed

if TYPE_CHECKING:
    from .formats import Row

_M = "]<]minimax[>["
_TAG = re.compile(re.escape(_M) + r"<(/?)([\w.:-]+)>")
_DEPTH = 32
_ARROW_END = re.compile(r"\s*+\}")
_ARROW_ARGS = re.compile(r"\s*+,?\s*+args\s*=>\s*\{")
_ARROW = re.compile(r"""\s*+--([\w-]+)\s+("(?>[^"\\]|\\.)*+"|'(?>[^'\\]|\\.)*+'|[^\s"'{}\[\],]+)\s*+,?""", re.DOTALL)


def read_nested(row: Row, head: re.Match[str], known: Known, final: bool) -> tuple[list[Call], int] | None:
    """Elements up to the end of the call; where one is not closed, each is a parameter on its own."""
    text, name = head.string, known.resolve(head["name"])
    end = re.compile(row.end).search(text, head.end())
    if name is None:
        return None
    if end is None:
        raise CutOff
    body, view = text[head.end() : end.start()], known.view(name)
    tags = list(_TAG.finditer(body))
    try:
        values, at = _children(body, tags, 0, view, 0)
        if at != len(tags) or _before(body, tags, at).strip():
            raise ValueError
        arguments = _once(values)
    except ValueError:
        if not (final and known.forgives):
            raise CutOff from None
        if not (known.aloud or row.ends_at(text, end.end())):
            return None
        flat = _flat(body, tags, set(known.declared(name)))
        if flat is None or known.lacks(name, flat) or not known.fit(name, flat):
            return None
        arguments = {key: known.value(view, key, value) for key, value in flat.items()}
    return [(name, write(arguments))], end.end()


def _before(body: str, tags: list[re.Match[str]], at: int) -> str:
    """The text before tag `at`."""
    return body[tags[at - 1].end() if at else 0 : tags[at].start() if at < len(tags) else len(body)]


def _once(values: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values:
        if found.setdefault(key, value) != value:
            raise ValueError
    return found


def _children(
    body: str, tags: list[re.Match[str]], at: int, view: View | None, depth: int
) -> tuple[list[tuple[str, Any]], int]:
    """The elements from tag `at` on, up to a closing tag that closes none of them, and the index of that tag."""
    if depth > _DEPTH:
        raise ValueError
    found: list[tuple[str, Any]] = []
    while at < len(tags) and not tags[at][1]:
        key = tags[at][2]
        inner = (view.child(key) or view.item(0)) if view else None
        if at + 1 >= len(tags) or _before(body, tags, at).strip():
            raise ValueError
        if tags[at + 1][1]:
            text = _before(body, tags, at + 1)
            if _M in text:
                raise ValueError
            value: Any = typed(text, inner.types) if inner else text
            at += 1
        else:
            if inner is not None and inner.types == {STRING}:
                raise ValueError
            children, at = _children(body, tags, at + 1, inner, depth + 1)
            keys = [child for child, _ in children]
            listed = len(set(keys)) == 1 and (len(keys) > 1 or keys[0] == "item")
            value = [child for _, child in children] if listed else _once(children)
            if at < len(tags) and _before(body, tags, at).strip():
                raise ValueError
        if at >= len(tags) or tags[at][2] != key or not tags[at][1]:
            raise ValueError
        found.append((key, value))
        at += 1
    return found, at


def _flat(body: str, tags: list[re.Match[str]], declared: set[str]) -> dict[str, str] | None:
    """The parameters, if some of them were not closed: all must be declared, and contain no tags."""
    found: dict[str, str] = {}
    key = None
    for at, tag in enumerate([*tags, None]):
        text = _before(body, tags, at)
        closes = tag is not None and bool(tag[1])
        if key is None and (text.strip() or closes):
            return None
        if key is not None:
            if (tag is not None and closes and tag[2] != key) or not (
                text.strip() if closes else may_be_unclosed(text)
            ):
                return None
            found[key] = text if closes else text.rstrip()
        key = None if tag is None or closes else tag[2]
        if key is not None and (key not in declared or key in found):
            return None
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
