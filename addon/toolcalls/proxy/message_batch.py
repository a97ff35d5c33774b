"""Sends several WebSocket messages instead of one.

mitmproxy can inject messages, but an injected message is sent after everything that arrived in the same read, even
after the closing of the socket: a call would follow the end of its answer, or be lost. mitmproxy's `Fragmentizer`
turns content into frames, so it is patched to send a `MessageBatch` as several messages. That class is not part of
mitmproxy's public interface: if it is missing, the script still loads, and injects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mitmproxy import ctx, http
from mitmproxy.proxy.layers import websocket as layer
from mitmproxy.websocket import WebSocketMessage


class MessageBatch(bytes):
    """Content that is sent as several messages. Read as bytes, it is these messages, one per line."""

    messages: tuple[bytes, ...]

    def __new__(cls, texts: Sequence[str]) -> MessageBatch:
        messages = tuple(text.encode("utf-8", "surrogatepass") for text in texts)
        batch = super().__new__(cls, b"\n".join(messages))
        batch.messages = messages
        return batch


def deliver(flow: http.HTTPFlow, message: WebSocketMessage, texts: Sequence[str]) -> None:
    """Send these texts instead of the message; drop the message if there are none."""
    if not texts:
        message.drop()  # type: ignore[no-untyped-call]
    elif len(texts) == 1:
        message.text = texts[0]
    elif PATCHED:
        message.content = MessageBatch(texts)
    else:
        message.text = texts[0]
        for text in texts[1:]:
            ctx.master.commands.call("inject.websocket", flow, True, text.encode("utf-8", "surrogatepass"), True)


def _patch_fragmentizer() -> bool:
    """Make mitmproxy send a `MessageBatch` as several messages. False if this mitmproxy has no such class."""
    known = getattr(layer, "Fragmentizer", None)
    if known is None:
        return False
    send_one = known.__call__

    def send_each(self: Any, content: bytes) -> Iterator[Any]:
        for message in content.messages if isinstance(content, MessageBatch) else (content,):
            yield from send_one(self, message)

    known.__call__ = send_each
    return True


PATCHED = _patch_fragmentizer()
