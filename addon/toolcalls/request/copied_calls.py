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
Place = tuple[int, int]


@dataclass(slots=True)
class Copies:
    """The messages to remove, and the calls to remove from other messages, by message and block."""

    messages: set[int] = field(default_factory=set)
    blocks: set[Place] = field(default_factory=set)

    def left_of(self, form: BlockForm, messages: Sequence[Json]) -> dict[int, list[int | str]]:
        """The blocks that stay in each message from which calls are removed."""
        return {
            number: [
                place for place in range(len(form.list_of(messages[number]))) if (number, place) not in self.blocks
            ]
            for number in sorted({number for number, _ in self.blocks})
        }


class _Turn(NamedTuple):
    """A turn of the model and the results that follow it."""

    messages: list[int]
    calls: list[tuple[Place, Json]]
    results: list[Json]


_Said = dict[str, list[tuple[Json, Place, int, bool]]]
"""The calls of each id: each with its place, the number of its turn, and whether its result follows that turn."""


def find_copies(form: BlockForm, messages: Sequence[Json], revision: RequestEdit) -> Copies:
    copies = Copies()
    said: _Said = {}
    given_back = revision.ids_given_back()
    for number, turn in enumerate(_turns(form, messages)):
        if not form.ids_are_unique:
            # The host accepts a turn with as many results as calls; otherwise only the calls of this turn matter.
            said = {}
            if len(turn.calls) == len(turn.results):
                continue
        copies.messages |= _repeated(form, messages, turn.messages)
        answered = set(map(form.id_of, turn.results))
        for place, call in turn.calls:
            identity = form.id_of(call)
            ours = identity and identity not in given_back and revision.touches(call.get("name"))
            if ours and place[0] not in copies.messages:
                said.setdefault(identity, []).append((call, place, number, identity in answered))
        if not form.ids_are_unique:
            copies.blocks.update(_leaving(said))
    if form.ids_are_unique:
        copies.blocks.update(_leaving(said))
    _drop_empty(form, messages, copies)
    return copies


def _turns(form: BlockForm, messages: Sequence[Json]) -> Iterator[_Turn]:
    turn: _Turn | None = None
    for of_model, grouped in groupby(range(len(messages)), lambda number: form.is_of_model(messages[number])):
        run = list(grouped)
        blocks = [
            ((number, place), one) for number in run for place, one in enumerate(form.list_of(messages[number]))
        ]
        if of_model:
            calls = [(place, call) for place, block in blocks if (call := form.call_in(block)) is not None]
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


def _what_it_says(call: Json) -> str:
    return write({key: value for key, value in call.items() if key != "cache_control"})


def _leaving(said: _Said) -> Iterator[Place]:
    """The places of the copies to remove.

    A call stays once in every turn that is followed by its result; if there is no such turn, only the first stays.
    """
    for of_one_id in said.values():
        if len(of_one_id) == 1:
            continue
        alike: dict[str, list[tuple[Place, int, bool]]] = {}
        for call, place, turn, answered in of_one_id:
            alike.setdefault(_what_it_says(call), []).append((place, turn, answered))
        for places in alike.values():
            kept = {turn for _, turn, answered in places if answered} or {places[0][1]}
            for place, turn, _ in places:
                if turn not in kept:
                    yield place
                kept.discard(turn)


def _drop_empty(form: BlockForm, messages: Sequence[Json], copies: Copies) -> None:
    """Also remove messages whose remaining blocks are no message by themselves."""
    for number, places in copies.left_of(form, messages).items():
        blocks = form.list_of(messages[number])
        if not any(form.says_something(blocks[place]) for place in places if isinstance(place, int)):
            copies.messages.add(number)
    copies.blocks = {place for place in copies.blocks if place[0] not in copies.messages}
