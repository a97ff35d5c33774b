"""The document of chat.z.ai, which the server edits: reasoning wrappers, blocks with calls, and text between them.

An edit cuts the document at an index, which counts UTF-16 units, and appends. The document is read element by
element; what may still become something else (half a tag, newlines that may frame a block) is not read yet. An edit
goes back to the beginning of the element that it cuts. A block is held while the server writes calls, and read once
it is over. Only what the server writes as a call is one: what the model says is text, whatever it looks like.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from io import SEEK_END, StringIO
from typing import Any, Final, Literal

from .. import payload
from ..parts import Fragment, Json, Other, Part, Text, Thought
from ..payload import string_of

BLOCK_TAG: Final = "<glm_block"
BLOCK_END: Final = "</glm_block>"
WRAPPER_TAG: Final = "<details"
WRAPPER_END: Final = "</details>"


def _begun(tag: str) -> str:
    """The pattern of a tag of which the end has not come yet, behind its `<`."""
    return rf"(?:{'|'.join(tag[1:size] for size in range(1, len(tag) + 1))})\Z"


_ATTRIBUTES: Final = r"(?>[^\S\n][^<>\n]{0,1024}+)?+"
_BLOCK = re.compile(
    rf"<(?<![`'\"‘“«]<)(?:glm_block{_ATTRIBUTES}(?:>\s*+(?:(?P<whole>\{{)|\Z)|\Z)|{_begun(BLOCK_TAG)})"
)
"""A block right after a quotation mark is quoted as an example."""
_WRAPPER = re.compile(
    r'<(?<![^\n]<)(?:details(?=[^<>\n]{0,1024}\stype="reasoning"[\s>])[^<>\n]{0,1024}+>(?P<whole>)'
    rf"|details{_ATTRIBUTES}\Z|{_begun(WRAPPER_TAG)})"
)
_BLOCK_TAIL = re.compile(rf"\s*+(?:{BLOCK_END}|<{_begun(BLOCK_END)}|\Z)")
_MARK = re.compile(r"(?<=\n)(?:<summary>.*?</summary>|> ?)")
_LONGEST_SUMMARY: Final = 1000
_ESCAPE: Final = r'\\(?>u[0-9a-fA-F]{4}|["\\/bfnrt])'
_FIELD = re.compile(rf'"(id|name|arguments|result)"\s*+:\s*+(?:(null\b)|"((?>[^"\\]|{_ESCAPE})*+)("?)|)')
_DECODER = json.JSONDecoder(strict=False)
_CODEC: Final = "utf-16-le"
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


@dataclass(slots=True, eq=False)
class Block(Fragment):
    """A call in a block. `result`: "" until the server has run it; None if it could not."""

    result: Any = ""
    is_clients: bool = False
    """The client has to run it. One that the server ran is not its call: it would run a second time."""


class Channel(StringIO):
    """One text of the client, which only grows: what was sent cannot be taken back.

    While a new text repeats it, nothing is sent; if it differs, only what follows the common beginning is sent.
    """

    length = 0
    """The length of the text now; after a cut it may be less than what was sent."""
    rewritten = False

    def say(self, text: str) -> str:
        """Go on with the text; what the client has not seen of it."""
        start = self.seek(self.length)
        known = self.read(len(text))
        if not text.startswith(known):
            known = known[: next(at for at, character in enumerate(known) if character != text[at])]
            self.rewritten = True
            self.seek(start + len(known))
            self.truncate()
        self.write(text[len(known) :])
        self.length = start + len(text)
        return text[len(known) :]

    @property
    def taken_back(self) -> bool:
        """Whether the client has seen what is no longer in the text."""
        return self.rewritten or self.length < self.seek(0, SEEK_END)


@dataclass(slots=True)
class _Element:
    """A text, a wrapper or a block: where it begins behind its tag, and how much there was of its kind before it."""

    kind: Literal["text", "wrapper", "block"]
    start: int
    before: int
    at: int
    """What is before this was read."""


class Document:
    """`blocks`: those that are over; `content`, `reasoning`: what the client has."""

    def __init__(self, is_clients: Callable[[str], bool], *, ends_at_null: bool = False) -> None:
        """`is_clients`: whether the client has a tool of this name. `ends_at_null`: a null patch ends the turn."""
        self._is_clients, self._ends_at_null = is_clients, ends_at_null
        self._units = StringIO()
        """The text, with one character for each UTF-16 unit."""
        self._elements = [_Element("text", 0, 0, 0)]
        self.blocks: list[Block] = []
        self._known_blocks = 0
        """How many of them were there before the last change."""
        self.ended = False
        """A null patch has ended the turn. Blocks that were there before it belong to the turn, later ones do not."""
        self.content, self.reasoning = Channel(), Channel()
        self._channels = {"text": self.content, "wrapper": self.reasoning}
        self.new: list[Part] = []
        """The new text and reasoning of the turn, in order, until somebody takes them."""
        self._server_from = sys.maxsize
        """From here to its end the document was written by the server itself."""

    def __len__(self) -> int:
        return self._units.seek(0, SEEK_END)

    @property
    def block_is_open(self) -> bool:
        return self._elements[-1].kind == "block"

    def patch(self, text: str, place: int | None = None, *, by_server: bool = False) -> None:
        """Cut the document at a place, if one is given, and append.

        `by_server`: the server writes it as a call, which may go on growing.
        """
        if self.block_is_open and not by_server:
            self.read()
        self._known_blocks, old = len(self.blocks), len(self.new)
        hold, size = by_server, len(self)
        cut = size if place is None else min(max(place, 0), size)
        if 0 < cut < size and _PAIR.fullmatch(self._read_from(cut - 1, 2)):
            cut -= 1
        if cut < size:
            self._cut(cut)
            # What cuts or replaces a call comes from the server, and repeats the calls behind it.
            by_server = by_server or len(self.blocks) < self._known_blocks
        self._server_from = min(self._server_from, cut) if by_server else sys.maxsize
        self._units.seek(cut)
        self._units.write(_units_of(text))
        self.read(hold=hold)
        if self.content.taken_back or self.reasoning.taken_back:
            self.new.insert(old, Other())

    def _cut(self, cut: int) -> None:
        """Cut the document, and go back to the beginning of the element in which that is."""
        self._units.truncate(cut)
        while True:
            last = self._elements[-1]
            last.at = last.start
            if last.kind == "block":
                del self.blocks[last.before :]
            else:
                self._channels[last.kind].length = last.before
            if last.start <= cut:
                return
            self._elements.pop()

    # Reading

    def read(self, *, hold: bool = False, final: bool = False) -> None:
        """Read on. `hold`: the open block may go on growing, else it is over. `final`: the document is complete, and
        what may have been the beginning of a tag is text."""
        last: _Element | None = None
        while last is not self._elements[-1] and not (self.ended and len(self.blocks) >= self._known_blocks):
            last = self._elements[-1]
            if last.kind == "text":
                self._read_text(last, final)
            elif last.kind == "wrapper":
                self._read_reasoning(last, final)
            elif not hold:
                self._read_block(last)

    def _read_from(self, start: int, size: int = -1) -> str:
        self._units.seek(start)
        return self._units.read(size)

    def _begin(self, kind: Literal["text", "wrapper", "block"], start: int) -> None:
        before = len(self.blocks) if kind == "block" else self._channels[kind].length
        self._elements.append(_Element(kind, start, before, start))

    def _read_text(self, last: _Element, final: bool) -> None:
        behind = int(last.at > last.start)
        base = last.at - behind
        text = self._read_from(base)
        wrapper = found = _WRAPPER.search(text, behind)
        block = _BLOCK.search(text, max(self._server_from - base, behind))
        if block is not None and (wrapper is None or block.start() < wrapper.start()):
            found = block
        begins = found is not None and found["whole"] is not None
        body = text[behind:]
        if begins or not final:
            body = text[behind : None if found is None else found.start()].rstrip("\n")
        if body.strip() or not 0 < last.start == last.at:
            self._say(last, body)
        if found is not None and begins:
            self._begin("wrapper" if found is wrapper else "block", base + found.end())

    def _read_reasoning(self, last: _Element, final: bool) -> None:
        base = last.at - 1
        text = self._read_from(base)
        end = text.find(f"\n{WRAPPER_END}")
        text = _without_marks(text if end < 0 else text[:end])
        line = text.rfind("\n") + 1
        if line and text.startswith("<", line) and not (final or end >= 0 or len(text) - line > _LONGEST_SUMMARY):
            text = _without_marks(text[:line])
        self._say(last, text[1:])
        if end >= 0:
            self._begin("text", base + end + 1 + len(WRAPPER_END))

    def _read_block(self, last: _Element) -> None:
        base = last.start - 1
        block, size = read_block(self._read_from(base))
        if block.name:
            block.is_clients = block.result in (None, "") and self._is_clients(block.name)
            self.blocks.append(block)
            if block.is_clients:
                self.ended = self.ended or (self._ends_at_null and block.result is None)
            elif not self.ended:
                self.new.append(Other())
            self._begin("text", base + size)
        else:  # A block of the server names its tool.
            self._elements.pop()
            text = self._elements[-1]
            self._say(text, self._read_from(text.at, base + size - text.at))

    def _say(self, last: _Element, text: str) -> None:
        """Send the next text of the answer, or of the reasoning. What comes behind another element begins a
        paragraph."""
        channel, thinks = self._channels[last.kind], last.kind == "wrapper"
        if "\ud800" <= text[-1:] <= "\udbff":
            text = text[:-1]  # The other half of a surrogate pair may follow.
        last.at += len(text)
        if thinks:
            text = _MARK.sub("", text)
        if last.start > 0 and channel.length == last.before:
            text = text.lstrip() if thinks else text.lstrip("\n")
            text = "\n\n" + text if text and channel.length else text
        fresh = channel.say(joined(text))
        if fresh and not self.ended:
            self.new.append(Thought(fresh, body={"reasoning_content": fresh}) if thinks else Text(fresh))


def _without_marks(text: str) -> str:
    """The text without lines at its end that have nothing but the marks of a quotation."""
    kept = text.rstrip(" \n>")
    return kept + text[len(kept) :].partition("\n")[0].rstrip()


# Blocks


def read_block(text: str) -> tuple[Block, int]:
    """The block whose JSON this begins with, and where the block ends.

    It is read as JSON, once: its arguments may contain anything, its closing tag too. Broken JSON ends at that tag.
    """
    whole = True
    try:
        value, end = _DECODER.raw_decode(text)
        data, function = value.get("data"), value.get("function")
        said = data.get("metadata") if isinstance(data, dict) else None
        if not isinstance(said, dict):
            # The second form is known only from synthetic tests.
            said = {"id": value.get("id"), **function} if isinstance(function, dict) else {}
        tail = _BLOCK_TAIL.match(text, end)
        end = end if tail is None else tail.end()
    except (json.JSONDecodeError, RecursionError) as error:
        whole = False
        tag = -1 if str(error).startswith("Unterminated") else text.find(BLOCK_END, getattr(error, "pos", 0))
        end = len(text) if tag < 0 else tag + len(BLOCK_END)
        said = _fields_of(text[:end])
    name, arguments = joined(string_of(said.get("name"))), joined(payload.text_of(said.get("arguments")))
    identity, result = string_of(said.get("id")), said.get("result", "")
    return Block(id=identity, name=name, arguments=arguments, whole=True, cut=not whole, result=result), end


def _fields_of(text: str) -> Json:
    """What the broken JSON of a block says; a value that is no string, or not there yet, is something else."""
    fields: Json = {}
    for key, null, string, closed in _FIELD.findall(text):
        value = json.loads(f'"{string}"', strict=False)
        fields.setdefault(key, value if string or closed else None if null else "something else")
    return fields


# Characters


def _units_of(text: str) -> str:
    """The text with one character for each UTF-16 unit."""
    units = b"" if text.isascii() else text.encode(_CODEC, "surrogatepass")
    if len(units) <= 2 * len(text):
        return text
    wide = bytearray(2 * len(units))
    wide[0::4], wide[1::4] = units[0::2], units[1::2]
    return wide.decode("utf-32-le", "surrogatepass")


def joined(units: str) -> str:
    """The text with its surrogate pairs joined; a lone surrogate stays."""
    return units if units.isascii() else units.encode(_CODEC, "surrogatepass").decode(_CODEC, "surrogatepass")
