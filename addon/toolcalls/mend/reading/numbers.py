"""Bare words: numbers as JSON, JSON5 and Python write them, and the three literals in any spelling."""

from __future__ import annotations

import re
from typing import Any

from ..refusal import Refusal
from .strict import exact_float, exact_int

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LOOSE = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<whole>0|[1-9][0-9]*(?:_[0-9]+)*)?(?P<point>\.(?P<part>[0-9]+(?:_[0-9]+)*)?)?"
    r"(?P<power>[eE][+-]?[0-9]+)?)"
)
_BASED = re.compile(r"(?P<sign>[+-]?)(?P<digits>0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+))")
_UNFINISHED = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?[eE]?[+-]?)?|[+-]?0[xX]")

LITERALS: dict[str, bool | None] = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
    "null": None,
    "None": None,
    "NULL": None,
}


def read_number(word: str) -> tuple[Any, bool]:
    """The number that `word` is, and whether it is written as in JSON."""
    if _INTEGER.fullmatch(word):
        return exact_int(word), True
    if _FLOAT.fullmatch(word):
        return exact_float(word), True
    if based := _BASED.fullmatch(word):
        return int(based["sign"] + based["digits"], 0), False
    loose = _LOOSE.fullmatch(word)
    if loose is None or (loose["whole"] is None and loose["part"] is None):
        raise Refusal(f"`{word[:40]}` is neither a number nor in quotes")
    sign = "-" if loose["sign"] == "-" else ""
    whole = (loose["whole"] or "0").replace("_", "")
    if loose["point"] is None and loose["power"] is None:
        return exact_int(sign + whole), False
    part = (loose["part"] or "0").replace("_", "")
    return exact_float(f"{sign}{whole}.{part}{loose['power'] or ''}"), False


def may_be_cut(word: str) -> bool:
    """Whether the last word of the text is certainly incomplete: `-`, `1.`, `1e`, `fal`."""
    if word in LITERALS:
        return False
    if any(literal.startswith(word) for literal in LITERALS):
        return True
    return word.endswith((".", "e", "E", "+", "-", "x", "X")) and _UNFINISHED.fullmatch(word) is not None
