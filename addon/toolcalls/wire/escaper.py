"""Escapes a long text for a JSON string piece by piece, while its fragments arrive.

Writing 2 MB of arguments into an event takes longer than anything else that happens when a call is complete, and
every other stream would wait. Each character is escaped on its own, so the escaped pieces can simply be joined.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from json import encoder
from typing import Final

BATCH: Final = 64 * 1024
"""How many characters are escaped at a time; a shorter text is written in one go, like any other string."""

PLACEHOLDER: Final = f"toolfix {secrets.token_hex(16)}"
"""Written instead of the text and later replaced by it. It is random, so no model or server can have written it."""
_LITERAL: Final = f'"{PLACEHOLDER}"'.encode()

_quote = encoder.encode_basestring  # what `json.dumps` itself writes a string with


class IncrementalEscaper:
    __slots__ = ("_taken", "fresh", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        """The escaped text so far, without quotes."""
        self.fresh = 0
        """How many characters of the fragments are not escaped yet."""
        self._taken = 0
        """How many fragments are escaped."""

    def take(self, fragments: Sequence[str]) -> None:
        """Escape the fragments that were added since the last time."""
        if self._taken < len(fragments):
            self.pieces.append(_quote("".join(fragments[self._taken :]))[1:-1])
            self._taken = len(fragments)
        self.fresh = 0

    def join(self, fragments: Sequence[str]) -> None:
        """Prepare for the fragments being joined into one."""
        if self.pieces:
            self.take(fragments)
            self._taken = 1

    def literal(self) -> str:
        return "".join(('"', *self.pieces, '"'))


def fill_placeholder(event: bytes, pieces: Sequence[str]) -> bytes:
    """The event with the escaped text in place of the placeholder; the event itself if there are no pieces."""
    if not pieces:
        return event
    head, found, tail = event.partition(_LITERAL)
    if not found:
        raise ValueError("an event lacks the place for its text")
    # Encoded as in `sse.write`.
    text = (piece.encode("utf-8", "backslashreplace") for piece in pieces)
    return b"".join((head, b'"', *text, b'"', tail))
