"""The project's reader and writer of strict JSON.

Reading follows `json.loads`, except for values that could not be written as JSON again: NaN, Infinity and floats that
overflow. Numbers survive exactly: a float whose shortest form is not its text becomes an `ExactFloat`, and an
integer beyond Python's limit for int/str conversion an `ExactInt`; both carry their text to the writer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import isfinite
from typing import Any

from ..refusal import Refusal

# Python refuses int(str) beyond 4300 digits (a denial-of-service guard); up to this many, we convert in pieces.
MAX_DIGITS = 50_000
_PIECE = 4_000


class ExactFloat(float):
    """A float that remembers how it was written, because `repr` would write it differently (1.50, 1E5)."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> ExactFloat:
        self = super().__new__(cls, text)
        self.text = text
        return self


class ExactInt(int):
    """An integer too long for `str(int)`; it remembers its digits."""

    text: str

    def __new__(cls, text: str) -> ExactInt:
        sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
        if len(digits) > MAX_DIGITS:
            raise Refusal(f"a number has more than {MAX_DIGITS:,} digits")
        number = 0
        for at in range(0, len(digits), _PIECE):
            piece = digits[at : at + _PIECE]
            number = number * 10 ** len(piece) + int(piece)
        self = super().__new__(cls, sign * number)
        self.text = text
        return self


def exact_float(text: str) -> float:
    value = float(text)
    if repr(value) == text:
        return value
    if not isfinite(value):
        raise Refusal(f"the number {text[:40]} is too large for JSON readers")
    return ExactFloat(text)


def exact_int(text: str) -> int:
    return int(text) if len(text) <= _PIECE else ExactInt(text)


def _no_constant(name: str) -> Any:
    raise Refusal(f"{name} is not a JSON value")


def _decoder(*, strict: bool, parse_int: Callable[[str], int] | None = None) -> json.JSONDecoder:
    return json.JSONDecoder(strict=strict, parse_float=exact_float, parse_int=parse_int, parse_constant=_no_constant)


# `parse_int=None` lets the C scanner build integers; only a number beyond the limit needs the second decoder.
_STRICT = (_decoder(strict=True), _decoder(strict=True, parse_int=exact_int))
_LAX = (_decoder(strict=False), _decoder(strict=False, parse_int=exact_int))

_scan: Callable[[str, int, bool], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]

_TOO_DEEP = "the arguments are nested too deeply"


def read(text: str, *, control_characters: bool = False) -> Any:
    """The value of strict JSON text. `control_characters`: admit raw ones inside strings.

    Raises `json.JSONDecodeError` if the text is not JSON, and `Refusal` for a value that JSON does not have.
    """
    plain, with_long_integers = _LAX if control_characters else _STRICT
    try:
        return plain.decode(text)
    except RecursionError:
        raise Refusal(_TOO_DEEP) from None
    except json.JSONDecodeError:
        raise
    except ValueError:
        return with_long_integers.decode(text)


def read_prefix(text: str, at: int) -> tuple[Any, int]:
    """The value that starts exactly at `at`, and where it ends; raw control characters are admitted."""
    plain, with_long_integers = _LAX
    try:
        return plain.raw_decode(text, at)
    except RecursionError:
        raise Refusal(_TOO_DEEP) from None
    except json.JSONDecodeError:
        raise
    except ValueError:
        return with_long_integers.raw_decode(text, at)


def scan_string(text: str, begin: int) -> tuple[str, int]:
    """The JSON string whose opening quote is before `begin`, and its end; raw control characters are admitted."""
    return _scan(text, begin, False)


def kind(value: object) -> str:
    """The kind of a JSON value, in words for the user."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_dump_in_order = json.JSONEncoder(allow_nan=False, sort_keys=True).encode


def write(value: Any) -> str:
    """Compact JSON. Only lone surrogates are written as ASCII escapes, so that the text can be sent as UTF-8."""
    try:
        text = _write_exactly(value) if _has_exact_numbers(value) else _dump(value)
    except RecursionError:
        raise Refusal(_TOO_DEEP) from None
    if text.isascii():
        return text
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def written_in_order(value: Any) -> str:
    """The value with its keys sorted, so that equal texts mean the same; unsorted if a number has to be exact."""
    return write(value) if _has_exact_numbers(value) else _dump_in_order(value)


_EXACT = (ExactFloat, ExactInt)
_LONG = 13_000  # bits: safely below 4300 digits


def _has_exact_numbers(value: Any) -> bool:
    pending = [value]
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind is dict:
            pending.extend(item.values())
        elif kind is list:
            pending.extend(item)
        elif kind in _EXACT or (kind is int and item.bit_length() > _LONG):
            return True
    return False


def _write_exactly(value: Any) -> str:
    match value:
        case ExactFloat() | ExactInt():
            return value.text
        case dict():
            pairs = (f"{_dump(key)}:{_write_exactly(item)}" for key, item in value.items())
            return "{" + ",".join(pairs) + "}"
        case list() | tuple():
            return "[" + ",".join(map(_write_exactly, value)) + "]"
        case int() if value.bit_length() > _LONG:
            return _digits(value)
        case _:
            return _dump(value)


def _digits(number: int) -> str:
    """`str(int)` without its limit, for integers that were computed."""
    sign, number = ("-", -number) if number < 0 else ("", number)
    pieces: list[str] = []
    while number:
        number, piece = divmod(number, 10**_PIECE)
        pieces.append(f"{piece:0{_PIECE}d}")
    return sign + "".join(reversed(pieces)).lstrip("0")
