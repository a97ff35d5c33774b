"""Parses and writes the JSON payload of an event or a body. A payload that cannot be parsed passes unchanged."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ..mend.arguments import Finish, mend_arguments
from ..mend.reading.strict import read
from ..mend.refusal import Refusal

_GLUE = "data: {"


def read_strict(text: str | bytes) -> Any:
    """The value of a JSON text; None if it is invalid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def object_in(text: str | bytes) -> dict[str, Any] | None:
    """The object that a text is as strict JSON, else None."""
    value = read_strict(text)
    return value if isinstance(value, dict) else None


def read_encoded(text: str) -> Any:
    """The value of a JSON text; if that is a string, the value of the JSON text inside it."""
    value = read_strict(text)
    return read_strict(value) if isinstance(value, str) else value


def contradict(values: Iterable[Any]) -> bool:
    """Whether two of these objects differ. Empty ones do not count: some servers send one before the real one."""
    objects = [value for value in values if value and isinstance(value, dict)]
    return any(value != objects[0] for value in objects[1:])


def read_twice(text: str) -> tuple[Any, dict[str, Any] | None]:
    """The value as `read_strict` gives it, and the object as the mender would read it if it needs no mending."""
    try:
        value = read(text)
    except Refusal:
        return read_strict(text), None
    except (ValueError, RecursionError):
        return None, None
    return value, value if type(value) is dict else None


def read_glued(text: str) -> dict[str, Any] | None:
    """The whole frame at the end of a text in which frames ran together: `…"object":"chat.cdata: {"id":…`."""
    start = text.rfind(_GLUE)
    return object_in(text[start + len(_GLUE) - 1 :]) if start >= 0 else None


def read_broken(text: str) -> dict[str, Any] | None:
    """The object in a payload that is no JSON: a Python-style dict, or a frame that ran into a cut-off one."""
    glued = read_glued(text)
    if glued is not None:
        return glued
    # A frame that was cut off by the end of the connection is not completed: it passes unchanged.
    value = mend_arguments(text, Finish.CUT).value
    return value if _can_be_written(value) else None


def _can_be_written(value: Any) -> bool:
    """Whether the value can be written as JSON: Python parses longer numbers than it writes."""
    try:
        write(value)
    except ValueError:
        return False
    return True


def write(value: Any) -> str:
    """Compact JSON, without escapes for non-ASCII characters."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_of(value: Any) -> str:
    """Arguments as one JSON text: some servers send the object itself."""
    if value is None:
        return ""
    return value if isinstance(value, str) else write(value)
