"""Learns from a host's errors what it does with the reasoning of one model: whether it asks for it or refuses it."""

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
"""A field of a message, as opposed to an option of the request such as `reasoning_effort`."""
_NAMES_BLOCK = re.compile(r"`thinking`|[Ss]ignature|encrypted content")
"""Clients cause such errors themselves, so they count only if we gave something back."""
_EMPTY_MESSAGE = "Each message must have at least one content element"
"""xAI's error for a field that it does not accept."""
_INDEX = re.compile(r"\bindex (\d{1,6})")


@dataclass(slots=True)
class ReasoningSupport:
    """What a host does with the reasoning of one model."""

    wanted: str = ""
    """The field that the host asked for."""
    everywhere: bool = False
    """The host wants the reasoning of turns before the user's last message too."""
    takes_empty: bool = True
    refuses: bool = False
    signs_calls: bool = False
    """The host sends signatures with its calls."""


def asks(error: str) -> bool:
    """Whether an error asks for reasoning that the host did not get."""
    return _ASKS.search(error) is not None


def refuses(error: str, *, given: bool) -> bool:
    """Whether an error refuses reasoning that the host got. `given`: we gave it something back."""
    if given and (_EMPTY_MESSAGE in error or (_NAMES_BLOCK.search(error) and _REFUSES.search(error))):
        return True
    return bool(_NAMES_IT.search(error) and _REFUSES.search(error))


def index_in(error: str) -> int | None:
    """The number of the message that an error is about, if it names one."""
    found = _INDEX.search(error)
    return int(found[1]) if found else None
