"""Tool names that every host accepts: at most 64 letters, digits, `_` and `-`. Any other name gets a short form."""

from __future__ import annotations

import hashlib
import re

LONGEST = 64
_FORBIDDEN = re.compile(r"[^a-zA-Z0-9_-]")
_DIGITS = 8


def short_name(name: str) -> str:
    """The name itself if hosts accept it; else its short form, which is unique and always the same."""
    if len(name) <= LONGEST and not _FORBIDDEN.search(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{_FORBIDDEN.sub('_', name)[: LONGEST - _DIGITS - 1]}_{digest}"
