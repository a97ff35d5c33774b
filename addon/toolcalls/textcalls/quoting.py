"""Is the text at this place quoted? Markdown, markup and source code, tracked as the text passes.

What closes behind a call shows by itself that the call was quoted, for text then follows it. So this is about what
is still open: a fence, inline code, a here-document, an element, a comment or string of several lines, quotation
marks, reasoning; and about how the line begins (`line_heads`). It holds nothing back and decides nothing about calls.
What is never closed stays quoted: a missed call is better than an example that is executed. Inline code and quotation
marks end with their paragraph.

A token is looked at when its line ends, when enough of the line follows it, or when somebody asks. Who asks stands
where no token goes on, and asks at the same places however the text was split.
"""

from __future__ import annotations

import re
from copy import copy

from . import reasoning_wrappers
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

_HEAD = 120
"""So much of a line shows how it begins."""
_BEFORE = 16
"""So many characters before a token show what it is."""
_LINES, _SKIPPED, _LINE, _TOKEN = 20, 4, 40, 9  # The steps of lines skipped together, each of them, others, a token.


class Quoting:
    __slots__ = (
        "_above",
        "_before",
        "_code",
        "_code_before",
        "_elements",
        "_ends_block",
        "_fence",
        "_head",
        "_in_block",
        "_in_block_span",
        "_in_diff",
        "_in_list",
        "_kept_code",
        "_last",
        "_lead",
        "_length",
        "_marks",
        "_quotes",
        "_ruled",
        "_seen",
        "_span",
        "_starts_heredoc",
        "_tail",
        "_thought",
        "_turns",
        "_until",
        "behind_quoted",
        "introduced",
        "previous",
        "said",
        "work",
    )

    def __init__(self) -> None:
        self.work = 0  # The steps that are not accounted for yet.
        # The line.
        self._head = ""
        self._length = 0
        self._last = ""
        """Its last characters."""
        self._lead = 0
        """Where in it the answer begins, behind reasoning."""
        self._tail = ""
        """What of the line was not looked at yet, behind a few characters that were."""
        self._seen = 0
        """How many those are."""
        self._starts_heredoc = ""
        self._code_before = 0
        """How many backticks of code were open when it began."""
        self._ends_block = False
        """It begins with what closes a block of lines."""
        # The paragraph.
        self._above = ""
        """The last line that was not blank, or what is kept of it."""
        self._before = WordsBefore()
        self._code = 0
        """How many backticks opened inline code."""
        self._kept_code = False
        """They open a string of source code, which goes on over blank lines."""
        self._quotes = StraightQuotes()
        self._marks: tuple[str, ...] = ()
        """What closes the quotation marks that are open."""
        # The text.
        self._fence: OpenFence | None = None
        self._until: re.Pattern[str] | None = None
        """The line that closes the here-document or string of lines that is open."""
        self._turns = Turns()
        self._span = ""
        """What closes the comment, string or block that is open."""
        self._in_block_span = False
        """That is a block of lines."""
        self._elements = Elements()
        self._in_list = self._in_diff = False
        self._in_block = False
        """What is indented belongs to a line above that opened a block."""
        self.introduced = False
        """The last line that was not blank says that what follows is quoted."""
        self._ruled = False
        """That line is nothing but a ruler."""
        self.behind_quoted = False
        """The last that was said is a call that is quoted: another one right behind it is quoted as well."""
        self.said = False
        """Something visible was said."""
        self.previous = ""
        """The last character, unless a call took it away."""
        self._thought = reasoning_wrappers.OpenThought()

    # Questions

    @property
    def quoted(self) -> bool:
        """Does the quotation go on behind an opener that stands here?"""
        self._look(self._length)
        if self._fence or self._until or self._span or self._elements.tag or self._elements.name:
            return True
        return (
            bool(self._code or self._marks) or self._turns.foreign or (self._thought.open and not self._thought.first)
        )

    @property
    def quoted_so_far(self) -> bool:
        """As `quoted`, at a place that depends on how the text was split; False where finding out takes long."""
        if self._fence or self._until:
            return True
        return len(self._tail) < LONGEST // 4 and self.copy().quoted

    @property
    def opens(self) -> bool:
        """May a call begin here?"""
        if (
            self.behind_quoted
            or self.quoted
            or self._quotes.odd
            or self._elements.inline
            or self.previous in QUOTES
            or self._is_quoted_line()
        ):
            return False
        if leading_space(self._head) and (self._in_list or self._in_block or self._in_diff):
            return False
        if not visible(self._head) and self.introduced:
            return False
        return not is_quoted(self._head[self._lead :], self._last)

    @property
    def shown(self) -> bool:
        """Do the words before this place, or the line above, say that what follows is no call but shown?"""
        line = self._behind_thoughts()
        self.work += self._before.steps(line)
        return self._before.show(line, alone=bool(self._lead))

    def _behind_thoughts(self) -> str:
        """The end of this line, behind what was only thought."""
        return self._last[max(0, self._lead - (self._length - len(self._last))) :]

    @property
    def at_head(self) -> bool:
        """At the very beginning of a line."""
        return not self._length

    def _is_quoted_line(self) -> bool:
        """Is this line a block quote, a row of a table, a fence or indented code?"""
        lead = visible(self._head)
        return lead.startswith((">", "|", "~~~")) or (indentation(self._head) >= 4 and not self._in_list)

    def copy(self) -> Quoting:
        """A state of its own that is equal to this one."""
        other = copy(self)
        for part in ("_before", "_elements", "_fence", "_quotes", "_turns"):
            setattr(other, part, copy(getattr(self, part)))
        return other

    # Text that passes

    def call(self, text: str, *, answered: bool = False) -> None:
        """The text of a call stands here: nothing is quoted by it. `answered`: somebody else is made to speak now."""
        self._turns.call(answered=answered)
        self._look(self._length)
        _, newline, line = text.rpartition("\n")
        if newline:
            self._end_line()
        self._head = (self._head + line)[:_HEAD]
        self._last = (self._last + line)[-KEPT:]
        self._length += len(line)
        self._before.forget()
        self.said = True
        self.previous = ""

    def advance(self, text: str) -> None:
        if not text:
            return
        if not text.isascii():
            text = LINE_ENDS.sub("\n", text)
        self.previous = text[-1]
        self.behind_quoted = self.behind_quoted and not visible(text)
        at, end = 0, len(text)
        while at < end:
            if not self._length and (skipped := self._skip_lines(text, at)) > at:
                at = skipped
                continue
            newline = text.find("\n", at)
            stop = end if newline < 0 else newline
            self._take(text[at:stop])
            if newline >= 0:
                self._newline()
                stop += 1
            at = stop

    def _skip_lines(self, text: str, at: int) -> int:
        """Past whole lines that change nothing."""
        if self._fence:
            lines = None if self._fence.in_quote or self._thought.open else IN_FENCE.match(text, at)
            return lines.end() if lines else at
        marked = self._span or self._elements.tag or self._elements.name or self._code or self._marks
        opened = marked or self._until or self._quotes.odd or self._in_diff or self._thought.open
        if opened or (lines := ORDINARY.match(text, at)) is None:
            return at
        end = lines.end()
        self.introduced = self.introduced and not (self._ruled and text[at] == "\n")
        run = text[at:end].rstrip("\n").split("\n")
        self.work += _LINES + _SKIPPED * len(run)
        self._turns.lines(run)
        self._before.add_lines(run, ended=text.endswith("\n\n", at, end))
        if last := visible(run[-1][:_HEAD]).rstrip() + run[-1][_HEAD:][-KEPT:].rstrip():
            in_list, opened = left_by(run)
            self._in_block = opened or (self._in_block and in_list is None)
            self._in_list = self._in_list if in_list is None else in_list
            self.said, self._ruled, self._above, self.introduced = True, False, last, introduces(last)
        return end

    def _take(self, text: str) -> None:
        """More of the current line."""
        if self._length < _HEAD:
            self._head = (self._head + text)[:_HEAD]
        self._length += len(text)
        self._last = (self._last + text)[-KEPT:]
        self._tail += text
        if len(self._tail) > 2 * LONGEST:
            self._look(self._length - LONGEST)

    def _newline(self) -> None:
        self.work += _LINE
        self._look(self._length)
        line = visible(self._head).rstrip()
        if self._length > _HEAD:
            line += self._last[_HEAD - self._length :].rstrip()
        if self._until:
            if self._until.match(line):
                self._until, self.introduced = None, False
        elif self._starts_heredoc:
            self._until = here_document_ends(self._starts_heredoc)
        elif self._fence:
            if self._thought.open and reasoning_wrappers.closes(line):
                # The fence was a part of the thought.
                self._fence, self._thought = None, reasoning_wrappers.OpenThought()
            elif self._fence.is_closed_by(line, leading_space(self._head), self._last[len(self._last.rstrip()) :]):
                self._fence = None
        elif not self._span:
            if self._lead:
                self._before.forget()
            self._before.add(self._behind_thoughts())
            self._end_line_of_text(line)
        if self._fence or self._until or self._span or self._ends_block:
            self._before.forget()
        self._end_line()

    def _end_line(self) -> None:
        self._head = self._last = self._tail = self._elements.inline = self._starts_heredoc = ""
        self._length = self._lead = self._seen = 0
        self._ends_block = False
        self._code_before = self._code

    def _end_line_of_text(self, line: str) -> None:
        if not line:
            self._code = self._code if self._kept_code else 0
            # A blank line behind it shows that a ruler only divides the text.
            self.introduced = self.introduced and not self._ruled
            self._quotes.end_paragraph(kept=self.introduced)
            return
        above, self._above = self._above, line
        if not (self._thought.open or self._elements.name):
            self._turns.lines([self._head])
        if self._ends_block:
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
        elif not leading_space(self._head):
            self._in_list = False
        self._in_diff = line.startswith("@@ ") or (self._in_diff and self._head[0] in " +-")
        self._in_block = opens_below(self._head, self._last) or (self._in_block and bool(leading_space(self._head)))
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
            self._fence, self._code = OpenFence(fence, leading_space(self._head), in_quote=quoted), 0
            self.introduced = False

    def _look(self, until: int) -> None:
        """Look at the tokens that begin before this place of the line."""
        text, begin = self._tail, self._length - len(self._tail)
        if not text:
            return
        indented = not (self._span or self._elements.tag) and self._is_quoted_line()
        if self._fence or self._until or (indented and (self._code or visible(self._head)[:1] in QUOTED_LINES)):
            self.said, self._tail, self._seen = True, "", 0
            return
        last = until - begin
        at = self._seen
        while at < last:
            if self._span:
                closer = span_closer(self._span).search(text, at)
                if closer is None:
                    # It may have begun.
                    at = max(at, min(last, len(text) - len(self._span) + 1))
                    break
                at = closer.end()
                if closer[0][:1] in "\"'" and OPENS_STRING.search(text, max(0, at - 11), closer.start()):
                    continue  # It looks like the beginning of another string.
                self._ends_block = self._in_block_span and not visible(self._head[: begin + closer.start()])
                self._span, self._in_block_span = "", False
                continue
            if self._elements.tag:
                end = TAG_END.search(text, at, max(at, last))
                at = end.end() if end is not None else last
                if end is not None and not self._end_tag(text[max(0, at - 2) : at]):
                    self._tail, self._seen = "", 0
                    return
                continue
            token = IN_CODE.search(text, at) if self._code else next_token(text, at)
            start = token.start() if token is not None else len(text)
            if not self.said and visible(text[at : min(start, last)]):
                self.said = True
            if token is None or start >= last:
                at = last
                break
            if not indented or token.lastgroup in IN_INDENTED_CODE:
                self._token(token, begin + start)
            self.said = True
            at = token.end()
        self._seen = min(at, _BEFORE)
        self._tail = text[at - self._seen :]

    def _token(self, token: re.Match[str], place: int) -> None:
        self.work += _TOKEN
        found = token[0]
        if found[0] == "`":
            if not self._code:
                before = token.string[max(0, token.start() - _BEFORE) : token.start()]
                self._kept_code = len(found) >= 3 or BEFORE_A_TEMPLATE.search(before) is not None
            self._code = 0 if self._code == len(found) else self._code or len(found)
        elif token["foreign"]:
            self._turns.foreign = True
        elif token["thought"]:
            if not self._thought.open:
                self._thought = reasoning_wrappers.OpenThought(
                    reasoning_wrappers.kind(found), not self.said and found.lower() == "<think>"
                )
        elif token["thought_end"]:
            if not self._thought.open or reasoning_wrappers.kind(found) == self._thought.wrapper:
                self._thought, self._lead = reasoning_wrappers.OpenThought(), place + len(found)
        elif token["literal"]:
            self._span = literal_closer(found.lower(), self._head, place) or self._span
        elif token["opened"]:
            before = token.string[max(0, token.start() - 1) : token.start()]
            spaced = not (before.isalnum() or before == "_")
            if self.said or token["opened"].lower() != "s":
                at_head = not visible(self._head[:place])
                self._elements.open(token["opened"].lower(), found, at_head=at_head, spaced=spaced)
        elif token["begun"]:
            self._elements.begin(token["begun"].lower(), at_head=not visible(self._head[:place]))
        elif token["closed"]:
            self._elements.close(token["closed"].lower())
            self._turns.close(token["closed"].lower(), thought=self._thought.open)
        elif token["raw"] is not None:
            self._span = f'){token["raw"]}"'
        elif token["hashes"]:
            self._span = '"' + token["hashes"]
        elif token["q"] or token["heredoc"]:
            self._starts_heredoc = token["heredoc"] or token["quoted"] or " "
        elif found == '"':
            self._quotes.take(token.string, token.start())
        else:
            self._marks = marks_behind(self._marks, found)

    def _end_tag(self, ending: str) -> bool:
        """End the tag that goes on. False: it has other markup in an attribute, and a line of its own ends it."""
        name, self._elements.tag = self._elements.tag, ""
        if ending[-1] == "<":
            self._until = TAG_ENDS
            return False
        if reasoning_wrappers.opens(f"<{name}>"):
            self._thought = reasoning_wrappers.OpenThought(reasoning_wrappers.kind(f"<{name}>"))
        else:
            self._elements.open(name, ending, at_head=True, spaced=False)
        return True

    def open_element(self, name: str) -> None:
        """The tag of a call was no call: what follows may stand in it, until it is closed."""
        self._elements.enter(name)
