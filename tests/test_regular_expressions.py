"""No regular expression of ours can be driven to more than linear work: a hostile text cannot stall the loop.

Each repetition in each pattern is attacked with what it matches, again and again, and an end that does not fit.
A catastrophic pattern needs seconds for a few dozen characters, a quadratic one for 64 KB.
"""

from __future__ import annotations

import random
import re
import signal
import time
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from types import FrameType
from typing import Any

import pytest

from tests.pace import TRIES, quick
from tests.regular import Known, attacks, is_searched, patterns
from tests.sampling import part
from toolcalls.tools.check import Check
from toolcalls.tools.schema import prepare

SHORT, LONG = 4 * 1024, 64 * 1024
SUSPICIOUS = 0.002
"""Seconds of processor time for the short text. Linear work needs a tenth of it."""
MOST = 1.0


BOUNDED = {
    r"""([\w:.-]+)[ \t\r\n]*=[ \t\r\n]*("[^"]*"|'[^']*'|[^\s>"'/]+)""": "the attributes of a tag of at most 512 characters",
    r'(\w+)="([^"]*)"': "the same in a format of its own",
    r"\s*(\d{1,15})\s*([a-z]*)\s*": "an option of the user, matched as a whole",
}
"""Patterns that are run against short texts only, and why. What they may need is tried with a KB."""


class TooSlow(Exception):
    pass


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlow


def tried(pattern: re.Pattern[Any], text: str, searched: bool) -> float:
    """The processor time of the slowest way to use it. Matching hears signals, so that even the worst one ends."""
    subject: Any = text if isinstance(pattern.pattern, str) else text.encode("utf-8", "replace")
    ways = [pattern.match, pattern.fullmatch, *([pattern.search] if searched else [])]
    slowest = 0.0
    before = signal.signal(signal.SIGVTALRM, _too_slow)
    try:
        for way in ways:
            signal.setitimer(signal.ITIMER_VIRTUAL, MOST)
            begin = time.process_time()
            way(subject)
            slowest = max(slowest, time.process_time() - begin)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return slowest


def is_slow_again(pattern: re.Pattern[Any], text: str, searched: bool) -> bool:
    """Whether it takes too long each time: a busy machine is slow now and then, a bad pattern always."""
    for _ in range(TRIES - 1):
        try:
            tried(pattern, text, searched)
        except TooSlow:
            continue
        return False
    return True


def is_bounded(known: Known) -> bool:
    return known.pattern in BOUNDED


def worst(known: Known, searched: bool) -> str:
    """The text that is too slow, if there is one."""
    pattern = re.compile(known.pattern, known.flags)
    chance = random.Random(repr(known.pattern))
    for head, pump, end in part(attacks(known, chance), 4, len(known.pattern)):
        for size in (64, 1024) if is_bounded(known) else (64, SHORT, LONG):
            text = head + pump * (size // len(pump)) + end
            try:
                if tried(pattern, text, searched) < SUSPICIOUS and size == SHORT:
                    break
            except TooSlow:
                if not is_slow_again(pattern, text, searched):
                    continue
                return f"{head!r} + {pump!r} × {size // len(pump)} + {end!r}"
    return ""


def test_there_are_patterns_to_attack() -> None:
    assert len(patterns()) > 80
    assert sum(1 for known in patterns() for _ in attacks(known, random.Random(0))) > 300


def test_no_pattern_can_be_driven_to_more_than_linear_work() -> None:
    """One test for all: collecting them takes every worker of pytest seconds."""
    slow = {known.pattern: text for known in patterns() if (text := worst(known, searched=is_searched(known)))}
    assert slow == {}


@pytest.mark.parametrize("bad", [r"(a+)+b", r"(?:a|a)*b", r"(\s*,?\s*)*x", r"\s+$", r'"(?:[^"\\]|\\.|[^\\])*"x'])
def test_the_attack_finds_what_it_looks_for(bad: str) -> None:
    assert worst(Known(bad, 32), searched=True) != ""


@pytest.mark.parametrize(
    "source",
    [
        r"(a+)+b",
        r"(?:a|a)*b",
        r"^(\s*,?\s*)*$",
        r"a*a*a*a*b",
        r"(?=(a+))\1b",
        r"(a?){25}a{25}",
        r"(x{1,9}){1,9}y",
        "(|a?)" * 27 + "(?=b)",
        r"\s+$",
    ],
)
def test_a_pattern_in_a_declared_schema_stalls_nobody(source: str) -> None:
    """It is foreign code: it is run on the empty text alone."""
    for text in ("", "a", " ", "x", ", "):
        with quick(MOST):
            Check().admits(prepare({"pattern": source}), text * 100_000)


def _backtracking_bodies(tree: Any) -> list[str]:
    """The bodies of possessive repetitions in a parsed pattern that are neither atomic nor one character."""
    found = []
    for kind, value in tree:
        if kind is sre.POSSESSIVE_REPEAT:
            body = value[2]
            if not (len(body) == 1 and body[0][0] in {sre.ATOMIC_GROUP, *ONE_CHARACTER}):
                found.append(str(body))
        parts = value if isinstance(value, tuple | list) else (value,)
        for one in parts:
            for inner in one if isinstance(one, list) else (one,):
                if isinstance(inner, _parser.SubPattern):
                    found += _backtracking_bodies(inner)
    return found


ONE_CHARACTER = {sre.IN, sre.LITERAL, sre.NOT_LITERAL, sre.ANY}


def test_what_is_repeated_possessively_is_atomic_itself() -> None:
    """Python 3.11.0 to 3.11.4, Debian 12's among them, match it wrongly where it can backtrack (gh-106052)."""
    assert _backtracking_bodies(_parser.parse(r"a(?:b|[cd]e*+)*+"))
    assert _backtracking_bodies(_parser.parse(r"(?P<x>(?:ab)?+)")) and _backtracking_bodies(
        _parser.parse(r"x|(?:ab)++")
    )
    assert not _backtracking_bodies(_parser.parse(r"a(?>b|[cd]e*+)*+[^x]*+.?+"))
    wrong = [known for known in patterns() if _backtracking_bodies(_parser.parse(known.pattern, known.flags))]
    assert not wrong
