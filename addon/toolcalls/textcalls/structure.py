"""What is open at the end of a text, by form alone: a fence, inline code, an element, reasoning, an invented turn.

Text is only kept until a head of a call asks, and then taken line by line, each line once. Of a line that has not
ended, tokens are looked for as far as it goes; what is neither its beginning nor its end is then forgotten.
"""

from __future__ import annotations

import re
from copy import copy
from dataclasses import dataclass

from .wrappers import REASONING, REASONING_OPENER, ROLE, TURN, TURNS, kind

_LINE_KEPT, _LAST, _LONGEST, _BEFORE, _BEHIND = 160, 80, 256, 8, 48
_MOST_PENDING = 16 * 1024
_TOKEN = re.compile(rf"`+|{REASONING}|{TURN}")
_MAY_MATTER = re.compile(
    r"[`\[\]{＜◁⟨‹《【&]|\\<|<(?!/?(?:tool_calls?|function_calls?|tools?|invoke|function)>|[|｜]tool_calls?(?:_begin)?[|｜]>)"
)
"""What such a token begins with, but for the most frequent tags of calls."""
_BEGINS_TOKEN = re.compile(rf"{_MAY_MATTER.pattern}|\bto=")
_ENDS_TOKEN = re.compile(r"[>\]}＞▷⟩›》】]|final|commentary|analysis")
"""What a token that ends or begins reasoning has at its end."""
_FENCE = re.compile(
    r"(?P<unseen>[\s>]*+[\xad\u180e\u200b-\u200f\u2060\ufeff][\s>\xad\u180e\u200b-\u200f\u2060\ufeff]*+)?"
    r"[\s>]*+(?:(?:[-*+•]|\d{1,3}[.)])\s++)*(?P<mark>`{3,}+|~{3,}+)(?P<info>[^`\n]*+)\Z"
)
_LETTER = r"[*_]{0,3}[^\W\d]"
_SENTENCE_BEGINS = re.compile(rf"\s{{0,3}}{_LETTER}")
_WORDS_BEGIN = re.compile(rf"\s{{0,3}}(?:<[|｜]\w{{1,24}}[|｜]>\w{{0,24}}){{0,3}}{_LETTER}")
"""Words, behind tokens of a template too."""
_SENTENCE_ENDS = re.compile(
    r"[.!…。！？：:][\"')*_”’）]{0,3}[ \t]?\Z|(?P<emoji>[\U0001f300-\U0001faff\u2600-\u27bf]\ufe0f?\s?\Z)"
)
_TEMPLATE = re.compile(r"\s{0,3}<(?:[|｜][^\n]*[|｜]|s|bos)(?<!tool[_▁]sep[|｜])>\s?\Z")
"""A line that is a token of a template."""
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


@dataclass(slots=True)
class Structure:
    """The state at the end of the text so far."""

    spoiled: bool = False
    """A call was followed by words, so none behind it counts."""
    _pending: str = ""
    """The text that was not yet taken."""
    _fence: str = ""
    """The mark of the open fence; with its indentation, and how many fences with a language were opened in it."""
    _indent: int = 0
    _nested: int = 0
    _ticks: int = 0
    """How many backticks opened the inline code of this paragraph; 0 if none is open."""
    _think: str = ""
    """The wrapper of the reasoning that is open."""
    _think_first: bool = False
    """The message began with it."""
    _other_speaker: bool = False
    """A turn of somebody else was invented."""
    _roles: frozenset[str] = frozenset()
    """What lines that are roles, as in the script of a conversation, were seen."""
    _elements: tuple[str, ...] = ()
    _above: str = ""
    """The end of the last line that was not blank, behind reasoning."""
    _quote: bool = False
    """The line above is in a block quote."""
    _line: str = ""
    """This line, or what stands on it behind reasoning; of a long one, its beginning and its end."""
    _searched: int = 0
    """How far it was searched for tokens."""

    # Questions

    def may_begin(self, *, special: bool = False, word: str = "") -> bool:
        """Whether a call may begin here. `special`: with a special token. `word`: with a word, or a mark of prompts,
        which only counts at the beginning of a line; the name of a role may be glued to the end of a sentence."""
        self._take()
        if _ENDS_TOKEN.search(self._line, self._searched) is None and not self._is_placed(special):
            return False
        now = self._now()
        if now._fence or now._ticks or now._other_speaker or now._elements or now.spoiled:
            return False
        if word and now._line.strip() and not (word[0] == "a" and now._line.endswith(".")):
            return False
        return (not now._think or now._think_first) and now._is_placed(special)

    @property
    def begins_message(self) -> bool:
        """Whether no text comes before, but for reasoning."""
        self._take()
        now = self._now()
        return not now._above and not now._line.strip()

    def _now(self) -> Structure:
        """The state if the text ended here: a token at its end may still go on."""
        if self.spoiled or self._other_speaker:
            return self
        self._examine(whole=False)
        if _MAY_MATTER.search(self._line, self._searched) is None:
            return self
        now = copy(self)
        now._examine(whole=True)
        return now

    def _is_placed(self, special: bool) -> bool:
        """Whether the line before, and the line above, let a call begin here: on the same line behind a sentence, an
        emoji or a token of a template; if it is `special`, behind any words."""
        line = self._line
        if (line.strip() or self._above).rstrip(" \t*_\"'”’)）").endswith(_QUESTION):
            return False
        if not line.strip():
            return not self._quote and (not line or not self._above)
        if special and line[-1] not in _QUOTES and _WORDS_BEGIN.match(line) is not None:
            return True
        end = _SENTENCE_ENDS.search(line, max(0, len(line) - 6))
        if end is not None and (end["emoji"] or _SENTENCE_BEGINS.match(line) is not None):
            return True
        return _TEMPLATE.match(line) is not None

    # Text that passes

    def add(self, text: str) -> None:
        """Keep text that is no call, until somebody asks."""
        self._pending += text
        if len(self._pending) > _MOST_PENDING:
            self._take()

    def end_block(self) -> None:
        """The text goes on in another block, on a new line and in a new paragraph."""
        self._take()
        if self._line:
            self._end_line()
        self._ticks, self._think_first = 0, False

    def add_calls(self, text: str) -> None:
        """Take the text of calls, which opens nothing."""
        self._take()
        self._examine(whole=True)
        self._above = text[-_LAST:]
        self._line = self._above.rpartition("\n")[2]
        self._searched = len(self._line)

    def spoil(self) -> None:
        """A call was followed by words, so none behind it counts, unless all of it was reasoning."""
        self._take()
        self._examine(whole=True)
        self.spoiled = self.spoiled or not self._think

    def _take(self) -> None:
        pieces, self._pending = self._pending.split("\n"), ""
        for number, piece in enumerate(pieces):
            if number:
                self._end_line()
            self._line += piece
            if len(self._line) > _LINE_KEPT + 2 * _LONGEST:
                self._examine(whole=False)
                end = max(_LINE_KEPT, min(self._searched, len(self._line) - _LAST))
                self._line = self._line[:_LINE_KEPT] + self._line[end:]
                self._searched -= end - _LINE_KEPT

    def _end_line(self) -> None:
        fence = _FENCE.match(self._line.rstrip()) if len(self._line) <= _LINE_KEPT else None
        if fence is not None and not (self._fence and fence["unseen"]):
            # Whether it is one behind a character that nobody sees is not certain, so nothing closes it.
            mark = fence["mark"] * (_LINE_KEPT if fence["unseen"] else 1)
            indent = fence.start("mark")
            self._above, self._quote = mark, False
            if not self._fence:
                self._fence, self._indent, self._nested, self._ticks = mark, indent, 0, 0
            elif indent > self._indent + 3 or mark[0] != self._fence[0] or len(mark) < len(self._fence):
                pass  # it is code
            elif fence["info"].strip():
                self._nested += 1
            elif self._nested:
                self._nested -= 1
            else:
                self._fence = ""
        else:
            if _MAY_MATTER.search(self._line, self._searched) is not None:
                self._examine(whole=True)
            line = self._line
            if len(line) > _LINE_KEPT:
                line = line[:_LINE_KEPT] + line[-_LAST:]
            if self._ticks >= 3 and not self._fence:  # behind words on its line
                self._fence, self._indent, self._nested, self._ticks = "`" * self._ticks, 0, 0, 0
            self._quote = line.lstrip()[:1] == ">"
            if not line.strip():
                self._ticks = 0
            else:
                self._above = line.rstrip()[-_LAST:]
                if not self._fence and ("<" in line or "-->" in line):
                    self._element_line(line)
                if not self._fence and ROLE.match(line) is not None:
                    self._note_role(line)
        self._line, self._searched = "", 0

    def _note_role(self, line: str) -> None:
        role = None if self._think or self._elements else ROLE.match(line)
        if role is not None and role.lastgroup is not None:
            self._roles |= {role.lastgroup}
            self._other_speaker = self._other_speaker or any(turn <= self._roles for turn in TURNS)

    def _element_line(self, line: str) -> None:
        tag = _ALONE.match(line)
        if tag is not None and not self._think and not line.rstrip().endswith("/>"):
            name = tag["name"].lower()
            if name not in _NO_QUOTATION and not REASONING_OPENER.match(line.strip()):
                self._elements = (*self._elements, name)[-_MOST_ELEMENTS:]
        if self._elements and ("</" in line or "-->" in line):
            for found in _CLOSED.finditer(line):
                name = "!--" if found[2] else found[1].lower()
                if name in self._elements:
                    self._elements = self._elements[: self._elements.index(name)]

    def _examine(self, *, whole: bool) -> None:
        """Look for tokens in what arrived of this line. Not `whole`: the last token may go on."""
        text, at = self._line, self._searched
        # A token begins a few letters before its `<` at most, and goes on for a few behind its `>`.
        end = len(text)
        if not whole:
            sure = max(at, end - _BEHIND)
            end = max(at, text.rfind(">", at, sure) + 1, text.rfind("<", at, sure) - _BEFORE, end - _LONGEST)
        # A fence that was opened inside reasoning ends with it.
        if (not self._fence or self._think) and end > at and _MAY_MATTER.search(text, at) is not None:
            begins = _BEGINS_TOKEN.search(text, at)
            while begins is not None and begins.start() < end:
                token = _TOKEN.match(text, begins.start())
                if token is not None:
                    at = token.end()
                    self._token(token)
                begins = _BEGINS_TOKEN.search(text, max(at, begins.start() + 1))
        # The line may have begun anew behind a token.
        self._searched = max(at, end) - (len(text) - len(self._line))

    def _token(self, token: re.Match[str]) -> None:
        found = token[0]
        if self._fence and not token["reasoning_end"]:
            return
        if found[0] == "`":
            self._ticks = 0 if self._ticks == len(found) else self._ticks or len(found)
        elif token["reasoning_end"]:
            closes = kind(found)
            if self._think == closes or (not self._think and closes != "channel"):
                self._think, self._fence, self._ticks = "", "", 0
                self._think_first, self.spoiled, self._above = False, False, ""
                self._note_role(self._line)
                self._line = token.string[token.end() :]
        elif self._ticks:
            pass
        elif token["reasoning"] and not self._think:
            self._think = kind(found)
            before = token.string[len(token.string) - len(self._line) : token.start()]
            if not self._above and not before.strip() and self._think != "channel":
                self._think_first = True
                self._line = token.string[token.end() :]
        elif token["other_speaker"]:
            self._other_speaker = self._other_speaker or not self._think
