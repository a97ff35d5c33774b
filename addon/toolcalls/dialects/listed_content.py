"""Text of an answer that arrives in another form than a string: what the client may see in it.

Some servers send `content` as a list of entries, as in requests: `[{"type": "text", "text": "…"}]`.
"""

from __future__ import annotations

from typing import Any, Final

from ..turn.parts import OtherDelta, shown_text

_REASONING: Final = ("thinking", "reasoning")


def read_content(content: Any) -> list[OtherDelta]:
    """The parts of a content that is not a string, in order."""
    return [_read_entry(entry) for entry in (content if isinstance(content, list) else [content]) if entry]


def _read_entry(entry: Any) -> OtherDelta:
    """The part for one entry of a list: what the client sees in it."""
    if not isinstance(entry, dict):
        return OtherDelta(shown=shown_text(entry))
    if entry.get("type") in _REASONING:
        return OtherDelta()
    text, content = entry.get("text"), entry.get("content")
    return OtherDelta(bool(entry.get("refusal")), shown=None if content else shown_text(text))
