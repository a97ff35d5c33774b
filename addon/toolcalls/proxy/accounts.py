"""Which account sends a request: the reasoning for one account must never reach another."""

from __future__ import annotations

import re
from collections.abc import Mapping

_HEADERS = re.compile(r"(?:proxy-)?authorization|cookie|(?:.+-)?api-?key|(?:.+-)?(?:auth|access)-token")
_IN_PATHS = re.compile(r"[?&]((?:api[_-]?)?key|access_token)=([^&#]+)", re.IGNORECASE)


def account_of(headers: Mapping[str, str], path: str) -> str:
    """Everything in a request that identifies its sender: `Authorization`, `x-goog-api-key`, `?key=…` and so on."""
    named = [f"{name.lower()}={value}" for name, value in headers.items() if _HEADERS.fullmatch(name.lower())]
    return "\0".join([*sorted(named), *(match[0][1:] for match in _IN_PATHS.finditer(path))])
