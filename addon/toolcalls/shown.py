"""Foreign text that people look at: names, paths and reasons in a log line, arguments in a view.

A terminal obeys what is printed on it, and a line end makes a second log line of the upstream's own. So what is not
plainly visible is escaped, as Python writes it, and what is long is cut.
"""

from __future__ import annotations

import re
from typing import Final

NAME: Final = 200
"""Most characters of a name, a path or a sample."""
LINE: Final = 2000
"""Most characters of a line."""

_SUSPECT: Final = re.compile(r"[^ -~]")


def shown(text: str, most: int = NAME) -> str:
    """The text in one line of at most so many characters, and how long it is where it was cut."""
    cut = text[:most]
    if _SUSPECT.search(cut):
        cut = "".join(char if char.isprintable() else _escaped(char) for char in cut)[: 2 * most]
    return cut if len(text) <= most else f"{cut}… ({len(text):,} characters)"


def shown_lines(text: str, most: int) -> str:
    """The text with its line ends and tabs, everything else as in `shown`; cut at so many characters."""
    cut = text[:most].replace("\r\n", "\n")
    if not cut.isascii() or _CONTROL.search(cut):
        cut = "".join(char if char.isprintable() or char in "\n\t" else _escaped(char) for char in cut)
    return cut if len(text) <= most else f"{cut}… ({len(text):,} characters)"


_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()
