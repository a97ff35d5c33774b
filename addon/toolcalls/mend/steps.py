"""Steps of mending that code asks about later, by name: what was guessed, added or left out to read the arguments.

People read these names in logs, recordings and reports, so they do not change.
"""

from __future__ import annotations

from typing import Final

CLOSED_CUT_OFF: Final = "closed a cut-off call"
EXTRA_BRACKET: Final = "extra closing bracket"
INNER_QUOTES: Final = "quotes inside a string"
MISSING_BRACES: Final = "missing braces"
MISSING_BRACKET: Final = "missing closing bracket"
TEXT_AROUND: Final = "text around the object"

CLOSED: Final = frozenset({MISSING_BRACKET, CLOSED_CUT_OFF})
"""The text ends before its brackets do: for all that anybody knows, it was cut off."""
MAY_CHANGE_WITH_MORE: Final = frozenset(
    {MISSING_BRACKET, MISSING_BRACES, CLOSED_CUT_OFF, TEXT_AROUND, INNER_QUOTES, EXTRA_BRACKET}
)
"""Readings that another fragment of the call may still change."""
TOO_BOLD_INSIDE_A_TEXT: Final = frozenset({INNER_QUOTES, CLOSED_CUT_OFF, TEXT_AROUND})
"""Readings that are too bold for a text inside a text: there the outer value is a reading already."""
