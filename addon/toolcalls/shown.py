"""Makes foreign text safe to show: names, paths and reasons in log lines, arguments in a view.

A terminal obeys control sequences, and a line end would let the upstream forge a log line. So characters that are
not printable are escaped as in Python, and long texts are cut.
"""

from __future__ import annotations

import re
from typing import Final

NAME: Final = 200
"""Most characters of a name, a path or a sample."""
LINE: Final = 2000
"""Most characters of a line."""

_SUSPECT: Final = re.compile(r"[^ -~]")


def shown(text: str, most: int = NAME, *, keep: str = "") -> str:
    """The text on one line, cut after `most` characters; a cut text is followed by its full length.

    `keep`: characters that stay although they are not printable.
    """
    cut = text[:most]
    if _SUSPECT.search(cut):
        cut = "".join(
            char if char.isprintable() or char in keep else char.encode("unicode_escape").decode() for char in cut
        )
        cut = cut if keep else cut[: 2 * most]
    return cut if len(text) <= most else f"{cut}… ({len(text):,} characters)"


def shown_lines(text: str, most: int) -> str:
    """The text with its lines and tabs."""
    return shown(text.replace("\r\n", "\n"), most, keep="\n\t")
