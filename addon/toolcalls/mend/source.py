"""The text that the tolerant grammar reads, and what has been found out about it so far."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..reasons import CLOSED_CUT_OFF, MISSING_BRACKET, Refusal, cut_inside
from ..tools.check import View
from . import lexer as chars
from .finish import Finish

# Broken text is read in Python while the caller waits: so many tokens take about 25 ms, and text that has more is
# refused. The length of a token hardly counts: 64 KB of code or prose in a few strings need a hundredth of the limit.
MAX_WORK = 6_000
MAX_DEPTH = 150


class Cut(Refusal):
    """The text ends inside a value, which is closed or left out (`toolfix_truncated=complete`)."""


@dataclass(slots=True)
class Source:
    text: str
    finish: Finish
    complete: bool
    """What was cut off is closed."""
    view: View | None = None
    """What the schema says about the object that is read now. It can prove that a quote is missing."""
    steps: dict[str, None] = field(default_factory=dict)
    level: int = 0
    """How often the text was encoded as a string."""
    pos: int = 0
    key: str | None = None
    open: list[str] = field(default_factory=list)
    work: int = MAX_WORK
    doubts: dict[str, None] = field(default_factory=dict)
    """The repairs of the structure: each is sound by itself, but not beside strings whose end was guessed."""
    guessed: bool = False
    """The end of a string was guessed."""
    swallowed: bool = False
    """A comment contains a closing bracket."""
    literal_codes: bool = False
    r"""`\x41` in a JSON string was kept unchanged."""
    undoubled: bool = False
    r"""A word with a backslash was kept unchanged: `\alpha`."""
    control_word: bool = False
    r"""A line break or the like was decoded that may be such a word: `\nabla`."""

    @property
    def may_add_missing(self) -> bool:
        """Whether something missing may be added: the answer is complete, or the user wants it closed."""
        return self.complete or self.finish is Finish.COMPLETE

    def step(self, words: str) -> None:
        self.steps[words] = None

    def structural_step(self, words: str) -> None:
        self.steps[words] = self.doubts[words] = None

    def spend(self, work: int) -> None:
        self.work -= work
        if self.work < 0:
            raise Refusal(f"the broken arguments have too many parts to mend in time ({len(self.text):,} characters)")

    def skip(self) -> str:
        """Skip blanks and comments, and return the character behind them, or "" at the end."""
        text, pos = self.text, self.pos
        while pos < len(text):
            char = text[pos]
            if "!" <= char <= "~" and char not in "/#":
                break
            end = chars.end_of(chars.blanks, text, pos)
            if end > pos:
                if text[pos:end].strip(" \t\r\n"):
                    self.step("invisible characters")
                pos = end
                continue
            note = chars.comment.match(text, pos) if char in "/#" else None
            if note is None:
                break
            self.spend(1)
            between = text[max(0, pos - 64) : pos]
            self._comment(note[0], (between if note[0].startswith("/*") else between.rstrip())[-1:])
            pos = note.end()
        self.pos = pos
        return text[pos : pos + 1]

    def _comment(self, note: str, before: str) -> None:
        """Drop a comment, or refuse one whose content may be meant: `[1, #2, 3` up to the end of the line.

        Behind a quote, a comment may be the rest of a text whose quotes are not escaped: `"grep "#include" src"`; a
        `/*` comment only directly behind the quote: `"grep "/*.c" src/*/`.
        """
        self.step("comments")
        if chars.says_no.search(note):
            raise Refusal("a comment says that this is not to be run")
        if before and before in chars.QUOTES and any(quote in note for quote in chars.QUOTES):
            raise Refusal("a comment may be the rest of a text whose quotes are not escaped")
        if note.startswith("/*"):
            return
        if chars.quoted_key.search(note) or chars.values_in_comment.search(note):
            raise Refusal("a comment has values in it, which may be meant")
        self.swallowed = self.swallowed or chars.closing.search(note) is not None

    def structure(self, char: str) -> None:
        """Consume a structural character, and note a full-width form or a semicolon as a step."""
        self.pos += 1
        if char in chars.FULL_WIDTH:
            self.step("full-width punctuation")
        elif char == ";":
            self.step("semicolons")

    def lacks_opening_quote(self, key: re.Match[str] | None) -> bool:
        """Whether this is a declared key that lacks only its first quote, in an answer that was not cut off."""
        declared = self.view is not None and key is not None and key[1] in self.view.properties
        return declared and self.finish is Finish.COMPLETE

    def cut(self, *, bare: bool = False) -> Refusal:
        """The refusal of a text that ends here, or its closing. `bare`: in a number or word, never closed."""
        refusal = cut_inside(self.key, len(self.text))
        return Cut(refusal.reason) if self.complete and not bare else refusal

    def close(self) -> None:
        """Close what is open at the end of the text."""
        self.step(CLOSED_CUT_OFF)
        self.pos = len(self.text)

    def unclear(self, why: str) -> Refusal:
        return Refusal(f"it is not clear where the text of `{self.key}` ends: {why}")

    def unclosed(self) -> None:
        """Accept or refuse a text that ends where only closing brackets are missing: see `finish.py`."""
        if not self.may_add_missing:
            raise self.cut()
        if self.complete:
            self.close()
        else:
            self.structural_step(MISSING_BRACKET)

    def lost_bracket(self) -> None:
        """Accept or refuse a missing bracket: the next bracket closes something further out."""
        if not self.may_add_missing:
            raise Refusal("a closing bracket is missing, and the answer may have been cut off")
        self.structural_step(MISSING_BRACKET)
