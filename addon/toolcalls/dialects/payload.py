"""Reading and writing the JSON payload of an event or a body. What cannot be read is left to pass."""

from __future__ import annotations

import json
from typing import Any

from ..mend.arguments import Finish, mend_arguments

_GLUE = "data: {"
_CLOSED = "missing closing bracket"


def read_strict(text: str | bytes) -> Any:
    """The decoded payload, or None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def read_broken(text: str) -> dict[str, Any] | None:
    """A payload that is no JSON: a Python-style dict, or a frame glued behind a lost one."""
    if _GLUE in text:
        # `…"object":"chat.cdata: {"id":…`: the first frame was overwritten, the last one is whole.
        glued = read_strict(text[text.rindex(_GLUE) + len(_GLUE) - 1 :])
        if isinstance(glued, dict):
            return glued
    mended = mend_arguments(text, Finish.CUT)
    # A frame that was cut off by the end of the connection is no frame: it passes as it came.
    return None if _CLOSED in mended.steps else mended.value


def write(value: Any) -> str:
    """Compact JSON, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_of(value: Any) -> str:
    """Arguments as one JSON text: some servers send the object itself."""
    if value is None:
        return ""
    return value if isinstance(value, str) else write(value)
