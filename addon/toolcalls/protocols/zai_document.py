"""The document of chat.z.ai, which the server edits: reasoning wrappers, blocks with calls, and text between them.

An edit cuts the document at an index, which counts UTF-16 units, and appends. The document is read element by
element; what may still become something else (half a tag, newlines that may frame a block) is not read yet. An edit
goes back to the beginning of the element that it cuts. A block is held, and read once it is over. Only what the
server writes as a call is one: what the model says is text, whatever it looks like.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from .. import payload
from ..parts import Text, Thought
from ..payload import string_of

BLOCK_TAG: Final = "<glm_block"
BLOCK_END: Final = "</glm_block>"
WRAPPER_TAG: Final = "<details"
WRAPPER_END: Final = "</details>"

_ATTRIBUTES: Final = r'(?P<attributes>(?:[^\S\n](?>[^"<>\n]|"[^"<\n]{0,256}"){0,256}+)?)'


def _beginning_of(tag: str) -> str:
    """The pattern of a tag of which the end has not come yet."""
    return rf"(?:{'|'.join(tag[:size] for size in range(1, len(tag) + 1))})\Z"


def _opening(tag: str, before: str, inner: str) -> str:
    """The pattern of a tag. `inner`: what makes it one, behind it; without that group the end has not come yet.

    `before`: what is asked of the character before, behind the `<` that the search looks for.
    """
    name, begun = tag[1:], "|".join(tag[1:size] for size in range(1, len(tag) + 1))
    return rf'<{before}(?:{name}{_ATTRIBUTES}(?:>{inner}|(?:"[^"<\n]*+)?\Z)|(?:{begun})\Z)'


_BLOCK = re.compile(_opening(BLOCK_TAG, r"(?<![`'\"‘“«]<)", r"\s*+(?:(?P<inner>\{)|\Z)"))
"""A block right after a quotation mark is quoted as an example."""
_WRAPPER = re.compile(_opening(WRAPPER_TAG, r"(?<=\n<)", "(?P<inner>)"))
_REASONING = re.compile(r'\stype="reasoning"(?:\s|\Z)')
_MARK = re.compile(r"(?<=\n)(?:<summary>.*?</summary>|> ?)")
_HALF_MARK = re.compile(
    rf"\n(?:{_beginning_of(WRAPPER_END)}|{_beginning_of('<summary>')}|<summary>(?:(?!</summary>).){{0,1000}}\Z|>?\Z)|\Z"
)
_BLOCK_TAIL = re.compile(rf"\s*+{BLOCK_END}")
_STRING: Final = r'"((?>[^"\\]|\\(?>u[0-9a-fA-F]{4}|[^u]))*+)'
_FIELDS = {key: re.compile(rf'"{key}"\s*+:\s*+{_STRING}', re.DOTALL) for key in ("id", "name", "arguments")}
_RESULT = re.compile(r'"result"\s*+:\s*+(null\b|""|)')
_DECODER = json.JSONDecoder(strict=False)
_CODEC: Final = "utf-16-le"
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


@dataclass(slots=True, frozen=True)
class Block:
    """A call in a block. `result`: "" until the server has run it; None if it could not. `whole`: its JSON is."""

    id: str
    name: str
    arguments: str
    result: Any
    whole: bool = True


New = Text | Thought | Block
"""What a change of the document adds to the answer."""


class Units:
    """A text in UTF-16 units that grows and is cut only at its end. What is read of it has one character a unit."""

    __slots__ = ("_bytes",)

    def __init__(self) -> None:
        self._bytes = bytearray()

    def __len__(self) -> int:
        return len(self._bytes) // 2

    def append(self, text: str) -> None:
        self._bytes += text.encode(_CODEC, "surrogatepass")

    def truncate(self, size: int) -> None:
        del self._bytes[2 * size :]

    def cut(self, index: int) -> int:
        """Where an edit cuts: within the text, and never inside a surrogate pair."""
        cut = min(max(index, 0), len(self))
        return cut - 1 if _PAIR.fullmatch(self.read(max(cut - 1, 0), cut + 1)) else cut

    def read(self, start: int, end: int | None = None) -> str:
        units = self._bytes[2 * start : None if end is None else 2 * end]
        text = units.decode(_CODEC, "surrogatepass")
        if 2 * len(text) == len(units):
            return text
        # A pair of units would be joined.
        wide = bytearray(2 * len(units))
        wide[0::4], wide[1::4] = units[0::2], units[1::2]
        return wide.decode("utf-32-le", "surrogatepass")


@dataclass(slots=True)
class Channel:
    """One text of the client, which only grows: what was sent cannot be taken back.

    While a new text repeats it, nothing is sent; if it differs, only what follows the common beginning is sent.
    """

    length: int = 0
    """The length of the text now; after a cut it may be less than what was sent."""
    rewritten: bool = False
    shown: Units = field(default_factory=Units)

    def write(self, units: str) -> str:
        """Go on with the text; what the client has not seen of it."""
        start, self.length = self.length, self.length + len(units)
        known = self.shown.read(start, min(self.length, len(self.shown))) if start < len(self.shown) else ""
        if not units.startswith(known):
            same = next(at for at, unit in enumerate(known) if at >= len(units) or unit != units[at])
            same -= same > 0 and _is_high(units[same - 1])
            self.shown.truncate(start + same)
            self.rewritten, known = True, known[:same]
        self.shown.append(units[len(known) :])
        return joined(units[len(known) :])


@dataclass(slots=True)
class _Element:
    """A text, a wrapper or a block: where it begins behind its tag, and how much there was before it."""

    kind: Literal["text", "wrapper", "block"]
    start: int
    content: int
    reasoning: int
    blocks: int
    at: int
    """What is before this was read."""

    @property
    def edge(self) -> bool:
        """Whether no text has followed the wrapper or the block before it."""
        return 0 < self.start == self.at


class Document:
    """`blocks`: those that are over; `content`, `reasoning`: what the client has."""

    def __init__(self) -> None:
        self.units = Units()
        self.blocks: list[Block] = []
        self.content, self.reasoning = Channel(), Channel()
        self._elements = [_Element("text", 0, 0, 0, 0, 0)]
        self.new: list[New] = []
        """The new text, the new reasoning and the blocks that are over, in order, until somebody takes them."""
        self.server_from: int | None = None
        """From here to its end the document was written by the server itself; None: its end was not."""

    @property
    def taken_back(self) -> bool:
        """Whether the document no longer has all that the client has seen."""
        return any(one.rewritten or one.length < len(one.shown) for one in (self.content, self.reasoning))

    @property
    def block_is_open(self) -> bool:
        return self._elements[-1].kind == "block"

    def all_blocks(self) -> list[Block]:
        """The blocks so far, with an open one."""
        self.read()
        last = self._elements[-1]
        return [*self.blocks, read_block(self.units.read(last.start))[0]] if last.kind == "block" else self.blocks

    def patch(self, text: str, place: int | None = None, *, by_server: bool = False) -> None:
        """Cut the document at a place, if one is given, and append.

        `by_server`: the server writes it as a call, which may go on growing.
        """
        size, hold = len(self.units), by_server
        cut = size if place is None else self.units.cut(place)
        if cut < size:
            blocks = len(self.blocks) + self.block_is_open
            self._cut(cut)
            # What cuts or replaces a call comes from the server, and repeats the calls behind it.
            by_server = by_server or len(self.blocks) < blocks
        if not by_server:
            self.server_from = None
        elif self.server_from is None or self.server_from > cut:
            self.server_from = cut
        self.units.append(text)
        tail = self.units.read(max(cut - len(BLOCK_END), self._elements[-1].start)) if self.block_is_open else ""
        self.read(closes=BLOCK_END in tail, hold=hold)

    def _cut(self, cut: int) -> None:
        """Cut the document, and go back to the beginning of the element in which that is."""
        self.units.truncate(cut)
        while len(self._elements) > 1 and self._elements[-1].start + self.block_is_open > cut:
            self._elements.pop()
        last = self._elements[-1]
        last.at, self.content.length, self.reasoning.length = last.start, last.content, last.reasoning
        del self.blocks[last.blocks :]

    def finish(self) -> None:
        """The document is complete: what may have been the beginning of a tag is text."""
        self.read()
        last, size = self._elements[-1], len(self.units)
        rest = self.units.read(last.at)
        if last.kind == "wrapper":
            self._think(last, self.units.read(last.at - 1))
        elif last.kind == "text":
            if rest.strip() or not last.edge:
                self._say(last, rest, size)
        elif not (block := read_block(rest)[0]).name:
            self._give_back(size)
        elif block.whole:
            self._close(block, size)

    # Reading

    def read(self, *, closes: bool = True, hold: bool = False) -> None:
        """Read on. `closes`: the open block may be over; `hold`: it may go on growing."""
        last: _Element | None = None
        while last is not self._elements[-1]:
            last = self._elements[-1]
            if last.kind == "text":
                self._read_text(last)
            elif last.kind == "wrapper":
                self._read_reasoning(last)
            elif closes and not hold:
                self._read_block(last)
            closes = True

    def _begin(self, kind: Literal["text", "wrapper", "block"], start: int) -> None:
        before = self.content.length, self.reasoning.length, len(self.blocks)
        self._elements.append(_Element(kind, start, *before, at=start))

    def _read_text(self, last: _Element) -> None:
        base = last.at - 1
        text = ("\n" if last.edge or not last.at else self.units.read(base, last.at)) + self.units.read(last.at)
        wrappers = (
            one for one in _WRAPPER.finditer(text) if one["inner"] is None or _REASONING.search(one["attributes"])
        )
        wrapper, block = next(wrappers, None), None
        if self.server_from is not None:
            block = _BLOCK.search(text, max(self.server_from - base, 1))
        found = block if wrapper is None or (block is not None and block.start() < wrapper.start()) else wrapper
        body = (text if found is None else text[: found.start()])[1:].rstrip("\n")
        body = body[: len(body) - (found is None and _is_high(body[-1:]))]
        if body.strip() or (body and not last.edge):
            self._say(last, body, last.at + len(body))
        if found is not None and found["inner"] is not None:
            self._begin("wrapper" if found is wrapper else "block", base + found.start("inner"))

    def _read_block(self, last: _Element) -> None:
        block, size = read_block(self.units.read(last.start))
        if size and block.name:
            self._close(block, last.start + size)
        elif size:
            self._give_back(last.start + size)  # A block of the server names its tool.

    def _close(self, block: Block, end: int) -> None:
        self.blocks.append(block)
        self.new.append(block)
        self._begin("text", end)

    def _give_back(self, end: int) -> None:
        """The open block, up to here, is text."""
        self._elements.pop()
        last = self._elements[-1]
        self._say(last, self.units.read(last.at, end), end)

    def _read_reasoning(self, last: _Element) -> None:
        base = last.at - 1
        text = self.units.read(base)
        end = text.find(f"\n{WRAPPER_END}")
        half = _HALF_MARK.search(text) if end < 0 else None
        self._think(last, text[: end if half is None else half.start()])
        if end >= 0:
            self._begin("text", base + end + 1 + len(WRAPPER_END))

    def _think(self, last: _Element, text: str) -> None:
        """Send this reasoning, trimmed, behind its first character, which is known. Wrappers are joined by a blank
        line."""
        text = text.rstrip()
        while text.endswith("\n>"):
            text = text[:-1].rstrip()
        text = text[: len(text) - _is_high(text[-1:])]
        if len(text) < 2:
            return
        body = _MARK.sub("", text)[1:]
        if self.reasoning.length == last.reasoning:
            body = body.lstrip()
            body = "\n\n" + body if body and last.reasoning else body
        last.at += len(text) - 1
        fresh = self.reasoning.write(body)
        self.new += [Thought(fresh)] if fresh else []

    def _say(self, last: _Element, text: str, end: int) -> None:
        """Send text, up to here. Texts with an element between them are joined by a blank line."""
        if last.edge:
            text = text.lstrip("\n")
            text = "\n\n" + text if self.content.length and text else text
        last.at = end
        fresh = self.content.write(text)
        self.new += [Text(fresh)] if fresh else []


# Blocks


def read_block(text: str) -> tuple[Block, int]:
    """The block whose JSON this begins with, and where the block ends; 0 if more of it may follow.

    It is read as JSON, once: its arguments may contain anything, its closing tag too. Broken JSON ends at that tag.
    """
    try:
        value, end = _DECODER.raw_decode(text)
    except (json.JSONDecodeError, RecursionError) as error:
        place = error.pos if isinstance(error, json.JSONDecodeError) else 0
        may_go_on = str(error).startswith("Unterminated") or place >= len(text) - 8
        end = -1 if may_go_on else text.find(BLOCK_END, place)
        text = text if end < 0 else text[:end]
        said = {key: pattern.search(text) for key, pattern in _FIELDS.items()}
        result = _RESULT.search(text, said["arguments"].end() if said["arguments"] else 0)
        did = "" if result is None or result[1] == '""' else None if result[1] else "filled"
        block = Block(**{key: _decoded(one[1]) if one else "" for key, one in said.items()}, result=did, whole=False)
        return block, end + len(BLOCK_END) if end >= 0 else 0
    tail = _BLOCK_TAIL.match(text, end)
    end = tail.end() if tail else 0 if BLOCK_END.startswith(text[end:].lstrip()) else end
    data = value.get("data")
    metadata = data.get("metadata") if isinstance(data, dict) else None
    if not isinstance(metadata, dict):
        # The second form is known only from synthetic tests.
        function = value.get("function")
        metadata = {"id": value.get("id"), **function} if isinstance(function, dict) else {}
    name, arguments = joined(string_of(metadata.get("name"))), joined(payload.text_of(metadata.get("arguments")))
    return Block(string_of(metadata.get("id")), name, arguments, metadata.get("result", "")), end


def _decoded(string: str) -> str:
    """What is between the quotation marks of a JSON string; as it is, if an escape in it is unknown."""
    try:
        return joined(str(json.loads(f'"{string}"', strict=False)))
    except ValueError:
        return joined(string)


# Characters


def _is_high(unit: str) -> bool:
    return "\ud800" <= unit <= "\udbff"


def joined(units: str) -> str:
    """The text with its surrogate pairs joined; a lone surrogate stays."""
    return units if units.isascii() else units.encode(_CODEC, "surrogatepass").decode(_CODEC, "surrogatepass")
