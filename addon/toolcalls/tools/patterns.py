"""Regular expressions from the request, which are run only if they cannot stall.

A declared `pattern` is foreign code with a running time of its own. A pattern without nested repetition is run on a
short string; for all others the result is unknown.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

_MAX_PATTERN = 300
_MAX_STEPS = 200_000
_MAX_OPTIONAL = 4
_MAX_CHOICES_ON_EMPTY = 8

# One token of a pattern, as far as its running time is concerned.
_TOKEN = re.compile(
    r"\\(?P<escape>.)"
    r"|\[\^?\]?(?:\\.|[^\]\\])*\]"  # a character class
    r"|(?P<special>\(\?[^:])"  # look-around, named groups, flags
    r"|(?P<open>\((?:\?:)?)"
    r"|(?P<close>\))"
    r"|\{(?P<low>\d+)(?P<comma>,)?(?P<high>\d*)\}"
    r"|(?P<many>[*+])"
    r"|(?P<maybe>\?)"
    r"|(?P<bar>\|)"
    r"|.",
    re.DOTALL,
)


@dataclass(slots=True, frozen=True)
class Pattern:
    regex: re.Pattern[str] | None
    longest: int
    """The length of text up to which the pattern is safe to run; -1 if not even on the empty string."""

    def matches(self, text: str) -> bool | None:
        """Whether the pattern is found in the text; None if running it might stall."""
        if self.regex is None or len(text) > self.longest:
            return None
        return self.regex.search(text) is not None


def prepare_pattern(source: object) -> Pattern:
    if not isinstance(source, str) or len(source) > _MAX_PATTERN:
        return Pattern(None, -1)
    longest = _longest_safe_text(source)
    if longest < 0:
        return Pattern(None, -1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Pattern(re.compile(source), longest)
    except (re.error, RecursionError, OverflowError, ValueError):
        return Pattern(None, -1)


def _longest_safe_text(source: str) -> int:
    """The length up to which a search cannot stall: backtracking costs about n to the number of open repetitions."""
    repetitions = optional = bars = 0
    nested = False
    after_group = after_quantifier = False
    for token in _TOKEN.finditer(source):
        kind = token.lastgroup
        if token["escape"] is not None:
            if token["escape"].isdigit() and token["escape"] != "0":
                return -1  # a back-reference
        elif kind == "special":
            return -1
        elif kind == "bar":
            bars += 1
        elif kind == "maybe":
            if not after_quantifier:  # after a quantifier it only means "as few as possible"
                optional += 1
        elif kind == "many":
            repetitions += 1
            nested |= after_group
        elif token["low"] is not None:
            fixed = token["comma"] is None
            if after_group and (not fixed or int(token["low"][:6]) > 4):
                return -1
            nested |= after_group
            repetitions += not fixed
        after_quantifier = kind in ("many", "maybe") or token["low"] is not None
        after_group = kind == "close"
    if nested or optional > _MAX_OPTIONAL:
        return 0 if repetitions + optional + bars <= _MAX_CHOICES_ON_EMPTY else -1
    power = repetitions + (0 if source.startswith("^") and not bars else 1)
    if bars > 60:
        return -1
    return min(4096, int((_MAX_STEPS / (1 + bars)) ** (1 / max(power, 1)) / (1 + optional)))
