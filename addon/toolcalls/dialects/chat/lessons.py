"""What an event of a Chat stream that was read says about those like it (`unread/fast_path.py`)."""

from __future__ import annotations

from ...turn.assembled_call import Fragment
from ...unread.fast_path import PASSING_TEXT, CallFragments, Lesson
from .calls import Json
from .choice import Choice

_TEXTS = ("content", "reasoning_content", "reasoning")
"""Where a delta has its text, one event like the other."""


def lesson_of(choice: Choice, delta: Json, fragments: list[Fragment]) -> Lesson | None:
    """The lesson of a delta that its choice has just taken; it counts if the event passed or was held whole."""
    if fragments:
        # A name may begin another call. Without one the index and the id decide, which are part of the template.
        if choice.last is None:
            return None
        return Lesson("arguments", fragments[0].arguments, CallFragments(choice.last.add, choice.hold))
    if choice.thinking:
        return None
    key = next((key for key in _TEXTS if delta.get(key)), "")
    text = delta.get(key)
    if not isinstance(text, str):
        return None
    searched = choice.answer.search if key == "content" else None
    return Lesson(key, text, searched or PASSING_TEXT)
