"""Whether text in one block or item of an answer still quotes what stands in the next one."""

from __future__ import annotations

from typing import Final

from ..work import Work
from .lead_ins.words_before import MOST_STEPS
from .quoting import Quoting

_BLOCK: Final = 2048


def end_block(quoting: Quoting, work: Work) -> None:
    """The text goes on in another block. That is another line, unless this line quotes what follows.

    Where an answer has so many blocks that finding out takes too long, it stays one line: fewer calls begin there.
    """
    if quoting.quoted or (work.spares(MOST_STEPS) and not _shows(quoting)):
        quoting.advance("\n")


def shows_behind(quoting: Quoting, text: str, work: Work) -> bool:
    """Would a call be quoted, or only be shown, that stood behind what was said and this text?"""
    quoting = quoting.copy()
    for at in range(0, len(text), _BLOCK):
        quoting.advance(text[at : at + _BLOCK])
        work.spend(quoting.work)
        quoting.work = 0
    return _shows(quoting)


def _shows(quoting: Quoting) -> bool:
    return not quoting.opens or quoting.shown
