"""The tool calls of a chat.z.ai answer: gathered from blocks and deltas, the client's told from the server's.

A closed block is not a complete call, and a call is not the client's before the backend has left it alone:
so calls are kept until the turn ends, and judged then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...calls import PartialCall
from ...mend.names import mend_name
from ...request.request import Request
from ...tools.declared import Tools
from ...turn import payload
from ...turn.assembled_call import Fragment, Slot
from ...turn.assembler import CallAssembler
from ...turn.fragments import full_name
from ...work import Work
from ..chat.reader import fragments_of
from .blocks import CallResult
from .envelope import Json, call_id_of
from .reader import Reader


@dataclass(slots=True, frozen=True)
class Candidate:
    """A call as far as it is known. Final: nothing that may still come changes its arguments."""

    id: str
    name: str
    arguments: str
    result: CallResult
    whole: bool
    final: bool
    doubt: str = ""
    """Why its fragments may be those of another call."""

    @property
    def stands_alone(self) -> bool:
        """Is it complete by itself, however the answer was cut off? No object is a prefix of another."""
        if not self.whole or self.doubt:
            return False
        if not self.arguments.strip():
            return self.final
        value = payload.read_strict(self.arguments)
        if isinstance(value, str):
            value = payload.read_strict(value)
        return isinstance(value, dict) and (bool(value) or self.final)


class DeltaCalls:
    """Delta shape: `delta_name` or a new id opens a call, `delta_arguments` appends to the open one."""

    __slots__ = ("_openai", "_ran", "_settled", "_slots", "_tools", "size")

    def __init__(self, tools: Tools, work: Work | None = None) -> None:
        self._tools = tools
        self._slots = CallAssembler(tools, work=work)
        self._openai = CallAssembler(tools, work=work)
        """`tool_calls` in the OpenAI form, which some clients pass on."""
        self._settled = 0
        self._ran: list[PartialCall] = []
        self.size = 0

    def add(self, data: Json) -> None:
        name = data.get("delta_name")
        fragment = Fragment(
            None,
            call_id_of(data),
            name if isinstance(name, str) else "",
            payload.text_of(data.get("delta_arguments")),
        )
        if fragment.name or fragment.arguments:
            self._slots.add(fragment)
            self.size += len(fragment.arguments)
        if data.get("tool_calls"):
            for found in fragments_of({"tool_calls": data["tool_calls"]})[0]:
                self._openai.add(found)
                self.size += len(found.arguments)

    def settle(self) -> None:
        """Another phase had something to say: the open call has ended."""
        self._settled = len(self._slots.slots)

    def answered(self, data: Json) -> None:
        """A `tool_response`: the backend ran the tool itself."""
        identity, name = call_id_of(data), data.get("tool_name")
        for slot in reversed(self._slots.slots):
            if (identity and slot.id == identity) or (not identity and slot.name == name):
                self._ran.append(slot)
                return

    def candidates(self, *, complete: bool) -> Iterator[Candidate]:
        """The calls so far; complete: the answer was not cut off."""
        for calls, settled in ((self._slots, self._settled), (self._openai, 0)):
            slots = calls.judged(complete=complete)
            for number, slot in enumerate(slots):
                if slot.empty or (slot.again and not slot.begun):
                    continue
                ran = any(slot is other for other in self._ran)
                final = number < settled or number < len(slots) - 1
                yield self._candidate(slot, CallResult.FILLED if ran else CallResult.OPEN, final)

    def _candidate(self, slot: Slot, result: CallResult, final: bool) -> Candidate:
        arguments, _ = slot.settle()
        return Candidate(slot.id, full_name(slot.names, self._tools), arguments, result, True, final, slot.doubt)


def block_candidates(reader: Reader, count: int, *, left: bool) -> Iterator[Candidate]:
    """The calls of the first blocks. `left`: the answer has left the phase of tool calls since."""
    last = reader.block_count - 1
    blocks = list(reader.blocks)
    if reader.open_block is not None:
        blocks.append(reader.open_block)
    for number, block in enumerate(blocks[:count]):
        call = block.call(reader.document)
        final = left or number < last or call.result is not CallResult.OPEN
        yield Candidate(call.id, call.name, call.arguments, call.result, call.whole, final)


class Owners:
    """Whose tool is it? Those that the request declares are the client's, the others run upstream."""

    __slots__ = ("_known", "_request")

    def __init__(self, request: Request) -> None:
        self._request = request
        self._known: dict[str, bool] = {}

    def is_clients(self, name: str, result: CallResult) -> bool:
        """A tool that the backend ran is not the client's, whoever declared it: it would run a second time."""
        if result is CallResult.FILLED or not name:
            return False
        if self._request.choices is None:
            return True
        if name not in self._known:
            self._known[name] = mend_name(name, self._request.tools).status in ("exact", "mended")
        return self._known[name]
