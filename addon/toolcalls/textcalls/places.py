"""How the text of one place of an answer (a block, an item) quotes what stands in the next one, or behind it."""

from __future__ import annotations

from typing import Final

from ..work import Work
from .quoting import Quoting
from .words_before import MOST_STEPS

_BLOCK: Final = 2048


def end_place(quoting: Quoting, work: Work) -> None:
    """The text goes on in another place. That is another line, unless it is this line that quotes what follows.

    Where an answer has so many places that finding out takes too long, it stays one line: fewer calls begin there.
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
    return not quoting.opens or quoting.told
