"""The messages of WebSockets that mitmproxy keeps: it forgets none by itself, and a socket lives for hours."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from mitmproxy import http
from mitmproxy.websocket import WebSocketMessage

_AROUND = 512
"""What a message takes besides its content."""


class KeptMessages:
    """Lets go of the oldest messages of each socket when they are more than so many bytes together."""

    def __init__(self) -> None:
        self._sizes: WeakKeyDictionary[http.HTTPFlow, int] = WeakKeyDictionary()

    def came(self, flow: http.HTTPFlow, most: int) -> None:
        """A message came, the last one of the flow. That one always stays: it is on its way."""
        messages = flow.websocket.messages if flow.websocket else []
        size = self._sizes.get(flow, 0) + sum(map(_size, messages[-1:]))
        if size > most:
            # Counted anew, for some of them were changed since; and down to half, so that it is not done each time.
            size = sum(map(_size, messages))
            number = 0
            while number < len(messages) - 1 and size > most // 2:
                size -= _size(messages[number])
                number += 1
            del messages[:number]
        self._sizes[flow] = size


def _size(message: WebSocketMessage) -> int:
    return len(message.content) + _AROUND
