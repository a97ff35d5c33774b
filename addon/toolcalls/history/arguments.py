"""Arguments that stand in a history: are they an object, and what stands there instead where they are none.

Every request brings the whole history again, so arguments that were found good are known by their hash.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..mend.arguments import Finish, mend_arguments
from ..mend.reading.strict import write

NOTHING = "{}"
MAX_KNOWN = 65_536


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


_scan = json.JSONDecoder(parse_constant=_no_constant).scan_once  # type: ignore[attr-defined]


class Known:
    """Hashes of argument texts that were read as objects before. Bounded: the oldest are forgotten."""

    __slots__ = ("_hashes",)

    def __init__(self) -> None:
        self._hashes: dict[int, None] = {}

    def are_objects(self, texts: Sequence[str]) -> bool:
        """Is every text one strict JSON object? False also where one is no text; TypeError where it has no hash."""
        hashes = list(map(hash, texts))
        if any(kind is not str for kind in set(map(type, texts))):
            return False
        if self._hashes.keys() >= set(hashes):
            return True
        known = self._hashes
        for text, key in zip(texts, hashes, strict=True):
            if key not in known:
                if not _is_object(text):
                    return False
                known[key] = None
        while len(known) > MAX_KNOWN:
            del known[next(iter(known))]
        return True

    def is_object(self, text: str) -> bool:
        return self.are_objects((text,))


def _is_object(text: str) -> bool:
    if not text.startswith("{"):
        return False
    try:
        end = _scan(text, 0)[1]
    except (ValueError, StopIteration, RecursionError):
        return False
    return end == len(text) or not text[end:].strip(" \t\n\r")


def mended(text: str) -> str:
    """The object that was meant; an empty one where that cannot be told.

    The call is past, and it failed or it ran: what counts is that the upstream can read it. Why the model
    stopped is not known any more, so nothing that was cut off is completed.
    """
    return mend_arguments(text, Finish.UNKNOWN).text or NOTHING


def one_object(text: str) -> str:
    """The same for a value that stands where an object belongs: a list of one object has one reading."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return NOTHING
    if isinstance(value, str):
        return mended(value)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        return write(value[0])
    return NOTHING


def quoted(text: str) -> str:
    """The text of a value that should have been a string of JSON, as that string. Numbers stay as written."""
    value = mend_arguments(text, Finish.UNKNOWN).value
    return write(NOTHING if value is None else write(value))
