"""Arguments that stand in a history: are they an object, and what stands there instead where they are none.

Every request brings the whole history again, so arguments that were found good are known by their hash.
"""

from __future__ import annotations

import json
from typing import Any

from ..mend.arguments import Finish, mend_arguments
from ..mend.strict import write

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

    def is_object(self, text: str) -> bool:
        """Is the text one strict JSON object? Raises TypeError or AttributeError where it is no text."""
        known = hash(text)
        if known in self._hashes and type(text) is str:
            return True
        if not text.startswith("{"):
            return False
        try:
            end = _scan(text, 0)[1]
        except (ValueError, StopIteration, RecursionError):
            return False
        if end < len(text) and text[end:].strip(" \t\n\r"):
            return False
        if len(self._hashes) >= MAX_KNOWN:
            del self._hashes[next(iter(self._hashes))]
        self._hashes[known] = None
        return True


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
