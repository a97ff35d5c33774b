"""The document of chat.z.ai, which the server edits: reasoning wrappers, blocks with calls, and text between them.

An edit cuts the document at an index, which counts UTF-16 units, and appends. The document is read element by
element; what may still become something else (half a tag, newlines that may frame a block) is not read yet. An edit
goes back to the beginning of the element that it cuts. A block is held, and read once it is over. Only what the
server writes as a call is one: what the model says is text, whatever it looks like.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from ..parts import Text, Thought
from ..sizes import LimitReached
from .zai_block import BLOCK_END, CODEC, Block, joined, read_block

BLOCK_TAG: Final = "<glm_block"
WRAPPER_TAG: Final = "<details"
_MAX_TAG: Final = 1024
"""A longer tag is text."""
_MOST_TAGS: Final = 1000
"""How many tags that open nothing the server may write at once."""
_QUOTES: Final = "`'\"‘“«"
"""A block right after one of these is quoted as an example."""

_TAG = re.compile(r"<(?:glm_block|details|g[lm_block]{0,7}+\Z|d[etails]{0,6}+\Z|\Z)")
_WRAPPER_TAG = re.compile(r"<(?:details|d[etails]{0,6}+\Z|\Z)")
_ATTRIBUTES: Final = r'(?P<attributes>(?:[^\S\n](?>[^">\n]|"[^"\n]{0,256}"){0,256}+)?)'
_BLOCK = re.compile(rf'{BLOCK_TAG}{_ATTRIBUTES}(?:>\s*+(?:(?P<inner>\{{)|\Z)|(?:"[^"\n]*+)?\Z)')
_WRAPPER = re.compile(rf'{WRAPPER_TAG}{_ATTRIBUTES}(?:>(?P<inner>)|(?:"[^"\n]*+)?\Z)')
_REASONING = re.compile(r'\stype="reasoning"(?:\s|\Z)')
_MARK = re.compile(r"(?<=\n)(?:<summary>.*?</summary>|> ?)")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")

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
        self._bytes += text.encode(CODEC, "surrogatepass")

    def truncate(self, size: int) -> None:
        del self._bytes[2 * size :]

    def cut(self, index: int) -> int:
        """Where an edit cuts: within the text, and never inside a surrogate pair."""
        cut = min(max(index, 0), len(self))
        around = self._bytes[2 * cut - 2 : 2 * cut + 2] if cut else b""
        return cut - 1 if len(around) == 4 and 0xD8 <= around[1] <= 0xDB and 0xDC <= around[3] <= 0xDF else cut

    def read(self, start: int, end: int | None = None) -> str:
        end = len(self) if end is None else end
        text = self._bytes[2 * start : 2 * end].decode(CODEC, "surrogatepass")
        return text if len(text) == end - start else _ASTRAL.sub(_pair, text)


@dataclass(slots=True)
class Channel:
    """One text of the client, which only grows: what was sent cannot be taken back.

    While a new text repeats it, nothing is sent; if it differs, only what follows the common beginning is sent.
    """

    length: int = 0
    """The length of the text now; after a cut it may be less than what was sent."""
    rewritten: bool = False
    _shown: Units = field(default_factory=Units)

    @property
    def taken_back(self) -> bool:
        return self.rewritten or self.length < len(self._shown)

    @property
    def text(self) -> str:
        return joined(self._shown.read(0, self.length))

    def write(self, units: str) -> str:
        """Go on with the text; what the client has not seen of it."""
        start, self.length = self.length, self.length + len(units)
        known = self._shown.read(start, min(self.length, len(self._shown))) if start < len(self._shown) else ""
        if not units.startswith(known):
            same = next(at for at, unit in enumerate(known) if at >= len(units) or unit != units[at])
            same -= same > 0 and _is_high(units[same - 1])
            self._shown.truncate(start + same)
            self.rewritten, known = True, known[:same]
        self._shown.append(units[len(known) :])
        return joined(units[len(known) :])


@dataclass(slots=True)
class _Element:
    """A text, a wrapper or a block, and how much there was before it."""

    kind: str
    start: int
    inner: int
    """Where it begins behind its tag."""
    content: int
    reasoning: int
    blocks: int
    at: int
    """What is before this was read."""
    ended: int = 0
    """A block: its closing tag may be there, before this; 0: it is not."""

    @property
    def edge(self) -> bool:
        """Whether no text has followed the wrapper or the block before it."""
        return self.start > 0 and self.at == self.inner


class Document:
    """`blocks`: those that are over; `content`, `reasoning`: what the client has."""

    def __init__(self) -> None:
        self.units = Units()
        self.blocks: list[Block] = []
        self.content, self.reasoning = Channel(), Channel()
        self._elements = [_Element("text", 0, 0, 0, 0, 0, 0)]
        self._new: list[New] = []
        self._server_from: int | None = None
        """From here to its end the document was written by the server itself; None: its end was not."""

    @property
    def rewritten(self) -> bool:
        """Whether text changed that the client had already seen."""
        return self.content.rewritten or self.reasoning.rewritten

    @property
    def taken_back(self) -> bool:
        """Whether the document no longer has all that the client has seen."""
        return self.content.taken_back or self.reasoning.taken_back

    @property
    def block_is_open(self) -> bool:
        return self._elements[-1].kind == "block"

    def ends_in_tag(self, rest: str) -> bool:
        """Whether the document ends inside the tag of a block, and this is the rest of it."""
        last = self._elements[-1]
        held = self.units.read(last.at).lstrip("\n") if last.kind == "text" else ""
        block = _BLOCK.match(held + rest) if held.startswith("<") and not rest.startswith("<") else None
        return block is not None and block["inner"] is not None

    @property
    def all_blocks(self) -> list[Block]:
        """The blocks so far, with an open one."""
        if not self.block_is_open:
            return self.blocks
        last = self._elements[-1]
        return [*self.blocks, read_block(self.units.read(last.start), last.inner - last.start, last.start)[0]]

    # Changes. Each gives the new text, the new reasoning and the blocks that are over, in order.

    def append(self, text: str, *, by_server: bool = False, hold: bool = False) -> list[New]:
        """`by_server`: the server wrote it as a call; `hold`: an open block may go on growing."""
        size, last = len(self.units), self._elements[-1]
        before: list[New] = []
        if not by_server:
            # A block that was held is over, and behind it may be one whose tag came in two pieces.
            before = self._read() if self._server_from is not None and self.block_is_open else []
            self._server_from, last = None, self._elements[-1]
        elif self._server_from is None:
            self._server_from = size
        self.units.append(text)
        around = self.units.read(max(size - len(BLOCK_END), last.inner), size) if self.block_is_open else ""
        if not last.ended and BLOCK_END in around + text:
            last.ended = len(self.units)
        return [*before, *self._read(hold=hold)]

    def edit(self, index: int, text: str, *, by_server: bool = False, hold: bool = False) -> list[New]:
        """Cut the document at an index and append."""
        cut = self.units.cut(index)
        if cut < len(self.units):
            self.units.truncate(cut)
            blocks = len(self.blocks) + self.block_is_open
            while len(self._elements) > 1 and self._elements[-1].inner + self.block_is_open > cut:
                self._elements.pop()
            last = self._elements[-1]
            last.at, last.ended = last.inner, last.ended if last.ended <= cut else 0
            self.content.length, self.reasoning.length = last.content, last.reasoning
            del self.blocks[last.blocks :]
            # What cuts or replaces a call comes from the server, and repeats the calls behind it.
            by_server = by_server or len(self.blocks) < blocks
            self._server_from = min(self._server_from, cut) if self._server_from is not None else None
        return self.append(text, by_server=by_server, hold=hold)

    def opens_block(self, text: str, place: int | None) -> bool:
        """Whether the tag of a block ends in this text, behind the document or behind this place in it."""
        end = len(self.units) if place is None else self.units.cut(place)
        return BLOCK_TAG in self.units.read(max(end - len(BLOCK_TAG) + 1, 0), end) + text

    def finish_block(self) -> list[New]:
        """Read the open block, if it is over."""
        return self._read()

    def finish(self) -> list[New]:
        """The document is complete: what may have been the beginning of a tag is text."""
        self._elements[-1].ended = len(self.units)
        new, last, size = self._read(), self._elements[-1], len(self.units)
        if last.kind == "wrapper":
            self._think(last, size)
        elif last.kind == "text":
            rest = self.units.read(last.at)
            if rest.strip() or not last.edge:
                self._say(last, rest, size)
        elif not (block := self.all_blocks[-1]).name:
            self._give_back(size)
        elif block.whole:
            self._close(block, size)
        return [*new, *self._pop_new()]

    def _pop_new(self) -> list[New]:
        new, self._new = self._new, []
        return new

    # Reading. Each method says whether another element follows.

    def _read(self, *, hold: bool = False) -> list[New]:
        follows = True
        while follows:
            last = self._elements[-1]
            if last.kind == "text":
                follows = self._read_text(last)
            elif last.kind == "wrapper":
                follows = self._read_reasoning(last)
            else:
                follows = last.ended > 0 and not hold and self._read_block(last)
        return self._pop_new()

    def _begin(self, kind: str, start: int, inner: int) -> None:
        before = self.content.length, self.reasoning.length, len(self.blocks)
        self._elements.append(_Element(kind, start, inner, *before, at=inner))

    def _read_text(self, last: _Element) -> bool:
        text, base = self.units.read(last.at), last.at
        end, inner = len(text), -1
        for count, tag in enumerate((_WRAPPER_TAG if self._server_from is None else _TAG).finditer(text)):
            if self._server_from is not None and count > _MOST_TAGS:
                raise LimitReached
            found = self._opening(last, text, tag.start())
            if found is not None:
                end, inner = tag.start(), found
                break
        body = text[:end].rstrip("\n")
        body = body[: len(body) - (end == len(text) and _is_high(body[-1:]))]
        if body.strip() or (body and not last.edge):
            self._say(last, body, base + len(body))
        if inner < 0:
            return False
        kind = "block" if text.startswith(BLOCK_TAG, end) else "wrapper"
        self._begin(kind, base + end, base + inner)
        if kind == "block":
            self._elements[-1].ended = len(self.units) if BLOCK_END in text[inner:] else 0
        return True

    def _opening(self, last: _Element, text: str, at: int) -> int | None:
        """Where the element that opens here begins behind its tag; -1 if that depends on what follows; None if
        nothing opens here."""
        place = last.at + at
        before = self.units.read(place - 1, place) if place else "\n"
        is_block = text.startswith("<g", at)
        if self._server_from is not None and place >= self._server_from and before not in _QUOTES:
            opens = is_block or len(text) - at == 1
        else:
            opens = False
        heads = (before == "\n" or (last.edge and not at)) and not is_block
        if not (opens or heads):
            return None
        tag = BLOCK_TAG if is_block else WRAPPER_TAG
        if len(text) - at < len(tag):
            return -1 if tag.startswith(text[at:]) else None
        found = (_BLOCK if is_block else _WRAPPER).match(text, at)
        if found is None or (
            not is_block and found["inner"] is not None and not _REASONING.search(found["attributes"])
        ):
            return None
        return found.start("inner")

    def _read_block(self, last: _Element) -> bool:
        text = self.units.read(last.start)
        block, end = read_block(text, last.inner - last.start, last.start)
        last.ended = 0
        if end and not block.name:
            self._give_back(last.start + end)  # A block of the server names its tool.
        elif end:
            self._close(block, last.start + end)
        return end > 0

    def _close(self, block: Block, end: int) -> None:
        self.blocks.append(block)
        self._new.append(block)
        self._begin("text", end, end)

    def _give_back(self, end: int) -> None:
        """The open block, up to here, is text."""
        self._elements.pop()
        last = self._elements[-1]
        self._say(last, self.units.read(last.at, end), end)

    def _read_reasoning(self, last: _Element) -> bool:
        text = self.units.read(last.at - 1)
        end = text.find("\n</details>") + 1
        line = text.rfind("\n") + 1
        tail = text[line:]
        may_be_mark = "</details>".startswith(tail) or "<summary>".startswith(tail) or tail == ">"
        may_be_mark = may_be_mark or (
            tail.startswith("<summary>") and "</summary>" not in tail and len(tail) < _MAX_TAG
        )
        size = end or (line if line and may_be_mark else len(text))
        behind = last.at - 1 + end + len("</details>")
        self._think(last, last.at - 1 + size)
        if end:
            self._begin("text", behind, behind)
        return end > 0

    def _think(self, last: _Element, end: int) -> None:
        """Send the reasoning up to here, trimmed. Wrappers are joined by a blank line."""
        text = self.units.read(last.at - 1, end).rstrip()
        while text.endswith("\n>"):
            text = text[:-1].rstrip()
        text = text[: len(text) - _is_high(text[-1:])]
        body = _MARK.sub("", text)[1:]
        if len(text) < 2:
            return
        if self.reasoning.length == last.reasoning:
            body = body.lstrip()
            body = "\n\n" + body if body and last.reasoning else body
        last.at += len(text) - 1
        fresh = self.reasoning.write(body)
        self._new += [Thought(fresh)] if fresh else []

    def _say(self, last: _Element, text: str, end: int) -> None:
        """Send text, up to here. Texts with an element between them are joined by a blank line."""
        if last.edge:
            text = text.lstrip("\n")
            text = "\n\n" + text if self.content.length and text else text
        last.at = end
        fresh = self.content.write(text)
        self._new += [Text(fresh)] if fresh else []


# Characters


def _is_high(unit: str) -> bool:
    return "\ud800" <= unit <= "\udbff"


def _pair(match: re.Match[str]) -> str:
    offset = ord(match[0]) - 0x10000
    return chr(0xD800 + (offset >> 10)) + chr(0xDC00 + (offset & 0x3FF))
