"""Pairs calls and results that are blocks of messages: the user's next turn begins with the results of the calls.

Consecutive messages of one role are one turn. Nothing in a message of the model is moved, because the blocks around
thinking must stay unchanged. A protocol defines how its blocks are read and written (`BlockForm`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from ..mend.reading.strict import write
from .block_form import BlockForm
from .copied_calls import Copies, find_copies
from .edits import Path, texts_at
from .pairs import Batch, Pairing, PlacedResult, instead_of, kept_as_text, pair
from .request_edit import RequestEdit

Json = dict[str, Any]


class _UserTurn:
    """Consecutive messages of the user, with the results in them."""

    __slots__ = ("batch", "displaced", "messages", "results")

    def __init__(self, messages: list[int], batch: Batch | None) -> None:
        self.messages = messages
        self.batch = batch
        self.results: list[PlacedResult] = []
        self.displaced: set[PlacedResult] = set()
        """Results behind a block that is not a result."""


class BlockPairs:
    def __init__(self, form: BlockForm, messages: list[Json], edit: RequestEdit, at: Path, body: bytes) -> None:
        self._form = form
        self._messages = messages
        self._edit = edit
        self._at = at
        self._body = body
        self._batches: list[Batch] = []
        self._turns: list[list[int] | _UserTurn] = []
        self._strays: list[PlacedResult] = []
        self._positions: list[tuple[int, int]] = []
        """The numbers of message and block of each result."""
        self._copies = Copies()
        self._calls: dict[str, Json] = {}
        self._texts: dict[Path, str] = {}

    def mend(self) -> None:
        """Put every result behind its call, and write what is missing."""
        self._copies = find_copies(self._form, self._messages, self._edit)
        unclear = self._read()
        pairing = pair(self._batches, self._strays, unclear)
        displaced = [
            result
            for turn in self._turns
            if isinstance(turn, _UserTurn) and turn.batch is not None
            for result in turn.batch.kept
            if result in turn.displaced
        ]
        self._texts = texts_at(self._body, map(self._path, (*pairing.moved, *displaced)))
        order: list[int | str] = []
        for turn in self._turns:
            if isinstance(turn, _UserTurn):
                self._write_turn(turn, pairing, order)
            else:
                order += turn
        self._write_copies()
        self._edit.count_pairing(pairing)
        self._edit.count("result moved", len(displaced))
        if order != list(range(len(self._messages))):
            self._edit.edits.arrange(self._at, order)

    # Reading

    def _read(self) -> set[str]:
        """Find the calls and the results of each turn; returns the ids that are unclear."""
        unclear: set[str] = set()
        calls: list[Json] = []
        behind: list[int] | None = None
        """The model's turn before this one, if it has calls."""
        for of_model, grouped in groupby(self._staying(), self._is_of_model):
            run = list(grouped)
            if of_model:
                calls = self._read_calls(run)
                behind = run if calls else None
                self._turns.append(run)
            else:
                self._read_user(run, calls, unclear)
                calls, behind = [], None
        if behind is not None:
            self._read_user([], calls, unclear)
        return unclear

    def _is_of_model(self, number: int) -> bool:
        return self._form.is_of_model(self._messages[number])

    def _staying(self) -> list[int]:
        return [number for number in range(len(self._messages)) if number not in self._copies.messages]

    def _read_calls(self, run: list[int]) -> list[Json]:
        return [
            call
            for number in run
            for index, block in enumerate(self._form.list_of(self._messages[number]))
            if (call := self._form.call_in(block)) is not None and (number, index) not in self._copies.blocks
        ]

    def _read_user(self, run: list[int], calls: list[Json], unclear: set[str]) -> None:
        """Read a turn of the user behind these calls; leave it alone if a call is unclear or must not be touched."""
        placed = [
            (number, index, result)
            for number in run
            for index, block in enumerate(self._form.list_of(self._messages[number]))
            if (result := self._form.result_in(block)) is not None
        ]
        ids, answered = self._form.ids(calls, [result for _, _, result in placed])
        batch = Batch(ids) if calls else None
        turn = self._placed_in(run, batch, [(*one, identity) for one, identity in zip(placed, answered, strict=True)])
        touches = all(self._edit.touches(call.get("name")) for call in calls)
        if not all(ids) or not touches or (batch is not None and batch.ambiguous):
            unclear.update(filter(None, ids))
            self._turns.append(run)
            return
        self._turns.append(turn)
        if batch is not None:
            self._batches.append(batch)
            self._calls.update(zip(ids, calls, strict=True))
        else:
            self._strays += turn.results

    def _placed_in(
        self, run: list[int], batch: Batch | None, placed: Sequence[tuple[int, int, Json, str]]
    ) -> _UserTurn:
        """A turn of the user with these results, and which of them are behind another block."""
        turn = _UserTurn(run, batch)
        leads = self._leading(run)
        for number, index, result, identity in placed:
            if identity:
                one = PlacedResult(len(self._positions), identity, self._form.words_of(result))
                self._positions.append((number, index))
                turn.results.append(one)
                if self._form.results_lead and (number, index) >= leads:
                    turn.displaced.add(one)
        if batch is not None:
            batch.results = turn.results
        return turn

    def _leading(self, run: list[int]) -> tuple[int, int]:
        """The position of the first block of a turn that is not a result."""
        for number in run:
            message = self._messages[number]
            if not isinstance(message.get(self._form.blocks), list):
                return number, 0
            for index, block in enumerate(self._form.list_of(message)):
                if not self._form.is_result(block):
                    return number, index
        return len(self._messages), 0

    # Writing

    def _path(self, result: PlacedResult) -> Path:
        message, block = self._positions[result.number]
        return (*self._at, message, self._form.blocks, block)

    def _write_copies(self) -> None:
        self._edit.count("repeated message", len(self._copies.messages))
        self._edit.count("repeated call", len(self._copies.blocks))
        for number, kept in self._copies.left_of(self._form, self._messages).items():
            self._edit.edits.arrange((*self._at, number, self._form.blocks), kept)

    def _write_turn(self, turn: _UserTurn, pairing: Pairing, order: list[int | str]) -> None:
        """Add the messages of a turn to `order`, with the results that it keeps, gets and lacks."""
        batch = turn.batch or Batch([])
        staying = {result for result in batch.kept if result not in turn.displaced}
        moving = set(batch.kept) - staying
        leaving = [one for one in turn.results if one in pairing.leaving or one in moving]
        added = [self._texts[self._path(one)] for one in (*batch.kept, *batch.late) if one not in staying]
        added += [self._form.cancelled(call, self._calls[call]) for call in batch.missing]
        self._edit.count("cancelled call", len(batch.missing))
        first = turn.messages[0] if turn.messages else -1
        lead = sum(self._positions[result.number][0] == first for result in staying)
        if added and not (lead and self._leads(first, staying)):
            order.append(self._form.of_user(added))
            added, lead = [], 0
        orphans = [result for result in leaving if result in pairing.orphans]
        written = len(order)
        gone_from: dict[int, dict[int, PlacedResult]] = {}
        for one in leaving:
            number, index = self._positions[one.number]
            gone_from.setdefault(number, {})[index] = one
        for number in turn.messages:
            gone = gone_from.get(number, {})
            blocks: list[int | str] = []
            for index in range(len(self._form.list_of(self._messages[number]))):
                left = gone.get(index)
                if left is None:
                    blocks.append(index)
                elif not staying and (text := kept_as_text([left] if left in pairing.orphans else ())):
                    blocks.append(write(self._form.text(text)))
            if number == first and added:
                blocks[lead:lead] = added
            if not gone and not (number == first and added):
                order.append(number)
            elif blocks:
                order.append(number)
                self._edit.edits.arrange((*self._at, number, self._form.blocks), blocks)
        if staying and (text := kept_as_text(orphans)):
            order.append(self._form.of_user([write(self._form.text(text))]))
        if turn.messages and len(order) == written and not (batch.kept or batch.late or batch.missing):
            text = instead_of(leaving, pairing)
            order.append(self._form.of_user([write(self._form.text(text))]))

    def _leads(self, number: int, staying: set[PlacedResult]) -> bool:
        """Whether the message begins with a result that stays."""
        return any(self._positions[result.number] == (number, 0) for result in staying)
