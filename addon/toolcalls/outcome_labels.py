"""Labels for the kinds of steps and reasons, free of the names and paths that a model wrote."""

from __future__ import annotations

import re

OTHER = "other"
STATUS_WORDS = {"valid": "unchanged", "repaired": "mended", "refused": "refused"}
"""The status of a call in words for people; files and metrics contain the status itself."""
LONGEST_LABEL = 60

_STEPS = (
    (re.compile(r"`.*` renamed to `.*", re.DOTALL), "property renamed"),
    (re.compile(r"enum member `.*", re.DOTALL), "enum member by case or separators"),
    (re.compile(r"arguments taken out of `.*", re.DOTALL), "arguments taken out of a wrapper"),
)
_PLACE = re.compile(r" at `.*", re.DOTALL)
_WORDS = re.compile(r"[A-Za-z][A-Za-z0-9 ,:+/()-]*")

_REASONS = (
    ("missing required fields", ("missing required",)),
    ("unknown tool", ("Unknown tool",)),
    ("no tool name", ("Not a tool name",)),
    ("cut off", ("cut off",)),
    ("several objects", ("two different objects", "objects")),
    ("no object", ("no object", "not an object", "outside the object")),
    ("too large", ("nested", "too many", "encoded more than", "digits", "too large", "larger than")),
    ("two readings", ("not clear", "may be", "may not", "two readings", "one reading", "told apart", "not escaped")),
)


def step_class(step: str) -> str:
    """The label of a step: its text without names and paths."""
    for pattern, words in _STEPS:
        if pattern.fullmatch(step):
            return words
    step = _PLACE.sub("", step)
    return step if len(step) <= LONGEST_LABEL and _WORDS.fullmatch(step) else OTHER


def reason_class(reason: str) -> str:
    """The label of a refusal's reason. Words in backticks are quoted from the model and are ignored."""
    plain = re.sub(r"`[^`]*`", "", reason)
    return next((name for name, words in _REASONS if any(word in plain for word in words)), "unreadable")
