"""What is open at the end of a text, by form alone: a fence, inline code, an element, reasoning, an invented turn.

Text is taken line by line, each line once. A line that has not ended is looked at as far as it goes when a head of a
call asks; of a long line only its beginning and its end are kept.
"""

from __future__ import annotations

import re
from copy import copy

from .wrappers import REASONING, TURN, Script, kind, opens_reasoning

_HEAD, _LAST, _LONGEST, _BEHIND = 160, 80, 256, 48
_TOKEN = re.compile(rf"`+|{REASONING}|{TURN}")
_MAY_MATTER = re.compile(
    r"[`\[\]{＜◁⟨‹《【&\\]|<(?!/?(?:tool_calls?|function_calls?|tools?|invoke|function)>|[|｜]tool_calls?(?:_begin)?[|｜]>)"
)
"""What such a token begins with, but for the most frequent tags of calls."""
_ENDS_TOKEN = re.compile(r"[>\]}＞▷⟩›》】]|final|commentary|analysis")
"""What a token that ends or begins reasoning has at its end."""
_FENCE_OPENS = re.compile(r"[\s>]*(?:(?:[-*+•]|\d{1,3}[.)])\s+)*(?P<mark>`{3,}|~{3,})(?P<info>[^`\n]*)\Z")
_EMPHASIS = r"[*_]{0,3}"
_SENTENCE = re.compile(
    rf"\s{{0,3}}{_EMPHASIS}[^\W\d][^\n]*[.!…。！？：:][\"')*_”’）]{{0,3}}[ \t]?\Z"
    rf"|[^\n]*[\U0001f300-\U0001faff\u2600-\u27bf]\ufe0f?\s?\Z|\s{{0,3}}<(?:[|｜][^\n]*[|｜]|s|bos)(?<!tool[_▁]sep[|｜])>\s?\Z"
)
"""The line before a call is a sentence: it begins with a letter and ends with a stop or a colon; or it ends with an
emoji, or is a token of a template."""
_WORDS = re.compile(rf"\s{{0,3}}(?:<[|｜]\w{{1,24}}[|｜]>\w{{0,24}}){{0,3}}{_EMPHASIS}[^\W\d]")
_QUOTES = frozenset("\"'“”„‘’«»‹›「」『』`\\([{<")
_QUESTION = ("?", "？", "؟")
_ALONE = re.compile(r"\s*<(?P<name>[^\W\d][\w:.-]{0,40}|!--)(?:\s[^<>]*)?(?:(?<=!--)|>)\s*\Z")
_CLOSED = re.compile(r"</([^\W\d][\w:.-]{0,40})\s?>|(-->)")
_NO_QUOTATION = frozenset(
    (
        *("p", "br", "hr", "li", "td", "th", "tr", "dd", "dt", "tool", "tools", "invoke", "function"),
        *("function_call", "function_calls", "tool_call", "tool_calls", "toolcall"),
    )
)
_MOST_ELEMENTS = 8


class Structure:
    """The state at the end of the text so far. `spoiled`: a call was followed by words, so none behind it counts."""

    __slots__ = (
        *(
            "_above",
            "_elements",
            "_fence",
            "_foreign",
            "_head",
            "_indent",
            "_last",
            "_lead",
            "_length",
            "_nested",
            "_quote",
        ),
        *("_script", "_seen", "_tail", "_think", "_think_first", "_ticks", "spoiled"),
    )

    def __init__(self) -> None:
        self._fence, self._indent, self._nested = "", 0, 0
        """The mark of the open fence, its indentation, and how many fences with a language were opened in it."""
        self._ticks = 0
        """How many backticks opened the inline code of this paragraph; 0 if none is open."""
        self._think, self._think_first = "", False
        """The wrapper of the reasoning that is open, and whether the message began with it."""
        self._foreign = False
        self._script = Script()
        self._elements: tuple[str, ...] = ()
        self._above, self._quote = "", False
        """The end of the last line that was not blank, and whether the line above is in a block quote."""
        self.spoiled = False
        self._begin_line()

    def _begin_line(self) -> None:
        self._head = self._last = self._tail = ""
        self._length = self._lead = self._seen = 0

    # Questions

    def _now(self) -> Structure:
        """The state if the text ended here: a token at its end may still go on."""
        if self.spoiled or self._foreign or _MAY_MATTER.search(self._tail, self._seen) is None:
            return self
        self._examine(whole=False)
        if _MAY_MATTER.search(self._tail, self._seen) is None:
            return self
        now = self.copy()
        now._examine(whole=True)
        return now

    @property
    def _quoted(self) -> bool:
        """Whether something is open in which no call counts."""
        return bool(self._fence or self._ticks or self._foreign or self._elements or self.spoiled or self._reasons)

    @property
    def _reasons(self) -> bool:
        return bool(self._think) and not self._think_first

    @property
    def reasons(self) -> bool:
        """Whether reasoning is open."""
        return bool(self._now()._think)

    @property
    def begins_line(self) -> bool:
        return not self._now()._before().strip()

    def ends_with(self, mark: str) -> bool:
        return self._last.endswith(mark)

    @property
    def begins_message(self) -> bool:
        """Whether no text comes before, but for reasoning."""
        now = self._now()
        return not now._above and not now._before().strip()

    def may_begin(self, *, special: bool = False) -> bool:
        """Whether a call may begin here. `special`: with a special token."""
        if _ENDS_TOKEN.search(self._tail, self._seen) is None and not self._is_placed(special):
            return False
        now = self._now()
        return not now._quoted and now._is_placed(special)

    def _is_placed(self, special: bool) -> bool:
        """Whether the line before, and the line above, let a call begin here."""
        before = self._before()
        if (before.strip() or self._above).rstrip(" \t*_\"'”’)）").endswith(_QUESTION):
            return False
        if not before.strip():
            return not self._quote and (not before or bool(self._lead) or not self._above)
        if _SENTENCE.match(before) is not None:
            return True
        return special and _WORDS.match(before) is not None and before[-1] not in _QUOTES

    def _before(self) -> str:
        """The line before the end of the text, behind reasoning that ended on it; of a long line, its two ends."""
        if self._length <= _HEAD:
            return self._head[self._lead :]
        return ("" if self._lead else self._head) + self._last[max(0, self._lead - self._length + len(self._last)) :]

    def copy(self) -> Structure:
        other = copy(self)
        other._script = copy(self._script)
        return other

    # Text that passes

    def add(self, text: str) -> None:
        """Take text that is no call."""
        lines = text.split("\n")
        for number, line in enumerate(lines):
            if number:
                self._end_line()
            if line:
                self._add(line)

    def end_block(self) -> None:
        """The text goes on in another block, on a new line and in a new paragraph."""
        if self._length:
            self._end_line()
        self._ticks, self._think_first = 0, False

    def add_calls(self, text: str) -> None:
        """Take the text of calls, which opens nothing."""
        self._examine(whole=True)
        self._above = text[-_LAST:]
        self._begin_line()
        self._add(text[-_LAST:].rpartition("\n")[2])
        self._seen = len(self._tail)

    def _add(self, line: str) -> None:
        if self._length < _HEAD:
            self._head = (self._head + line)[:_HEAD]
        self._length += len(line)
        self._last = (self._last + line)[-_LAST:]
        self._tail += line
        if len(self._tail) > 2 * _LONGEST:
            self._examine(whole=False)

    def _end_line(self) -> None:
        if not self._length:
            self._ticks, self._quote = 0, False
            return
        line = self._head if self._length <= _HEAD else self._head + self._last
        fence = _FENCE_OPENS.match(self._head.rstrip()) if self._length <= _HEAD else None
        if fence is not None:
            self._fence_line(fence["mark"], fence["info"].strip(), fence.start("mark"))
        else:
            self._examine(whole=True)
            if self._ticks >= 3 and not self._fence:
                self._fence, self._indent, self._nested, self._ticks = (
                    "`" * self._ticks,
                    0,
                    0,
                    0,
                )  # behind words on its line
            words = self._before().rstrip()
            self._quote = line.lstrip()[:1] == ">"
            if not line.strip():
                self._ticks = 0
            else:
                self._above = words[-_LAST:] or self._above
                if not self._fence:
                    self._element_line(line)
                    inside = self._think or self._elements
                    self._foreign = self._foreign or (not inside and self._script.begins_turn(line))
        self._begin_line()

    def _fence_line(self, mark: str, info: str, indent: int) -> None:
        self._above, self._quote = mark, False
        if not self._fence:
            self._fence, self._indent, self._nested, self._ticks = mark, indent, 0, 0
        elif indent > self._indent + 3:
            pass  # it is code
        elif mark[0] == self._fence[0] and len(mark) >= len(self._fence):
            if info:
                self._nested += 1
            elif self._nested:
                self._nested -= 1
            else:
                self._fence = ""

    def _element_line(self, line: str) -> None:
        tag = _ALONE.match(line)
        if tag is not None and not self._think and not line.rstrip().endswith("/>"):
            name = tag["name"].lower()
            if name not in _NO_QUOTATION and not opens_reasoning(line.strip()):
                self._elements = (*self._elements, name)[-_MOST_ELEMENTS:]
        if self._elements and ("</" in line or "-->" in line):
            for found in _CLOSED.finditer(line):
                name = "!--" if found[2] else found[1].lower()
                if name in self._elements:
                    self._elements = self._elements[: self._elements.index(name)]

    def _examine(self, *, whole: bool) -> None:
        """Look for tokens in what arrived of this line. Not `whole`: the last token may go on."""
        text, at = self._tail, self._seen
        # A token goes on for a few letters behind the last `>` at most.
        end = len(text) if whole else max(text.rfind(">", at, max(at, len(text) - _BEHIND)) + 1, len(text) - _LONGEST)
        offset = self._length - len(text)
        # A fence that was opened inside reasoning ends with it.
        if (not self._fence or self._think) and at < end and _MAY_MATTER.search(text, at) is not None:
            for token in _TOKEN.finditer(text, at):
                if token.start() >= end:
                    break
                at = token.end()
                self._token(token, offset)
        at = max(at, end)
        if whole:
            self._seen = at
        else:
            self._tail, self._seen = text[at:], 0

    def _token(self, token: re.Match[str], offset: int) -> None:
        found = token[0]
        if self._fence and not token["reasoning_end"]:
            return
        if found[0] == "`":
            self._ticks = 0 if self._ticks == len(found) else self._ticks or len(found)
        elif token["reasoning_end"]:
            closes = kind(found)
            if self._think == closes or (not self._think and closes != "channel"):
                self._think, self._fence, self._lead, self._ticks = "", "", offset + token.end(), 0
                self._think_first, self.spoiled, self._above = False, False, ""
        elif self._ticks:
            pass
        elif token["reasoning"] and not self._think:
            self._think = kind(found)
            first = not self._above and not self._head[self._lead : offset + token.start()].strip()
            if first and self._think != "channel":
                self._think_first, self._lead = True, offset + token.end()
        elif token["foreign"]:
            self._foreign = self._foreign or not self._think
