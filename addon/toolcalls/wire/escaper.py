"""A long text as it stands in a JSON string, made piece by piece while its fragments come.

Writing 2 MB of arguments into an event takes longer than anything else that happens when a call is complete, and
all that time every other stream waits. Escaping goes character by character, so the pieces are the whole.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from json import encoder
from typing import Final

BATCH: Final = 64 * 1024
"""So many characters are escaped at a time; a text that never has so many is written at once, as any other."""

PLACEHOLDER: Final = f"toolfix {secrets.token_hex(16)}"
"""Written in the place of the text, and then replaced by it. Nobody knows it, so nobody else can say it."""
_LITERAL: Final = f'"{PLACEHOLDER}"'.encode()

_quote = encoder.encode_basestring  # what `json.dumps` itself writes a string with


class IncrementalEscaper:
    __slots__ = ("_taken", "fresh", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        """What is between the quotes, so far."""
        self.fresh = 0
        """How many characters of the fragments are not in them yet."""
        self._taken = 0
        """How many fragments are."""

    def take(self, fragments: Sequence[str]) -> None:
        """Escape the fragments that came since."""
        if self._taken < len(fragments):
            self.pieces.append(_quote("".join(fragments[self._taken :]))[1:-1])
            self._taken = len(fragments)
        self.fresh = 0

    def grew(self, fragments: Sequence[str], size: int) -> None:
        """So many characters came. The quick ways of the dialects have this in place."""
        self.fresh += size
        if self.fresh > BATCH:
            self.take(fragments)

    def join(self, fragments: Sequence[str]) -> None:
        """The fragments are about to become one."""
        if self.pieces:
            self.take(fragments)
            self._taken = 1

    def literal(self) -> str:
        return "".join(('"', *self.pieces, '"'))


def fill_placeholder(event: bytes, pieces: Sequence[str]) -> bytes:
    """The event with the text in the place of its stand-in; the event itself where there is no such text."""
    if not pieces:
        return event
    head, found, tail = event.partition(_LITERAL)
    if not found:
        raise ValueError("an event lacks the place for its text")
    # As `sse.write` does it.
    text = (piece.encode("utf-8", "backslashreplace") for piece in pieces)
    return b"".join((head, b'"', *text, b'"', tail))
