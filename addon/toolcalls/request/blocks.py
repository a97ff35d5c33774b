"""Histories whose calls and results are blocks of messages: the user's next turn begins with the calls' results.

Consecutive messages of one role are one turn. Nothing in a message of the model is moved, because the blocks around
thinking must stay unchanged. A copy of a call has the same id, name and arguments; one without a result is removed,
and its message if nothing is left. Ids that toolfix restored for a host that repeats ids prove nothing, and two
copies with a result each both stay: hosts that repeat ids accept them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Set
from functools import partial

from ..mend.strict import write
from .change import Change
from .history import Json, MessageHistory, PastCall, PastResult, Said, remove, same
from .pairs import Placed, arrange, batches_of, instead_of, kept_as_text


class BlockHistory(MessageHistory):
    turn_is_message = False

    @abstractmethod
    def call_in(self, block: Json, owner: list[Json]) -> PastCall | None:
        """The call in a block."""

    @abstractmethod
    def result_in(self, block: Json) -> PastResult | None:
        """The result in a block; its id is empty if the client does not have to send it."""

    @abstractmethod
    def is_plain(self, message: Json) -> bool:
        """Whether this is a message as the host expects it, though it may be of another role, or without blocks."""

    @abstractmethod
    def can_stand_alone(self, block: Json) -> bool:
        """Whether the host accepts a message with this block alone."""

    @abstractmethod
    def of_user(self, words: str) -> Json:
        """A block with words of the user."""

    def read_message(self, number: int, message: Json) -> Said:
        role, blocks = message.get("role"), message.get(self.inside)
        by_model = role == self.model
        calls: list[PastCall] = []
        results: list[PastResult] = []
        said = Said(number, "model" if by_model else "user", blocks, calls, results, speaks=not blocks)
        if type(blocks) is not list:
            said.speaks, blocks = True, []
            self.plain = self.plain and self.is_plain(message)
        elif not by_model and role != "user":
            self.plain = self.plain and self.is_plain(message)
        for block in blocks:
            if type(block) is not dict:
                self.plain = False
            elif by_model and (call := self.call_in(block, blocks)) is not None:
                calls.append(call)
            elif not by_model and (result := self.result_in(block)) is not None:
                result.displaced = said.speaks
                results.append(result)
            else:
                said.speaks = True
                self.empty = self.empty or block.get("text") == ""
        if results or not (by_model or self.by_number or role == "user"):
            said.role = "results"
        return said

    # Copies and pairs

    def arrange(self, change: Change) -> None:
        self.drop_copies(change)
        arrange(self, change, partial(batches_of, self))

    def drop_copies(self, change: Change) -> None:
        """Remove the calls that only repeat others, and messages of which nothing is left."""
        copies = {id(call.entry) for call in self._copies(change)}
        doubled: list[Json] = []
        changed: list[tuple[list[Json], list[Json]]] = []
        for turn in self.turns if copies else ():
            for before, message in zip((None, *turn.messages), turn.messages, strict=False):
                blocks = message[self.inside]
                left = [block for block in blocks if id(block) not in copies]
                if len(left) < len(blocks) and (same(before, message) or not any(map(self.can_stand_alone, left))):
                    doubled.append(message)
                elif len(left) < len(blocks):
                    changed.append((blocks, left))
        change.count("repeated message", len(doubled))
        change.count("repeated call", sum(len(blocks) - len(left) for blocks, left in changed))
        for blocks, left in changed:
            blocks[:] = left
        if copies:
            remove(self.entries, doubled)
            self.read_again()

    def _copies(self, change: Change) -> Iterator[PastCall]:
        """A call stays once in every turn that is followed by its result, or else only the first time."""
        found: dict[tuple[int, str], list[tuple[PastCall, int, bool]]] = defaultdict(list)
        restored = change.ids_given_back()
        for number, turn in enumerate(self.turns):
            if self.by_number and len(turn.calls) == len(turn.results):
                continue
            answered = {result.id for result in turn.results}
            for call in turn.calls:
                if call.id and call.id not in restored and change.touches(call.name):
                    # If the host only counts, only the calls of the same turn matter.
                    scope = number if self.by_number else 0
                    found[scope, call.id].append((call, number, call.id in answered))
        for of_one_id in found.values():
            alike: dict[str, list[tuple[PastCall, int, bool]]] = defaultdict(list)
            for one in of_one_id if len(of_one_id) > 1 else ():
                content = {key: value for key, value in one[0].body.items() if key != "cache_control"}
                alike[write(content)].append(one)
            for copies in alike.values():
                kept = {turn for _, turn, answered in copies if answered} or {copies[0][1]}
                for call, at, _ in copies:
                    if at not in kept:
                        yield call
                    kept.discard(at)

    def parts(self) -> list[Json]:
        """The messages of the model, and the blocks of all others."""
        self._homes: dict[int, Json] = {}
        """The message that each part is in, or is."""
        parts: list[Json] = []
        for message in self.entries:
            blocks = message.get(self.inside) if message.get("role") != self.model else None
            inside = blocks if blocks and isinstance(blocks, list) else [message]
            self._homes.update((id(one), message) for one in inside)
            parts += inside
        return parts

    def put(self, parts: list[Json], added: Set[int]) -> None:
        """Put the blocks into messages again, an added result into that of the result before it or a new one."""
        self.entries.clear()
        last: Json | None = None
        """The message that the block before is in."""
        for part in parts:
            home = last if id(part) in added else self._homes[id(part)]
            if home is part:
                self.entries.append(part)
                last = None
                continue
            if home is None or home is not last:
                last = {"role": "user"} if home is None else home
                last[self.inside] = []
                self.entries.append(last)
            last[self.inside].append(part)

    def fill(self, order: list[Json], gone: list[Placed | None], following: Json, change: Change) -> None:
        """Words take the place of a result, or form a message at the end of the turn if results stay in it."""
        ends = not following or following.get("role") == self.model
        lost = [one for one in gone if one is not None and kept_as_text([one])]
        if self.result_in(following) is not None or not (ends or all(one is None or one.alone for one in gone)):
            return
        if lost and lost[0].alone:
            for one in lost:
                block = self.of_user(kept_as_text([one]))
                self._homes[id(block)] = self._homes[id(one.result.entry)]
                order.append(block)
        elif lost or (ends and (not order or order[-1].get("role") == self.model)):
            message = {"role": "user", self.inside: [self.of_user(instead_of(gone))]}
            self._homes[id(message)] = message
            order.append(message)
        gone.clear()
