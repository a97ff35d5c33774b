"""The text of events that nobody reads: how it is found in their bytes, and whether it could matter.

The search for calls wants to see text only where an opener stands, or what may become one. What passed unread is
kept until it wants to know how that was quoted, which most answers never make it ask.
"""

from __future__ import annotations

import re
from contextlib import suppress

from .forms import NUMBER, STRING, Form, NumberedForm, read_string
from .opener_bytes import HEADS, LONG, WHOLE_SAFE, suspicious

_DIGITS = b"0123456789"
_string_of = re.compile(STRING.pattern.decode()).match


class Field:
    """Where the text of an event stands: its key, and how its values are found without reading the event."""

    __slots__ = ("_begins", "_heads", "_numbered", "_safe", "key")

    def __init__(self, name: str, *, numbered: bool = False) -> None:
        """`numbered`: its events may have a number before the text, and behind the text nothing that concerns us."""
        self._numbered = numbered
        self.key = f'"{name}"'.encode()
        value = rf'"{name}"\s*:\s*"'.encode()
        self._safe = re.compile(value + WHOLE_SAFE.pattern)
        self._heads = re.compile(value + HEADS)
        self._begins = re.compile(value.decode())

    def harmless(self, block: bytes, count: int) -> bool:
        """Is there nothing in so many texts that could be an opener, nor become one?"""
        if count == 1 and len(block) < LONG:
            return self._safe.search(block) is not None
        start = block.find(self.key)
        heads = self._heads.match if count == 1 else self._heads.search
        return heads(block, start) is None and not suspicious(block[start:])

    def says_nothing(self, block: bytes) -> bool:
        return self.key not in block or self._begins.search(block.decode("utf-8", "replace")) is None

    def texts(self, block: bytes, *, strict: bool = True) -> list[str]:
        """ValueError where they are no JSON. Not `strict`: what passed already, whatever it was."""
        text = block.decode("utf-8", "replace")
        found: list[str] = []
        at = 0
        while (begins := self._begins.search(text, at)) is not None:
            try:
                said, at = read_string(text, begins.end(), strict)
            except ValueError:
                if strict:
                    raise
                broken = _string_of(text, begins.end())
                at = broken.end() if broken else len(text)
                said = text[begins.end() : at].replace("\\n", "\n")
            found.append(said)
        return found

    def form(self, block: bytes) -> Form | NumberedForm | None:
        """The form of an event with one text."""
        begins = self._begins.search(block.decode("latin-1"))
        ends = STRING.match(block, begins.end()) if begins else None
        if ends is None:
            return None
        before = block[: ends.start()]
        number = NUMBER.search(before) if self._numbered else None
        if number is not None:
            middle = before[number.end() :].lstrip(_DIGITS)
            return NumberedForm(self.key, before[: number.end()], middle, block[ends.end() :])
        return Form(self.key, before, block[ends.end() :])


class PassedText:
    """Events that passed, in their order. What they said is read when somebody wants to know, most often never."""

    __slots__ = ("_field", "_form", "_runs", "alike", "size")

    def __init__(self, field: Field) -> None:
        self._field = field
        self._form: Form | NumberedForm | None = None
        self.alike: list[bytes] = []
        """Events of the form that was learned last, each with one text. Who adds one adds its size too."""
        self.size = 0
        self._runs: list[tuple[Form | NumberedForm | None, list[bytes]]] = []

    def learn(self, form: Form | NumberedForm | None) -> None:
        self._begin_run()
        self._form = form

    def add(self, block: bytes) -> None:
        """Events that have any form and any number of texts."""
        self._begin_run()
        self._runs.append((None, [block]))
        self.size += len(block)

    def _begin_run(self) -> None:
        if self.alike:
            self._runs.append((self._form, self.alike))
            self.alike = []

    def take(self) -> str:
        """All that they said."""
        self._begin_run()
        said = "".join(self._said(form, blocks) for form, blocks in self._runs)
        self._runs.clear()
        self.size = 0
        return said

    def _said(self, form: Form | NumberedForm | None, blocks: list[bytes]) -> str:
        if form is not None:
            # JSON strings one after another are one JSON string, but for the quotes between them.
            joined = b"".join(form.texts(blocks)).decode("utf-8", "replace")
            if '"' not in joined and "\\" not in joined:
                return joined
            with suppress(ValueError):
                said, end = read_string(joined + '"', 0, False)
                if end > len(joined):
                    return said  # type: ignore[no-any-return]
        return "".join(self._field.texts(b"".join(blocks), strict=False))
