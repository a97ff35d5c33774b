"""Moves reasoning that leaked into the text of a Chat answer to `reasoning_content` (`toolfix_think`)."""

from __future__ import annotations

from ...textcalls.leaked_reasoning import ThinkSplitter
from .reader import Json


class Thinking(ThinkSplitter):
    """Splits the beginning of one text until it is clear where the reasoning in it ends."""

    __slots__ = ()

    def split(self, delta: Json, *, last: bool = False) -> Json | None:
        """The delta or message with its reasoning moved to `reasoning_content`; None if nothing changes."""
        content = delta.get("content")
        text = content if isinstance(content, str) else ""
        parts = self.feed(text) if text else []
        if last:
            parts += self.close()
        rest = "".join(part for kind, part in parts if kind == "text")
        reasoning = "".join(part for kind, part in parts if kind == "reasoning")
        if rest == text and not reasoning:
            return None
        moved = {**delta, "content": rest}
        if reasoning:
            known = delta.get("reasoning_content")
            moved["reasoning_content"] = (known if isinstance(known, str) else "") + reasoning
        return moved


def split_message(message: Json) -> None:
    """Move the reasoning out of the text of a whole message."""
    moved = Thinking().split(message, last=True)
    if moved is not None:
        message.update(moved)
