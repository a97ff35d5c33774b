"""What a host does with the reasoning of one model: its errors ask for it, or refuse it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ASKS = re.compile(
    r"must be passed back|is missing in assistant tool call|Missing `reasoning_content` field"
    r"|reasoning details to be preserved|missing a thought_signature|must start with a thinking block"
    r"|without its required 'reasoning' item"
)
_REFUSES = re.compile(
    r"unsupported|not supported|not permitted|extra_forbidden|display purposes only"
    r"|[Uu]nknown (?:name|field|parameter)|[Uu]nrecognized|Invalid `signature`|cannot be modified"
    r"|not valid|could not be verified|not allowed|[Uu]nexpected|[Cc]orrupted"
)
_NAMES_IT = re.compile(r"reasoning_content|reasoning_details|[.']reasoning\b['`]|thought_signature|extra_content")
"""The field of a message, and not an option of the request such as `reasoning_effort`."""
_NAMES_BLOCK = re.compile(r"`thinking`|[Ss]ignature|encrypted content")
"""Clients have such trouble of their own: it counts where we gave something back."""
_EMPTY_MESSAGE = "Each message must have at least one content element"
"""What xAI says to a field that it does not take."""
_INDEX = re.compile(r"\bindex (\d{1,6})")


@dataclass(slots=True)
class HostManners:
    """What a host does with the reasoning of one model."""

    wanted: str = ""
    """The field that it asked for."""
    everywhere: bool = False
    """It asks for the turns before the last message of the user too."""
    takes_empty: bool = True
    refuses: bool = False
    signs_calls: bool = False
    """It sends signatures with its calls."""


def asks(error: str) -> bool:
    """Does a host want reasoning that it did not get?"""
    return _ASKS.search(error) is not None


def refuses(error: str, *, given: bool) -> bool:
    """Does a host refuse reasoning that it got? `given`: we gave it something back."""
    if given and (_EMPTY_MESSAGE in error or (_NAMES_BLOCK.search(error) and _REFUSES.search(error))):
        return True
    return bool(_NAMES_IT.search(error) and _REFUSES.search(error))


def index_in(error: str) -> int | None:
    """The number of the message that an error is about, where it says so."""
    found = _INDEX.search(error)
    return int(found[1]) if found else None
