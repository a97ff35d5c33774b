"""Whether the arguments of a call look complete: follows strings and brackets through each new piece once."""

from __future__ import annotations

import re

_NO_STRUCTURE = re.compile(r'"[^"\\]*+(?>\\.[^"\\]*+)*+"|\\.(?>[^"\\{}\[\]]*+\\.)*+', re.DOTALL)
"""A string, or escapes outside of strings. An unfinished string at the end does not match, so its quote remains."""
_INSIDE = re.compile(r'[^"\\]*+(?>\\.[^"\\]*+)*+', re.DOTALL)


class Brackets:
    """The state at the end of a text: whether it is inside a string, and how many brackets are open."""

    __slots__ = ("_depth", "_escaped", "_opened", "closed", "in_string")

    def __init__(self) -> None:
        self.in_string = False
        self._escaped = False
        self._opened = False
        self._depth = 0
        self.closed = False
        """A bracket was opened, and none is open now."""

    def follow(self, text: str) -> None:
        """Follow strings and brackets through the next piece of the text."""
        if not text:
            return
        at = 1 if self._escaped else 0
        self._escaped = False
        if self.in_string:
            at = self._end_of_string(text, at)
        bare = _NO_STRUCTURE.sub("", text[at:])
        self._escaped = self._escaped or bare.endswith("\\")
        bare, quote, _ = bare.partition('"')
        self.in_string = self.in_string or bool(quote)
        opened = bare.count("{") + bare.count("[")
        self._opened = self._opened or opened > 0
        self._depth += opened - bare.count("}") - bare.count("]")
        self.closed = self._opened and self._depth <= 0 and not self.in_string

    def _end_of_string(self, text: str, at: int) -> int:
        """The offset after the string that is open here."""
        inside = _INSIDE.match(text, at)
        at = inside.end() if inside else at
        self.in_string = not text.startswith('"', at)
        self._escaped = self.in_string and at < len(text)
        return len(text) if self.in_string else at + 1
