"""Why a call is refused, what was done to mend one, and the short labels of both for counters and pages.

The sentences and names here are those that code asks about or that several places say; a reason that only one place
knows stands where it is raised. People read all of them in logs, recordings and reports, so they do not change.
"""

from __future__ import annotations

import re
from typing import Final


class Refusal(Exception):
    """Ends mending without a result: the reason, in one plain sentence. `mend_arguments` turns it into an outcome."""

    @property
    def reason(self) -> str:
        return str(self.args[0])


# Reasons to refuse a call, whatever its arguments are.

CUT_BEFORE: Final = "the answer was cut off before the arguments"
CUT_OFF: Final = "the arguments were cut off"
"""How the reasons begin that say where (`cut_inside`)."""
CUT_INSIDE: Final = "the answer was cut off before the call was complete"
MIXED: Final = "the fragments of several calls cannot be told apart"
RENAMED_LIVE: Final = "its name changed after the client had a part of it"
SENT_WHOLE: Final = "the same call was sent as a whole while this one was arriving"
NAME_CONTRADICTED: Final = "the call's name and its arguments disagree"
EVENTS_CONTRADICTORY: Final = "the call's events disagree about its arguments"
FREEFORM_UNCLEAR: Final = "the input of the freeform tool was cut off or is ambiguous"
ANOTHER_CHOICE: Final = "the client asked for one choice, but a second one has calls too"
PIECES_UNCLEAR: Final = "it is not clear how the pieces of its arguments fit together"
BEHIND_THE_END: Final = "the call came after the end of the answer, whose last text had already become a call"


def cut_inside(key: str | None, characters: int) -> Refusal:
    """The refusal of a text that ends inside a value: `{"command": "rm -rf /` could be closed, but must not run."""
    where = f"inside `{key}` " if key else ""
    return Refusal(f"{CUT_OFF} {where}after {characters:,} characters")


# What the tool for invalid calls is told.


def missing_sentence(missing: tuple[str, ...]) -> str:
    return f"Invalid arguments: missing required field(s): {', '.join(missing)}."


# Steps: what was guessed, added or left out to read the arguments.

BARE_TEXT: Final = "unquoted text"
CLOSED_CUT_OFF: Final = "closed a cut-off call"
EXTRA_BRACKET: Final = "extra closing bracket"
INNER_QUOTES: Final = "quotes inside a string"
LEADING_COMMA: Final = "leading comma"
LIST_INPUT: Final = "list input"
NO_ARGUMENTS: Final = "no arguments"
MISSING_BRACKET: Final = "missing closing bracket"
MISSING_QUOTE: Final = "missing quote before a key"
TEXT_AROUND: Final = "text around the object"

CLOSED: Final = frozenset({MISSING_BRACKET, CLOSED_CUT_OFF})
"""Steps that add closing brackets at the end of the text, which may have been cut off there."""
MAY_CHANGE_WITH_MORE: Final = frozenset({MISSING_BRACKET, CLOSED_CUT_OFF, TEXT_AROUND, INNER_QUOTES, EXTRA_BRACKET})
"""Steps that may turn out wrong if another fragment of the call follows."""
TOO_BOLD_INSIDE_A_TEXT: Final = frozenset({INNER_QUOTES, CLOSED_CUT_OFF, TEXT_AROUND})
"""Steps that guess too much for JSON inside a string, because reading the string as JSON is a guess already."""

# Labels: the kinds of steps and reasons, free of the names and paths that a model wrote.

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
    ("contradictory events", ("disagree", "its name changed", "sent as a whole")),
    ("another answer", ("a second one has calls", "after the end of the answer")),
    ("several objects", ("two different objects", "objects")),
    ("no object", ("no object", "not an object", "outside the object")),
    ("too large", ("nested", "too many", "encoded more than", "too large", "larger than")),
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
