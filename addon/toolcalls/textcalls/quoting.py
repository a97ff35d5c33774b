"""Whether the text is quoted at its current end: Markdown, markup and source code, tracked as the text passes.

A closer after a call shows by itself that the call was quoted, because text then follows the call. So this is about
what is still open: a fence, inline code, a here-document, an element, a comment or string of several lines, quotation
marks, reasoning; and about how the line begins (`line_heads`). It holds nothing back and decides nothing about calls.
What is never closed stays quoted, because a missed call is better than an example that is executed. Inline code and
quotation marks end with their paragraph.

A token is examined when its line ends, when enough of the line follows it, or when a property below is read. Callers
read them only where no token continues, and at the same places however the text was split.
"""

from __future__ import annotations

import re
from copy import copy

from ..work import Work
from . import reasoning_wrappers
from .current_line import HEAD, CurrentLine
from .elements import Elements
from .fences import OpenFence, fence_mark
from .invented_turns import Turns
from .lead_ins.paragraph import KEPT
from .lead_ins.words_before import WordsBefore
from .left_open import TAG_ENDS, block_closer, closing_line, here_document_ends, span_closer
from .line_heads import indentation, introduces, is_quoted, leading_space, left_by, list_item, opens_below, visible
from .quotation_marks import (
    BEFORE_A_TEMPLATE,
    IN_CODE,
    IN_FENCE,
    IN_INDENTED_CODE,
    LINE_ENDS,
    LONGEST,
    OPENS_STRING,
    ORDINARY,
    QUOTED_LINES,
    QUOTES,
    TAG_END,
    literal_closer,
    marks_behind,
    next_token,
)
from .straight_quotes import StraightQuotes

_BEFORE = 16
"""How many characters before a token show what it is."""
_LINES, _SKIPPED, _LINE, _TOKEN = 20, 4, 40, 9  # Steps: skipping lines, each of them, any other line, a token.


class Quoting:
    __slots__ = (
        "_above",
        "_before",
        "_code",
        "_code_before",
        "_elements",
        "_fence",
        "_in_block",
        "_in_block_span",
        "_in_diff",
        "_in_list",
        "_kept_code",
        "_line",
        "_marks",
        "_quotes",
        "_reasoning",
        "_ruled",
        "_span",
        "_turns",
        "_until",
        "behind_quoted",
        "has_visible_text",
        "introduced",
        "previous",
        "work",
    )

    def __init__(self) -> None:
        self.work = 0  # The steps that the work budget was not charged for yet.
        self._line = CurrentLine()
        # The current paragraph.
        self._above = ""
        """The last line that was not blank, or what is kept of it."""
        self._before = WordsBefore()
        self._code = 0
        """How many backticks opened the inline code that is open; 0 if none is."""
        self._code_before = 0
        """The value of `_code` at the beginning of the line."""
        self._kept_code = False
        """The backticks opened a string of source code, which goes on over blank lines."""
        self._quotes = StraightQuotes()
        self._marks: tuple[str, ...] = ()
        """What closes the quotation marks that are open."""
        # The whole text.
        self._fence: OpenFence | None = None
        self._until: re.Pattern[str] | None = None
        """A pattern for the line that closes the open here-document or string of lines."""
        self._turns = Turns()
        self._span = ""
        """What closes the comment, string or block that is open."""
        self._in_block_span = False
        """`_span` closes a block of lines."""
        self._elements = Elements()
        self._in_list = self._in_diff = False
        self._in_block = False
        """Indented lines belong to a line above that opened a block."""
        self.introduced = False
        """The last line that was not blank says that what follows is quoted."""
        self._ruled = False
        """The last line that was not blank is a ruler or in a block quote: a blank line ends what it introduced."""
        self.behind_quoted = False
        """A quoted call came last: another call right after it is quoted as well."""
        self.has_visible_text = False
        """The text so far contains something visible."""
        self.previous = ""
        """The last character of the text; empty after a call."""
        self._reasoning = reasoning_wrappers.OpenReasoning()

    # Questions

    @property
    def quoted(self) -> bool:
        """Whether an opener here would be inside a quotation that continues after it."""
        self._examine(self._line.length)
        if self._fence or self._until or self._span or self._elements.tag or self._elements.name:
            return True
        in_reasoning = self._reasoning.open and not self._reasoning.first
        return bool(self._code or self._marks) or self._turns.foreign or in_reasoning

    @property
    def quoted_so_far(self) -> bool:
        """Whether a quotation is open at the end of what has arrived; False if finding out takes too long.

        That end depends on how the text was split, so this changes no state.
        """
        if self._fence or self._until:
            return True
        return len(self._line.tail) < LONGEST // 4 and self.copy().quoted

    @property
    def call_may_begin(self) -> bool:
        """Whether a call may begin here."""
        if (
            self.behind_quoted
            or self.quoted
            or self._quotes.odd
            or self._elements.inline
            or self.previous in QUOTES
            or self._is_quoted_line()
        ):
            return False
        if leading_space(self._line.head) and (self._in_list or self._in_block or self._in_diff):
            return False
        if not visible(self._line.head) and self.introduced:
            return False
        return not is_quoted(self._line.head[self._line.lead :], self._line.last)

    @property
    def shown(self) -> bool:
        """Whether the words before this position, or the line above, say that what follows is only an example."""
        line = self._line.after_reasoning
        self.work += self._before.steps(line)
        return self._before.show(line, alone=bool(self._line.lead))

    @property
    def at_head(self) -> bool:
        """Whether this is the very beginning of a line."""
        return not self._line.length

    def _is_quoted_line(self) -> bool:
        """Whether this line is a block quote, a row of a table, a fence or indented code."""
        lead = visible(self._line.head)
        return lead.startswith((">", "|", "~~~")) or (indentation(self._line.head) >= 4 and not self._in_list)

    def copy(self) -> Quoting:
        """An independent copy of this state."""
        other = copy(self)
        for part in ("_before", "_elements", "_fence", "_line", "_quotes", "_turns"):
            setattr(other, part, copy(getattr(self, part)))
        return other

    def charge(self, work: Work) -> None:
        """Take the steps that were needed so far from a work budget."""
        work.spend(self.work)
        self.work = 0

    # Text that passes

    def call(self, text: str, *, turn_follows: bool = False) -> None:
        """Take the text of a call, which quotes nothing. `turn_follows`: a turn of a user or a tool follows."""
        self._turns.call(turn_follows=turn_follows)
        self._examine(self._line.length)
        _, newline, line = text.rpartition("\n")
        if newline:
            self._end_line()
        self._line.add(line)
        self._before.forget()
        self.has_visible_text = True
        self.previous = ""

    def advance(self, text: str) -> None:
        """Take text that is no call."""
        if not text:
            return
        if not text.isascii():
            text = LINE_ENDS.sub("\n", text)
        self.previous = text[-1]
        self.behind_quoted = self.behind_quoted and not visible(text)
        line, at, end = self._line, 0, len(text)
        while at < end:
            if not line.length and (skipped := self._skip_lines(text, at)) > at:
                at = skipped
                continue
            newline = text.find("\n", at)
            stop = end if newline < 0 else newline
            piece = text[at:stop]
            line.add(piece)
            line.tail += piece
            if len(line.tail) > 2 * LONGEST:
                self._examine(line.length - LONGEST)
            if newline >= 0:
                self._newline()
                stop += 1
            at = stop

    def _skip_lines(self, text: str, at: int) -> int:
        """The index after whole lines, from `at` on, that change nothing."""
        if self._fence:
            lines = None if self._fence.in_quote or self._reasoning.open else IN_FENCE.match(text, at)
            return lines.end() if lines else at
        marked = self._span or self._elements.tag or self._elements.name or self._code or self._marks
        opened = marked or self._until or self._quotes.odd or self._in_diff or self._reasoning.open
        if opened or (lines := ORDINARY.match(text, at)) is None:
            return at
        end = lines.end()
        self.introduced = self.introduced and not (self._ruled and text[at] == "\n")
        run = text[at:end].rstrip("\n").split("\n")
        self.work += _LINES + _SKIPPED * len(run)
        self._turns.lines(run)
        self._before.add_lines(run, ended=text.endswith("\n\n", at, end))
        if last := visible(run[-1][:HEAD]).rstrip() + run[-1][HEAD:][-KEPT:].rstrip():
            in_list, opened = left_by(run)
            self._in_block = opened or (self._in_block and in_list is None)
            self._in_list = self._in_list if in_list is None else in_list
            self.has_visible_text, self._ruled, self._above, self.introduced = True, False, last, introduces(last)
        return end

    def _newline(self) -> None:
        """End the current line: it may open or close a quotation of several lines."""
        self.work += _LINE
        self._examine(self._line.length)
        line = self._line.text
        if self._until:
            if self._until.match(line):
                self._until, self.introduced = None, False
        elif self._line.starts_heredoc:
            self._until = here_document_ends(self._line.starts_heredoc)
        elif self._fence:
            if self._reasoning.open and reasoning_wrappers.closes(line):
                # The fence was part of the reasoning.
                self._fence, self._reasoning = None, reasoning_wrappers.OpenReasoning()
            elif self._fence.is_closed_by(
                line, leading_space(self._line.head), self._line.last[len(self._line.last.rstrip()) :]
            ):
                self._fence = None
        elif not self._span:
            if self._line.lead:
                self._before.forget()
            self._before.add(self._line.after_reasoning)
            self._end_line_of_text(line)
        if self._fence or self._until or self._span or self._line.ends_block:
            self._before.forget()
        self._end_line()

    def _end_line(self) -> None:
        self._line.begin()
        self._elements.inline = ""
        self._code_before = self._code

    def _end_line_of_text(self, line: str) -> None:
        """Note what a line of text, outside of fences and the like, says about the lines below it."""
        if not line:
            self._code = self._code if self._kept_code else 0
            # A blank line after a ruler shows that the ruler only divides the text.
            self.introduced = self.introduced and not self._ruled
            self._quotes.end_paragraph(kept=self.introduced)
            return
        above, self._above = self._above, line
        if not (self._reasoning.open or self._elements.name):
            self._turns.lines([self._line.head])
        if self._line.ends_block:
            self.introduced = False
            return
        if closer := block_closer(line):
            self._span, self._in_block_span = closer, True
            return
        unpaired = '"' * self._quotes.odd + "`" * (self._code == 1)
        if line[0] not in ">|" and (until := closing_line(line, above, unpaired)):
            self._until, self._code, self._quotes = until, 0, StraightQuotes()
            return
        quoted = line[0] in ">|"
        body = line.lstrip("> ") if quoted else line
        marker = list_item.match(body)
        if marker is not None:
            body = visible(body[marker.end() :])
            self._in_list = self._in_list or not quoted
        elif not leading_space(self._line.head):
            self._in_list = False
        self._in_diff = line.startswith("@@ ") or (self._in_diff and self._line.head[0] in " +-")
        self._in_block = opens_below(self._line.head, self._line.last) or (
            self._in_block and bool(leading_space(self._line.head))
        )
        # A line right below a block quote belongs to it.
        self.introduced = bool(body) if quoted else introduces(line)
        self._ruled = quoted or not line.strip("-*_=")
        self._kept_code = self._kept_code or line.endswith("`")
        if self._elements.inline and line.endswith(">"):
            self._elements.enter(self._elements.inline)
        fence = fence_mark(body)
        if fence and self._code_before == len(fence):
            self._code = 0  # It closes the code that began in a line above.
            return
        if fence and (fence[0] == "~" or "`" not in body[len(fence) :]):
            self._fence, self._code = OpenFence(fence, leading_space(self._line.head), in_quote=quoted), 0
            self.introduced = False

    def _examine(self, until: int) -> None:
        """Examine the tokens that begin before index `until` of the line."""
        line = self._line
        text, begin = line.tail, line.length - len(line.tail)
        if not text:
            return
        indented = not (self._span or self._elements.tag) and self._is_quoted_line()
        if self._fence or self._until or (indented and (self._code or visible(line.head)[:1] in QUOTED_LINES)):
            self.has_visible_text, line.tail, line.seen = True, "", 0
            return
        last = until - begin
        at = line.seen
        while at < last:
            if self._span:
                closer = span_closer(self._span).search(text, at)
                if closer is None:
                    # The closer may have begun at the end of the text.
                    at = max(at, min(last, len(text) - len(self._span) + 1))
                    break
                at = closer.end()
                if closer[0][:1] in "\"'" and OPENS_STRING.search(text, max(0, at - 11), closer.start()):
                    continue  # It looks like the beginning of another string.
                line.ends_block = self._in_block_span and not visible(line.head[: begin + closer.start()])
                self._span, self._in_block_span = "", False
                continue
            if self._elements.tag:
                end = TAG_END.search(text, at, max(at, last))
                at = end.end() if end is not None else last
                if end is not None and not self._end_tag(text[max(0, at - 2) : at]):
                    line.tail, line.seen = "", 0
                    return
                continue
            token = IN_CODE.search(text, at) if self._code else next_token(text, at)
            start = token.start() if token is not None else len(text)
            if not self.has_visible_text and visible(text[at : min(start, last)]):
                self.has_visible_text = True
            if token is None or start >= last:
                at = last
                break
            if not indented or token.lastgroup in IN_INDENTED_CODE:
                self._token(token, begin + start)
            self.has_visible_text = True
            at = token.end()
        line.seen = min(at, _BEFORE)
        line.tail = text[at - line.seen :]

    def _token(self, token: re.Match[str], index: int) -> None:
        """Take a token that may open or close a quotation. `index`: where it begins in the line."""
        self.work += _TOKEN
        found = token[0]
        if found[0] == "`":
            if not self._code:
                before = token.string[max(0, token.start() - _BEFORE) : token.start()]
                self._kept_code = len(found) >= 3 or BEFORE_A_TEMPLATE.search(before) is not None
            self._code = 0 if self._code == len(found) else self._code or len(found)
        elif token["foreign"]:
            self._turns.foreign = True
        elif token["reasoning"]:
            if not self._reasoning.open:
                self._reasoning = reasoning_wrappers.OpenReasoning(
                    reasoning_wrappers.kind(found), not self.has_visible_text and found.lower() == "<think>"
                )
        elif token["reasoning_end"]:
            if not self._reasoning.open or reasoning_wrappers.kind(found) == self._reasoning.wrapper:
                self._reasoning, self._line.lead = reasoning_wrappers.OpenReasoning(), index + len(found)
        elif token["literal"]:
            self._span = literal_closer(found.lower(), self._line.head, index) or self._span
        elif token["opened"]:
            before = token.string[max(0, token.start() - 1) : token.start()]
            spaced = not (before.isalnum() or before == "_")
            if self.has_visible_text or token["opened"].lower() != "s":
                at_head = not visible(self._line.head[:index])
                self._elements.open(token["opened"].lower(), found, at_head=at_head, spaced=spaced)
        elif token["begun"]:
            self._elements.begin(token["begun"].lower(), at_head=not visible(self._line.head[:index]))
        elif token["closed"]:
            self._elements.close(token["closed"].lower())
            self._turns.close(token["closed"].lower(), in_reasoning=self._reasoning.open)
        elif token["raw"] is not None:
            self._span = f'){token["raw"]}"'
        elif token["hashes"]:
            self._span = '"' + token["hashes"]
        elif token["q"] or token["heredoc"]:
            self._line.starts_heredoc = token["heredoc"] or token["quoted"] or " "
        elif found == '"':
            self._quotes.take(token.string, token.start())
        else:
            self._marks = marks_behind(self._marks, found)

    def _end_tag(self, ending: str) -> bool:
        """End the open tag. False: one of its attributes contains other markup, so a line of its own ends the tag."""
        name, self._elements.tag = self._elements.tag, ""
        if ending[-1] == "<":
            self._until = TAG_ENDS
            return False
        if reasoning_wrappers.opens(f"<{name}>"):
            self._reasoning = reasoning_wrappers.OpenReasoning(reasoning_wrappers.kind(f"<{name}>"))
        else:
            self._elements.open(name, ending, at_head=True, spaced=False)
        return True

    def open_element(self, name: str) -> None:
        """Open the element of a tag that began no call: what follows may be inside it, until it is closed."""
        self._elements.enter(name)
