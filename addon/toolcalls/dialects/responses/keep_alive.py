"""What the client hears while a call is held: the response is still in progress.

`response.in_progress` is told again: every client of the protocol knows that event, and none takes anything new
from it. An event type of its own would end decoders that know a closed list.
"""

from __future__ import annotations

from typing import Final

from ...turn import payload
from .events import NUMBER, EventWriter

_IN_PROGRESS: Final = "response.in_progress"
_ECHOED: Final[dict[str, list[object] | None]] = {"instructions": None, "tools": [], "output": []}
"""Fields that may repeat all of a long request, and what they are when they say nothing."""


def keep_alive(announced: str, writer: EventWriter) -> bytes:
    """The response as it was announced, in short, with the number of the event that went out last.

    What follows keeps its own number, so there is none in between. A response that was never announced has no
    event to repeat: then it is the one that OpenAI's own servers send.
    """
    number = max(writer.last, 0)
    message = payload.read_strict(announced)
    response = message.get("response") if isinstance(message, dict) else None
    if not isinstance(response, dict):
        return writer.unnumbered({"type": "keepalive", NUMBER: number}, "keepalive")
    short = {key: _ECHOED.get(key, value) for key, value in response.items()}
    event = {"type": _IN_PROGRESS, NUMBER: number, "response": {**short, "status": "in_progress"}}
    return writer.unnumbered(event, _IN_PROGRESS)
