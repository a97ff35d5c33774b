"""The JSON of an event or a body: read, compared, written. What cannot be read passes unchanged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, Final

from .mend.arguments import Finish, mend_arguments
from .mend.strict import read
from .reasons import Refusal

_GLUE: Final = "data: {"


def index_of(value: object) -> int | None:
    """The value if it is an index, else None. A bool is no index, although it is an int in Python."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def string_of(value: object) -> str:
    """The value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def says(value: object) -> bool:
    """Whether a value says something, as false and 0 do; servers send null and what is empty in every event."""
    return value not in (None, "", [], {})


def shown_text(value: object) -> str | None:
    """The value as text that the client sees, "" if there is none; None if it is in a form that is not known."""
    return value if isinstance(value, str) else None if value else ""


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
    try:
        write(value)
    except ValueError:
        return None  # Python parses longer numbers than it writes.
    return value


def write(value: Any) -> str:
    """Compact JSON, without escapes for non-ASCII characters."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_of(value: Any) -> str:
    """Arguments as one JSON text: some servers send the object itself."""
    if value is None:
        return ""
    return value if isinstance(value, str) else write(value)


def meaning_of(arguments: str) -> tuple[bool, bytes]:
    """Whether the arguments can be read without closing them, and a hash, equal for all that mean the same."""
    value = mend_arguments(arguments, Finish.CUT).value
    readable = value is not None
    if value is None:  # A bracket is missing, but the call may still mean the same as another.
        value = mend_arguments(arguments, Finish.COMPLETE).value
    try:
        text = arguments if value is None else canonical(value)
    except (ValueError, RecursionError):
        readable, text = False, arguments
    return readable, hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def canonical(value: Any) -> str:
    """A value in canonical form."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    """The value with whole floats as integers, so that 1.0 equals 1."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
