"""A Responses answer that arrived as one JSON document."""

from __future__ import annotations

from typing import Any

from ...turn import payload
from .events import Json

_TERMINAL = {"completed": "response.completed", "incomplete": "response.incomplete", "failed": "response.failed"}
_UNFINISHED = frozenset({"in_progress", "queued"})


def read_document(body: bytes) -> Json | None:
    """The response, if it has ended and has an output."""
    response = payload.object_in(body)
    if response is None or not isinstance(response.get("output"), list):
        return None
    return None if str(response.get("status") or "") in _UNFINISHED else response


def kind_of_document(response: Json) -> str:
    """The type of the terminal event that would have ended a stream."""
    if response.get("error"):
        return "response.failed"
    return _TERMINAL.get(str(response.get("status") or ""), "response.done")


def write_document(response: Json, output: Any) -> bytes:
    return payload.write({**response, "output": output}).encode("utf-8", "backslashreplace")
