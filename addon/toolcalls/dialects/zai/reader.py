"""Turns the events of chat.z.ai into parts.

Every event changes a document (`document_reader.py`) or contains a fragment of a call. Text and reasoning become
parts as soon as they are in the document. Calls in the document are returned when the turn ends (`calls`): until then
a call may grow, be cut away, or turn out to be one that the backend ran itself. If the backend runs a tool of its
own, or takes text back, an `OtherDelta` reports it, because then the text before it is not a call.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from ...turn import payload
from ...turn.parts import Fragment, OtherDelta, ReasoningDelta, TextDelta, string_of
from ..chat.reader import fragments_of
from .blocks import CallResult, GlmBlock
from .document_reader import DocumentReader, NewPart
from .envelope import Json, Patch, call_id_of, patch_of, phase_of
from .fences import Origin
from .owners import Owners
from .thinking import THINKING, ThinkingPhase

_CALLING = "tool_call"
_ANSWERING = "answer"
_ANSWERED = "tool_response"


@dataclass(slots=True, frozen=True)
class RanUpstream:
    """The backend itself ran a call that arrived in fragments."""

    id: str
    name: object


class BlockCalls(NamedTuple):
    """The client's calls in the document."""

    calls: list[Fragment]
    cut_inside: bool
    """The document ends inside the arguments of the last one."""
    last_may_grow: bool
    """The last call of the answer may still grow."""


ZaiPart = TextDelta | ReasoningDelta | OtherDelta | Fragment | RanUpstream


class ZaiReader:
    """Parses the events of one answer."""

    __slots__ = (
        "_count",
        "_cuts",
        "_document",
        "_fragment_size",
        "_in_fragments",
        "_owners",
        "_phase",
        "_thinking",
        "turn_over",
    )

    def __init__(self, owners: Owners, *, cuts: bool) -> None:
        """`cuts`: the turn ends at the first null patch."""
        self._owners = owners
        self._cuts = cuts
        self._document = DocumentReader()
        self._thinking = ThinkingPhase()
        self._phase = ""
        self._fragment_size = 0
        self._in_fragments = False
        """More fragments of a call may follow."""
        self._count: int | None = None
        """The number of blocks that belong to the turn, once it is over."""
        self.turn_over = False
        """A null patch arrived: the backend could not run the client's tool, and the model continues without it."""

    @property
    def size(self) -> int:
        """How much text is kept in memory."""
        return len(self._document.document) + self._fragment_size

    @property
    def rewritten(self) -> bool:
        """Whether text changed that the client had already received."""
        return self._document.rewritten

    # One event

    def read(self, data: Json) -> list[ZaiPart]:
        """Apply an event and parse the changed document, because the phase alone does not show what an edit means."""
        phase = self._phase = phase_of(data)
        patch = patch_of(data)
        parts: list[ZaiPart] = [*self._thinking.enter(phase)]
        if phase == _ANSWERED:
            return self._read_result(data, patch)
        if phase == _CALLING or data.get("tool_calls") or data.get("delta_name"):
            parts += self._fragments(data)
        elif patch is not None:
            self._in_fragments = False
        if patch is not None and phase == THINKING:
            reasoning = self._thinking.take(patch)
            if isinstance(reasoning, Patch):
                return [*parts, *self._change(reasoning)]
            return [*parts, *reasoning]
        return [*parts, *self._change(patch)] if patch is not None else parts

    def _read_result(self, data: Json, patch: Patch | None) -> list[ZaiPart]:
        """Handle the result of one of the backend's own tools, which is not text of the answer."""
        if patch is not None and patch.kind == "edit":
            return self._change(patch)
        return [RanUpstream(call_id_of(data), data.get("tool_name")), OtherDelta()] if patch is not None else []

    def _fragments(self, data: Json) -> list[ZaiPart]:
        """The fragments in an event: `delta_name` or a new id begins a call, `delta_arguments` continues it."""
        arguments = payload.text_of(data.get("delta_arguments"))
        named = Fragment(None, call_id_of(data), string_of(data.get("delta_name")), arguments)
        fragments = [named] if named.name or named.arguments else []
        # Some gateways put calls in the OpenAI form into the envelope.
        fragments += fragments_of({"tool_calls": data.get("tool_calls")})
        self._fragment_size += sum(len(fragment.arguments) for fragment in fragments)
        self._in_fragments = self._in_fragments or bool(fragments)
        upstream = any(fragment.name and not self._owners.is_clients(fragment.name) for fragment in fragments)
        return [*fragments, *([OtherDelta()] if upstream else [])]

    def _change(self, patch: Patch) -> list[ZaiPart]:
        """Change the document; the new parts, up to the null patch that ends the turn."""
        document, origin = self._document, self._origin(patch)
        known, held = document.block_count, document.held_text
        if patch.kind == "delta":
            new_parts = document.append(patch.text, origin)
        else:
            new_parts = document.edit(patch.index, patch.text, origin)
        before = [OtherDelta()] if document.taken_back else []
        return [*before, *self._parts(new_parts, known, held)]

    def _parts(self, new_parts: Iterable[NewPart], known: int, held: str = "") -> list[ZaiPart]:
        """The parts for new content of the document.

        `known`: how many blocks it had before. `held`: the text that was held before.
        """
        parts: list[ZaiPart] = []
        left = iter(new_parts)
        for new in left:
            if not isinstance(new, GlmBlock):
                parts.append(new)
            elif self._is_null_patch(new):
                # Blocks that were in the document before the null patch belong to the turn, later ones do not.
                self._count = max(known, self._document.blocks.index(new) + 1)
                self.turn_over = True
                parts += self._still_held(held, [*left, *self._document.finish()] if held else [])
                break
            elif not self._is_clients(new):
                parts.append(OtherDelta())
        return _joined(parts)

    def _still_held(self, held: str, new_parts: list[NewPart]) -> list[TextDelta]:
        """The text that was held before the turn ended, if the document still goes on with it."""
        text = "".join(part.text for part in new_parts if isinstance(part, TextDelta))
        begin = len(text) - len(text.lstrip("\n"))
        return [TextDelta(text[: begin + len(held)])] if held and text.startswith(held, begin) else []

    def _origin(self, patch: Patch) -> Origin:
        if self._phase == _CALLING:
            return Origin.CALLS
        by_model = self._phase == THINKING or (self._phase == _ANSWERING and patch.kind == "delta")
        return Origin.MODEL if by_model else Origin.UNKNOWN

    def _is_null_patch(self, block: GlmBlock) -> bool:
        is_null = self._cuts and block.result(self._document.document) is CallResult.NULL
        return is_null and self._is_clients(block)

    def _is_clients(self, block: GlmBlock) -> bool:
        document = self._document.document
        return self._owners.is_clients(block.name(document), block.result(document))

    # The end of the turn

    def end_thinking(self) -> list[ReasoningDelta]:
        """The answer breaks off: release reasoning that was held back."""
        return self._thinking.end()

    def end(self) -> list[ZaiPart]:
        """The document is complete."""
        return [*self._thinking.end(), *self._parts(self._document.finish(), self._document.block_count)]

    def calls(self) -> BlockCalls:
        """The client's calls in the document."""
        document, blocks = self._document.document, self._document.all_blocks
        calls: list[Fragment] = []
        cut_inside, last_may_grow = False, self._in_fragments
        for number, block in enumerate(blocks[: self._count]):
            call = block.call(document)
            if not self._owners.is_clients(call.name, call.result):
                continue
            calls.append(Fragment((0, number), call.id, call.name, call.arguments))
            cut_inside = not call.whole
            is_last = number == len(blocks) - 1
            last_may_grow = is_last and call.result is CallResult.OPEN and self._phase == _CALLING
        return BlockCalls(calls, cut_inside, last_may_grow)

    @property
    def has_calls(self) -> bool:
        """Whether the document contains a call that may be the client's."""
        return self._document.block_is_open or any(map(self._is_clients, self._document.blocks))


def _joined(parts: Iterable[ZaiPart]) -> list[ZaiPart]:
    """These parts, with consecutive texts of the same kind joined."""
    joined: list[ZaiPart] = []
    for kind, run in groupby(parts, type):
        alike = list(run)
        text = "".join(part.text for part in alike if isinstance(part, TextDelta | ReasoningDelta))
        joined += [kind(text)] if text else alike
    return joined
