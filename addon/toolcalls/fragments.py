"""From the fragments of one call to its name and arguments, and whether the fragments can belong to one call at all.

Knows no protocol and no index: which call the fragments belong to was decided before. It checks the points where one
fragment ends and the next begins, because a fragment of another call can only have slipped in there.
"""

from __future__ import annotations

import itertools
import re
from typing import Final

from . import payload
from .mend.lexer import Lexer
from .sizes import MOST_BROKEN, LimitReached, has_more_parts
from .tools.declared import Tools

SENT_AGAIN: Final = "sent again"

_NOTHING: Final = frozenset({"", "{}", "[]", "null"})
_BEFORE_A_VALUE: Final = frozenset(":,[(")
_OPENS = re.compile(r"""\s*+(")?\s*+(?:\[\s*+)?\{\s*+(?:(\\*+)(["'“‘]))?""")
"""How arguments begin: with an object, which may be encoded as a string or be alone in a list, and the quote of its
first key."""
_BEGINS = re.compile(r"""\s*+(?:"?\s*+(?:\[\s*+)?\{|```|[A-Za-z_][A-Za-z_ ]{0,24}+[:=]\s*+["{]|<\|)""")
"""How arguments may begin: with an object, or in a fence, after a label or after a token."""
_KEY = re.compile(r"""\s*+(?:\[\s*+)?\{\s*+(["'“‘])([^"'“”‘’\\]*+)["'”’]\s*+:""")
_SWAPPED: Final = str.maketrans({"'": '"', '"': "'"})
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
        if first is not None and first == payload.read_encoded(last):
            return before, (SENT_AGAIN,)  # The second time, it is encoded as a string.
    return joined, ()


def with_pairs(text: str) -> str:
    """The text with surrogate pairs joined whose halves arrived in two fragments."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def mixed(fragments: list[str]) -> bool:
    """Whether a fragment begins another object where no value is allowed, so that the fragments are from two calls.

    Only for arguments that are invalid JSON: valid JSON has one reading, the same for every client. In the string of
    one call, the quote of such an object would be escaped or of another kind. A lone bracket may be just a character.
    """
    text = "".join(fragments)
    if has_more_parts(text, MOST_BROKEN):
        raise LimitReached
    opens, key = _OPENS.match(text), _KEY.match(text)
    first = opens[3] if opens is not None and opens[3] else '"'
    if first == "'":  # The lexer follows strings in quotes of the other kind.
        first, fragments = '"', [one.translate(_SWAPPED) for one in fragments]
    lexer, at, before, lone, in_key = Lexer(), 0, "", False, False
    for fragment in fragments:
        opens = _OPENS.match(fragment) if lexer.inside or lexer.depth > 0 else None
        if opens is not None:
            encoded, escaped, quote = opens.groups(default="")
            if lexer.inside:
                another = in_key or (quote == first and bool(escaped) == bool(encoded))
            else:
                another = before not in _BEFORE_A_VALUE and (quote == first or (quote != "" and before.isalnum()))
                # Some servers' parsers send the bracket twice: `{`, and then the whole object.
                another = another and not (text[:at].strip() == "{" and payload.object_in(text[at:]) is not None)
                lone = lone or (not quote and before in "{:,[(")
            again = _KEY.match(text, at)
            if another or (key is not None and again is not None and key[2] == again[2]):
                return True  # Another call of the same tool has the same first key.
        lexer.follow(fragment)
        if lexer.inside and '"' in fragment:
            in_key = (fragment[: fragment.rindex('"')].rstrip()[-1:] or before) in ("{", ",")
        at += len(fragment)
        before = fragment.rstrip()[-1:] or before
    return lone and lexer.depth > 0
