"""Reading and writing the JSON payload of an event or a body. What cannot be read is left to pass."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from ..mend.arguments import Finish, mend_arguments
from ..mend.reading.strict import read
from ..mend.refusal import Refusal

_GLUE = "data: {"


def read_strict(text: str | bytes) -> Any:
    """The decoded payload, or None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def object_in(text: str | bytes) -> dict[str, Any] | None:
    """The object that a text is, read strictly; None where it is none."""
    value = read_strict(text)
    return value if isinstance(value, dict) else None


def read_encoded(text: str) -> Any:
    """The decoded payload; of a text that was encoded once more, the value inside."""
    value = read_strict(text)
    return read_strict(value) if isinstance(value, str) else value


def contradict(values: Iterable[Any]) -> bool:
    """Are there two different objects among these? An empty one is what some servers say before the real one."""
    objects = [value for value in values if value and isinstance(value, dict)]
    return any(value != objects[0] for value in objects[1:])


def read_twice(text: str) -> tuple[Any, dict[str, Any] | None]:
    """As `read_strict`, and the same object as the mender would read it, where there is nothing to mend in it."""
    try:
        value = read(text)
    except Refusal:
        return read_strict(text), None
    except (ValueError, RecursionError):
        return None, None
    return value, value if type(value) is dict else None


def read_glued(text: str) -> dict[str, Any] | None:
    """A frame glued behind a lost one, `…"object":"chat.cdata: {"id":…`: the last one is whole."""
    start = text.rfind(_GLUE)
    return object_in(text[start + len(_GLUE) - 1 :]) if start >= 0 else None


def read_broken(text: str) -> dict[str, Any] | None:
    """A payload that is no JSON: a Python-style dict, or a frame glued behind a lost one."""
    glued = read_glued(text)
    if glued is not None:
        return glued
    # A frame that was cut off by the end of the connection is no frame: it passes as it came.
    value = mend_arguments(text, Finish.CUT).value
    return value if _can_be_written(value) else None


def _can_be_written(value: Any) -> bool:
    """Python reads longer numbers than it writes."""
    try:
        write(value)
    except ValueError:
        return False
    return True


def write(value: Any) -> str:
    """Compact JSON, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_of(value: Any) -> str:
    """Arguments as one JSON text: some servers send the object itself."""
    if value is None:
        return ""
    return value if isinstance(value, str) else write(value)
