"""Names that every host takes: at most 64 letters, digits, `_` and `-`. Others have a short form of their own."""

from __future__ import annotations

import hashlib
import re

LONGEST = 64
_FORBIDDEN = re.compile(r"[^a-zA-Z0-9_-]")
_DIGITS = 8


def short_name(name: str) -> str:
    """The name itself where hosts take it; else one that no other tool has, and that is always the same."""
    if len(name) <= LONGEST and not _FORBIDDEN.search(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{_FORBIDDEN.sub('_', name)[: LONGEST - _DIGITS - 1]}_{digest}"
