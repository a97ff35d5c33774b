"""Finds calls that a history contains twice: a copy without a result is removed, and its message if nothing is left.

A copy has the same id, name and arguments. Ids that toolfix restored for a host that repeats ids prove nothing, and
two copies with a result each both stay: hosts that repeat ids accept them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from ..mend.reading.strict import write
from .block_form import BlockForm
from .request_edit import RequestEdit, same

Json = dict[str, Any]
BlockPosition = tuple[int, int]
"""The number of a message, and the number of a block in it."""


@dataclass(slots=True)
class Copies:
    """The messages to remove, and the blocks to remove from other messages."""

    messages: set[int] = field(default_factory=set)
    blocks: set[BlockPosition] = field(default_factory=set)

    def left_of(self, form: BlockForm, messages: Sequence[Json]) -> dict[int, list[int | str]]:
        """The blocks that stay in each message from which calls are removed."""
        return {
            number: [
                index for index in range(len(form.list_of(messages[number]))) if (number, index) not in self.blocks
            ]
            for number in sorted({number for number, _ in self.blocks})
        }


class _Turn(NamedTuple):
    """A turn of the model and the results that follow it."""

    messages: list[int]
    calls: list[tuple[BlockPosition, Json]]
    results: list[Json]


_CallsById = dict[str, list[tuple[Json, BlockPosition, int, bool]]]
"""The calls of each id: each with its position, the number of its turn, and whether its result follows that turn."""


def find_copies(form: BlockForm, messages: Sequence[Json], edit: RequestEdit) -> Copies:
    """The messages and the calls to remove, because they only repeat others."""
    copies = Copies()
    calls_by_id: _CallsById = {}
    given_back = edit.ids_given_back()
    for number, turn in enumerate(_turns(form, messages)):
        if not form.ids_are_unique:
            # The host accepts a turn with as many results as calls; otherwise only the calls of this turn matter.
            calls_by_id = {}
            if len(turn.calls) == len(turn.results):
                continue
        copies.messages |= _repeated(form, messages, turn.messages)
        answered = set(map(form.id_of, turn.results))
        for position, call in turn.calls:
            identity = form.id_of(call)
            ours = identity and identity not in given_back and edit.touches(call.get("name"))
            if ours and position[0] not in copies.messages:
                calls_by_id.setdefault(identity, []).append((call, position, number, identity in answered))
        if not form.ids_are_unique:
            copies.blocks.update(_surplus(calls_by_id))
    if form.ids_are_unique:
        copies.blocks.update(_surplus(calls_by_id))
    _drop_empty(form, messages, copies)
    return copies


def _turns(form: BlockForm, messages: Sequence[Json]) -> Iterator[_Turn]:
    """The turns of the model, each with the results that follow it."""
    turn: _Turn | None = None
    for of_model, grouped in groupby(range(len(messages)), lambda number: form.is_of_model(messages[number])):
        run = list(grouped)
        blocks = [
            ((number, index), one) for number in run for index, one in enumerate(form.list_of(messages[number]))
        ]
        if of_model:
            calls = [(position, call) for position, block in blocks if (call := form.call_in(block)) is not None]
            turn = _Turn(run, calls, [])
        elif turn is not None:
            turn.results.extend(result for _, block in blocks if (result := form.result_in(block)) is not None)
            yield turn
            turn = None
    if turn is not None:
        yield turn


def _repeated(form: BlockForm, messages: Sequence[Json], run: Sequence[int]) -> set[int]:
    """The messages with calls that only repeat the message before them."""
    return {
        number
        for before, number in pairwise(run)
        if any(form.call_in(block) is not None for block in form.list_of(messages[number]))
        and same(messages[before], messages[number])
    }


def _content(call: Json) -> str:
    """What a call has in common with a copy of it."""
    return write({key: value for key, value in call.items() if key != "cache_control"})


def _surplus(calls_by_id: _CallsById) -> Iterator[BlockPosition]:
    """The positions of the copies to remove.

    A call stays once in every turn that is followed by its result; if there is no such turn, only the first stays.
    """
    for of_one_id in calls_by_id.values():
        if len(of_one_id) == 1:
            continue
        alike: dict[str, list[tuple[BlockPosition, int, bool]]] = {}
        for call, position, turn, answered in of_one_id:
            alike.setdefault(_content(call), []).append((position, turn, answered))
        for copies in alike.values():
            kept = {turn for _, turn, answered in copies if answered} or {copies[0][1]}
            for position, turn, _ in copies:
                if turn not in kept:
                    yield position
                kept.discard(turn)


def _drop_empty(form: BlockForm, messages: Sequence[Json], copies: Copies) -> None:
    """Also remove messages whose remaining blocks are no message by themselves."""
    for number, left in copies.left_of(form, messages).items():
        blocks = form.list_of(messages[number])
        if not any(form.can_stand_alone(blocks[index]) for index in left if isinstance(index, int)):
            copies.messages.add(number)
    copies.blocks = {position for position in copies.blocks if position[0] not in copies.messages}
