"""Ids of tool calls: kept if the protocol allows them, otherwise replaced, and restored in later requests.

A replacement contains the original id, so the next request can get the original back although we store nothing
(Kimi's template renders the id, so the upstream must see its own). All this module knows of the protocols is which
characters an id may have.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterable

MARK = "tfx"
"""Appears in every id that contains an original id."""
_SALT = 8
_FRESH_SALT = 16
_OURS = re.compile(rf"(?:call|toolu)_{MARK}_(?:[0-9a-f]{{{_SALT}}}|[0-9a-f]{{{_FRESH_SALT}}})_([A-Za-z0-9_-]+)")
MESSAGES_ID = re.compile(r"[a-zA-Z0-9_-]+")
"""`tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`"""


class Ids:
    """The call ids of one response. The same seed and answer give the same ids, however the answer was cut."""

    __slots__ = ("_count", "_seed", "_taken", "safe")

    def __init__(self, seed: str | Callable[[], str] = "", used: Iterable[str] = (), *, safe: bool = False) -> None:
        """`seed` may be a function; it is called when the first id is made. `used`: ids that are already taken."""
        self._seed = seed
        self._count = 0
        self._taken = set(used)
        self.safe = safe
        """They have only the characters that Messages allows."""

    def keeps(self, wanted: str) -> bool:
        """Whether `unique` would return this id unchanged."""
        allowed = bool(MESSAGES_ID.fullmatch(wanted) if self.safe else wanted)
        return allowed and wanted not in self._taken and restore(wanted) is None

    def unique(self, wanted: str) -> str:
        """The wanted id if it is allowed and not taken, else a new one."""
        if not self.keeps(wanted):
            return self.new(wanted)
        self._taken.add(wanted)
        return wanted

    def new(self, original: str = "", *why: str, kind: str = "") -> str:
        """A new id, in place of the original one, if there is one. `kind`: how it begins, if not as that of a call.

        With `why` no call of any user or conversation shares it, so what is remembered under it is unambiguous.
        """
        kind, salt = kind or ("toolu" if self.safe else "call"), _FRESH_SALT if why else _SALT
        chosen = ""
        while not chosen or chosen in self._taken:
            self._count += 1
            self._seed = self._seed() if callable(self._seed) else self._seed
            text = "\0".join((self._seed, str(self._count), *why))
            packed = base64.urlsafe_b64encode(original.encode("utf-8", "surrogatepass")).decode().rstrip("=")
            digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            chosen = f"{kind}_{MARK}_{digest[:salt]}_{packed}" if original else f"{kind}_{digest[:24]}"
        self._taken.add(chosen)
        return chosen


def restore(identity: str) -> str | None:
    """The upstream's id inside one of our replacements; None if this id is not a replacement."""
    ours = _OURS.fullmatch(identity) if MARK in identity else None
    if not ours:
        return None
    packed = ours[1]
    try:
        plain = base64.b64decode(packed + "=" * (-len(packed) % 4), altchars=b"-_", validate=True)
        return plain.decode("utf-8", "surrogatepass")
    except (binascii.Error, UnicodeDecodeError):
        return None
