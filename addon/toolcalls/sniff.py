"""Recognises the protocol of an answer by its first event, or by its body, if the URL path does not decide it.

The first event whose data is a JSON object decides, once and for all. What comes before it is read as Chat. A new
protocol needs one more row in `_SIGNS`.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any, Final

from . import payload
from .protocols.gemini import is_gemini
from .protocols.ollama import is_line
from .protocols.zai_envelope import is_envelope
from .sizes import MOST_MARKS, marks_in
from .wire import sse

Json = dict[str, Any]

CHAT: Final = "chat"


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
    return next((sign.protocol for sign in _SIGNS if sign.protocol in known and sign.event(first)), CHAT)


def by_body(body: bytes, known: Container[str]) -> str:
    """The protocol that has this body: a document, an array of events (Gemini), or lines (Ollama)."""
    values = [payload.read_strict(text) for text in (body.lstrip().partition(b"\n")[0], body)]
    firsts = [value[0] if isinstance(value, list) and value else value for value in values]
    signs = (sign for sign in _SIGNS if sign.protocol in known)
    found = (sign.protocol for sign in signs if any(isinstance(one, dict) and sign.body(one) for one in firsts))
    return next(found, CHAT)


def by_raw_event(raw: bytes, known: Container[str]) -> str:
    """The protocol that has the first event of these bytes; empty if the event says nothing about that."""
    value = payload.read_strict(sse.unwrapped(sse.read_event(raw)).data or "")
    return by_event(value, known) if isinstance(value, dict) else ""


def by_rest(rest: bytes, known: Container[str]) -> str:
    """The protocol of bytes that end without the end of an event."""
    return CHAT if marks_in(rest) > MOST_MARKS else by_raw_event(rest, known) or by_body(rest, known)
