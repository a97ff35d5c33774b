"""Whether a text can be a tool call or become one, told by the bytes of its JSON string.

A text is decoded and searched as the scanner would search it. That takes longer than reading its event, so bytes
without which there is no opener are looked for first. That may err in one way only: to have a text decoded in vain.
"""

from __future__ import annotations

import re

from ..textcalls import reasoning_wrappers, trie
from ..textcalls.openers import AT_HEAD, BEGUN, BEHIND, CHAINED, LONGEST
from .template import decoded

_begun = re.compile(BEGUN.pattern.encode()).search
"""The scanner's own expression on bytes: without escapes they need not be decoded."""
_BACKSLASH = 0x5C
_LONG = 1024
_DEPTH = 5
"""So many bytes of an opener are looked for, or fewer where an escape begins."""
_TAIL = slice(-LONGEST - 3, None)
"""An opener that has only begun stands at the end."""
_RARE = b"=|<>_:"
"""The bytes of openers that prose has least, the rarest first."""


def can_open(literal: bytes) -> bool:
    """Can an opener stand in this text, begin at its end, or be hidden by its escapes?"""
    if not (_has_hint(literal) if len(literal) <= _LONG else _seems_to_open(literal)):
        return False
    if _BACKSLASH not in literal:
        return _begun(literal) is not None
    text = decoded(literal, strict=False)
    return text is None or BEGUN.search(text) is not None


_FREE = [opener for opener in (*CHAINED, *reasoning_wrappers.ENDS) if opener not in BEHIND]
_FIRST = sorted({opener[0] for opener in _FREE})
_FIRST_AT_HEAD = "".join(sorted({opener[0] for opener in AT_HEAD}))
_FIRST_BEHIND = sorted({before + opener[0] for opener, before in BEHIND.items()})

_HINT = re.compile(
    "|".join(map(re.escape, (*_FIRST, *_FIRST_BEHIND))).encode()
    + rb'|\\(?:[^"\\/bfnrt]|n[%b]|\Z)' % re.escape(_FIRST_AT_HEAD).encode()
).search
"""What an opener begins with, behind what it has to follow; an escape that may hide one, or is none."""
_HINT_BYTES = bytes({hint.encode()[0] for hint in (*_FIRST, *_FIRST_BEHIND)} | {_BACKSLASH})
_WITHOUT_HINT_BYTES = bytes.maketrans(_HINT_BYTES, bytes(len(_HINT_BYTES)))
_TWO = slice(2)
_STARTS = frozenset(opener[:size].encode() for opener in (*AT_HEAD, *BEHIND) for size in (1, 2))
"""What stood before the text is not known, so it may begin with an opener that has to follow something."""


def _has_hint(literal: bytes) -> bool:
    """May an opener stand in a short text? Most have not even a byte of a hint, which a single call tells."""
    if literal.translate(_WITHOUT_HINT_BYTES) != literal and _HINT(literal) is not None:
        return True
    return literal[_TWO] in _STARTS


# Long texts


def _beginnings(first: str) -> set[str]:
    """How the openers that begin with this byte go on, byte for byte."""
    rests = (head[1:_DEPTH] for head in _FREE_BYTES if head[0] == first)
    return {rest[:size] + end for rest in rests for size, end in _cuts(rest)}


def _cuts(rest: str) -> list[tuple[int, str]]:
    return [(len(rest), ""), *((size, "\\") for size in range(len(rest)))]


_FREE_BYTES = [opener.encode().decode("latin-1") for opener in _FREE]
_BY_FIRST_BYTE = tuple(
    (ord(first), re.compile(f"{re.escape(first)}(?:{trie.pattern(_beginnings(first))})".encode("latin-1")).search)
    for first in sorted({opener[0] for opener in _FREE_BYTES})
)
_PLACED = tuple(
    (next(byte for byte in _RARE if byte in opener), opener)
    for opener in sorted((*(f"\\n{opener}".encode() for opener in AT_HEAD), *map(str.encode, BEHIND)))
)
"""Openers that count only in some places, each with a byte without which it need not be looked for."""
_HEADS = tuple(opener.encode() for opener in AT_HEAD)
_HIDDEN = tuple(
    (escape[-1], escape)
    for escape in sorted(
        {f"\\u{ord(opener[0]):04x}"[:4].encode() for opener in (*CHAINED, *AT_HEAD, *reasoning_wrappers.ENDS)}
    )
)
"""Escapes that an opener may be written with, each with its last byte."""


_PLACED_OR_HIDDEN = (*_PLACED, *_HIDDEN)


def _seems_to_open(literal: bytes) -> bool:
    """May an opener stand in a long text? Looking for one byte takes next to no time; backwards is twice as fast."""
    for first, search in _BY_FIRST_BYTE:
        if first in literal and search(literal, literal.find(first)):
            return True
    for rare, sought in _PLACED_OR_HIDDEN:
        if rare in literal and literal.rfind(sought) >= 0:
            return True
    return literal.startswith(_HEADS) or can_open(literal[_TAIL])
