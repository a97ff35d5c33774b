"""Reasoning that leaked into the text: a leading `<think>…</think>`, or a stray `</think>` at the beginning.

Only at the beginning of a message; later tags are text. For an option that is off by default. The tags are dropped,
and so is the white space between them and the answer. A block that never ends is all reasoning.
"""

from __future__ import annotations

from typing import Literal

Kind = Literal["text", "reasoning"]
_OPEN, _CLOSE = "<think>", "</think>"
_SPACE = " \t\r\n"
_MOST_SPACE = 256


class ThinkSplitter:
    __slots__ = ("_held", "_state")

    def __init__(self) -> None:
        self._held = ""
        self._state = "start"

    @property
    def done(self) -> bool:
        """Whether everything from here on is text."""
        return self._state == "text"

    @property
    def text_held(self) -> str:
        """The text that is held back right now."""
        return self._held

    def feed(self, text: str) -> list[tuple[Kind, str]]:
        if self._state == "text":
            return [("text", text)] if text else []
        held, self._held = self._held + text, ""
        out: list[tuple[Kind, str]] = []
        if self._state == "start":
            held = self._start(held)
        if self._state == "thinking":
            held = self._thinking(held, out)
        if self._state == "after":
            held = held.lstrip(_SPACE)
            if held:
                self._state = "text"
        if self._state == "text" and held:
            out.append(("text", held))
        return out

    def close(self) -> list[tuple[Kind, str]]:
        held, self._held = self._held, ""
        kind: Kind = "reasoning" if self._state == "thinking" else "text"
        self._state = "text"
        return [(kind, held)] if held else []

    def _start(self, text: str) -> str:
        """Read the beginning of a message: white space, then one of the tags or anything else."""
        begun = text.lstrip(_SPACE)
        if begun.startswith(_OPEN):
            self._state = "thinking"
            return begun[len(_OPEN) :]
        if begun.startswith(_CLOSE):
            self._state = "after"
            return begun[len(_CLOSE) :]
        if len(text) < _MOST_SPACE and (_OPEN.startswith(begun) or _CLOSE.startswith(begun)):
            self._held = text
            return ""
        self._state = "text"
        return text

    def _thinking(self, text: str, out: list[tuple[Kind, str]]) -> str:
        end = text.find(_CLOSE)
        if end >= 0:
            self._state = "after"
            if end:
                out.append(("reasoning", text[:end]))
            return text[end + len(_CLOSE) :]
        keep = next((n for n in range(len(_CLOSE) - 1, 0, -1) if text.endswith(_CLOSE[:n])), 0)
        cut = len(text) - keep
        self._held = text[cut:]
        if cut:
            out.append(("reasoning", text[:cut]))
        return ""
