"""Text that passed without being parsed, in case the search for calls needs it to decide about quoting.

In most answers it never does, so only the literals are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from .template import decoded


def text_of(literals: Sequence[bytes]) -> str:
    """The text of these literals, the insides of the JSON strings of events, in order."""
    # The insides of JSON strings, joined, are the inside of one JSON string.
    text = decoded(b"".join(literals), strict=False)
    return "".join(map(_text_of_one, literals)) if text is None else text


def _text_of_one(literal: bytes) -> str:
    """The text of a string; if it is broken, at least with its line ends."""
    text = decoded(literal, strict=False)
    return literal.decode("utf-8", "replace").replace("\\n", "\n") if text is None else text
