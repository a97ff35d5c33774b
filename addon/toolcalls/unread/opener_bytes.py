"""Whether a text can contain a tool call or the beginning of one, decided by the bytes of its JSON string.

A text is decoded and searched as the scanner would search it. That takes longer than parsing its event, so bytes
that every opener needs are looked for first. This check may only err by having a text decoded in vain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..textcalls import reasoning_wrappers, trie
from ..textcalls.openers import AT_HEAD, BEGUN, CHAINED, LONGEST, PRECEDED_BY
from .template import decoded

_begun = re.compile(BEGUN.pattern.encode()).search
"""The scanner's own expression, for bytes: without escapes they need not be decoded."""
_BACKSLASH = 0x5C
_LONG = 1024
_DEPTH = 5
"""How many bytes of an opener are looked for; fewer if an escape begins or the text ends before."""
_TAIL = slice(-LONGEST - 3, None)
"""An opener whose rest has not arrived yet is at the end."""
_RARE = b"=|<>_:05"
"""The bytes of openers, and of escapes that hide them, that are least common in prose, the rarest first."""


def can_open(literal: bytes) -> bool:
    """Whether an opener may be in this text, begin at its end, or be hidden by its escapes."""
    if len(literal) > _LONG:
        hinted = _hints_in_long(literal)
    else:
        # Most texts lack every byte of a hint, which one `translate` shows.
        hinted = literal[_START] in _STARTS or (
            literal.translate(_WITHOUT_HINT_BYTES) != literal and _HINT.search(literal) is not None
        )
    if not hinted:
        return False
    if _BACKSLASH not in literal:
        return _begun(literal) is not None
    text = decoded(literal, strict=False)
    return text is None or BEGUN.search(text) is not None


def _begins(openers: Iterable[str]) -> str:
    """A pattern for what these openers begin with."""
    heads = {opener.encode().decode("latin-1")[:_DEPTH] for opener in openers}
    return trie.begun(heads | {head[:size] + "\\" for head in heads for size in range(1, len(head))})


_FREE = [opener for opener in (*CHAINED, *reasoning_wrappers.ENDS) if opener not in PRECEDED_BY]
_PRECEDED = {**dict.fromkeys(sorted(AT_HEAD), r"\n"), **PRECEDED_BY}
"""Openers that count only after a certain character, and that character as JSON writes it."""
_BY_CHARACTER_BEFORE = {
    before: [opener for opener in _PRECEDED if _PRECEDED[opener] == before] for before in _PRECEDED.values()
}
_HINT = re.compile(
    "|".join(
        (
            _begins(_FREE),
            *(f"{re.escape(before)}(?:{_begins(openers)})" for before, openers in _BY_CHARACTER_BEFORE.items()),
            r'\\(?:[^"\\/bfnrt]|\Z)',
        )
    ).encode("latin-1")
)
"""What an opener begins with, after the character it has to follow; an escape that may hide one or is invalid."""
_HINT_BYTES = bytes({hint.encode()[0] for hint in (*_FREE, *_BY_CHARACTER_BEFORE)})
_WITHOUT_HINT_BYTES = bytes.maketrans(_HINT_BYTES, bytes(len(_HINT_BYTES)))
_START = slice(min(map(len, _PRECEDED)))
_STARTS = frozenset(opener[_START][:size].encode() for opener in _PRECEDED for size in range(1, len(opener) + 1))
"""The text before is not known here, so this one may begin with an opener that has to follow something."""


# Long texts

_BY_FIRST_BYTE = tuple(
    (first, re.compile(_begins(opener for opener in _FREE if opener.encode()[0] == first).encode("latin-1")).search)
    for first in sorted({opener.encode()[0] for opener in _FREE})
)
_ESCAPED = {f"\\u{ord(opener[0]):04x}"[:4] for opener in (*_FREE, *_PRECEDED)}
_SOUGHT = tuple(
    (next(byte for byte in _RARE if byte in sought), sought)
    for sought in sorted(
        text.encode() for text in (*(before + opener for opener, before in _PRECEDED.items()), *_ESCAPED)
    )
)
"""Openers after the character they have to follow, and escapes that may hide one, each with its rarest byte."""
_HEADS = tuple(map(str.encode, _PRECEDED))


def _hints_in_long(literal: bytes) -> bool:
    """Whether a long text may contain an opener. Finding one byte takes almost no time, backwards half as much."""
    for first, search in _BY_FIRST_BYTE:
        if first in literal and search(literal, literal.find(first)):
            return True
    for rare, sought in _SOUGHT:
        if rare in literal and literal.rfind(sought) >= 0:
            return True
    return literal.startswith(_HEADS) or can_open(literal[_TAIL])
