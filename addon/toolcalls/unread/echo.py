"""An event that repeats the one before it but for one string, and perhaps the padding at its end.

Servers send the arguments of a call as hundreds of events that differ in nothing but a few characters. Once such
an event has been read, the next one of its form need not be parsed: what surrounds the string is the same bytes, so
it means the same, and the string is read alone. JSON lets a string stand wherever another one stood.

Some pad each event, so that its size does not tell what is in it (OpenAI: `,"obfuscation":"aX8kq2"}`). So the last
member of the event may vary too, where it is a string that means nothing to us.
"""

from __future__ import annotations

import re
from json import decoder

_scan = decoder.scanstring  # type: ignore[attr-defined]  # what `json.loads` itself reads a string with

_PATIENCE = 8
"""After so many forms that no event repeated, no more are learned: this server varies its events."""
_PADDING = re.compile(r',\s*"([^"\\]*)"\s*:\s*"([^"\\]*)"\s*\}\Z')
"""The last member of the event. What stands right before its last bracket is of the event itself, not of a value in
it; and a quote behind a comma, a colon or a space is no escaped one, so this is a key and a string."""
_MEANT = frozenset({"choices", "content_block", "delta", "error", "index", "message", "type", "usage"})
"""The keys of an event that somebody reads."""


class Echo:
    """The form of the last event, if it had one."""

    __slots__ = ("_after", "_before", "_end", "_key", "_middle", "_start", "_unused")

    def __init__(self, key: str) -> None:
        self._key = b'"%b":' % key.encode()
        self._before = b""
        self._middle: str | None = None
        """What stands between the string and the padding; None where there is no padding."""
        self._after = b""
        self._start = 0
        self._end = 0
        self._unused = 0

    def learn(self, raw: bytes, value: str) -> bool:
        """The value of our key in this event was this string: may the next event be told by its form?"""
        if self._unused >= _PATIENCE or not _is_usual(raw):
            return False
        at = raw.find(self._key)
        start = raw.find(b'"', at + len(self._key)) + 1
        # One such key: then the string that is found is the value that was read.
        if at < 0 or not start or raw.rfind(self._key) != at:
            return False
        text = raw[start:].decode("utf-8", "replace")
        try:
            found, end = _scan(text, 0)
        except ValueError:
            return False
        if found != value or raw[at + len(self._key) : start - 1].strip():
            return False
        padding = _PADDING.search(text, end, len(text) - 2)
        padded = padding is not None and padding[1] not in _MEANT
        after = text[padding.end(2) if padding is not None and padded else end - 1 :].encode()
        if not raw.endswith(after):
            return False
        self._unused += 1
        self._before, self._after = raw[:start], after
        self._middle = text[end : padding.start(2)] if padding is not None and padded else None
        self._start, self._end = start, -len(after) if padded else 1 - len(after)
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
        middle = self._middle
        if middle is None:
            if end != len(text):
                return None
        elif not text.startswith(middle, end) or not _is_padding(text[end + len(middle) :]):
            return None
        self._unused = 0
        return str(value)


def _is_usual(raw: bytes) -> bool:
    """Is it one line of data, perhaps behind the line that names the event, and a blank line?"""
    data = raw.find(b"\n") + 1 if raw.startswith(b"event: ") else 0
    if not raw.startswith(b"data: {", data) or not raw.endswith(b"}\n\n"):
        return False
    return raw.find(b"\n", data) == len(raw) - 2 and b"\r" not in raw


def _is_padding(text: str) -> bool:
    """Is it the whole content of a string, beyond doubt?"""
    return text.isprintable() and '"' not in text and "\\" not in text
