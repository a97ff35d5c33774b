"""Gemma 4 `call:N{k:<|"|>v<|"|>,n:1}` and FunctionGemma with `<escape>`: objects and lists whose keys are bare, and
whose strings stand between marks of their own or between plain quotes. They are written as JSON, and read as that."""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .known import Bare, CutOff, ReadCall, WrittenTools, read, with_one_value_each, write

if TYPE_CHECKING:
    from .formats import Row

_KEY = re.compile(r"\s*+(?:<\|\"\|>|<escape>|[\"'])?([\w.$-]{1,128})(?:<\|\"\|>|<escape>|[\"'])?\s*+:")
_LONGEST_WORD, _LONGEST_TOKEN = 180, 200


def read_gemma(row: Row, head: re.Match[str], known: WrittenTools, final: bool) -> tuple[list[ReadCall], int] | None:
    text, name = head.string, known.resolve(head["name"])
    if name is None:
        return None
    try:
        written, at = _as_json(text, head.end(), row)
        value = json.loads(written, object_pairs_hook=_object, strict=False)
    except CutOff:
        if final:
            return None
        raise
    except (ValueError, RecursionError):
        return None
    declared, view = set(known.declared(name)), known.view(name)
    if any(type(before) is Bare and key not in declared for (_, before), (key, _) in pairwise(value.items())):
        return None  # the comma before the key was part of a text without quotes
    values = {key: one if type(one) is Bare else _nested(one) for key, one in value.items()}
    arguments = {key: known.value(view, key, one) for key, one in values.items()}
    end = row.end_at(text, at, final)
    if end is None or (row.weak and not known.accepts(name, arguments, weak=True)):
        return None
    return [(name, write(arguments))], end


@cache
def _values(mark: str) -> re.Pattern[str]:
    mark = re.escape(mark)
    return re.compile(
        rf"\s*+(?:(?P<mark>(?:,\s*+)?[}}\]]|[{{\[,])|{mark}(?P<marked>(?s:.*?)){mark}"
        r'|(?P<quoted>"[^"\\]*+(?>\\(?s:.)[^"\\]*+)*+")'
        rf"|(?P<bare>[^\s,{{}}\[\]\"'`<][^,{{}}\[\]\"'`<\n]{{0,{_LONGEST_WORD}}}+(?=[,}}\]])))"
    )


def _as_json(text: str, at: int, row: Row) -> tuple[str, int]:
    """The object that begins here as JSON, and where it ends. A word without quotes is the value of an empty key.

    Raises ValueError where it is no object, CutOff where the text ends in it.
    """
    out: list[str] = []
    opened, before_key = "", False
    while True:
        if before_key and (key := _KEY.match(text, at)) is not None:
            out.append(f'"{key[1]}":')
            at = key.end()
        token = _values(row.param).match(text, at)
        if token is None:
            rest = text[at : at + 2 * _LONGEST_TOKEN].lstrip()
            raise CutOff if rest.startswith((row.param, '"')) or len(rest) < _LONGEST_TOKEN else ValueError
        at, before_key = token.end(), False
        if token["mark"]:
            mark = token["mark"][-1]
            out.append(mark)
            opened = opened + mark if mark in "{[" else opened[: -1 if mark in "}]" else None]
            before_key = mark in "{," and opened[-1:] == "{"
            if not opened:
                return "".join(out), at
        elif (value := token["marked"]) is not None:
            if row.shut.search(value) and "call:" not in value:
                raise ValueError  # a mark was forgotten, and the string has swallowed the end of its call
            out.append(json.dumps(value))
        else:
            out.append(token["quoted"] or json.dumps({"": token["bare"].strip()}))


def _object(pairs: list[tuple[str, Any]]) -> Any:
    """An object in which no name has two values; or the word without quotes that it stands for."""
    found = with_one_value_each(pairs)
    return Bare(found[""]) if "" in found else found


def _nested(value: Any) -> Any:
    """A value whose words without quotes are read: no schema types them."""
    if isinstance(value, dict):
        return {key: _nested(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_nested(entry) for entry in value]
    found = read(value) if type(value) is Bare else value
    return str(value) if found is None and value not in (None, "null") else found
