"""Several WebSocket messages in the place of one, sent where that one would have gone.

mitmproxy can inject messages, but what is injected comes behind everything that arrived in the same read, the
closing of the socket included: a call would follow the end of its answer, or be lost. What a message becomes on the
wire is decided by mitmproxy's `Fragmentizer`; it is taught what to do with content that is several messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mitmproxy.proxy.layers.websocket import Fragmentizer


class Several(bytes):
    """Content that goes out as several messages. Whoever looks at it as bytes sees them line by line."""

    messages: tuple[bytes, ...]

    def __new__(cls, texts: Sequence[str]) -> Several:
        messages = tuple(text.encode("utf-8", "surrogatepass") for text in texts)
        several = super().__new__(cls, b"\n".join(messages))
        several.messages = messages
        return several


_one = Fragmentizer.__call__


def _each(self: Fragmentizer, content: bytes) -> Iterator[Any]:
    for message in content.messages if isinstance(content, Several) else (content,):
        yield from _one(self, message)


Fragmentizer.__call__ = _each  # type: ignore[method-assign]
