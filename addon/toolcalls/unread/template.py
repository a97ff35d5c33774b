"""An event that was parsed, as the template of later events that differ from it in one string.

Servers send an answer as hundreds of events that differ only in a few characters. The bytes around the string are
the same, so they mean the same, and in JSON any string may be replaced by another. Four more things may vary: a
`sequence_number`, the time in `created_at`, Gemini's token counts, and a last member that pads the event so that its
size does not reveal its content.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from json import decoder

_scan = decoder.scanstring  # type: ignore[attr-defined]  # what `json.loads` itself reads a string with

_EVENT = re.compile(rb"(?:event:[^\r\n]*+\r?\n)?data: ?\{[^\r\n]*\}(?:\n\n|\r\n\r\n)|\{[^\r\n]*\}\n?")
"""An SSE event with one data line and perhaps an event line before it; or one line, or one message, of JSON."""
_STRING = re.compile(rb'[^"\\\r\n]*+(?>\\[^\r\n][^"\\\r\n]*+)*+')
"""The inside of a JSON string: every quote in it is escaped."""
_NUMBER = re.compile(rb'"sequence_number"\s*:\s*(\d{1,9})(?=\s*[,}])')
_MOST_DIGITS = 9
_TIME = re.compile(rb'"created_at"\s*:\s*"([0-9T:.+Z-]{1,40})(?=")')
_TIME_BYTES = b"0123456789T:.+Z-"
_LONGEST_TIME = 40
_PADDING = re.compile(rb',\s*"(?:obfuscation|p)"\s*:\s*"([^"\\\r\n]*)"\s*\}\s*\Z')
"""The last member of the event itself, under the names that OpenAI and Cloudflare give it."""
_COUNTS = rb'\d{1,9}(?:\s*,\s*"totalTokenCount"\s*:\s*\d{1,9})?'
_USAGE = re.compile(rb'"candidatesTokenCount"\s*:\s*(%b)(?=\s*[,}])' % _COUNTS)
_is_usage = re.compile(rb"(?!0\d)" + _COUNTS).fullmatch
_UNQUOTED = re.compile(rb'[^"\\\r\n]*')
_DOUBTFUL_QUOTE = re.compile(rb'"(?<![^\\]\\")')
"""A quote not preceded by exactly one backslash: searching for it is several times faster than following escapes."""
_LF, _CR, _QUOTE, _BACKSLASH, _ZERO = b'\n\r"\\0'


class Template:
    """The bytes around one string of an event: `head`, the string, `tail`.

    A number or a time may divide the head into two halves; a number, token counts or padding may divide the tail:

        _head | number or time | _middle | STRING | _divider | number, counts or padding | _end
    """

    __slots__ = (
        "_bottom",
        "_divider",
        "_end",
        "_head",
        "_inside",
        "_least",
        "_may_vary",
        "_middle",
        "_middle_at",
        "_number_at",
        "_padded",
        "_timed",
        "_top",
    )

    def __init__(self, before: bytes, after: bytes) -> None:
        """`before` ends with the quote that opens the string, `after` begins with the quote that closes it."""
        number = _NUMBER.search(before)
        self._timed = number is None
        number = number or _TIME.search(before)
        self._head = before[: number.start(1)] if number else before
        self._middle = before[number.end(1) :] if number else b""
        behind = _NUMBER.search(after) if number is None else None
        usage = _USAGE.search(after) if behind is None else None
        varies = behind or usage or _PADDING.search(after)
        self._divider = after[: varies.start(1)] if varies else b""
        """The first half of the tail."""
        self._padded = behind is None and usage is None
        self._may_vary: Callable[[bytes], object] = _is_number if behind else _is_usage if usage else _is_padding
        self._end = after[varies.end(1) :] if varies else after
        self._top = slice(len(self._head))
        self._bottom = slice(-len(self._end), None)
        self._lay_out(len(number[1]) if number else 0)

    def _lay_out(self, digits: int) -> None:
        """Set the offsets for a number or a time of `digits` characters in the head."""
        number = len(self._head)
        middle = number + digits
        string = middle + len(self._middle)
        self._number_at = slice(number, middle)
        self._middle_at = slice(middle, string)
        self._inside = slice(string, -len(self._end))
        self._least = string + len(self._end)

    @classmethod
    def learn(cls, raw: bytes, key: str, value: str) -> Template | None:
        """The template of an event in which the string under `key` is `value`; None if it cannot be located."""
        # A quote inside a JSON string is escaped, so the pattern finds the key itself, never text of a string.
        places = [match.end() for match in _key(key).finditer(raw)]
        if len(places) != 1 or raw[places[0] : places[0] + 1] != b'"':
            return None
        start = places[0] + 1
        end = _end_of_string(raw, start)
        before, after = raw[:start], raw[end:]
        if decoded(raw[start:end]) != value or _EVENT.fullmatch(before + after) is None:
            return None
        return cls(before, after)

    def match(self, raw: bytes) -> bytes | None:
        """The inside of the string, if these bytes are one event of this template, else None.

        The string ends where JSON ends it. Whether its escapes are valid is found out when it is decoded.
        """
        # Nearly every event of nearly every answer is matched here. Slicing and comparing takes half the time of
        # `startswith`, and a slice object made once half the time of one made for each event.
        if raw[self._top] != self._head or raw[self._bottom] != self._end:
            return None
        if self._middle:
            if raw[self._middle_at] != self._middle and not self._finds_middle(raw):
                return None
            number = raw[self._number_at]
            if not number.isdigit():
                if not self._timed or number.strip(_TIME_BYTES):
                    return None
            elif number < b"1" and number != b"0" and not self._timed:
                return None
        literal = raw[self._inside]
        # Searching for a single byte is very fast. Several events have line ends here.
        if _LF in literal or _CR in literal:
            return None
        if self._divider:
            literal, divider, varied = literal.rpartition(self._divider)
            if not divider or not ((self._padded and varied.isalnum()) or self._may_vary(varied)):
                return None
        elif len(raw) < self._least:
            return None
        if _BACKSLASH not in literal:
            return literal if _QUOTE not in literal else None
        return literal if _is_string(literal) else None

    def _finds_middle(self, raw: bytes) -> bool:
        """Whether the number or time has another length here; if so, that length is expected from now on."""
        start = len(self._head)
        most = _LONGEST_TIME if self._timed else _MOST_DIGITS
        at = raw.find(self._middle, start + 1, start + most + len(self._middle))
        if at >= 0:
            self._lay_out(at - start)
        return at >= 0


def decoded(literal: bytes, *, strict: bool = True) -> str | None:
    """The text of the inside of a JSON string; None if it is invalid. Not `strict`: control characters may occur."""
    text = literal.decode("utf-8", "replace")
    if _BACKSLASH not in literal and _QUOTE not in literal and (not strict or text.isprintable()):
        return text
    try:
        value, end = _scan(text + '"', 0, strict)
    except ValueError:
        return None
    return value if end > len(text) else None


@cache
def _key(name: str) -> re.Pattern[bytes]:
    return re.compile(rb'"%b"\s*:\s*' % re.escape(name.encode()))


def _end_of_string(raw: bytes, start: int) -> int:
    """The end of the JSON string whose inside begins at `start`; the end of the line if the string has no end."""
    quote = _DOUBTFUL_QUOTE.search(raw, start)
    if quote is not None and raw[quote.start() - 1] != _BACKSLASH:
        return quote.start()
    return _STRING.match(raw, start).end()  # type: ignore[union-attr]  # it also matches the empty string


def _is_string(literal: bytes) -> bool:
    """Whether every quote in the literal is escaped, and the closing quote after it is not."""
    if not literal.endswith(b"\\") and _DOUBTFUL_QUOTE.search(literal) is None:
        return True
    return _STRING.fullmatch(literal) is not None


def _is_number(text: bytes) -> bool:
    return text.isdigit() and len(text) <= _MOST_DIGITS and (text[0] != _ZERO or len(text) == 1)


def _is_padding(text: bytes) -> bool:
    return _UNQUOTED.fullmatch(text) is not None
