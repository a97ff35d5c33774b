"""Text that is no string: some servers send a list of entries, as in requests, `[{"type": "text", "text": "…"}]`."""

from __future__ import annotations

from typing import Any, Final

from ..parts import Other
from ..payload import shown_text

_REASONING: Final = ("thinking", "reasoning")


def read_content(content: Any) -> list[Other]:
    """The parts of a content that is no string, in order: what the client sees in each entry."""
    if not isinstance(content, list):
        return [Other(body={"content": content}, shown=shown_text(content))] if content else []
    return [_read_entry(entry) for entry in content if entry]


def _read_entry(entry: Any) -> Other:
    body = {"content": [entry]}
    if not isinstance(entry, dict):
        return Other(body=body, shown=shown_text(entry))
    if entry.get("type") in _REASONING:
        return Other(body=body)
    unknown = bool(entry.get("content"))
    return Other(
        body=body, shown=None if unknown else shown_text(entry.get("text")), refusal=bool(entry.get("refusal"))
    )
