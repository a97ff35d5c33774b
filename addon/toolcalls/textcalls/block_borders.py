"""Whether the text of one block or item of an answer still quotes what is in the next one."""

from __future__ import annotations

from typing import Final

from ..work import Work
from .lead_ins.words_before import MOST_STEPS
from .quoting import Quoting

_BLOCK: Final = 2048


def end_block(quoting: Quoting, work: Work) -> None:
    """End a block: the next one begins a new line, unless the last line says that what follows is quoted.

    If the work budget is too low to find out, because the answer has many blocks, the line goes on in the next block:
    then fewer calls can begin there.
    """
    if quoting.quoted or (work.spares(MOST_STEPS) and not _quotes_next(quoting)):
        quoting.advance("\n")


def would_quote_after(quoting: Quoting, text: str, work: Work) -> bool:
    """Whether a call after the text so far and `text` would be quoted, by marks or as an example."""
    quoting = quoting.copy()
    for at in range(0, len(text), _BLOCK):
        quoting.advance(text[at : at + _BLOCK])
        quoting.charge(work)
    return _quotes_next(quoting)


def _quotes_next(quoting: Quoting) -> bool:
    """Whether a call that followed now would be quoted or only an example."""
    return not quoting.call_may_begin or quoting.shown
