"""Extracts the fields of a chat.z.ai event, `{"type": "chat:completion", "data": {…}}`.

Unknown event types and phases are treated like known ones; a value of the wrong type is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ...turn import payload
from ..upstream_errors import error_in

Json = dict[str, Any]

ENVELOPE_TYPE = "chat:completion"
_SIGNS = frozenset(
    {"phase", "delta_content", "edit_content", "delta_name", "delta_arguments", "error", "done", "data"}
)
_IDS = ("tool_call_id", "sub_tool_call_id", "id")


@dataclass(slots=True, frozen=True)
class Patch:
    """A change of the document: `delta` appends, `edit` cuts at `index` and appends, `content` replaces all."""

    kind: Literal["edit", "content", "delta"]
    text: str
    index: int = 0


@dataclass(slots=True, frozen=True)
class UpstreamError:
    """An error inside a response with HTTP 200."""

    message: str
    code: Any = None


def is_envelope(event: Json) -> bool:
    """Whether this is an event of the chat.z.ai family and not of an OpenAI server."""
    if event.get("type") == ENVELOPE_TYPE:
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


def phase_of(data: Json) -> str:
    phase = data.get("phase")
    return phase if isinstance(phase, str) and phase else "answer"


def is_done(data: Json) -> bool:
    return data.get("done") is True or data.get("phase") == "done"


def patch_of(data: Json) -> Patch | None:
    """The patch in an event: its first text field, unless that is empty. The 2025 stream ends with an empty edit."""
    edit, content, delta = data.get("edit_content"), data.get("content"), data.get("delta_content")
    if isinstance(edit, str):
        return Patch("edit", edit, _index(data.get("edit_index"))) if edit else None
    if isinstance(content, str):
        return Patch("content", content) if content else None
    return Patch("delta", delta) if isinstance(delta, str) and delta else None


def _index(value: Any) -> int:
    try:
        return max(int(value), 0)
    except (TypeError, ValueError, OverflowError):
        return 0


def usage_of(data: Json) -> Json | None:
    usage = data.get("usage")
    return usage if isinstance(usage, dict) and usage else None


def reason_of(data: Json) -> str | None:
    """The finish reason of the one OpenAI-like chunk near the end."""
    choices = data.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    reason = first.get("finish_reason") if isinstance(first, dict) else None
    return reason if isinstance(reason, str) else None


def call_id_of(data: Json) -> str:
    metadata = data.get("metadata")
    found = (metadata.get(key) for key in _IDS) if isinstance(metadata, dict) else iter(())
    return next((value for value in found if isinstance(value, str) and value), "")


def error_of(event: Json) -> UpstreamError | None:
    """The error of an event: `error` on any of the three levels, as text or as an object, or a bare `error_code`."""
    level: Any = event
    while isinstance(level, dict):
        error = level.get("error") or (level if level.get("error_code") else None)
        if error:
            return _upstream_error(error)
        level = level.get("data")
    odd = error_in(event)
    return _upstream_error(odd) if odd is not None else None


def _upstream_error(error: Any) -> UpstreamError:
    """The message and the code of an error, which is an object or anything else."""
    if not isinstance(error, dict):
        return UpstreamError(payload.text_of(error))
    code = error.get("code") or error.get("error_code")
    messages = (error.get(key) for key in ("detail", "message", "msg", "error_msg"))
    message = next((payload.text_of(value) for value in messages if value), "")
    return UpstreamError(message or f"The upstream reported the error {code or payload.write(error)}.", code)
