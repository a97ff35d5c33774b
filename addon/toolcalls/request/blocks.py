"""Histories whose calls and results are blocks of messages: the user's next turn begins with the calls' results.

Consecutive messages of one role are one turn. Nothing in a message of the model is moved, because the blocks around
thinking must stay unchanged. A copy of a call has the same id, name and arguments; one without a result is removed,
and its message if nothing is left. Ids that toolfix restored for a host that repeats ids prove nothing, and two
copies with a result each both stay: hosts that repeat ids accept them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise, takewhile
from typing import ClassVar

from ..mend.strict import write
from .change import Change
from .history import History, Json, PastCall, PastResult, Said, Turn, remove, same
from .pairs import Batch, Pairing, Placed, instead_of, kept_as_text, pair, read_batches


class BlockHistory(History):
    model: ClassVar[str] = "assistant"
    """The role of the model."""
    results_lead: ClassVar[bool] = True
    """Whether a result behind another block is rejected."""

    @abstractmethod
    def call_in(self, block: Json, owner: list[Json]) -> PastCall | None:
        """The call in a block."""

    @abstractmethod
    def result_in(self, block: Json, owner: list[Json]) -> PastResult | None:
        """The result in a block; its id is empty if the client does not have to send it."""

    @abstractmethod
    def is_plain(self, message: Json) -> bool:
        """Whether this is a message as the host expects it, though it may be of another role, or without blocks."""

    @abstractmethod
    def can_stand_alone(self, block: Json) -> bool:
        """Whether the host accepts a message with this block alone."""

    @abstractmethod
    def cancelled(self, key: str, call: PastCall) -> Json:
        """The block that says that a call has no result."""

    @abstractmethod
    def of_user(self, words: str) -> Json:
        """A block with words of the user."""

    def read(self) -> None:
        self.empty = False
        """There is an empty text."""
        turn: Turn | None = None
        of_model = False
        for message in self.entries:
            if type(message) is not dict:
                self.plain = False
                continue
            role, blocks = message.get("role"), message.get(self.inside)
            if type(blocks) is not list or (role != "user" and role != self.model):
                self.plain = self.plain and self.is_plain(message)
                blocks = blocks if type(blocks) is list else []
            if role == self.model:
                if not of_model:
                    of_model, turn = True, None
                turn = self._read_model(message, blocks, turn)
            else:
                of_model = False
                if turn is None:
                    turn = Turn([], [], [], [])
                    self.turns.append(turn)
                turn.behind.append(message)
                self._read_user(blocks, turn)
        self.odd = self.odd or not all(map(self.is_paired, self.turns))

    def _read_model(self, message: Json, blocks: list[Json], turn: Turn | None) -> Turn | None:
        """Read a message of the model; returns the turn that it belongs to, if that has calls."""
        found = False
        for block in blocks:
            if type(block) is not dict:
                self.plain = False
            elif (call := self.call_in(block, blocks)) is not None:
                found = True
                if turn is None:
                    turn = Turn([], [], [], [])
                    self.turns.append(turn)
                turn.calls.append(call)
            elif block.get("text") == "":
                self.empty = True
        if turn is not None and found:
            turn.messages.append(message)
        elif self.turns:
            self.turns[-1].spoken = True
        return turn

    def _read_user(self, blocks: list[Json], turn: Turn) -> None:
        """Read a message of the user behind the calls of a turn."""
        for block in blocks:
            if type(block) is not dict:
                self.plain = False
            elif (result := self.result_in(block, blocks)) is not None:
                if turn.spoken and self.results_lead:
                    self.odd = True
                turn.results.append(result)
            else:
                turn.spoken = True
                if block.get("text") == "":
                    self.empty = True
        if not blocks:
            turn.spoken = True

    # Reasoning

    def said(self) -> list[Said]:
        calls: dict[int, list[PastCall]] = defaultdict(list)
        results: dict[int, list[PastResult]] = defaultdict(list)
        for turn in self.turns:
            for call in turn.calls:
                calls[id(call.owner)].append(call)
            for result in turn.results:
                results[id(result.owner)].append(result)
        found: list[Said] = []
        for number, message in enumerate(self.entries):
            if type(message) is dict:
                content, role = message.get(self.inside), message.get("role")
                if role == self.model:
                    made = calls.get(id(content), [])
                    found.append(Said(number, "model", content, made, [], self.reasons(message, made)))
                elif id(content) in results:
                    found.append(Said(number, "results", content, [], results[id(content)]))
                else:
                    found.append(Said(number, "user" if role == "user" or self.by_number else "results", content))
        return found

    @abstractmethod
    def reasons(self, message: Json, calls: list[PastCall]) -> bool:
        """Whether the client sends the reasoning of a message itself, or none can be missing."""

    # Copies and pairs

    def arrange(self, change: Change) -> None:
        self.arrange_ids(change)
        batches, unclear = read_batches(self, change)
        pairing = pair(batches, unclear, change)
        by_turn = {id(batch.turn): batch for batch in batches}
        displaced = {one for batch in batches for one in self._displaced(batch)}
        change.count("result moved", len(displaced))
        if not (displaced or pairing.leaving or any(batch.missing for batch in batches)):
            return
        first = {id(turn.behind[0]): turn for turn in self.turns if turn.behind}
        order: list[Json] = []
        for message in self.entries:
            if message.get("role") == self.model:
                order.append(message)
            elif (turn := first.get(id(message))) is not None:
                self._write(turn, by_turn.get(id(turn)), pairing, displaced, order)
        if self.turns and not self.turns[-1].behind:
            self._write(self.turns[-1], by_turn.get(id(self.turns[-1])), pairing, displaced, order)
        self.entries[:] = order

    def arrange_ids(self, change: Change) -> None:
        """Let every call have an id of its own, as far as the host wants that."""
        self.drop_copies(change)

    def drop_copies(self, change: Change) -> None:
        """Remove the calls that only repeat others, and messages of which nothing is left."""
        doubled, copies = self._copies(change)
        removed = {id(call.entry) for call in copies}
        changed: list[tuple[list[Json], list[Json]]] = []
        for message in (message for turn in self.turns for message in turn.messages if doubled or copies):
            blocks = message[self.inside]
            left = [block for block in blocks if id(block) not in removed]
            if len(left) < len(blocks):
                if any(map(self.can_stand_alone, left)):
                    changed.append((blocks, left))
                else:
                    doubled.append(message)
        change.count("repeated message", len(doubled))
        change.count("repeated call", sum(len(blocks) - len(left) for blocks, left in changed))
        for blocks, left in changed:
            blocks[:] = left
        if doubled or changed:
            remove(self.entries, doubled)
            self.read_again()

    def _copies(self, change: Change) -> tuple[list[Json], list[PastCall]]:
        """The messages that repeat the one before them, and the calls in others that are copies."""
        doubled: list[Json] = []
        copies: list[PastCall] = []
        calls_by_id: dict[str, list[tuple[PastCall, int, bool]]] = defaultdict(list)
        restored = change.ids_given_back()
        for number, turn in enumerate(self.turns):
            if self.by_number:
                # The host accepts a turn with as many results as calls; otherwise only the calls of this turn matter.
                copies += _surplus(calls_by_id)
                calls_by_id.clear()
                if len(turn.calls) == len(turn.results):
                    continue
            again = [after for before, after in pairwise(turn.messages) if same(before, after)]
            doubled += again
            gone = {id(message[self.inside]) for message in again}
            answered = {result.id for result in turn.results}
            for call in turn.calls:
                if call.id and call.id not in restored and change.touches(call.name) and id(call.owner) not in gone:
                    calls_by_id[call.id].append((call, number, call.id in answered))
        return doubled, [*copies, *_surplus(calls_by_id)]

    def _displaced(self, batch: Batch) -> list[Placed]:
        """The results of a turn that are behind another block."""
        leading: set[int] = set()
        for message in batch.turn.behind if self.results_lead else ():
            blocks = message.get(self.inside)
            if not isinstance(blocks, list):
                break
            results = [*takewhile(lambda block: self.result_in(block, []) is not None, blocks)]
            leading.update(map(id, results))
            if len(results) < len(blocks):
                break
        return [one for one in batch.kept if self.results_lead and id(one.result.entry) not in leading]

    def _write(
        self, turn: Turn, batch: Batch | None, pairing: Pairing, displaced: set[Placed], order: list[Json]
    ) -> None:
        """Add the user's messages of a turn to `order`, with the results that the turn keeps, gets and lacks."""
        if batch is None:
            order += turn.behind
            return
        staying = set(batch.kept) - displaced
        leaving = {id(one.result.entry): one for one in batch.results if one in pairing.leaving or one in displaced}
        orphans = [one for one in leaving.values() if one in pairing.orphans]
        calls = dict(zip(batch.keys, turn.calls, strict=True))
        added = [one.result.entry for one in (*batch.kept, *batch.late) if one not in staying]
        added += [self.cancelled(key, calls[key]) for key in batch.missing]
        first = turn.behind[0].get(self.inside) if turn.behind else None
        in_first = {id(one.result.entry) for one in staying if one.result.owner is first}
        lead = len(in_first)
        if added and not (first and id(first[0]) in in_first):
            order.append(self._of_user(added))
            added = []
        written = len(order)
        for message in turn.behind:
            blocks = message.get(self.inside)
            if isinstance(blocks, list):
                left = [block for block in blocks if id(block) not in leaving]
                if not staying:
                    left = [*self._left(blocks, leaving, pairing)]
                if blocks is first:
                    left[lead:lead] = added
                if blocks and not left:
                    continue
                blocks[:] = left
            order.append(message)
        if staying and (words := kept_as_text(orphans)):
            order.append(self._of_user([self.of_user(words)]))
        if turn.behind and len(order) == written and not (batch.kept or batch.late or batch.missing):
            order.append(self._of_user([self.of_user(instead_of([*leaving.values()], pairing))]))

    def _left(self, blocks: list[Json], leaving: dict[int, Placed], pairing: Pairing) -> Iterator[Json]:
        """The blocks of a message without the results that leave it, whose words stay if their call is gone."""
        for block in blocks:
            one = leaving.get(id(block))
            if one is None:
                yield block
            elif one in pairing.orphans and (words := kept_as_text([one])):
                yield self.of_user(words)

    def _of_user(self, blocks: list[Json]) -> Json:
        return {"role": "user", self.inside: blocks}


def _surplus(calls_by_id: dict[str, list[tuple[PastCall, int, bool]]]) -> Iterator[PastCall]:
    """The copies to remove. `calls_by_id`: each with the number of its turn, and whether its result follows that.

    A call stays once in every turn that is followed by its result; if there is no such turn, only the first stays.
    """
    for of_one_id in calls_by_id.values():
        alike: dict[str, list[tuple[PastCall, int, bool]]] = defaultdict(list)
        for found in of_one_id if len(of_one_id) > 1 else ():
            content = {key: value for key, value in found[0].body.items() if key != "cache_control"}
            alike[write(content)].append(found)
        for copies in alike.values():
            kept = {turn for _, turn, answered in copies if answered} or {copies[0][1]}
            for call, turn, _ in copies:
                if turn not in kept:
                    yield call
                kept.discard(turn)
