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
from functools import cache

from . import thoughts
from .line_heads import block_closer, indentation, introduces, is_quoted, list_item, opens_below, visible
from .quotation_marks import (
    BEFORE_A_COMMENT,
    BEFORE_A_STRING,
    BLOCK_TAGS,
    BLOCKS,
    IN_CODE,
    IN_FENCE,
    INLINE_TAGS,
    LONGEST,
    MARKS,
    NEVER_CLOSED,
    OF_CALLS,
    ORDINARY,
    QUOTES,
    REGION,
    SPANS,
    SPANS_AT_HEAD,
    TOKEN,
)

_NEVER_CLOSED_FENCE = 1 << 30
_HEAD = 120
"""So much of a line shows how it begins."""
_ENDING = 16
"""So much of a line shows how it ends."""


class Quoting:
    __slots__ = (
        "_above",
        "_code",
        "_code_before",
        "_depth",
        "_element",
        "_ends_block",
        "_fence",
        "_fence_in_quote",
        "_fence_lead",
        "_foreign",
        "_head",
        "_heredoc",
        "_in_block",
        "_in_block_span",
        "_in_diff",
        "_in_list",
        "_inline",
        "_kept_code",
        "_last",
        "_lead",
        "_length",
        "_marks",
        "_nested",
        "_odd_quote",
        "_ruled",
        "_span",
        "_starts_heredoc",
        "_tail",
        "introduced",
        "previous",
        "said",
        "thinking",
        "thinks_first",
    )

    def __init__(self) -> None:
        # The line.
        self._head = ""
        self._length = 0
        self._last = ""
        """Its last characters."""
        self._lead = 0
        """Where in it the answer begins, behind reasoning."""
        self._tail = ""
        """What of the line was not looked at yet."""
        self._inline = ""
        """An element of inline code that is open."""
        self._starts_heredoc = ""
        self._code_before = 0
        """How many backticks of code were open when it began."""
        self._ends_block = False
        """It begins with what closes a block of lines."""
        # The paragraph.
        self._above = ""
        """The last line that was not blank, or what is kept of it."""
        self._code = 0
        """How many backticks opened inline code."""
        self._kept_code = False
        """They open a string of source code, which goes on over blank lines."""
        self._odd_quote = False
        """An odd number of straight double quotes."""
        self._marks: tuple[str, ...] = ()
        """What closes the quotation marks that are open."""
        # The text.
        self._fence = ""
        self._fence_in_quote = False
        self._fence_lead = ""
        """The white space before it."""
        self._nested = 0
        self._heredoc = ""
        self._foreign = False
        """In the turn of a user or a tool."""
        self._span = ""
        """What closes the comment, string or block that is open."""
        self._in_block_span = False
        """That is a block of lines."""
        self._element = ""
        self._depth = 0
        self._in_list = False
        self._in_diff = False
        self._in_block = False
        """What is indented belongs to a line above that opened a block."""
        self.introduced = False
        """The last line that was not blank says that what follows is quoted."""
        self._ruled = False
        """That line is nothing but a ruler."""
        self.said = False
        """Something visible was said."""
        self.previous = ""
        """The last character, unless a call took it away."""
        self.thinking = False
        """Inside reasoning."""
        self.thinks_first = False
        """That reasoning is a `<think>` that the message begins with."""

    # Questions

    @property
    def quoted(self) -> bool:
        """Does the quotation go on behind an opener that stands here?"""
        self._look(self._length)
        if self._fence or self._heredoc or self._span or self._element or self._code or self._marks:
            return True
        return self._foreign or (self.thinking and not self.thinks_first)

    @property
    def quoted_so_far(self) -> bool:
        """As `quoted`, at a place that depends on how the text was split; False where finding out takes long."""
        if self._fence or self._heredoc:
            return True
        return len(self._tail) < LONGEST // 4 and copy(self).quoted

    @property
    def opens(self) -> bool:
        """May a call begin here?"""
        if self.quoted or self._odd_quote or self._inline or self.previous in QUOTES or self._is_quoted_line():
            return False
        if self._is_indented() and (self._in_list or self._in_block or self._in_diff):
            return False
        if not visible(self._head) and self.introduced:
            return False
        return not is_quoted(self._head[self._lead :], self._last)

    @property
    def at_head(self) -> bool:
        """At the very beginning of a line."""
        return not self._length

    def _is_quoted_line(self) -> bool:
        """Is this line a block quote, a row of a table, a fence or indented code?"""
        lead = visible(self._head)
        return lead.startswith((">", "|", "~~~")) or (indentation(self._head) >= 4 and not self._in_list)

    def _is_indented(self) -> bool:
        return bool(self._head) and not visible(self._head[0])

    # Text that passes

    def call(self, text: str) -> None:
        """The text of a call stands here: nothing is quoted by what is in it."""
        self._look(self._length)
        _, newline, line = text.rpartition("\n")
        if newline:
            self._end_line()
        self._head = (self._head + line)[:_HEAD]
        self._last = (self._last + line)[-_ENDING:]
        self._length += len(line)
        self.said = True
        self.previous = ""

    def advance(self, text: str) -> None:
        if not text:
            return
        self.previous = text[-1]
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
            lines = None if self._fence_in_quote or self.thinking else IN_FENCE.match(text, at)
            return lines.end() if lines else at
        if self._span or self._code or self._element or self._heredoc or self._odd_quote or self._marks:
            return at  # something is open
        lines = None if self._in_list or self._in_diff or self.thinking else ORDINARY.match(text, at)
        if lines is None:
            return at
        if text[at] == "\n" and self._ruled:
            self.introduced = False
        last = text[max(at, lines.end() - _HEAD) : lines.end()].rstrip().rpartition("\n")[2]
        if last:
            self.said = True
            self._in_block = opens_below("", last)
            self.introduced = introduces(last)
        return lines.end()

    def _take(self, text: str) -> None:
        """More of the current line."""
        if self._length < _HEAD:
            self._head = (self._head + text)[:_HEAD]
        self._length += len(text)
        self._last = (self._last + text)[-_ENDING:]
        self._tail += text
        if len(self._tail) > 2 * LONGEST:
            self._look(self._length - LONGEST)

    def _newline(self) -> None:
        self._look(self._length)
        line = visible(self._head).rstrip()
        if self._starts_heredoc:
            self._heredoc = self._starts_heredoc
        elif self._heredoc:
            if line == self._heredoc:
                self._heredoc = ""
        elif self._fence:
            self._end_line_of_fence(line)
        elif not self._span:
            self._end_line_of_text(line)
        self._end_line()

    def _end_line(self) -> None:
        self._head = self._last = self._tail = self._inline = self._starts_heredoc = ""
        self._length = self._lead = 0
        self._ends_block = False
        self._code_before = self._code

    def _end_line_of_text(self, line: str) -> None:
        if not line:
            self._code = self._code if self._kept_code else 0
            # A blank line behind it shows that a ruler only divides the text.
            self.introduced = self.introduced and not self._ruled
            self._odd_quote = self._odd_quote and self.introduced
            return
        above, self._above = self._above, line
        if self._ends_block:
            self.introduced = False
            return
        if self._length <= _HEAD and (closer := block_closer(line, above)):
            self._span, self._in_block_span = closer, True
            return
        quoted = line[0] in ">|"
        body = line.lstrip("> ") if quoted else line
        marker = list_item.match(body)
        if marker is not None:
            body = visible(body[marker.end() :])
            self._in_list = self._in_list or not quoted
        elif not self._is_indented():
            self._in_list = False
        self._in_diff = line.startswith("@@ ") or (self._in_diff and self._head[0] in " +-")
        self._in_block = opens_below(self._head, self._last) or (self._in_block and self._is_indented())
        # A line right below a block quote belongs to it.
        told = introduces(line if self._length <= _HEAD else self._last.rstrip())
        self.introduced = bool(body) if quoted else told
        self._ruled = quoted or not line.strip("-*_=")
        self._kept_code = self._kept_code or line.endswith("`")
        if not self._code and line.endswith(("{`", "=`", "= `", "(`")) and self._is_quoted_line():
            self._code = 1  # A string of source code that begins in an indented line.
        if self._inline and line.endswith(">") and not self._element:
            self._element, self._depth = self._inline, 1
        fence = _run(body)
        if fence and self._code_before == len(fence):
            return  # It closes the code that began in a line above.
        if fence and (fence[0] == "~" or "`" not in body[len(fence) :]):
            self._fence, self._fence_in_quote, self._nested, self._code = fence, quoted, 0, 0
            self._fence_lead = self._lead_of_line()
            self.introduced = False

    def _end_line_of_fence(self, line: str) -> None:
        """Models nest fences of one length: one that names a language inside another has an end of its own."""
        if self.thinking and thoughts.closes(line):
            # The fence was a part of the thought.
            self._fence, self.thinking, self.thinks_first = "", False, False
            return
        if self._fence_in_quote:
            if line[:1] != ">":
                self._fence = ""
                return
            line = line.lstrip("> ")
        run = _run(line)
        if run[:1] != self._fence[0] or len(run) < len(self._fence):
            return
        if line != run:
            self._nested += 1
        elif self._lead_of_line().strip(" \t") and self._lead_of_line() != self._fence_lead:
            self._nested = _NEVER_CLOSED_FENCE  # Behind white space of another kind it is a fence, or it is none.
        elif self._nested:
            self._nested -= 1
        else:
            self._fence = ""

    def _lead_of_line(self) -> str:
        """The white space that the line begins with."""
        return self._head[: len(self._head) - len(visible(self._head))]

    def _look(self, until: int) -> None:
        """Look at the tokens that begin before this place of the line."""
        text, begin = self._tail, self._length - len(self._tail)
        if not text:
            return
        if self._fence or self._heredoc or (not self._span and self._is_quoted_line()):
            self.said, self._tail = True, ""
            return
        last = until - begin
        at = 0
        while at < last:
            if self._span:
                closer = _closer(self._span).search(text, at)
                if closer is None:
                    # It may have begun.
                    at = max(at, min(last, len(text) - len(self._span) + 1))
                    break
                at = closer.end()
                self._span, self._ends_block = (
                    "",
                    self._in_block_span and not visible(self._head[: begin + closer.start()]),
                )
                self._in_block_span = False
                continue
            token = (IN_CODE if self._code else TOKEN).search(text, at)
            start = token.start() if token is not None else len(text)
            if not self.said and visible(text[at : min(start, last)]):
                self.said = True
            if token is None or start >= last:
                at = last
                break
            self._token(token, begin + start)
            at = token.end()
        self._tail = text[at:]

    def _token(self, token: re.Match[str], place: int) -> None:
        found = token[0]
        if found[0] == "`":
            if not self._code:
                self._kept_code = token.string[: token.start()].rstrip()[-1:] in BEFORE_A_STRING
            self._code = 0 if self._code == len(found) else self._code or len(found)
        elif token["foreign"] or token["ours"]:
            self._foreign = bool(token["foreign"])
        elif token["thought"]:
            self.thinking, self.thinks_first = True, not self.said and found.lower() == "<think>"
        elif token["thought_end"]:
            self.thinking = self.thinks_first = False
            self._lead = place + len(found)
        elif token["literal"]:
            self._literal(found.lower(), place)
        elif token["opened"]:
            at_head = not visible(self._head[:place])
            spaced = token.string[token.start() - 1 : token.start()].isspace()
            self._opened(token["opened"].lower(), found, at_head=at_head, spaced=spaced)
        elif token["closed"]:
            self._closed(token["closed"].lower())
        elif token["heredoc"]:
            self._starts_heredoc = token["heredoc"]
        elif found == '"':
            self._odd_quote = not self._odd_quote
        elif self._marks and found in self._marks[-1]:
            self._marks = self._marks[:-1]
        elif found in MARKS and len(self._marks) < 8:
            self._marks = (*self._marks, MARKS[found])
        self.said = True

    def _literal(self, found: str, place: int) -> None:
        at_head = not visible(self._head[:place])
        if found in SPANS:
            self._span = SPANS[found]
        elif found == "-----":
            if at_head and REGION.match(visible(self._head)):
                self._span = SPANS_AT_HEAD[found]
        elif at_head or (found == "/*" and self._head[place - 1 : place] in BEFORE_A_COMMENT):
            self._span = SPANS_AT_HEAD.get(found) or BLOCKS[found]

    def _opened(self, name: str, tag: str, *, at_head: bool, spaced: bool) -> None:
        """`spaced`: white space stands before the tag, so it is none of a type or a path."""
        if tag.endswith("/>") or (name == "s" and not self.said):
            return
        if name == self._element:
            self._depth += 1
        elif name in NEVER_CLOSED or (name in OF_CALLS and not (at_head and " " in tag)):
            return
        elif name in INLINE_TAGS:
            self._inline = name
        elif (at_head or name in BLOCK_TAGS) and not self._element:
            self._element, self._depth = name, 1
        elif spaced:
            self._inline = name

    def open_element(self, name: str) -> None:
        """The tag of a call was no call: what follows may stand in it, until it is closed."""
        if not self._element:
            self._element, self._depth = name, 1

    def _closed(self, name: str) -> None:
        if name == self._element:
            self._depth -= 1
            if not self._depth:
                self._element = ""
        elif name == self._inline:
            self._inline = ""


@cache
def _closer(literal: str) -> re.Pattern[str]:
    return re.compile(re.escape(literal), re.IGNORECASE)


def _run(line: str) -> str:
    """The backticks or tildes that a line begins with, where they are enough for a fence."""
    char = line[:1]
    length = len(line) - len(line.lstrip(char)) if char in ("`", "~") and char else 0
    return char * length if length >= 3 else ""
