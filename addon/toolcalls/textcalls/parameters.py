"""The parameters of one block of tags, and the names and values that show that the block is not a call."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .cursor import NotACall
from .values import is_open, properties, put, required, typed, types

_HERE_DOCUMENT = re.compile(r"<<-?[ \t]?([\"']?)([A-Za-z_]\w{0,60})\1")
_MISSPELT_CLOSER = re.compile(r"(?:<|\[ ?[/\\])[^<>\n]{1,80}+>?+\s*+\Z")
_LAST_LINE_END = re.compile(r"\r?\n[ \t]*+\Z")


class Parameters:
    """The parameters of one block while they arrive. A name with two different values raises NotACall."""

    __slots__ = ("_plain", "_required", "_schema", "declared", "values")

    def __init__(self, schema: Mapping[str, Any] | None) -> None:
        self._schema = schema
        self._plain = True
        self._required: set[str] = set()
        """The parameters that must be present at the end."""
        self.declared = properties(schema)
        self.values: dict[str, Any] = {}

    def begin(self, key: str) -> None:
        """A parameter begins. Raises NotACall if its name may be part of the value before it, or is another spelling
        of an earlier name."""
        if any(other != key and _folded(other) == _folded(key) for other in self.values):
            raise NotACall
        if not self.values or key in self.declared or not self.declared or is_open(self._schema):
            return
        last = next(reversed(self.values.values()))
        if isinstance(last, str):
            ends = last.strip() and "\n" not in last and self._plain and not _is_left_open(last)
        else:
            ends = True
        if not ends and _folded(key) not in map(_folded, self.declared):
            raise NotACall

    def add(self, key: str, value: Any, *, plain: bool = True) -> None:
        """Add a parameter. `plain`: there is no tag in the value."""
        put(self.values, key, value)
        self._plain = plain
        if not plain:
            self.check_tagged(key)

    def add_unclosed(self, key: str, value: str, never: tuple[str, ...] = (), trim: bool = False) -> None:
        """Add a value without a closer. Raises NotACall if its end is uncertain, or if one of `never` is in it."""
        spaced = value.endswith((" ", "\t")) and not _LAST_LINE_END.search(value)
        tagged = any(mark in value for mark in (*never, "<|", "<｜")) or _MISSPELT_CLOSER.search(value)
        if not value.strip() or spaced or tagged or _is_left_open(value):
            raise NotACall
        value = _LAST_LINE_END.sub("", value)
        value = trimmed(value + "\n") if trim else value
        self.add(key, value, plain=False)

    def unseen(self, key: str) -> bool:
        return key in self.declared and key not in self.values

    def check_tagged(self, key: str) -> None:
        """Check a value with tags in or beside it: raises NotACall unless it is declared and of its type. From now on
        no required parameter may be missing."""
        if key not in self.declared and self.declared and not is_open(self._schema):
            raise NotACall
        schema = self.declared.get(key)
        admitted = types(schema, self._schema)
        value = typed(self.values[key], schema, self._schema)
        if admitted and "string" not in admitted and isinstance(value, str):
            raise NotACall
        self._required = required(self._schema)

    def finish(self) -> dict[str, Any]:
        """The values; raises NotACall if a required one is missing or a here-document was cut."""
        if not self._required <= self.values.keys():
            raise NotACall
        open_words: set[str] = set()
        for value in self.values.values():
            if isinstance(value, str):
                if open_words and not open_words.isdisjoint(map(str.strip, value.splitlines())):
                    raise NotACall
                open_words |= _open_here_documents(value)
        return self.values


def trimmed(value: str) -> str:
    """The value without the newline on each side that belongs to the markup."""
    if value.startswith("\r\n"):
        value = value[2:]
    elif value.startswith("\n"):
        value = value[1:]
    if value.endswith("\r\n"):
        return value[:-2]
    return value[:-1] if value.endswith("\n") else value


def _folded(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


def _is_left_open(value: str) -> bool:
    """Whether a value ends inside a quotation or a here-document."""
    return any(value.count(quote) % 2 for quote in "\"'`") or bool(_open_here_documents(value))


def _open_here_documents(value: str) -> set[str]:
    words = {match[2] for match in _HERE_DOCUMENT.finditer(value)} if "<<" in value else set()
    return words - set(map(str.strip, value.splitlines())) if words else words
