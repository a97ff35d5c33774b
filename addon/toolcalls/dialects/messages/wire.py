"""The names and shapes of Messages events, and functions that write them."""

from __future__ import annotations

from typing import Any, Final

from ...turn import payload
from ...turn.finish_reason import FinishWords
from ...wire import sse

Json = dict[str, Any]

TOOL_USE: Final = "tool_use"
TEXT: Final = "text"
THINKING: Final = "thinking"
BLOCK_START, BLOCK_DELTA, BLOCK_STOP = "content_block_start", "content_block_delta", "content_block_stop"
MESSAGE_START, MESSAGE_DELTA, MESSAGE_STOP = "message_start", "message_delta", "message_stop"
ERROR, PING_EVENT = "error", "ping"
BLOCK_EVENTS: Final = frozenset({BLOCK_START, BLOCK_DELTA, BLOCK_STOP})
EVENTS: Final = BLOCK_EVENTS | {MESSAGE_START, MESSAGE_DELTA, MESSAGE_STOP, PING_EVENT, ERROR}
WORDS: Final = FinishWords(TOOL_USE, "end_turn")
NO_USAGE: Final = {"input_tokens": 0, "output_tokens": 0}


def write(event: Json) -> bytes:
    return sse.write(payload.write(event), event["type"])


def text_event(event: Json, text: str) -> bytes:
    """A copy of a text delta event with another text."""
    delta = event.get("delta")
    other = {**delta, TEXT: text} if isinstance(delta, dict) else {"type": "text_delta", TEXT: text}
    return write({**event, "delta": other})


def tool_use(block: Json, identity: str, name: str, value: Any) -> Json:
    """A tool_use block that keeps the keys of `block` in their order."""
    return {"type": TOOL_USE, **block, "id": identity, "name": name, "input": value}
