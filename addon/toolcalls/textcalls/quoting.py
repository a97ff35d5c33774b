"""Is the text at this place quoted? Markdown, HTML and shell quoting, tracked as the text passes.

Fences of ``` and ~~~ of any length, inline code, block quotes, tables, indented code, list heads; HTML
comments, `<pre>`, `<example>`, `<tool_response>` and the like; here-documents and triple-quoted strings. It
holds nothing back and decides nothing about calls. What is not closed stays quoted: a missed call is better
than an example that is executed. Inline code ends with its paragraph.
"""

from __future__ import annotations

import re

from . import trie

HEAD, MARKER, DIGITS, BODY, QUOTED = range(5)
FENCE_INFO, FENCE_HEAD, FENCE_TAIL, FENCE_BODY, HEREDOC = range(5, 10)

QUOTES = frozenset("\"'“”‘’«»‹›「」『』`\\")
"""An opener right behind one of these is quoted, or stands in JSON data or source code."""

_BLOCK_TAGS = (
    *(
        "pre",
        "example",
        "examples",
        "sample",
        "quote",
        "blockquote",
        "template",
        "textarea",
        "xmp",
        "script",
        "style",
    ),
    *("tool_response", "tool_responses", "tool_result", "tool_results", "function_results", "function_response"),
    *("tool_output", "instructions", "INSTRUCTIONS", "system", "system-reminder", "prompt", "user", "context"),
    *("document", "documents", "file", "files", "file_content", "file_contents"),
)
_INLINE_TAGS = ("code", "kbd", "samp", "tt")
_SPANS = {
    "<!--": ("-->",),
    "<![CDATA[": ("]]>",),
    '"""': ('"""',),
    "'''": ("'''",),
    **{f"<{tag}>": (f"</{tag}>", "\n") for tag in _INLINE_TAGS},
    **{f"<{tag} ": (f"</{tag}>",) for tag in ("pre", "code")},
    "<pre>": ("</pre>",),
}
_HEAD_SPANS = {f"<{tag}{end}": (f"</{tag}>",) for tag in _BLOCK_TAGS for end in "> "}
_LITERALS = (
    *_SPANS,
    *_HEAD_SPANS,
    "<think>",
    "</think>",
    *(f"<<{dash}{quote}_" for dash in ("", "-") for quote in "\"'"),
)
_PARTIAL = frozenset(literal[:end] for literal in _LITERALS for end in range(1, len(literal)))
_LONGEST = max(map(len, _LITERALS))
_IN_BODY = re.compile(trie.pattern(("\n", "`", *_SPANS, "<think>", "</think>")) + r"|<<-?[\"']?[A-Za-z_]")
_LINE_HEADS = frozenset((HEAD, FENCE_HEAD))
_ORDINARY = re.compile(r"""(?:(?:[^`~<"'\n]++|"(?!"")|'(?!''))*+\n)++""")
"""Whole lines in which nothing begins or ends that outlasts its line."""
_IN_CODE = re.compile(r"[\n`]")
_MAY_BEGIN = re.compile("[<\"']")
_AT_HEAD = re.compile("|".join(map(re.escape, sorted(_HEAD_SPANS, key=len, reverse=True))))
_HEREDOC = re.compile(r"-?(?:([\"'])([A-Za-z_]\w*)\1(?=$|[\s;|>&)])|([A-Z_]{2}\w*+)(?=$|\s+[>|&]))")
_LINE_LIMIT = 200
_AREA = 256
"""So much of a span is looked at in one go: a copy of all the rest for each of thousands would be quadratic."""
_MARKERS = "-*+#/"
"""A list, a heading, a comment, a diff: an opener right behind one at the head of a line is quoted."""


class Quoting:
    __slots__ = (
        "_before",
        "_code",
        "_fence",
        "_fresh",
        "_indent",
        "_line",
        "_list",
        "_nested",
        "_pending",
        "_phase",
        "_run",
        "_run_char",
        "_seen",
        "_until",
        "_word",
        "previous",
        "thinking",
    )

    def __init__(self) -> None:
        self._phase = HEAD
        self._indent = 0
        self._list = False
        self._code = 0
        self._fence = ("", 0, 0)
        self._nested = 0
        self._run_char = ""
        self._run = 0
        self._until: tuple[str, ...] = ()
        self._seen = ""
        self._pending = ""
        self._before = ""
        self._line: str | None = None
        self._word = ""
        self._fresh = True
        self.previous = ""
        """The last character, unless a call took it away."""
        self.thinking = False
        """A `<think>` at the beginning of the message has not ended yet."""

    def is_open(self) -> bool:
        """May a region begin here? Asked only where the next character is no backtick and no newline."""
        self._settle()
        if self._until or self._code or self.previous in QUOTES:
            return False
        if self._phase == HEAD:
            return self._indent < 4 and not self._list
        return self._phase == BODY

    @property
    def quoted(self) -> bool:
        """Does the quoting go on behind an opener that stands here? Asked where `is_open` may be."""
        self._settle()
        if self._until or self._code:
            return True
        if self._phase == HEAD:
            return self._indent >= 4 and not self._list
        return self._phase not in (MARKER, DIGITS, BODY)

    @property
    def at_head(self) -> bool:
        """At the very beginning of an ordinary line."""
        return self._phase == HEAD and not (self._indent or self._list or self._run or self._until or self._code)

    @property
    def inline(self) -> bool:
        """Something stands before this place on its line."""
        return self._phase != HEAD

    def call(self) -> None:
        """A call stood here; what follows on its line is the middle of a line."""
        self._settle()
        self._phase, self.previous, self._pending, self._fresh = BODY, "", "", False

    def advance(self, text: str) -> None:
        if not text:
            return
        self._before, self.previous = self.previous, text[-1]
        if self._pending:
            text, self._pending = self._pending + text, ""
        at, end = 0, len(text)
        while at < end:
            if self._run and text[at] != self._run_char:
                self._settle()
            if self._phase in _LINE_HEADS and (not at or text[at - 1] == "\n") and self._is_ordinary():
                lines = _ORDINARY.match(text, at)
                if lines is not None:
                    at = lines.end()
                    self._indent, self._list = 0, False
                    continue
            if self._until:
                at = self._in_span(text, at)
            elif self._phase == BODY:
                at = self._in_body(text, at)
            elif self._phase < BODY:
                at = self._in_head(text, at)
            elif self._phase == HEREDOC:
                at = self._in_heredoc(text, at)
            elif self._phase in (FENCE_HEAD, FENCE_TAIL):
                at = self._in_fence(text, at)
            elif self._phase == FENCE_INFO and self._fence[0] == "`":
                at = self._in_info(text, at)
            else:
                newline = text.find("\n", at)
                at = end if newline < 0 else newline + 1
                if newline >= 0:
                    self._newline()

    def _is_ordinary(self) -> bool:
        """Does a whole line without anything that quotes change nothing here, whatever it says?"""
        return not (self._code or self._until or self._run or self._fresh or self._line is not None)

    def _newline(self) -> None:
        if self._phase in (FENCE_INFO, FENCE_BODY, FENCE_HEAD):
            self._phase = FENCE_HEAD
        elif self._line is not None and (match := _HEREDOC.match(self._line)):
            self._phase, self._word = HEREDOC, match[2] or match[3]
            self._line = ""
            return
        else:
            self._phase = HEAD
        self._line = None
        self._indent = 0
        self._list = False

    def _in_head(self, text: str, at: int) -> int:
        char = text[at]
        if self._phase == MARKER:
            if char in " \t":
                self._list, self._code, self._phase, self._indent = True, 0, HEAD, 0
                return at + 1
            if char in _MARKERS:
                return at + 1
            self._phase = BODY
            return at
        if self._phase == DIGITS:
            if char.isdigit():
                return at + 1
            self._phase = MARKER if char in ".)" else BODY
            return at + 1 if self._phase == MARKER else at
        if char == "\n":
            self._code = 0
            self._newline()
        elif char in " \r":
            self._indent += char == " "
        elif char == "\t":
            self._indent += 4
        elif char in "`~":
            return self._in_run(text, at)
        elif char in ">|":  # a block quote, a row of a table
            self._code, self._phase, self._fresh = 0, QUOTED, False
        elif self._indent >= 4 and not self._list:
            self._phase, self._fresh = QUOTED, False
            return at
        elif char == "<":
            return self._tag_at_head(text, at)
        elif char in _MARKERS:
            self._phase, self._fresh = MARKER, False
        elif char.isdigit():
            self._phase, self._fresh = DIGITS, False
        else:
            self._phase, self._fresh = BODY, False
            return at
        return at + 1

    def _tag_at_head(self, text: str, at: int) -> int:
        match = _AT_HEAD.match(text, at)
        if match is not None:
            self._until, self._seen, self._phase = _HEAD_SPANS[match.group()], "", BODY
            return match.end()
        if len(text) - at < _LONGEST and text[at:] in _PARTIAL:
            self._pending = text[at:]
            return len(text)
        if self._fresh and text.startswith("<think>", at):
            self.thinking = True
        self._phase, self._fresh = BODY, False
        return at

    def _in_body(self, text: str, at: int) -> int:
        match = (_IN_CODE if self._code else _IN_BODY).search(text, at)
        if match is None:
            cut = len(text) if self._code else _partial_at(text, at)
            self._capture(text[at:cut])
            self._pending = text[cut:]
            return len(text)
        found = match.group()
        if found == "\n":
            self._capture(text[at : match.start()])
            self._newline()
            return match.end()
        if found[0] == "`":
            self._capture(text[at : match.start()])
            before = text[match.start() - 1] if match.start() else self._before
            escaped = before == "\\" and not self._code
            return self._in_run(text, match.start() + escaped)
        self._capture(text[at : match.end()])
        if found in _SPANS:
            self._until, self._seen = _SPANS[found], ""
        elif found == "</think>":
            self.thinking = False
        elif found[:2] == "<<" and self._line is None:
            self._line = found[2:]
        return match.end()

    def _capture(self, text: str) -> None:
        """Remember the line behind a `<<`: its end shows whether a here-document begins."""
        if self._line is not None and len(self._line) < _LINE_LIMIT:
            self._line += text[:_LINE_LIMIT]

    def _in_span(self, text: str, at: int) -> int:
        seen = self._seen
        area = seen + text[at : at + _AREA]
        places = [(place, closer) for closer in self._until if (place := area.find(closer)) >= 0]
        if not places:
            keep = max(map(len, self._until)) - 1
            self._seen = area[-keep:] if keep else ""
            return min(at + _AREA, len(text))
        place, closer = min(places)
        self._until, self._seen = (), ""
        return at + place - len(seen) + (0 if closer == "\n" else len(closer))

    def _in_run(self, text: str, at: int) -> int:
        """A run of backticks or tildes; how long it is shows when something else follows."""
        char = text[at : at + 1]
        if char not in ("`", "~") or not char:
            return at
        end = at
        while end < len(text) and text[end] == char:
            end += 1
        self._run_char = char
        self._run += end - at
        self._fresh = False
        return end

    def _settle(self) -> None:
        run, char = self._run, self._run_char
        if not run:
            return
        self._run = 0
        if self._phase == HEAD:
            if run >= 3:
                self._fence, self._phase, self._code = (char, run, self._indent), FENCE_INFO, 0
                self._nested = 0
                return
            if self._indent >= 4 and not self._list:
                self._phase = QUOTED
                return
            self._phase = BODY
        elif self._phase == FENCE_HEAD:
            fence, length, indent = self._fence
            closes = char == fence and run >= length and self._indent <= indent + 3
            self._phase = FENCE_TAIL if closes else FENCE_BODY
            return
        elif self._phase == FENCE_INFO:
            # A backtick in the info string: no fence but inline code.
            self._phase, self._code = BODY, self._fence[1]
        if char == "`":
            if not self._code:
                self._code = run
            elif run == self._code:
                self._code = 0

    def _in_info(self, text: str, at: int) -> int:
        match = _IN_CODE.search(text, at)
        if match is None:
            return len(text)
        if match.group() == "\n":
            self._newline()
            return match.end()
        return self._in_run(text, match.start())

    def _in_fence(self, text: str, at: int) -> int:
        char = text[at]
        if char == "\n":
            if self._phase == FENCE_TAIL and self._nested:
                self._nested -= 1
                self._phase = FENCE_BODY
            elif self._phase == FENCE_TAIL:
                self._phase = HEAD
            self._newline()
        elif char in " \t\r":
            self._indent += 4 if char == "\t" else 1
        elif self._phase == FENCE_HEAD and char == self._fence[0]:
            return self._in_run(text, at)
        else:
            # Models nest fences of one length: one that names a language inside another wants its own close.
            self._nested += self._phase == FENCE_TAIL
            self._phase = FENCE_BODY
        return at + 1

    def _in_heredoc(self, text: str, at: int) -> int:
        newline = text.find("\n", at)
        end = len(text) if newline < 0 else newline
        line = self._line or ""
        if len(line) < _LINE_LIMIT:
            line += text[at : min(end, at + _LINE_LIMIT)]
        self._line = line
        if newline < 0:
            return end
        if line.strip() == self._word:
            self._phase = HEAD
            self._line = None
            self._newline()
        self._line = "" if self._phase == HEREDOC else None
        return newline + 1


def _partial_at(text: str, at: int) -> int:
    """Where a marker may have begun that the text does not show whole."""
    for match in _MAY_BEGIN.finditer(text, max(at, len(text) - _LONGEST)):
        if text[match.start() :] in _PARTIAL:
            return match.start()
    return len(text)
