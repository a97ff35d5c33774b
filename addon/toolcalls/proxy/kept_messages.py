"""Limits the WebSocket messages that mitmproxy keeps: it drops none itself, and a socket lives for hours."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from mitmproxy import http
from mitmproxy.websocket import WebSocketMessage

_AROUND = 512
"""The bytes that a message needs besides its content."""


class KeptMessages:
    """Drops the oldest messages of a socket when its messages exceed a number of bytes."""

    def __init__(self) -> None:
        self._sizes: WeakKeyDictionary[http.HTTPFlow, int] = WeakKeyDictionary()

    def add_last(self, flow: http.HTTPFlow, most: int) -> None:
        """Count the last message of a flow, which is never dropped, because it is still being sent."""
        messages = flow.websocket.messages if flow.websocket else []
        size = self._sizes.get(flow, 0) + sum(map(_size, messages[-1:]))
        if size > most:
            # Counted again, because messages may have been changed since. Down to half, so that this happens rarely.
            size = sum(map(_size, messages))
            number = 0
            while number < len(messages) - 1 and size > most // 2:
                size -= _size(messages[number])
                number += 1
            del messages[:number]
        self._sizes[flow] = size


def _size(message: WebSocketMessage) -> int:
    return len(message.content) + _AROUND
