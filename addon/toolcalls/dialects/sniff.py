"""Recognises the protocol by the shape of the first event or of the body, if the URL path does not decide it.

The first data event that is a JSON object decides; from then on the stream uses the chosen dialect directly.
A new protocol needs one more row in `_SIGNS`.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any, Final

from ..mend.mender import Mender
from ..policy import Policy
from ..request.request import Request
from ..turn import payload
from ..wire.events import Event, Replace, Verdict
from ..wire.framing import Framing
from .chat.dialect import Chat
from .gemini.envelope import is_gemini
from .interface import Dialect
from .ollama.reader import is_line
from .zai.dialect import Zai
from .zai.envelope import is_envelope

Json = dict[str, Any]

_CHAT: Final = "chat"


@dataclass(slots=True, frozen=True)
class _Sign:
    """How to recognise a protocol by its first event and by a whole body."""

    protocol: str
    event: Callable[[Json], bool]
    body: Callable[[Json], bool] = lambda _: False


_SIGNS: Final = (
    _Sign("zai", is_envelope),
    _Sign(
        "messages",
        lambda event: event.get("type") == "message_start",
        lambda body: body.get("type") == "message",
    ),
    _Sign(
        "responses",
        lambda event: str(event.get("type")).startswith("response."),
        lambda body: body.get("object") == "response",
    ),
    _Sign("gemini", is_gemini, is_gemini),
    _Sign("ollama", is_line, is_line),
)


class Sniffer(Dialect):
    """Acts as the dialect until the first event shows which dialect to use."""

    __slots__ = ("_chosen", "_make", "_open", "_signs", "decided")

    def __init__(self, make: Callable[[str], Dialect], known: Container[str]) -> None:
        self._make = make
        self._signs = tuple(sign for sign in _SIGNS if sign.protocol in known)
        self._open = True
        self._chosen = make(_CHAT)
        self.decided: Callable[[Dialect], None] = lambda _: None
        """Called once with the chosen dialect, so that the stream can use it directly from then on."""

    @property
    def converting(self) -> bool:
        return self._chosen.converting

    @property
    def holding(self) -> bool:
        return self._chosen.holding

    def abort(self, reason: str) -> tuple[bytes, ...] | None:
        return self._chosen.abort(reason)

    def read(self, event: Event) -> Verdict:
        first = payload.read_strict(event.data or "") if self._open else None
        if isinstance(first, dict):
            self._decide(self._protocol_of(first))
        return self._chosen.read(event)

    def break_off(self, half: Event) -> Verdict:
        return self._chosen.break_off(half)

    def _protocol_of(self, first: Json) -> str:
        return next((sign.protocol for sign in self._signs if sign.event(first)), _CHAT)

    def close(self) -> Replace | None:
        return self._chosen.close()

    def body(self, body: bytes) -> bytes:
        answer = payload.read_strict(body) if self._open else None
        if isinstance(answer, list) and answer:
            # Gemini's stream without `alt=sse`.
            answer = answer[0]
        found = (sign.protocol for sign in self._signs if isinstance(answer, dict) and sign.body(answer))
        self._decide(next(found, _CHAT))
        return self._chosen.body(body)

    def _decide(self, protocol: str) -> None:
        if not self._open:
            return
        self._open = False
        if protocol != _CHAT:
            self._chosen = self._make(protocol)
        self.decided(self._chosen)


class ChatOrZai(Sniffer):
    """The dialect of `/chat/completions`: chat.z.ai uses its own protocol there, all other servers use Chat."""

    __slots__ = ()

    def __init__(self, request: Request, policy: Policy, mender: Mender) -> None:
        def make(protocol: str) -> Dialect:
            if protocol == _CHAT:
                return Chat(request, policy, mender)
            return Zai(request, policy, mender, by_path=True)

        super().__init__(make, (_CHAT, "zai"))


class AnyProtocol(Sniffer):
    """The dialect if nothing is known about the response: `toolfix filter --protocol auto`."""

    __slots__ = ()

    def framing_of(self, body: bytes) -> Framing:
        line, _, behind = body.lstrip().partition(b"\n")
        first = payload.read_strict(line) if behind.strip() else None
        if isinstance(first, dict):
            self._decide(self._protocol_of(first))
        return self._chosen.framing
