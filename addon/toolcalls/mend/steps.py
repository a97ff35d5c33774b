"""The names of mending steps that code checks for: what was guessed, added or left out to read the arguments.

People read these names in logs, recordings and reports, so they do not change.
"""

from __future__ import annotations

from typing import Final

CLOSED_CUT_OFF: Final = "closed a cut-off call"
EXTRA_BRACKET: Final = "extra closing bracket"
INNER_QUOTES: Final = "quotes inside a string"
LIST_INPUT: Final = "list input"
MISSING_BRACES: Final = "missing braces"
MISSING_BRACKET: Final = "missing closing bracket"
TEXT_AROUND: Final = "text around the object"

CLOSED: Final = frozenset({MISSING_BRACKET, CLOSED_CUT_OFF})
"""Steps that add closing brackets at the end of the text, which may have been cut off there."""
MAY_CHANGE_WITH_MORE: Final = frozenset(
    {MISSING_BRACKET, MISSING_BRACES, CLOSED_CUT_OFF, TEXT_AROUND, INNER_QUOTES, EXTRA_BRACKET}
)
"""Steps that may turn out wrong if another fragment of the call follows."""
TOO_BOLD_INSIDE_A_TEXT: Final = frozenset({INNER_QUOTES, CLOSED_CUT_OFF, TEXT_AROUND})
"""Steps that guess too much for JSON inside a string, because reading the string as JSON is a guess already."""
