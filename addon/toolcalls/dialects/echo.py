"""An event that repeats the one before it but for one string.

Servers send the arguments of a call as hundreds of events that differ in nothing but a few characters. Once such
an event has been read, the next one of its form need not be parsed: what surrounds the string is the same bytes, so
it means the same, and the string is read alone. JSON lets a string stand wherever another one stood.
"""

from __future__ import annotations

from json import decoder

_scan = decoder.scanstring  # type: ignore[attr-defined]  # what `json.loads` itself reads a string with

_PATIENCE = 8
"""After so many forms that no event repeated, no more are learned: this server varies its events."""


class Echo:
    """The form of the last event, if it had one."""

    __slots__ = ("_after", "_before", "_end", "_key", "_start", "_unused")

    def __init__(self, key: str) -> None:
        self._key = b'"%b":' % key.encode()
        self._before = b""
        self._after = b""
        self._start = 0
        self._end = 0
        self._unused = 0

    def learn(self, raw: bytes, value: str) -> bool:
        """The value of our key in this event was this string: may the next event be told by its form?"""
        if self._unused >= _PATIENCE or not raw.startswith(b"data: {") or not raw.endswith(b"}\n\n"):
            return False
        at = raw.find(self._key)
        start = raw.find(b'"', at + len(self._key)) + 1
        # One such key, one line: then the string that is found is the value that was read.
        if at < 0 or not start or raw.rfind(self._key) != at or raw.find(b"\n") != len(raw) - 2 or b"\r" in raw:
            return False
        text = raw[start:].decode("utf-8", "replace")
        try:
            found, end = _scan(text, 0)
        except ValueError:
            return False
        if found != value or raw[at + len(self._key) : start - 1].strip():
            return False
        after = text[end - 1 :].encode()
        if not raw.endswith(after):
            return False
        self._unused += 1
        self._before, self._after = raw[:start], after
        self._start, self._end = start, 1 - len(after)
        return True

    def match(self, raw: bytes) -> str | None:
        """The string, if the event has the form of the one that was learned."""
        if not raw.startswith(self._before) or not raw.endswith(self._after):
            return None
        text = raw[self._start : self._end].decode("utf-8", "replace")
        try:
            value, end = _scan(text, 0)
        except ValueError:
            return None
        if end != len(text):
            return None
        self._unused = 0
        return str(value)
