"""Characters that look like others: words are compared as whoever reads them sees them."""

from __future__ import annotations

import re
from unicodedata import normalize

_APOSTROPHES = dict.fromkeys(map(ord, "ʼʹʻˈ՚＇‛′"), "'")
_LETTERS = str.maketrans(
    "аеорсухіјѕһԁԛԝкмтвн" + "АВЕКМНОРСТХІЈЅԌ" + "οανιρτυκε" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" + "ıɡ",
    "aeopcyxijshdqwkmtbh" + "ABEKMHOPCTXIJSG" + "oaviptuke" + "ABEZHIKMNOPTYX" + "ig",
)
"""Letters of Cyrillic and Greek that look like Latin ones."""
_mixed = re.compile(r"\w{0,40}[A-Za-z]\w{0,40}")


def fold(text: str) -> str:
    """This text with look-alikes as the letters that they look like, in words that have Latin letters as well."""
    if text.isascii():
        return text
    plain = normalize("NFKC", text).translate(_APOSTROPHES)
    return _mixed.sub(lambda word: word[0].translate(_LETTERS), plain)
