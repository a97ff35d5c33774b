"""Where the text of the `thinking` phase goes: into the document, inside a wrapper, or beside it, without one.

Thinking that begins with `<details` is a part of the document, and edits count it. Thinking without that wrapper is
reasoning by itself. While it may still be the beginning of a wrapper nobody knows.
"""

from __future__ import annotations

from typing import Final

from ...turn.parts import ReasoningDelta
from .envelope import Patch
from .markup import WRAPPER_TAG

THINKING: Final = "thinking"
_CALLS: Final = ("tool_call", "tool_response")


class ThinkingPhase:
    __slots__ = ("_apart", "_in_document", "_parted", "_undecided")

    def __init__(self) -> None:
        self._in_document = False
        self._apart = False
        self._undecided = ""
        """What may be the beginning of a wrapper."""
        self._parted = False
        """A call of the backend's own came between two parts of thinking without a wrapper."""

    def enter(self, phase: str) -> list[ReasoningDelta]:
        """An event of this phase comes: if the answer goes on in it, what waited to become a wrapper is none."""
        self._parted = self._parted or (self._apart and phase in _CALLS)
        return [] if phase in (THINKING, "tool_response") else self.end()

    def end(self) -> list[ReasoningDelta]:
        """Nothing more is thought for now: what looked like the beginning of a wrapper was none."""
        text, self._undecided = self._undecided, ""
        if not text:
            return []
        self._apart = True
        return [ReasoningDelta(text)]

    def take(self, patch: Patch) -> Patch | list[ReasoningDelta]:
        """What was thought: a patch of the document, or reasoning by itself."""
        text = self._undecided + patch.text
        opening = text.lstrip("\n")
        if opening.startswith(WRAPPER_TAG) or (patch.kind == "edit" and patch.index > 0):
            self._in_document = True
        elif not (self._in_document or self._apart) and WRAPPER_TAG.startswith(opening):
            self._undecided = text
            return []
        self._undecided = ""
        if self._in_document:
            return Patch(patch.kind, text, patch.index)
        self._apart = True
        return self._think_apart(text)

    def _think_apart(self, text: str) -> list[ReasoningDelta]:
        """Parts with a hidden call between them join with a blank line, as wrappers do."""
        if not self._parted:
            return [ReasoningDelta(text)]
        text = text.lstrip("\n")
        self._parted = not text
        return [ReasoningDelta(f"\n\n{text}")] if text else []
