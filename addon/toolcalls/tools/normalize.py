"""When two spellings are the same word: they may differ in case and separators only.

Used for tool names, parameter names and enum members alike. Mere similarity never counts.
"""

from __future__ import annotations

import re

_SEPARATORS = re.compile(r"[\s_\-.:/]+")
_WORD_SEPARATORS = re.compile(r"[\s_\-]+")


def normalize(text: str) -> str:
    """A name without case and separators: `Read_File`, `read-file` and `readFile` become the same.

    A separator between two digits is kept (`v1_0` is not `v10`).
    """
    return _fold(text, _SEPARATORS)


def normalize_value(text: str) -> str:
    """An enum member without case and separators.

    `.`, `:` and `/` carry meaning there, and a leading `-` is a sign.
    """
    stripped = text.strip()
    sign = "-" if stripped[:1] == "-" else ""
    return sign + _fold(stripped, _WORD_SEPARATORS)


def _fold(text: str, separators: re.Pattern[str]) -> str:
    parts = [part for part in separators.split(text.casefold()) if part]
    folded: list[str] = []
    for part in parts:
        if folded and folded[-1][-1].isdigit() and part[0].isdigit():
            folded.append("_")
        folded.append(part)
    return "".join(folded)
