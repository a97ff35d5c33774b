"""Decides whether the text of the `thinking` phase is part of the document or separate reasoning.

Text that begins with the wrapper `<details` is part of the document, and the offsets of edits include it. Text
without that wrapper is separate reasoning. Text that may still be the beginning of a wrapper is held back.
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
        """Text that may be the beginning of a wrapper."""
        self._parted = False
        """A call of the backend's own separates two parts of reasoning without a wrapper."""

    def enter(self, phase: str) -> list[ReasoningDelta]:
        """Note the phase of an event. If the answer continues in another phase, held-back text is reasoning."""
        self._parted = self._parted or (self._apart and phase in _CALLS)
        return [] if phase in (THINKING, "tool_response") else self.end()

    def end(self) -> list[ReasoningDelta]:
        """End the thinking for now: text that looked like the beginning of a wrapper is reasoning."""
        text, self._undecided = self._undecided, ""
        if not text:
            return []
        self._apart = True
        return [ReasoningDelta(text)]

    def take(self, patch: Patch) -> Patch | list[ReasoningDelta]:
        """The text of a `thinking` event: a patch of the document, or separate reasoning."""
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
        return self._separate_reasoning(text)

    def _separate_reasoning(self, text: str) -> list[ReasoningDelta]:
        """Separate reasoning. Parts with a hidden call between them are joined with a blank line, like wrappers."""
        if not self._parted:
            return [ReasoningDelta(text)]
        text = text.lstrip("\n")
        self._parted = not text
        return [ReasoningDelta(f"\n\n{text}")] if text else []
