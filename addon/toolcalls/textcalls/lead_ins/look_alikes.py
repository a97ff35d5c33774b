"""Replaces characters that look like others, so that words are compared as a reader sees them."""

from __future__ import annotations

import re
from unicodedata import normalize

_APOSTROPHES = dict.fromkeys(map(ord, "ʼʹʻˈ՚＇‛′"), "'")
_LETTERS = str.maketrans(
    "аеорсухіјѕһԁԛԝкмтвн" + "АВЕКМНОРСТХІЈЅԌ" + "οανιρτυκε" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" + "ıɡ",
    "aeopcyxijshdqwkmtbh" + "ABEKMHOPCTXIJSG" + "oaviptuke" + "ABEZHIKMNOPTYX" + "ig",
)
"""Cyrillic and Greek letters that look like Latin ones."""
_mixed = re.compile(r"\w{0,40}[A-Za-z]\w{0,40}")


def fold(text: str) -> str:
    """The text with look-alikes replaced by Latin letters, in words that have Latin letters too."""
    if text.isascii():
        return text
    plain = normalize("NFKC", text).translate(_APOSTROPHES)
    return _mixed.sub(lambda word: word[0].translate(_LETTERS), plain)
