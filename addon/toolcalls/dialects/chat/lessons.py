"""What an event of a Chat stream that was read says about those like it (`unread/fast_path.py`)."""

from __future__ import annotations

from ...turn.assembled_call import Fragment
from ...unread.fast_path import PASSING_TEXT, CallFragments, Lesson
from .calls import REASONING_KEYS, Json
from .choice import Choice

_TEXTS = ("content", *REASONING_KEYS)
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
    keys = [key for key in _TEXTS if delta.get(key)]
    text = delta[keys[0]] if len(keys) == 1 else None
    if not isinstance(text, str):
        return None
    answer = choice.answer
    receiver = answer.search if keys[0] == "content" else answer.thoughts
    return Lesson(keys[0], text, receiver or PASSING_TEXT)
