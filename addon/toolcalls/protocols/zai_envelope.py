"""The fields of an event of chat.z.ai, `{"type": "chat:completion", "data": {…}}`.

Unknown types and phases are treated like known ones; a value of the wrong kind is ignored.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

from .. import payload
from ..parts import Json
from ..payload import string_of
from .errors import error_in

_SIGNS: Final = frozenset(
    {"phase", "delta_content", "edit_content", "delta_name", "delta_arguments", "error", "done", "data"}
)
_IDS = ("tool_call_id", "sub_tool_call_id", "id")


class Patch(NamedTuple):
    """A change of the document: `delta` appends, `edit` cuts at `place` and appends, `content` replaces all."""

    kind: Literal["edit", "content", "delta"]
    text: str
    place: int | None = 0
    """None if an edit does not say where it cuts."""


def is_envelope(event: Json) -> bool:
    """Whether this is an event of the chat.z.ai family and not of an OpenAI server."""
    if event.get("type") == "chat:completion":
        return True
    data = event.get("data")
    return isinstance(data, dict) and "choices" not in event and "type" not in event and not _SIGNS.isdisjoint(data)


def data_of(event: Json) -> Json:
    """The fields of the event; errors nest them one level deeper."""
    data = event.get("data")
    if not isinstance(data, dict):
        return {}
    inner = data.get("data")
    return {**inner, **data} if isinstance(inner, dict) and "phase" not in data else data


def patch_of(data: Json) -> Patch | None:
    """The patch in an event: its first text field, unless that is empty. The 2025 stream ends with an empty edit."""
    edit, content, delta = data.get("edit_content"), data.get("content"), data.get("delta_content")
    if isinstance(edit, str):
        try:
            index = max(int(data.get("edit_index")), 0)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            index = None
        return Patch("edit", edit, index) if edit else None
    if isinstance(content, str):
        return Patch("content", content) if content else None
    return Patch("delta", delta) if isinstance(delta, str) and delta else None


def reason_of(data: Json) -> str:
    """The finish reason of the one OpenAI-like chunk near the end."""
    choices = data.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return string_of(first.get("finish_reason")) if isinstance(first, dict) else ""


def call_id_of(data: Json) -> str:
    metadata = data.get("metadata")
    found = [string_of(metadata.get(key)) for key in _IDS] if isinstance(metadata, dict) else []
    return next(filter(None, found), "")


def error_of(event: Json) -> tuple[str, Any] | None:
    """The message and the code of an error on any of the three levels, or of a bare `error_code`."""
    level: Any = event
    error: Any = None
    while isinstance(level, dict) and not error:
        error = level.get("error") or (level if level.get("error_code") else None)
        level = level.get("data")
    error = error or error_in(event)
    if not isinstance(error, dict):
        return (payload.text_of(error), None) if error else None
    code = error.get("code") or error.get("error_code")
    messages = (error.get(key) for key in ("detail", "message", "msg", "error_msg"))
    message = next((payload.text_of(value) for value in messages if value), "")
    return message or f"The upstream reported the error {code or payload.write(error)}.", code
