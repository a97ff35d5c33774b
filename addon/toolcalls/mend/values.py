"""A single value that does not fit its schema: finds the only value that it can stand for.

Nothing here looks at the value's surroundings. The caller uses a candidate only if the schema admits it.

A container that was sent as a string (`"[{\\"content\\": …}]"`) is read as a container or not at all, and readings
that the text does not support are rejected: a glob such as `[ab]*` or a checkbox such as `[x] done` is no list.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NamedTuple

from ..reasons import TOO_BOLD_INSIDE_A_TEXT, Refusal
from ..tools.check import View, view_of
from ..tools.schema import ARRAY, BOOLEAN, FRACTION, INTEGER, OBJECT, STRING, type_of
from ..tools.spelling import normalize_value
from .arguments import mend_arguments
from .finish import Finish
from .strict import has_string, read

_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<fraction>\.[0-9]+)?(?P<exponent>[eE][+-]?[0-9]+)?")
_BOOLEANS: Final = {"true": True, "false": False}
_EXACT: Final = 2**53
_MAX_DIGITS = 400
_MAX_MEMBER = 256

# A string with one of these may be several items written as text: splitting it would be a guess, and so would
# keeping it whole.
_LIST_LIKE: Final = re.compile(r"[,;\n\r\t]")
# Under these keys a string of several words is a command line, which has more than one item as an argv.
_ARGV: Final = frozenset({"command", "cmd", "argv", "args"})


def member_for(view: View, text: str) -> str | None:
    """The admitted string that differs from the text only in case and separators, if there is exactly one."""
    members = view.strings()
    if not members or len(text) > _MAX_MEMBER:
        return None
    folded = normalize_value(text)
    if not any(character.isalnum() for character in folded):
        return None
    matching = [member for member in members if normalize_value(member) == folded]
    return matching[0] if len(matching) == 1 else None


def admits_free_strings(view: View) -> bool:
    return STRING in view.types and view.strings() is None


def scalar_in(view: View, text: str) -> int | float | bool | None:
    """The number or boolean that a string holds, if the schema wants one instead of a string."""
    if BOOLEAN in view.types and text.lower() in _BOOLEANS and text.isascii():
        return _BOOLEANS[text.lower()]
    if INTEGER not in view.types or len(text) > _MAX_DIGITS:
        return None
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    if match["fraction"] is None and match["exponent"] is None:
        return int(text)
    value = float(text)
    if not _is_exactly(value, text):
        return None
    if FRACTION in view.types:
        return value
    return int(value) if value.is_integer() and abs(value) <= _EXACT else None


def integer_in(view: View, value: float) -> int | None:
    """The integer that equals a float such as `120000.0`, if the schema wants integers: clients can read it."""
    if INTEGER not in view.types or FRACTION in view.types:
        return None
    if not value.is_integer() or abs(value) > _EXACT or (value == 0 and str(value).startswith("-")):
        return None
    token = getattr(value, "text", None)
    if isinstance(token, str) and not _is_exactly(float(int(value)), token):
        return None
    return int(value)


def only_item(view: View, value: Any, key: str | None) -> View | None:
    """The view of an array's items, if the value has their type and can be nothing else here."""
    if ARRAY not in view.types or value is None or isinstance(value, list):
        return None
    kind = type_of(value)
    if kind in view.types:
        return None
    item = view.item(0)
    if item is None or not item.says(kind):
        return None
    if isinstance(value, str):
        if admits_free_strings(item) and not _is_one_item(value, key):
            return None
    elif kind == OBJECT:
        branches = [view_of(branch) for union in item.unions for branch in union]
        if not any(name in node.properties for node in (item, *branches) for name in value):
            return None
    return item


def _is_one_item(text: str, key: str | None) -> bool:
    if not text.strip() or text.lstrip()[0] in "[{\"'`" or _LIST_LIKE.search(text):
        return False
    return not (key in _ARGV and len(text.split()) > 1)


def _is_exactly(value: float, token: str) -> bool:
    try:
        return Decimal(repr(value)) == Decimal(token)
    except (InvalidOperation, ValueError):
        return False


_CLOSERS = ("]", "}")
_HOLDER = "toolfix: the container in a string"


class Contained(NamedTuple):
    value: Any
    """A dict or a list."""
    broken: bool = False
    """Whether the text was not strict JSON."""


def container_in(text: str, finish: Finish | None = None) -> Contained | None:
    """The container that a string holds, if the string holds nothing else; without `finish`, in strict JSON only."""
    text = _decoded_once_more(text.strip())
    if not text.startswith(("[", "{")) or not text.endswith(_CLOSERS):
        return None
    try:
        value, broken = read(text), False
        read(text, lax=True)  # refuses two values of a key
    except Refusal:
        return None
    except ValueError:
        value, broken = None if finish is None else _mended(text, finish), True
    unsupported = broken and "'" not in text and '"' not in text and has_string(value)
    if value is None or unsupported:
        return None
    return Contained(value, broken)


def _mended(text: str, finish: Finish) -> Any:
    """The container in a text that is no JSON. A list is read as the only value of an object."""
    listed = text.startswith("[")
    mended = mend_arguments(f'{{"{_HOLDER}": {text}}}' if listed else text, finish)
    if mended.value is None or not TOO_BOLD_INSIDE_A_TEXT.isdisjoint(mended.steps):
        return None
    if not listed:
        return mended.value
    value = mended.value.get(_HOLDER)
    return value if len(mended.value) == 1 and isinstance(value, list) else None


def looks_like_container(text: str) -> bool:
    return _decoded_once_more(text.strip()).startswith(("[", "{"))


def _decoded_once_more(text: str) -> str:
    """The text inside a JSON string, if a container was encoded twice; else the text itself."""
    if not text.startswith('"') or not text.endswith(('}"', ']"')):
        return text
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return inner.strip() if isinstance(inner, str) else text
