"""How a response ended, by its terminal event or by the document that it came in."""

from __future__ import annotations

from typing import Any, Final

from ...mend.finish import Finish
from .events import Json

COMPLETED: Final = "response.completed"
TERMINAL: Final = frozenset(
    {COMPLETED, "response.incomplete", "response.failed", "response.cancelled", "response.done"}
)
FAILED: Final = frozenset({"failed", "cancelled"})


def status_of(kind: str, response: Any) -> str:
    """The status that a terminal event, or the response in it, tells."""
    status = kind.removeprefix("response.")
    if status in ("completed", "done") and isinstance(response, dict):
        return str(response.get("status") or status)
    return status


def finish_in(kind: str, response: Any) -> Finish:
    """How a response ended: one that names what is missing, or an error, was cut off, whatever it calls itself."""
    if isinstance(response, dict) and (
        response.get("incomplete_details") or response.get("error") or _refuses(response.get("output"))
    ):
        return Finish.CUT
    status = status_of(kind, response)
    if status == "incomplete" or status in FAILED:
        return Finish.CUT
    return Finish.COMPLETE if status == "completed" else Finish.UNKNOWN


def _refuses(output: Any) -> bool:
    """Does a message of the response refuse?"""
    items = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
    contents = [item["content"] for item in items if isinstance(item.get("content"), list)]
    return any(isinstance(part, dict) and bool(part.get("refusal")) for content in contents for part in content)


def output_in(data: str) -> int:
    """Where the output of an unread terminal event begins; -1 where that cannot be told."""
    for key in ('"output":[', '"output": ['):
        at = data.find(key)
        if at >= 0:
            return at + len(key)
    return -1


def failure_of(error: Any) -> Json:
    """The error of a response that failed: what the server said, else that it ended too early."""
    reported = error if isinstance(error, dict) else {}
    return {
        "code": str(reported.get("code") or reported.get("type") or "server_error"),
        "message": str(reported.get("message") or "The answer of the server ended before it was complete."),
    }
