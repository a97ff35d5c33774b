"""Which element or tag of markup is open."""

from __future__ import annotations

from .quotation_marks import BLOCK_TAGS, INLINE_TAGS, NEVER_CLOSED, OF_CALLS

_WITH_ATTRIBUTES = frozenset(name for name in OF_CALLS if name.endswith(("invoke", "parameter", "function", "param")))
"""Markup of calls that has attributes, which the formats handle."""


class Elements:
    __slots__ = ("_depth", "inline", "name", "tag")

    def __init__(self) -> None:
        self.name = ""
        """The element that is open over any number of lines."""
        self._depth = 0
        self.inline = ""
        """An element of inline code that is open in this line."""
        self.tag = ""
        """A tag that has begun and not ended yet; it may end in a later line."""

    def begin(self, name: str, *, at_head: bool) -> None:
        """Begin a tag whose end is not in the text yet."""
        if name not in _WITH_ATTRIBUTES and (name in BLOCK_TAGS or at_head):
            self.tag = name

    def open(self, name: str, tag: str, *, at_head: bool, spaced: bool) -> None:
        """Open an element. `spaced`: no word is right before the tag, so it is not part of a type or a path."""
        if tag.endswith("/>"):
            return
        if name == self.name:
            self._depth += 1
        elif name in NEVER_CLOSED or (name in OF_CALLS and not (at_head and " " in tag)):
            return
        elif name in INLINE_TAGS:
            self.inline = name
        elif (at_head or name in BLOCK_TAGS) and not self.name:
            self.enter(name)
        elif spaced:
            self.inline = name

    def enter(self, name: str) -> None:
        """Enter an element, which is open until it is closed; nothing changes inside another one."""
        if not self.name:
            self.name, self._depth = name, 1

    def close(self, name: str) -> None:
        if name == self.name:
            self._depth -= 1
            if not self._depth:
                self.name = ""
        elif name == self.inline:
            self.inline = ""
