"""Recognises the protocol of an answer by its first event, or by its body, if the URL path does not decide it.

The first data that is a JSON object decides, once and for all. A new protocol needs one more row in `_SIGNS`.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any, Final

from . import payload
from .protocols.gemini import is_gemini
from .protocols.ollama import is_line
from .sizes import MOST_MARKS, marks_in
from .wire import sse

Json = dict[str, Any]

CHAT: Final = "chat"
_LINES: Final = "ollama"
"""It sends lines, and no events."""
_SIGNS: Final[tuple[tuple[str, Callable[[Json], bool]], ...]] = (
    ("zai", lambda said: said.get("type") == "chat:completion"),
    ("messages", lambda said: said.get("type") in ("message_start", "message")),
    ("responses", lambda said: str(said.get("type")).startswith("response.") or said.get("object") == "response"),
    ("gemini", is_gemini),
    (_LINES, is_line),
)
"""How a first event looks, or a whole body."""


def by_event(raw: bytes, known: Container[str]) -> str:
    """The protocol that has the event of these bytes; empty if the event says nothing about that."""
    name = _by_text(sse.unwrapped(sse.read_event(raw)).data or "", known)
    return CHAT if name == _LINES else name


def by_rest(rest: bytes, known: Container[str]) -> str:
    """The protocol of bytes that end without the end of an event: half an event, or a body that is a document, an
    array of events (Gemini), or lines (Ollama)."""
    if marks_in(rest) > MOST_MARKS:
        return CHAT
    if not rest.lstrip(sse.BOM + b" \t\r\n").startswith((b"{", b"[")):
        return by_event(rest, known) or CHAT
    return _by_text(rest, known) or _by_text(rest.lstrip().partition(b"\n")[0], known) or CHAT


def _by_text(text: str | bytes, known: Container[str]) -> str:
    value = payload.read_strict(text)
    said = value[0] if isinstance(value, list) and value else value
    if not isinstance(said, dict):
        return ""
    return next((name for name, fits in _SIGNS if name in known and fits(said)), CHAT)
