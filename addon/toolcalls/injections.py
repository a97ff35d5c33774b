"""Several WebSocket messages in the place of one, in order.

mitmproxy sends one message for each that came; more are injected, and those go out behind everything that arrived
in the same read. So whatever comes while an injected message is on its way has to be injected behind it, else a
`response.completed` overtakes the call that it completes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple


class Delivery(NamedTuple):
    direct: str | None
    """What the message that came becomes; None when it is dropped."""
    injected: Sequence[str]


class Injections:
    """The injected messages of one connection that are still on their way."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: deque[str] = deque()

    def __len__(self) -> int:
        return len(self._pending)

    def deliver(self, frames: Sequence[str]) -> Delivery:
        """How these get out in the place of a message that came, behind those that are on their way."""
        direct = frames[0] if frames and not self._pending else None
        injected = frames if direct is None else frames[1:]
        self._pending.extend(injected)
        return Delivery(direct, injected)

    def passed(self, text: str) -> None:
        """An injected message goes out; others than ours may inject too."""
        if self._pending and self._pending[0] == text:
            self._pending.popleft()
