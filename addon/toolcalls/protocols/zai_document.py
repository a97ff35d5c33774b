"""The document of chat.z.ai, which the server edits: reasoning wrappers, blocks with calls, and text between them.

An edit cuts the document at an index, which counts UTF-16 units, and appends. The document is read part by part; what
may still become something else (half a tag, newlines that may frame a block) is not read yet. An edit goes back to
the beginning of the part that it cuts. A block that grows is held, and read once it is over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ..parts import Text, Thought
from ..sizes import LimitReached
from .zai_block import BLOCK_END, CODEC, Block, joined, read_block

BLOCK_TAG: Final = "<glm_block"
WRAPPER_TAG: Final = "<details"
_MAX_TAG: Final = 1024
"""A longer tag is text."""
_MAX_NAMELESS: Final = 64 * 1024
"""A block that is this long and has not named its tool is text."""
_NOTHING, _MORE = (0, 0), (-1, -1)
"""Instead of offsets: nothing opens here; it depends on what follows."""
_MOST_TAGS: Final = 1000
"""How many tags a change may have."""
_QUOTES: Final = "`'\"‘“«"
"""A block right after one of these is quoted as an example."""

_TAG = re.compile(r"<(?:glm_block|details|g[lm_block]{0,7}+\Z|d[etails]{0,6}+\Z|\Z)")
_WRAPPER_TAG = re.compile(r"<(?:details|d[etails]{0,6}+\Z|\Z)")
"""What the model writes is never a block."""
_ATTRIBUTES: Final = r'(?:[^\S\n](?>[^">\n]|"[^"\n]{0,1024}"){0,1024}+)?'
_BLOCK = re.compile(rf'<glm_block{_ATTRIBUTES}(?:>\s*+(?:(\{{)\s*+(?:["}}]|(\Z))|(\Z))|(?:"[^"\n]*+)?(\Z))')
_WRAPPER = re.compile(rf'<details({_ATTRIBUTES})(?:>|(?:"[^"\n]*+)?(\Z))')
_REASONING = re.compile(r'\stype="reasoning"(?:\s|\Z)')
_FENCE_LINE = re.compile(r"^[^\S\n]*+(`{3,}+|~{3,}+)([^\n]*+)", re.MULTILINE)
_MARK = re.compile(r"(?<=\n)(?:<summary>.*?</summary>|> ?)")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


class Origin(Enum):
    """Who wrote a piece of the document."""

    CALLS = "the server, as tool calls"
    MODEL = "the model, as its answer or as thinking"
    UNKNOWN = "an edit, or a phase that nobody knows"


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


class Channel:
    """One text of the client, which only grows: what was sent cannot be taken back.

    While a new text repeats it, nothing is sent; if it differs, only what follows the common beginning is sent.
    """

    __slots__ = ("_shown", "length", "rewritten")

    def __init__(self) -> None:
        self._shown = Units()
        self.length = 0
        """The length of the text now; after a cut it may be less than what was sent."""
        self.rewritten = False

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
    """A part of the document (text, a wrapper, a block), and how much there was before it."""

    kind: str
    start: int
    inner: int
    """Where it begins behind its tag."""
    opened: int
    """How far its tag was looked at; 0 for the first part."""
    content: int
    reasoning: int
    blocks: int
    at: int = 0
    """What is before this was read."""
    tried: int = 0
    """How long the block was when it was last read."""

    @property
    def edge(self) -> bool:
        """Whether no text has followed the wrapper or the block before it."""
        return self.opened > 0 and self.at == self.inner


class Document:
    """`blocks`: those that are over; `content`, `reasoning`: what the client has."""

    def __init__(self) -> None:
        self.units = Units()
        self.blocks: list[Block] = []
        self.content, self.reasoning = Channel(), Channel()
        self._parts = [_Element("text", 0, 0, 0, 0, 0, 0)]
        self._new: list[New] = []
        self._origins = [(0, Origin.UNKNOWN)]
        self._tags = 0
        """How many tags the last change has."""

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
        return self._parts[-1].kind == "block"

    @property
    def held_text(self) -> str:
        """The end of the text, without the newlines before it, if it may be the beginning of a tag."""
        part = self._parts[-1]
        return joined(self.units.read(part.at)).lstrip("\n") if part.kind == "text" else ""

    def ends_in_tag_of(self, text: str) -> bool:
        """Whether the document ends inside the tag of a block, and this is the rest of it, from there on."""
        held = self.held_text
        block = _BLOCK.match(held + text) if held.startswith("<") and not text.startswith("<") else None
        return block is not None and block.lastindex == 1

    @property
    def all_blocks(self) -> list[Block]:
        """The blocks so far, with an open one."""
        part = self._parts[-1]
        text = self.units.read(part.start) if self.block_is_open else ""
        return [*self.blocks, *([read_block(text, part.inner - part.start, part.start)[0]] if text else [])]

    # Changes. Each gives the new text, the new reasoning and the blocks that are over, in order.

    def append(self, text: str, origin: Origin = Origin.UNKNOWN, *, hold: bool = False) -> list[New]:
        """`hold`: an open block may go on growing."""
        size = len(self.units)
        while self._origins and self._origins[-1][0] >= size:
            self._origins.pop()
        if not self._origins or self._origins[-1][1] is not origin:
            self._origins.append((size, origin))
        self.units.append(text)
        self._tags = 0
        return self._read(hold=hold, ends=BLOCK_END in text)

    def edit(self, index: int, text: str, origin: Origin = Origin.UNKNOWN, *, hold: bool = False) -> list[New]:
        """Cut the document at an index and append."""
        cut = self.units.cut(index)
        if cut < len(self.units):
            self.units.truncate(cut)
            while self._parts[-1].opened > cut:
                self._parts.pop()
            part = self._parts[-1]
            part.at = part.inner
            self.content.length, self.reasoning.length = part.content, part.reasoning
            part.tried = 0
            del self.blocks[part.blocks :]
            if self.block_is_open and self._origin(cut - 1) is Origin.CALLS:
                origin = Origin.CALLS  # An edit inside a call comes from the server, and repeats the calls behind it.
        return self.append(text, origin, hold=hold)

    def settle(self) -> list[New]:
        """Read the open block, if it is over."""
        return self._read(ends=True)

    def finish(self) -> list[New]:
        """The document is complete: what may have been the beginning of a tag is text."""
        new, part, size = self.settle(), self._parts[-1], len(self.units)
        if part.kind == "wrapper":
            self._think(part, size)
        elif part.kind == "text":
            rest = self.units.read(part.at)
            if rest.strip() or not part.edge:
                self._say(part, rest, size)
        elif not (block := self.all_blocks[-1]).name:
            self._give_back(size)
        elif block.whole:
            self._close(block, size)
        return [*new, *self._pop_new()]

    def _pop_new(self) -> list[New]:
        new, self._new = self._new, []
        return new

    # Reading. Each method says whether another part follows.

    def _read(self, *, hold: bool = False, ends: bool = False) -> list[New]:
        follows = True
        while follows:
            part = self._parts[-1]
            if part.kind == "text":
                follows = self._read_text(part)
            elif part.kind == "wrapper":
                follows = self._read_reasoning(part)
            else:
                follows = not hold and self._read_block(part, ends=ends)
        return self._pop_new()

    def _begin(self, kind: str, start: int, inner: int, opened: int) -> None:
        before = self.content.length, self.reasoning.length, len(self.blocks)
        self._parts.append(_Element(kind, start, inner, opened, *before, at=inner))

    def _read_text(self, part: _Element) -> bool:
        text, base = self.units.read(part.at), part.at
        end, opened = len(text), _NOTHING
        by_model = self._origins[-1][1] is Origin.MODEL and self._origins[-1][0] <= base
        for tag in (_WRAPPER_TAG if by_model else _TAG).finditer(text):
            opened = self._opening(part, text, tag.start())
            if opened != _NOTHING:
                end = tag.start()
                break
        body = text[:end].rstrip("\n")
        body = body[: len(body) - (end == len(text) and _is_high(body[-1:]))]
        if body.strip() or (body and not part.edge):
            self._say(part, body, base + len(body))
        if opened[0] <= 0:
            return False
        kind = "block" if text.startswith(BLOCK_TAG, end) else "wrapper"
        self._begin(kind, base + end, base + opened[0], base + opened[1])
        return True

    def _opening(self, part: _Element, text: str, at: int) -> tuple[int, int]:
        """Where the part that opens here begins behind its tag, and how far that was looked at."""
        place = part.at + at
        before = self.units.read(place - 1, place) if place else "\n"
        head, origin = before == "\n" or (part.edge and not at), self._origin(place)
        by_server = origin is Origin.CALLS and before not in _QUOTES
        if origin is not Origin.MODEL:
            self._tags += 1
            if self._tags > _MOST_TAGS:
                raise LimitReached
            if by_server or (head and text[at + 1 : at + 2] != "d" and not self._fenced(text[:at])):
                if block := _BLOCK.match(text, at):
                    return (block.start(1), block.end()) if block.lastindex == 1 else _MORE
                if len(text) - at < len(BLOCK_TAG) and BLOCK_TAG.startswith(text[at:]):
                    return _MORE
        wrapper = _WRAPPER.match(text, at) if head else None
        if wrapper and wrapper[2] is not None:
            return _MORE
        if head and len(text) - at < len(WRAPPER_TAG) and WRAPPER_TAG.startswith(text[at:]):
            return _MORE
        return (wrapper.end(), wrapper.end()) if wrapper and _REASONING.search(wrapper[1]) else _NOTHING

    def _origin(self, place: int) -> Origin:
        return next((origin for start, origin in reversed(self._origins) if start <= place), Origin.UNKNOWN)

    def _fenced(self, text: str) -> bool:
        """Whether a code fence is open behind this text."""
        mark = ""
        for fence in _FENCE_LINE.finditer(self.content.text + text):
            if not mark:
                mark = "" if fence[1][0] == "`" and "`" in fence[2] else fence[1]
            elif fence[1].startswith(mark) and not fence[2].strip():
                mark = ""
        return bool(mark)

    def _read_block(self, part: _Element, *, ends: bool) -> bool:
        """Read the open block. It is read only if it may be over, or has doubled since."""
        text = self.units.read(part.start)
        if part.tried and not ends and len(text) < 2 * part.tried:
            return False
        part.tried = len(text)
        block, end = read_block(text, part.inner - part.start, part.start)
        if not block.name and (end or len(text) > _MAX_NAMELESS):
            # The model wrote this: a block of the server names its tool in the first few hundred characters.
            self._give_back(part.start + (end or len(text)))
        elif end:
            self._close(block, part.start + end)
        return self._parts[-1] is not part

    def _close(self, block: Block, end: int) -> None:
        self.blocks.append(block)
        self._new.append(block)
        self._begin("text", end, end, end)

    def _give_back(self, end: int) -> None:
        """The open block, up to here, is text."""
        self._parts.pop()
        part = self._parts[-1]
        self._say(part, self.units.read(part.at, end), end)

    def _read_reasoning(self, part: _Element) -> bool:
        text = self.units.read(part.at - 1)
        end = text.find("\n</details>") + 1
        line = text.rfind("\n") + 1
        last = text[line:]
        may_be_mark = "</details>".startswith(last) or "<summary>".startswith(last) or last == ">"
        may_be_mark = may_be_mark or (
            last.startswith("<summary>") and "</summary>" not in last and len(last) < _MAX_TAG
        )
        size = end or (line if line and may_be_mark else len(text))
        behind = part.at - 1 + end + len("</details>")
        self._think(part, part.at - 1 + size)
        if end:
            self._begin("text", behind, behind, behind)
        return end > 0

    def _think(self, part: _Element, end: int) -> None:
        """Send the reasoning up to here, trimmed. Wrappers are joined by a blank line."""
        text = self.units.read(part.at - 1, end).rstrip()
        while text.endswith("\n>"):
            text = text[:-1].rstrip()
        text = text[: len(text) - _is_high(text[-1:])]
        body = _MARK.sub("", text)[1:]
        if len(text) < 2:
            return
        if self.reasoning.length == part.reasoning:
            body = body.lstrip()
            body = "\n\n" + body if body and part.reasoning else body
        part.at += len(text) - 1
        fresh = self.reasoning.write(body)
        self._new += [Thought(fresh)] if fresh else []

    def _say(self, part: _Element, text: str, end: int) -> None:
        """Send text, up to here. Texts with a part between them are joined by a blank line."""
        if part.edge:
            text = text.lstrip("\n")
            text = "\n\n" + text if self.content.length and text else text
        part.at = end
        fresh = self.content.write(text)
        self._new += [Text(fresh)] if fresh else []


# Characters


def _is_high(unit: str) -> bool:
    return "\ud800" <= unit <= "\udbff"


def _pair(match: re.Match[str]) -> str:
    offset = ord(match[0]) - 0x10000
    return chr(0xD800 + (offset >> 10)) + chr(0xDC00 + (offset & 0x3FF))
