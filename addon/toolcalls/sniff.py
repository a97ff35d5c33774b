"""Recognises the protocol of an answer by its first event, or by its body, if the URL path does not decide it.

The first event whose data is a JSON object decides, once and for all. What comes before it is read as Chat. A new
protocol needs one more row in `_SIGNS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any, Final

from . import payload
from .body import Body
from .protocols.gemini import is_gemini
from .protocols.ollama import is_line
from .protocols.zai_envelope import is_envelope
from .sizes import MOST_MARKS, marks_in
from .wire import sse
from .wire.body_kind import BodyKind, kind_of
from .wire.encoding import Decoder

Json = dict[str, Any]

_CHAT: Final = "chat"
_FIRST_BYTE: Final = re.compile(rb"[^\s\xef\xbb\xbf]")


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
    _Sign("ollama", lambda _: False, is_line),
)


def by_event(first: Json, known: Container[str]) -> str:
    """The protocol that has this first event."""
    return next((sign.protocol for sign in _SIGNS if sign.protocol in known and sign.event(first)), _CHAT)


def by_body(body: bytes, known: Container[str]) -> str:
    """The protocol that has this body: a document, an array of events (Gemini), or lines (Ollama)."""
    values = [payload.read_strict(text) for text in (body.lstrip().partition(b"\n")[0], body)]
    firsts = [value[0] if isinstance(value, list) and value else value for value in values]
    signs = (sign for sign in _SIGNS if sign.protocol in known)
    found = (sign.protocol for sign in signs if any(isinstance(one, dict) and sign.body(one) for one in firsts))
    return next(found, _CHAT)


class Sniffed:
    """A body whose protocol is not known yet, in the place of the one that will read it."""

    def __init__(
        self,
        make: Callable[[str], Body],
        known: Container[str],
        limit: int,
        decoder: Decoder | None,
        decided: Callable[[Body], None],
    ) -> None:
        """`make`: what reads a body of the protocol with this name. `decided` is told which body takes the rest."""
        self._tell = decided
        self._make, self._known, self._limit, self._decoder = make, known, limit, decoder
        self._body = make(_CHAT)
        self._pending = bytearray()
        self._searched = 0
        """How many of the pending bytes were searched for the end of an event."""
        self._decided = False

    @property
    def failure(self) -> Exception | None:
        return self._body.failure

    @property
    def limited(self) -> bool:
        return self._body.limited

    @property
    def changed_sent_text(self) -> bool:
        return self._body.changed_sent_text

    @property
    def holding(self) -> bool:
        return self._body.holding

    @property
    def holds_call(self) -> bool:
        return self._body.holds_call

    @property
    def held_bytes(self) -> int:
        return self._body.held_bytes + len(self._pending)

    @property
    def unsent_bytes(self) -> int:
        return self._body.unsent_bytes + len(self._pending)

    def keep_alive(self) -> bytes:
        return self._body.keep_alive()

    def stop_holding(self) -> list[bytes]:
        return [*self._decide(_CHAT), *self._body.stop_holding()]

    def feed(self, chunk: bytes) -> list[bytes]:
        if self._decided:
            return self._body.feed(chunk)
        try:
            data = self._decoder.decode(chunk) if self._decoder else chunk
        except Exception as error:
            self._decoder = None
            return [*self._decide(_CHAT), *self._body.undecodable(error, chunk)]
        self._pending += data
        try:
            before, protocol = self._look()
        except Exception:
            before, protocol = 0, _CHAT
        if not protocol or (before and protocol != _CHAT):
            out = self._body.take(bytes(self._pending[:before])) if before else []
            del self._pending[:before]
            return [*out, *self._decide(protocol)] if protocol else out
        return self._decide(protocol)

    def close(self) -> list[bytes]:
        out: list[bytes] = []
        if not self._decided:
            try:
                protocol = self._look_at_all(bytes(self._pending))
            except Exception:
                protocol = _CHAT
            out = self._decide(protocol)
        return [*out, *self._body.close()]

    def _look(self) -> tuple[int, str]:
        """How many of the pending bytes come before the event that decides, and which protocol that has, if any."""
        first = _FIRST_BYTE.search(self._pending)
        kind = kind_of(first[0], lines=False) if first else BodyKind.UNKNOWN
        if len(self._pending) > self._limit or kind is BodyKind.PASSING:
            return 0, _CHAT
        end = sse.end_of_last_event(self._pending, self._searched) if kind is BodyKind.EVENTS else -1
        self._searched = max(0, len(self._pending) - 3) if end < 0 else 0
        at = 0
        for raw in sse.split(bytes(self._pending[:end])) if end > 0 else ():
            value = payload.read_strict(sse.unwrapped(sse.read_event(raw)).data or "")
            if isinstance(value, dict):
                return at, by_event(value, self._known)
            at += len(raw)
        return at, ""

    def _look_at_all(self, rest: bytes) -> str:
        if marks_in(rest) > MOST_MARKS:
            return _CHAT
        value = payload.read_strict(sse.unwrapped(sse.read_event(rest)).data or "")
        return by_event(value, self._known) if isinstance(value, dict) else by_body(rest, self._known)

    def _decide(self, protocol: str) -> list[bytes]:
        """From now on, this is the protocol."""
        pending, self._pending = bytes(self._pending), bytearray()
        if not self._decided and protocol != _CHAT:
            self._body = self._make(protocol)
        if not self._decided:
            self._body.decoder, self._decided = self._decoder, True
            self._tell(self._body)
        return self._body.take(pending)
