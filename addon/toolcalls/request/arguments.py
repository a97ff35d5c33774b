"""Arguments in a history: whether they are an object, and what replaces them if they are not.

Every request contains the whole history again, so arguments that were found good are remembered by their hash.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Sequence
from typing import Any

from ..mend.arguments import Finish, mend_arguments
from ..mend.reading.strict import write

NOTHING = "{}"
MAX_KNOWN = 65_536
_TOGETHER = 16
_WORD = secrets.token_hex()
_BETWEEN = f'"{_WORD}"'


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


_decoder = json.JSONDecoder(parse_constant=_no_constant)
_scan = _decoder.scan_once  # type: ignore[attr-defined]


class KnownGoodArguments:
    """Hashes of argument texts that were parsed as objects before. Bounded: the oldest are forgotten."""

    __slots__ = ("_hashes",)

    def __init__(self) -> None:
        self._hashes: dict[int, None] = {}

    def are_objects(self, texts: Sequence[str]) -> bool:
        """Whether every text is one strict JSON object; False if one is no string, TypeError if it has no hash."""
        hashes = list(map(hash, texts))
        if any(kind is not str for kind in set(map(type, texts))):
            return False
        if self._hashes.keys() >= set(hashes):
            return True
        known = self._hashes
        new = {key: text for text, key in zip(texts, hashes, strict=True) if key not in known}
        if not _are_objects(list(new.values())):
            return False
        self._learn(new)
        return True

    def is_object(self, text: str) -> bool:
        """Whether the text is one strict JSON object."""
        key = hash(text)
        if key in self._hashes:
            return True
        try:
            is_object = type(_decoder.decode(text)) is dict
        except (ValueError, RecursionError):
            return False
        if is_object:
            self._learn((key,))
        return is_object

    def _learn(self, keys: Iterable[int]) -> None:
        known = self._hashes
        known.update(dict.fromkeys(keys))
        while len(known) > MAX_KNOWN:
            del known[next(iter(known))]


def _are_objects(texts: list[str]) -> bool:
    """Whether all texts are objects, parsed in groups as lists with a random word between the texts.

    No text can contain that word. So if it is every second item of the list, each item between is exactly one text.
    For short texts this takes two thirds of the time that parsing one by one takes.
    """
    for at in range(0, len(texts), _TOGETHER):
        some = texts[at : at + _TOGETHER]
        written = f"[{f',{_BETWEEN},'.join(some)}]"
        try:
            values, end = _scan(written, 0)
        except (ValueError, StopIteration, RecursionError):
            return False
        between = values[1::2]
        if end != len(written) or len(between) != len(some) - 1 or between.count(_WORD) != len(between):
            return False
        if len(values) != len(some) + len(between) or any(type(value) is not dict for value in values[::2]):
            return False
    return True


def one_object(text: str) -> str:
    """The object for arguments that are neither a text nor an object: the only item of a list, or else `{}`."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return NOTHING
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        return write(value[0])
    return NOTHING


def quoted(text: str) -> str:
    """The JSON string for a value that was not sent as a string. Numbers stay as written."""
    value = mend_arguments(text, Finish.UNKNOWN).value
    return write(NOTHING if value is None else write(value))
