"""The event that the client gets while a call is held: the response is still in progress.

`response.in_progress` is repeated, because every client of the protocol knows that event and none takes anything new
from it. A new event type would break decoders that accept only a fixed list.
"""

from __future__ import annotations

from typing import Final

from ...turn import payload
from .events import NUMBER, EventWriter

_IN_PROGRESS: Final = "response.in_progress"
_ECHOED: Final[dict[str, list[object] | None]] = {"instructions": None, "tools": [], "output": []}
"""Fields that may repeat a long request, and the empty values that replace them."""


def keep_alive(announced: str, writer: EventWriter) -> bytes:
    """The announced response, shortened, with the number of the last event that was sent.

    The following events keep their own numbers, so no number is free in between. If the response was never announced,
    there is no event to repeat, and the event is `keepalive`, which OpenAI's own servers send.
    """
    number = max(writer.last, 0)
    message = payload.read_strict(announced)
    response = message.get("response") if isinstance(message, dict) else None
    if not isinstance(response, dict):
        return writer.write_unnumbered({"type": "keepalive", NUMBER: number}, "keepalive")
    short = {key: _ECHOED.get(key, value) for key, value in response.items()}
    event = {"type": _IN_PROGRESS, NUMBER: number, "response": {**short, "status": "in_progress"}}
    return writer.write_unnumbered(event, _IN_PROGRESS)
