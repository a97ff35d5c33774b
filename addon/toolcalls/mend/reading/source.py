"""The text that the tolerant grammar reads, and what has been found out about it so far."""

from __future__ import annotations

from ..finish import Finish
from ..refusal import Refusal, cut_inside
from ..steps import CLOSED_CUT_OFF, MISSING_BRACKET
from . import characters as chars

# Broken text is read in Python while the caller waits: this much work takes about 15 ms, and text that needs more
# is refused. A plain pair or item costs 1, any other token 3, whatever its length: 64 KB of code or prose in a few
# strings need a hundredth of the limit, a list of numbers fits up to about 64 KB.
MAX_WORK = 5_000
SLOW = 3
MAX_DEPTH = 150


class Cut(Refusal):
    """The text ends inside a value; `toolfix_truncated=complete` turns this refusal into an object."""


class Source:
    __slots__ = (
        "complete",
        "doubts",
        "escaped",
        "finish",
        "guessed",
        "key",
        "length",
        "literal_codes",
        "open",
        "pos",
        "steps",
        "swallowed",
        "text",
        "tried",
        "undoubled",
        "work",
    )

    def __init__(self, text: str, finish: Finish, complete: bool) -> None:
        self.text = text
        self.length = len(text)
        self.pos = 0
        self.tried = False  # whether the C decoder has already failed on an object at the very beginning
        self.finish = finish
        self.complete = complete
        self.steps: dict[str, None] = {}
        self.doubts: dict[str, None] = {}
        self.guessed = False
        self.literal_codes = False  # whether `\\x41` in a JSON string was kept unchanged
        self.undoubled = False  # whether a word with a backslash was kept unchanged: `\\alpha`
        # The strings in which a line break or the like may be such a word (`\\nabla`), each with `Decoded.broken`.
        self.escaped: list[tuple[str, bool]] = []
        self.swallowed = False  # whether a comment contains a closing bracket
        self.open: list[str] = []
        self.key: str | None = None
        self.work = MAX_WORK

    def step(self, words: str) -> None:
        self.steps[words] = None

    def structural_step(self, words: str) -> None:
        """Note a repair of the structure: sound by itself, but not beside strings whose end was guessed."""
        self.steps[words] = None
        self.doubts[words] = None

    def spend(self, work: int) -> None:
        self.work -= work
        if self.work < 0:
            raise Refusal(f"the broken arguments have too many parts to mend in time ({self.length:,} characters)")

    @property
    def typographic(self) -> bool:
        """Whether a typographic mark has quoted anything so far."""
        return "typographic quotes" in self.steps

    def skip(self) -> str:
        """Skip blanks and comments, and return the character behind them, or "" at the end."""
        text, pos = self.text, self.pos
        while pos < self.length:
            char = text[pos]
            if "!" <= char <= "~" and char not in "/#":
                break
            gap = chars.blanks.match(text, pos)
            if gap and gap.end() > pos:
                pos = gap.end()
                if gap[0].strip(" \t\r\n"):
                    self.step("invisible characters")
                continue
            note = chars.comment.match(text, pos) if char in "/#" else None
            if note is None:
                break
            self.spend(SLOW)
            between = text[max(0, pos - 64) : pos]
            self._comment(note[0], (between if note[0].startswith("/*") else between.rstrip())[-1:])
            pos = note.end()
        self.pos = pos
        return text[pos] if pos < self.length else ""

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
        if chars.like_values.match(note) or chars.quoted_key.search(note) or chars.values_inside.search(note):
            raise Refusal("a comment has values in it, which may be meant")
        self.swallowed = self.swallowed or chars.closing.search(note) is not None

    def structure(self, char: str) -> None:
        """Consume a structural character, and note a full-width form or a semicolon as a step."""
        self.pos += 1
        if char in chars.FULL_WIDTH:
            self.step("full-width punctuation")
        elif char == ";":
            self.step("semicolons")

    def cut(self) -> Cut:
        return Cut(cut_inside(self.key, self.length).reason)

    def unclosed(self) -> None:
        """Accept or refuse a text that ends where only closing brackets are missing: see `finish.py`."""
        if self.complete:
            self.step(CLOSED_CUT_OFF)
            return
        if self.finish is not Finish.COMPLETE:
            raise self.cut()
        self.structural_step(MISSING_BRACKET)

    def lost_bracket(self) -> None:
        """Accept or refuse a missing bracket: the next bracket closes something further out."""
        if self.finish is not Finish.COMPLETE and not self.complete:
            raise Refusal("a closing bracket is missing, and the answer may have been cut off")
        self.structural_step(MISSING_BRACKET)
