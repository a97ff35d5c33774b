"""How a response ended, according to its terminal event or to the document that it arrived in."""

from __future__ import annotations

from typing import Any, Final

from ...mend.finish import Finish
from ...turn import payload
from .events import Json

COMPLETED: Final = "response.completed"
TERMINAL: Final = frozenset(
    {COMPLETED, "response.incomplete", "response.failed", "response.cancelled", "response.done"}
)
FAILED: Final = frozenset({"failed", "cancelled"})
_KINDS: Final = {"completed": COMPLETED, "incomplete": "response.incomplete", "failed": "response.failed"}
_UNFINISHED: Final = frozenset({"in_progress", "queued"})


def document_in(body: bytes) -> Json | None:
    """The response that a body contains, if it has ended and has an output."""
    response = payload.object_in(body)
    if response is None or not isinstance(response.get("output"), list):
        return None
    return None if str(response.get("status") or "") in _UNFINISHED else response


def kind_of_document(response: Json) -> str:
    """The type of the terminal event that would have ended a stream."""
    if response.get("error"):
        return "response.failed"
    return _KINDS.get(str(response.get("status") or ""), "response.done")


def status_of(kind: str, response: Any) -> str:
    """The status according to a terminal event, or to the response in it."""
    status = kind.removeprefix("response.")
    if status in ("completed", "done") and isinstance(response, dict):
        return str(response.get("status") or status)
    return status


def finish_in(kind: str, response: Any) -> Finish:
    """How a response ended. With `incomplete_details`, an error or a refusal it was cut off, whatever its status."""
    if isinstance(response, dict) and (
        response.get("incomplete_details") or response.get("error") or _refuses(response.get("output"))
    ):
        return Finish.CUT
    status = status_of(kind, response)
    if status == "incomplete" or status in FAILED:
        return Finish.CUT
    return Finish.COMPLETE if status == "completed" else Finish.UNKNOWN


def _refuses(output: Any) -> bool:
    """Whether a message of the response contains a refusal."""
    items = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
    contents = [item["content"] for item in items if isinstance(item.get("content"), list)]
    return any(isinstance(part, dict) and bool(part.get("refusal")) for content in contents for part in content)


def output_in(data: str) -> int:
    """The position of the output in a terminal event that is not parsed; -1 if it is not found."""
    for key in ('"output":[', '"output": ['):
        at = data.find(key)
        if at >= 0:
            return at + len(key)
    return -1


def failure_of(error: Any) -> Json:
    """The error of a failed response: the one that the server reported, or else that it ended too early."""
    reported = error if isinstance(error, dict) else {}
    return {
        "code": str(reported.get("code") or reported.get("type") or "server_error"),
        "message": str(reported.get("message") or "The answer of the server ended before it was complete."),
    }
