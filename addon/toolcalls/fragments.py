"""From the fragments of one call to its name and arguments, and whether the fragments can belong to one call at all.

Knows no protocol and no index: which call the fragments belong to was decided before. It checks the points where one
fragment ends and the next begins, because a fragment of another call can only have slipped in there.
"""

from __future__ import annotations

import itertools
import re
from collections import deque
from typing import Any, Final, NamedTuple

from . import payload
from .mend.arguments import mend_arguments
from .mend.finish import Finish
from .mend.lexer import BEFORE_A_VALUE, CLOSER_OF, SPACE, STRING, loose_tokens
from .reasons import CUT_OFF, MIXED
from .sizes import MOST_BROKEN, LimitReached, has_more_parts
from .tools.declared import Tools

SENT_AGAIN: Final = "sent again"

_NOTHING: Final = frozenset({"", "{}", "[]", "null"})
_OPENS = re.compile(r"""\s*+(")?\s*+(?:\[\s*+)?\{\s*+(?:(\\*+)(["'“‘]))?""")
"""How arguments begin: with an object, which may be encoded as a string or be alone in a list, and the quote of its
first key."""
_BEGINS = re.compile(r"""\s*+(?:"?\s*+(?:\[\s*+)?\{|```|[A-Za-z_][A-Za-z_ ]{0,24}+[:=]\s*+["{]|<\|)""")
"""How arguments may begin: with an object, or in a fence, after a label or after a token."""
_KEY = re.compile(r"""\s*+(?:\[\s*+)?\{\s*+(["'“‘])([^"'“”‘’\\]*+)["'”’]\s*+:""")
_ARGUMENTS_SHOW_WITHIN: Final = 64
"""How many characters are enough to see whether arguments begin here."""


def is_empty(arguments: str) -> bool:
    """Whether this is one of the ways to write that there are no arguments."""
    return arguments.strip() in _NOTHING


def may_begin(arguments: str) -> bool:
    """Whether these may be the first characters of a call's arguments."""
    return _BEGINS.match(arguments) is not None


def begins_midway(fragments: list[str]) -> bool:
    """Whether the first fragments can only come from the middle of some arguments."""
    head = "".join(fragments[:_ARGUMENTS_SHOW_WITHIN]).strip()
    return bool(head) and not may_begin(head)


def full_name(names: list[str], tools: Tools) -> str:
    """One name from the names in the deltas, which are repeated, in pieces, or growing snapshots.

    No earlier piece is ever left out: `sandbox.` and `Bash` are not `Bash`.
    """
    if not names:
        return ""
    joined = "".join(names)
    snapshots = all(names[-1].startswith(name) for name in names)
    return names[-1] if snapshots and tools.get(joined) is None else joined


def full_arguments(fragments: list[str]) -> tuple[str, tuple[str, ...]]:
    """The arguments from fragments that are pieces, growing snapshots, or pieces and then the whole again."""
    joined = "".join(fragments)
    if len(joined) == len(fragments[0] if fragments else ""):
        return joined, ()
    pieces = fragments if fragments[-1] else list(filter(None, fragments))
    last = pieces[-1]
    if all(later.startswith(earlier) for earlier, later in itertools.pairwise(pieces)):
        if payload.object_in(last) is not None and payload.object_in(joined) is None:
            return last, ("cumulative snapshots",)
    elif may_begin(last):
        before = joined[: -len(last)]
        if last.startswith(before) and payload.object_in(last) is not None and payload.object_in(joined) is None:
            return last, (SENT_AGAIN,)
        first = payload.object_in(before) if last.lstrip().startswith('"') else None
        if first is not None and first == _inside(last):
            return before, (SENT_AGAIN,)
    return joined, ()


def with_pairs(text: str) -> str:
    """The text with surrogate pairs joined whose halves arrived in two fragments."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


class _Opening(NamedTuple):
    """A fragment that begins like the arguments of a call, and its offset in the joined fragments."""

    at: int
    encoded: bool
    """A quote precedes the bracket."""
    escaped: bool
    """A backslash precedes the quote of the first key."""
    mark: str
    """That quote; empty if the fragment ends before it."""


def why_mixed(text: str) -> str:
    """Why a call whose fragments are `mixed` is refused: its text may just as well have been cut off, as the model
    then knows."""
    reason = mend_arguments(text, Finish.CUT).reason
    return reason if reason.startswith(CUT_OFF) else MIXED


def mixed(fragments: list[str]) -> bool:
    """Whether a fragment begins another object where no value is allowed, so that the fragments are from two calls.

    Only for arguments that are invalid JSON: valid JSON has one reading, the same for every client.
    """
    openings: deque[_Opening] = deque()
    at = 0
    for fragment in fragments:
        opens = _OPENS.match(fragment) if at else None
        if opens is not None:
            openings.append(_Opening(at, bool(opens[1]), bool(opens[2]), opens[3] or ""))
        at += len(fragment)
    text = "".join(fragments) if openings else ""
    if has_more_parts(text, MOST_BROKEN):
        raise LimitReached
    return bool(openings) and _interrupted(text, openings)


def _interrupted(text: str, openings: deque[_Opening]) -> bool:
    """Whether no value can begin at one of the openings."""
    before = ""
    brackets: list[str] = []
    lone = False  # A fragment that is only a bracket began an object inside another one.
    for kind, begin, end in loose_tokens(text):
        while openings and openings[0].at <= begin:
            opening = openings.popleft()
            # After a complete object another may follow: the two are compared when the arguments are parsed.
            fits = before in BEFORE_A_VALUE and not _same_key(text, opening.at)
            if brackets and not fits and not _doubled_bracket(text, opening.at):
                return True
            lone = lone or bool(brackets and not opening.mark)
        if not (openings or lone):
            return False
        if kind == STRING:
            is_key = brackets[-1:] == ["{"] and before in ("{", ",")
            while openings and openings[0].at < end:
                opening = openings.popleft()
                if is_key or _begins_inside(opening, CLOSER_OF[text[begin]]) or _same_key(text, opening.at):
                    return True
        elif kind in ("{", "["):
            brackets.append(kind)
        elif kind in ("}", "]"):
            del brackets[-1:]
        if kind != SPACE:
            before = kind
    return lone and bool(brackets)


def _begins_inside(opening: _Opening, closer: str) -> bool:
    """Whether an object that begins inside a string is from another call, not part of the string.

    In the string of one call its quote would be escaped or of another kind. A lone bracket may be just a character.
    """
    if opening.encoded:
        return opening.escaped and closer == '"'
    return bool(opening.mark) and not opening.escaped and CLOSER_OF[opening.mark] == closer


def _same_key(text: str, at: int) -> bool:
    """Whether the object has the same first key as the arguments, as another call of the same tool would."""
    first, here = _KEY.match(text), _KEY.match(text, at)
    return first is not None and here is not None and first[2] == here[2]


def _doubled_bracket(text: str, at: int) -> bool:
    """Whether the text is `{` and then the whole object: some servers' parsers send the bracket twice."""
    return text[:at].strip() == "{" and payload.object_in(text[at:]) is not None


def _inside(text: str) -> Any:
    """The value inside arguments that were encoded twice; None if they were not."""
    value = payload.read_strict(text)
    return payload.read_strict(value) if isinstance(value, str) else None
