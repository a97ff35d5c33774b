"""The project's reader and writer of strict JSON, and numbers and literals in any spelling.

Reading follows `json.loads`, except for values that could not be written as JSON again: NaN, Infinity and floats that
overflow. Numbers survive exactly: a float whose shortest form is not its text, and an integer beyond Python's limit
for int/str conversion, become an `ExactFloat`, which carries its text to the writer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import isfinite
from typing import Any, Final

from ..reasons import Refusal

_MAX_DIGITS = 4_000
"""Python refuses int(str) beyond 4300 digits (a denial-of-service guard)."""


class ExactFloat(float):
    """A number that remembers how it was written: Python would write it otherwise (1.50, 1E5), or not at all."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> ExactFloat:
        self = super().__new__(cls, text)
        self.text = text
        return self


def exact_float(text: str) -> float:
    value = float(text)
    if repr(value) == text:
        return value
    if not isfinite(value):
        raise Refusal(f"the number {text[:40]} is too large for JSON readers")
    return ExactFloat(text)


def exact_int(text: str) -> int | float:
    return int(text) if len(text) <= _MAX_DIGITS else ExactFloat(text)


_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LOOSE = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<whole>0|[1-9][0-9]*(?:_[0-9]+)*)?(?P<point>\.(?P<part>[0-9]+(?:_[0-9]+)*)?)?"
    r"(?P<power>[eE][+-]?[0-9]+)?)"
)
_BASED = re.compile(r"[+-]?0(?:[xX][0-9a-fA-F]{1,3000}|[oO][0-7]{1,3000}|[bB][01]{1,3000})")
"""No longer, because Python writes no integer of more than 4300 digits."""

LITERALS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "None", "NULL"), None),
}


def read_number(word: str) -> tuple[Any, bool]:
    """The number that `word` is, and whether it is written as in JSON."""
    if _INTEGER.fullmatch(word):
        return exact_int(word), True
    if _FLOAT.fullmatch(word):
        return exact_float(word), True
    if _BASED.fullmatch(word):
        return int(word, 0), False
    loose = _LOOSE.fullmatch(word)
    if loose is None or (loose["whole"] is None and loose["part"] is None):
        raise Refusal(f"`{word[:40]}` is neither a number nor in quotes")
    sign = "-" if loose["sign"] == "-" else ""
    whole = (loose["whole"] or "0").replace("_", "")
    if loose["point"] is None and loose["power"] is None:
        return exact_int(sign + whole), False
    part = (loose["part"] or "0").replace("_", "")
    return exact_float(f"{sign}{whole}.{part}{loose['power'] or ''}"), False


def no_constant(name: str) -> Any:
    raise Refusal(f"{name} is not a JSON value")


def put(pairs: dict[str, Any], key: str, value: Any) -> None:
    """Add a pair to an object. A key with two values is refused: the object has two readings."""
    if key in pairs and written_in_order(pairs[key]) != written_in_order(value):
        raise Refusal(f"`{key[:60]}` has two values")
    pairs[key] = value


def _with_one_value_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        put(found, key, value)
    return found


_HOW: Final[dict[str, Any]] = {"parse_float": exact_float, "parse_constant": no_constant}
_LAX_HOW: Final = {**_HOW, "strict": False, "object_pairs_hook": _with_one_value_each}
_STRICT, _LAX = json.JSONDecoder(**_HOW), json.JSONDecoder(**_LAX_HOW)
"""In both, the C scanner builds the integers."""

_scan: Callable[[str, int, bool], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]

TOO_DEEP = "the arguments are nested too deeply"


def parsed(text: str, *, lax: bool = False) -> Any:
    """The value of strict JSON text, or the error that says where the text stops being JSON.

    `lax`: with raw control characters inside strings, but no key with two values. Raises `Refusal` for a value that
    JSON does not have.
    """
    try:
        try:
            return (_LAX if lax else _STRICT).decode(text)
        except json.JSONDecodeError:
            raise
        except ValueError:  # An integer is beyond Python's limit.
            return json.loads(text, parse_int=exact_int, **(_LAX_HOW if lax else _HOW))
    except RecursionError:
        raise Refusal(TOO_DEEP) from None
    except json.JSONDecodeError as error:
        # The error is returned as a value; the frames of its traceback would keep the callers and their bytes alive.
        error.__traceback__ = error.__context__ = None
        return error


def read(text: str, *, lax: bool = False) -> Any:
    """The value of strict JSON text. Raises what `parsed` raises, and `json.JSONDecodeError` if it is no JSON."""
    value = parsed(text, lax=lax)
    if not isinstance(value, json.JSONDecodeError):
        return value
    try:
        raise value
    finally:
        del value  # It knows this frame, and the frame must not know it.


def read_prefix(text: str, at: int, *, lax: bool = False) -> tuple[Any, int]:
    """The value that starts exactly at `at`, and where it ends."""
    try:
        return (_LAX if lax else _STRICT).raw_decode(text, at)
    except RecursionError:
        raise Refusal(TOO_DEEP) from None


def scan_string(text: str, begin: int) -> tuple[str, int]:
    """The JSON string whose opening quote is before `begin`, and its end; raw control characters are admitted."""
    return _scan(text, begin, False)


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_dump_in_order = json.JSONEncoder(allow_nan=False, sort_keys=True).encode


def write(value: Any) -> str:
    """The JSON of arguments; raises `Refusal` if they are nested too deeply."""
    try:
        return write_event(value)
    except RecursionError:
        raise Refusal(TOO_DEEP) from None


def write_event(value: Any) -> str:
    """Compact JSON. Only lone surrogates are written as ASCII escapes, so that the text can be sent as UTF-8."""
    text = _write_exactly(value) if contains(value, ExactFloat) else _dump(value)
    if text.isascii():
        return text
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def written_in_order(value: Any) -> str:
    """The value with its keys sorted, so that equal texts mean the same; unsorted if a number has to be exact."""
    return write(value) if contains(value, ExactFloat) else _dump_in_order(value)


def contains(value: Any, wanted: type) -> bool:
    """Whether the value, or one inside it, is of this type."""
    pending = [value]
    while pending:
        item = pending.pop()
        kind = type(item)
        if kind is dict:
            pending.extend(item.values())
        elif kind is list:
            pending.extend(item)
        elif kind is wanted:
            return True
    return False


def _write_exactly(value: Any) -> str:
    match value:
        case ExactFloat():
            return value.text
        case dict():
            pairs = (f"{_dump(key)}:{_write_exactly(item)}" for key, item in value.items())
            return "{" + ",".join(pairs) + "}"
        case list() | tuple():
            return "[" + ",".join(map(_write_exactly, value)) + "]"
        case _:
            return _dump(value)


def continued(sent: str, text: str, value: dict[str, Any] | None) -> str | None:
    """A text that begins with `sent` and means `value`; None if there is none. `text`: the mended text.

    White space and escapes may differ, values may not.
    """
    if text.startswith(sent):
        return text
    if value is None:
        return None
    compact = write(value)
    try:
        spelt = _STRING_OR_SPACE.sub(_respelt, sent)
    except ValueError:  # It ends inside an escape, so the character is not known.
        return None
    return sent + compact[len(spelt) :] if compact.startswith(spelt) else None


_STRING_OR_SPACE = re.compile(r"\"((?>[^\"\\]++|\\.)*+)(\"?+)|\s++", re.DOTALL)


def _respelt(token: re.Match[str]) -> str:
    """A string, or the beginning of one, without needless escapes, as `write` has it; white space becomes nothing."""
    if token[1] is None:
        return ""
    written = write(scan_string(f'{token[1]}"', 0)[0])
    return written if token[2] else written[:-1]
