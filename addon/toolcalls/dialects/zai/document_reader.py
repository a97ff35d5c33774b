"""Parses the document while it grows and is cut: reasoning wrappers, tool blocks, and the text between them.

Strategy: one pass over the document that can stop at any character. The state depends only on the document up
to the horizon, so a copy of the state is kept every few hundred units; an edit goes back to the last copy before
its cut and continues from there. Input that may still become something else (half a tag, newlines that may frame
a block, half a surrogate pair) is not consumed, or not emitted.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from operator import attrgetter
from typing import Final

from ...turn.parts import ReasoningDelta, TextDelta
from .blocks import GlmBlock, Scan, scan_json
from .document import Channel, Document, is_high_surrogate, text_of_units
from .fences import NO_FENCE, Fence, Origin, Origins
from .markup import (
    BLOCK_END,
    BLOCK_TAG,
    MAX_TAG,
    MORE,
    NO,
    SUMMARY,
    SUMMARY_END,
    WRAPPER_END,
    block_opening,
    skip_blank,
    wrapper_opening,
)

_STEP: Final = 1024
_SPACING: Final = 512
_MAX_NAMELESS: Final = 64 * 1024
"""A block that is this long and has not named its tool is text."""

_QUOTES: Final = "`'\"‘“«"
"""A block right after one of these is quoted as an example."""

NewPart = TextDelta | ReasoningDelta | GlmBlock
"""What a change of the document adds to the answer."""

_START: Final = Scan()


class _Mode(Enum):
    TEXT = "answer text"
    REASONING = "inside a reasoning wrapper"
    BLOCK = "inside the JSON of a block"
    TAIL = "between the JSON of a block and its closing tag"


@dataclass(slots=True)
class _State:
    """The state of the pass: everything that the parsing of the rest depends on."""

    at: int = 0
    mode: _Mode = _Mode.TEXT
    line_start: bool = True
    newlines: int = 0
    """Newlines that were consumed but not emitted, because they may frame a block."""
    edge: bool = False
    """No text has followed the last wrapper or block."""
    content: int = 0
    reasoning: int = 0
    blank: str = ""
    """White space of the reasoning that is emitted only if more follows."""
    has_reasoning: bool = False
    """The open wrapper contained some reasoning."""
    blocks: int = 0
    block_start: int = 0
    scan: Scan = _START
    fence: Fence = NO_FENCE
    """The code fence that the answer text is in."""


_values_of = attrgetter(*(field.name for field in fields(_State)))


def _copy(state: _State) -> _State:
    return _State(*_values_of(state))


class DocumentReader:
    """The document of one answer, parsed into text, reasoning and blocks."""

    __slots__ = (
        "_checkpoints",
        "_horizon",
        "_new_parts",
        "_origins",
        "_state",
        "blocks",
        "content",
        "document",
        "reasoning",
    )

    def __init__(self) -> None:
        self.document = Document()
        self.blocks: list[GlmBlock] = []
        """The blocks whose JSON is complete, in order."""
        self.content = Channel()
        self.reasoning = Channel()
        self._state = _State()
        self._horizon = 0
        self._checkpoints: list[tuple[int, _State]] = [(0, _State())]
        self._new_parts: list[NewPart] = []
        self._origins = Origins()

    @property
    def rewritten(self) -> bool:
        """Whether text changed that the client had already seen."""
        return self.content.rewritten or self.reasoning.rewritten

    @property
    def taken_back(self) -> bool:
        """Whether the document no longer contains everything that the client has seen."""
        return self.content.taken_back or self.reasoning.taken_back

    @property
    def block_is_open(self) -> bool:
        """Whether the JSON of the last block is incomplete."""
        return self._state.mode is _Mode.BLOCK

    @property
    def held_text(self) -> str:
        """The end of the text, without the newlines before it, if it may be the beginning of a tag."""
        state = self._state
        rest = self.document.units(state.at, len(self.document)) if state.mode is _Mode.TEXT else ""
        return text_of_units(rest).lstrip("\n")

    @property
    def block_count(self) -> int:
        return len(self.blocks) + self.block_is_open

    @property
    def all_blocks(self) -> list[GlmBlock]:
        """The blocks so far, including an incomplete one."""
        state = self._state
        return (
            [*self.blocks, GlmBlock(state.block_start, state.at, state.scan)] if self.block_is_open else self.blocks
        )

    # Changing the document. Each method returns the new text, the new reasoning and the completed blocks, in order.

    def append(self, text: str, origin: Origin = Origin.UNKNOWN) -> list[NewPart]:
        self._origins.write(len(self.document), origin)
        self.document.append(text)
        self._read()
        return self._pop_new_parts()

    def edit(self, index: int, text: str, origin: Origin = Origin.UNKNOWN) -> list[NewPart]:
        """Cut the document at `index`, which counts UTF-16 code units, and append the text."""
        cut = self.document.cut(index)
        if cut < len(self.document):
            self.document.truncate(cut)
            self._go_back(cut)
            # An edit inside a call comes from the backend itself, and repeats the calls after it.
            if self._state.mode is _Mode.BLOCK and self._origins.at(cut - 1) is Origin.CALLS:
                origin = Origin.CALLS
        return self.append(text, origin)

    def finish(self) -> list[NewPart]:
        """The document is complete: what was held back as the possible beginning of a tag is text after all."""
        state = self._state
        rest = self.document.units(state.at, len(self.document))
        if state.mode is _Mode.TEXT:
            if state.edge and not rest.strip():
                return []
            self._emit_text(rest)
            if state.newlines and not state.edge:
                self._write_text("\n" * state.newlines)
        elif state.mode is _Mode.REASONING and state.line_start:
            self._emit_reasoning(rest.removeprefix(">"))
        elif state.mode is _Mode.REASONING:
            self._emit_reasoning(rest)
        elif state.mode is _Mode.BLOCK and not state.scan.named:
            self._emit_text(self.document.units(state.block_start, len(self.document)))
        state.at = len(self.document)
        return self._pop_new_parts()

    def _pop_new_parts(self) -> list[NewPart]:
        parts, self._new_parts = self._new_parts, []
        return parts

    # Moving forward and back

    def _read(self) -> None:
        """Parse the part of the document that has not been parsed, in steps with checkpoints between them."""
        size = len(self.document)
        state = self._state
        end = max(self._horizon, state.at)
        while end < size:
            end = min(end + _STEP, size)
            start = state.at
            state.at = start + self._consume(self.document.units(start, end), start)
            self._horizon = end
            if end < size:
                self._remember()

    def _remember(self) -> None:
        if self._horizon >= self._checkpoints[-1][0] + _SPACING:
            self._checkpoints.append((self._horizon, _copy(self._state)))

    def _go_back(self, cut: int) -> None:
        """The document now ends at `cut`: forget what was parsed after it."""
        while self._checkpoints[-1][0] > cut:
            self._checkpoints.pop()
        self._horizon, state = self._checkpoints[-1]
        self._state = _copy(state)
        self.content.length = state.content
        self.reasoning.length = state.reasoning
        del self.blocks[state.blocks :]
        self._read()
        self._remember()

    # Parsing

    def _consume(self, text: str, base: int) -> int:
        """Parse as much of `text` as has a fixed meaning whatever follows; return how much that is."""
        at = 0
        while at < len(text):
            mode = self._state.mode
            match mode:
                case _Mode.TEXT:
                    after = self._read_text(text, at, base)
                case _Mode.REASONING:
                    after = self._read_reasoning(text, at)
                case _Mode.BLOCK:
                    after = self._read_block(text, at, base)
                case _Mode.TAIL:
                    after = self._read_tail(text, at)
            if after == at and self._state.mode is mode:
                break
            at = after
        return at

    def _read_text(self, text: str, at: int, base: int) -> int:
        """Parse answer text up to the next element; the offset after it."""
        state = self._state
        tag = at
        if state.edge:
            # White space alone between two elements is not text.
            tag = skip_blank(text, at)
            if tag - at >= MAX_TAG:
                tag = at
            elif tag == len(text):
                return at
        if text[tag : tag + 1] == "<":
            line_start = state.line_start if tag == at else text[tag - 1] == "\n"
            offset = base + tag
            shown = state.fence.open or self._origins.at(offset) is Origin.MODEL
            meant = (line_start and not shown) or self._is_the_backends(offset)
            opening = block_opening(text, tag) if meant else NO
            opening = opening or (wrapper_opening(text, tag) if line_start else NO)
            if opening == MORE:
                return at
            if opening:
                return self._open_element(text, tag, opening, base)
        end = self._next_element(text, tag, base)
        if end == len(text) and is_high_surrogate(text[-1]):
            end -= 1
        if end > at:
            self._emit_text(text[at:end])
        return end

    def _next_element(self, text: str, start: int, base: int) -> int:
        """The position where the next element may begin: the start of a line, or any block of the backend."""
        end = text.find("\n<", start) + 1 or len(text)
        at = text.find("<g", start + 1, end)
        while at >= 0:
            if self._is_the_backends(base + at):
                return at
            at = text.find("<g", at + 1, end)
        # Half a tag at the end may be a block of the backend too.
        last = len(text) - 1
        return last if end > last > start and text[last] == "<" and self._is_the_backends(base + last) else end

    def _is_the_backends(self, offset: int) -> bool:
        """Whether the backend itself wrote this, in the phase of tool calls, and no quotation mark precedes it."""
        calls = self._origins.at(offset) is Origin.CALLS
        return calls and (not offset or self.document.units(offset - 1, offset) not in _QUOTES)

    def _open_element(self, text: str, tag: int, opening: int, base: int) -> int:
        """Enter a block or a reasoning wrapper; the offset after its tag."""
        state = self._state
        if text.startswith(BLOCK_TAG, tag):
            state.mode = _Mode.BLOCK
            state.block_start = base + tag
            state.scan = _START
        else:
            state.mode = _Mode.REASONING
            state.newlines = 0
            state.edge = True
            state.line_start = False
            state.has_reasoning = False
            state.blank = ""
        return opening

    def _read_reasoning(self, text: str, at: int) -> int:
        """Parse a line of a reasoning wrapper; the offset after it."""
        state = self._state
        if state.line_start:
            rest = text[at : at + MAX_TAG]
            if rest.startswith(WRAPPER_END):
                state.mode = _Mode.TEXT
                return at + len(WRAPPER_END)
            if WRAPPER_END.startswith(rest) or SUMMARY.startswith(rest) or rest == ">":
                return at
            if rest.startswith(SUMMARY):
                end = rest.find(SUMMARY_END)
                if end >= 0:
                    state.line_start = False
                    return at + end + len(SUMMARY_END)
                if len(rest) < MAX_TAG:
                    return at
            if rest.startswith(">"):
                state.line_start = False
                return at + (2 if rest.startswith("> ") else 1)
        end = text.find("\n", at) + 1 or len(text)
        if is_high_surrogate(text[end - 1]):
            end -= 1
        if end > at:
            self._emit_reasoning(text[at:end])
            state.line_start = text[end - 1] == "\n"
        return end

    def _read_block(self, text: str, at: int, base: int) -> int:
        """Parse the JSON of a block as far as it has arrived; the offset after it."""
        state = self._state
        at, state.scan, ended = scan_json(text, at, base, state.scan)
        size = base + at - state.block_start
        if ended and state.scan.named:
            state.mode = _Mode.TAIL
            state.newlines = 0
            state.edge = True
            block = GlmBlock(state.block_start, base + at, state.scan)
            self.blocks.append(block)
            state.blocks += 1
            self._new_parts.append(block)
        elif ended or (size > _MAX_NAMELESS and not state.scan.named):
            # The model wrote this: a block of the backend names its tool in the first few hundred characters.
            state.mode = _Mode.TEXT
            self._emit_text(self.document.units(state.block_start, base + at))
        return at

    def _read_tail(self, text: str, at: int) -> int:
        """Parse what follows the JSON of a block, usually its closing tag; the offset after it."""
        state = self._state
        tag = skip_blank(text, at)
        near = tag - at < MAX_TAG
        closed = near and text.startswith(BLOCK_END, tag)
        if near and not closed and BLOCK_END.startswith(text[tag : tag + len(BLOCK_END)]):
            return at
        state.mode = _Mode.TEXT
        state.line_start = True
        return tag + len(BLOCK_END) if closed else at

    # Emitting text and reasoning

    def _emit_text(self, run: str) -> None:
        """Emit answer text, without the newlines that frame an element.

        Texts with an element between them are joined with a blank line.
        """
        state = self._state
        state.fence = state.fence.after(run)
        body = run.rstrip("\n")
        state.line_start = len(body) < len(run)
        if not body:
            state.newlines += len(run)
            return
        if state.edge:
            self._write_text(("\n\n" if state.content else "") + body.lstrip("\n"))
        else:
            self._write_text("\n" * state.newlines + body)
        state.edge = False
        state.newlines = len(run) - len(body)

    def _emit_reasoning(self, run: str) -> None:
        """Emit reasoning, trimmed. Several wrappers are joined with a blank line."""
        state = self._state
        text = state.blank + run
        body = text.rstrip()
        state.blank = text[len(body) :]
        if len(state.blank) > MAX_TAG:
            body, state.blank = text, ""
        if not state.has_reasoning:
            body = body.lstrip()
        if not body:
            return
        if not state.has_reasoning and state.reasoning:
            body = "\n\n" + body
        state.has_reasoning = True
        fresh = self.reasoning.write(body)
        state.reasoning = self.reasoning.length
        if fresh:
            self._new_parts.append(ReasoningDelta(text_of_units(fresh)))

    def _write_text(self, units: str) -> None:
        fresh = self.content.write(units)
        self._state.content = self.content.length
        if fresh:
            self._new_parts.append(TextDelta(text_of_units(fresh)))
