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
_MAX_BARS = 60

_ATOM = re.compile(r"\\[^1-9]|\[\^?\]?(?>\\.|[^\]\\])*+\]", re.DOTALL)
"""An escape that is no back-reference, or a character class."""
# Look-around, named groups, flags, back-references, and groups that are repeated often.
_NEVER = re.compile(r"\(\?[^:]|\\|\)\{(?!0*[0-4]\})\d")
_REPETITION = re.compile(r"[*+]|\{\d+,\d*\}")
_NESTED = re.compile(r"\)(?:[*+]|\{\d)")
# After a quantifier it only means "as few as possible".
_OPTIONAL = re.compile(r"(?<![*+?])\?")


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
    plain = _ATOM.sub("x", source)
    bars = plain.count("|")
    if bars > _MAX_BARS or _NEVER.search(plain):
        return -1
    plain = plain.replace("(?:", "(")
    repetitions, optional = len(_REPETITION.findall(plain)), len(_OPTIONAL.findall(plain))
    if _NESTED.search(plain) or optional > _MAX_OPTIONAL:
        return 0 if repetitions + optional + bars <= _MAX_CHOICES_ON_EMPTY else -1
    power = repetitions + (0 if source.startswith("^") and not bars else 1)
    return min(4096, int((_MAX_STEPS / (1 + bars)) ** (1 / max(power, 1)) / (1 + optional)))
