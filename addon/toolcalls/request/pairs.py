"""Decides which result answers which call of a history, whatever its protocol, and puts it there.

A result in the position that the protocol wants counts first. A result elsewhere answers its call only if no other
call of the history has that id: ids repeat (`functions.Bash:0`), and then only the position tells results apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise

from ..mend.strict import write
from .change import Change
from .history import BETWEEN, History, Json, MessageHistory, PastCall, PastResult, Turn, remove, same

LATE = "[toolfix] The result that stood here is with its call, further up."
SERVER_CALLS = "srvtoolu_"
"""The prefix of ids of calls that the host runs and answers itself; a gateway may show such calls over Chat."""
_LOST = "[toolfix] The result of a call that is no longer part of this conversation"
_SECOND = "[toolfix] Another result of a call that has one already"


@dataclass(slots=True, eq=False)
class Placed:
    """A result, and the key of the call that it answers."""

    result: PastResult
    key: str
    words: str
    """The text of the result, in case its call is gone."""
    displaced: bool = False
    """The host rejects it behind words."""
    second: bool = False
    """Its call already has another result."""
    lost: bool = False
    """It has no call, or its call has a different result: its text is kept."""
    alone: bool = False
    """No result stays in its turn."""


@dataclass(slots=True, eq=False)
class Batch:
    """A turn whose calls and results are paired by keys: their ids, or what tells them apart in their turn."""

    turn: Turn
    keys: list[str]
    results: list[Placed]
    """The results in the right position behind the calls."""
    kept: list[Placed] = field(default_factory=list)
    """Those of them that answer its calls."""
    late: list[Placed] = field(default_factory=list)
    """Results that belong to its calls, and stand elsewhere."""
    missing: list[str] = field(default_factory=list)
    """The calls without a result."""

    @property
    def ambiguous(self) -> bool:
        """Whether calls share a key and it is unclear which of them is answered."""
        return len(set(self.keys)) < len(self.keys) and Counter(self.keys) != Counter(one.key for one in self.results)


Batches = tuple[list[Batch], set[str]]
"""The turns whose calls can be paired, and the keys of the calls that are left alone, with all their results."""


def arrange(
    history: History, change: Change, batches: Callable[[Change], Batches], copies: Iterable[int] = ()
) -> None:
    """Put all results where they belong. `copies`: the entries that repeat others and go, by identity."""
    paired, unclear = batches(change)
    leaving: dict[int, Placed | None] = dict.fromkeys(copies)
    leaving |= {id(one.result.entry): one for one in _pair(paired, unclear, change)}
    added: dict[int, list[Json]] = defaultdict(list)
    for batch in paired:
        calls = dict(zip(batch.keys, batch.turn.calls, strict=True))
        added[id(batch.turn.end)] += [one.result.entry for one in batch.late]
        added[id(batch.turn.end)] += [history.cancelled(key, calls[key]) for key in batch.missing]
    if not leaving and not any(added.values()):
        return
    order: list[Json] = []
    gone: list[Placed | None] = []
    """What was left out since the last part."""
    for part in history.parts():
        if id(part) in leaving:
            gone.append(leaving[id(part)])
        for one in (*([] if id(part) in leaving else [part]), *added.get(id(part), ())):
            if gone:
                history.fill(order, gone, one, change)
            order.append(one)
    if gone:
        history.fill(order, gone, {}, change)
    history.put(order, {id(one) for new in added.values() for one in new})


def copies_of(history: History, change: Change) -> list[PastCall]:
    """The calls that repeat another one: its id, its tool and its arguments.

    One of them stays, if possible the one behind reasoning; or one in each turn that is followed by its result.
    """
    copies: list[PastCall] = []
    found: dict[tuple[int, str], list[tuple[PastCall, int, bool]]] = defaultdict(list)
    restored = change.ids_given_back()
    called = Counter(call.id for turn in history.turns for call in turn.calls)
    for number, turn in enumerate(history.turns):
        if history.by_number and len(turn.calls) == len(turn.results):
            continue
        doubled = {(call.id, write(call.content)) for call in turn.calls if called[call.id] > 1}
        calls = Counter(identity for identity, _ in doubled)
        results = Counter(one.id for one in turn.results)
        answered = {identity for identity in results if history.gives_ids or results[identity] >= calls[identity]}
        again = {id(after[history.inside]) for before, after in pairwise(turn.messages) if same(before, after)}
        copies += [call for call in turn.calls if id(call.owner) in again]
        for call in turn.calls:
            if id(call.owner) not in again and call.id and change.touches(call.name):
                # A host whose id toolfix restored gives one id to several calls.
                scope = -1 if history.ids_span_turns and call.id not in restored else number
                found[scope, call.id].append((call, number, call.id in answered))
    for of_one_id in found.values():
        alike: dict[str, list[tuple[PastCall, int, bool]]] = defaultdict(list)
        for one in of_one_id if len(of_one_id) > 1 else ():
            alike[write(one[0].content)].append(one)
        for same_calls in alike.values():
            kept = {at: call for call, at, is_answered in reversed(same_calls) if is_answered}
            behind_reasoning = [call for call, _, _ in same_calls if id(call.entry) in history.reasoned]
            if len(kept) < len(same_calls):
                stays = {*behind_reasoning[:1]} or {*kept.values()} or {same_calls[0][0]}
                copies += [call for call, _, _ in same_calls if call not in stays]
    return copies


def drop_copies(history: MessageHistory, change: Change) -> None:
    """Remove the calls that only repeat others, and messages of which nothing is left."""
    copies = {id(call.entry) for call in copies_of(history, change)}
    doubled: list[Json] = []
    changed: list[tuple[list[Json], list[Json]]] = []
    for turn in history.turns if copies else ():
        for before, message in zip((None, *turn.messages), turn.messages, strict=False):
            entries = message[history.inside]
            left = [entry for entry in entries if id(entry) not in copies]
            if len(left) < len(entries) and (same(before, message) or not any(map(history.can_stand_alone, left))):
                doubled.append(message)
            elif len(left) < len(entries):
                changed.append((entries, left))
    change.count("repeated message", len(doubled))
    change.count("repeated call", sum(len(entries) - len(left) for entries, left in changed))
    for entries, left in changed:
        entries[:] = left
    if copies:
        remove(history.entries, doubled)
        history.read_again()


def batches_of(history: History, change: Change) -> Batches:
    """The turns of a history whose results have to stand directly behind their calls."""
    batches: list[Batch] = []
    unclear: set[str] = set()
    for turn in history.turns:
        keys, answered = history.keys(turn)
        pairs = zip(turn.results, answered, strict=True)
        rejects = not history.by_number
        placed = [Placed(one, key, history.words_of(one), rejects and one.displaced) for one, key in pairs if key]
        batch = Batch(turn, keys, placed)
        ours = all(keys) and all(change.touches(call.name) for call in turn.calls)
        if ours and history.is_clear(turn) and not batch.ambiguous:
            batches.append(batch)
        else:
            unclear.update(filter(None, keys))
    return batches, unclear


def _pair(batches: Sequence[Batch], unclear: Set[str], change: Change) -> list[Placed]:
    """Fill in what each batch keeps, gets and lacks; returns the results that do not stay in their position."""
    strays = [stray for stray in _keep_in_position(batches) if stray.key not in unclear]
    moved = [one for batch in batches for one in batch.kept if one.displaced]
    if not (strays or moved or any(batch.missing for batch in batches)):
        return []
    calls = Counter(key for batch in batches for key in set(batch.keys))
    answers: dict[str, Placed] = {}
    """A result that each call has or gets."""
    words: dict[str, set[str]] = defaultdict(set)
    """The words of the results so far, by call."""
    first: dict[str, Placed] = {}
    for stray in strays:
        first.setdefault(stray.key, stray)
    for batch in batches:
        found = [first[key] for key in batch.missing if calls[key] == 1 and key in first]
        moved += found
        batch.late = [*(one for one in batch.kept if one.displaced), *found]
        batch.missing = [key for key in batch.missing if calls[key] != 1 or key not in first]
        alone = all(one.displaced for one in batch.kept)
        for one in batch.results:
            one.alone = alone
        for one in (*batch.kept, *found):
            answers.setdefault(one.key, one)
            words[one.key].add(one.words)
    lacking = {key for batch in batches for key in batch.missing}
    rest = set(strays) - set(moved)
    # In the order of the history, so that the next request says the same of its beginning.
    left = [one for batch in batches for one in batch.results if one in rest]
    for stray in left:
        stray.second = stray.key in answers and stray.key not in lacking
        # While a call of this key lacks its result, the same words are no repetition: most results are "ok".
        stray.lost = stray.key in lacking or stray.words not in words[stray.key]
        words[stray.key].add(stray.words)
    change.count("cancelled call", sum(len(batch.missing) for batch in batches))
    change.count("result moved", len(moved))
    _count_left(left, change)
    for one in left:
        mark = one.result.entry.get("cache_control")
        if one.second and not one.lost and mark is not None:
            answers[one.key].result.entry.setdefault("cache_control", mark)
    return [*moved, *left]


def _count_left(left: list[Placed], change: Change) -> None:
    change.count("repeated result", sum(not one.lost for one in left))
    change.count("another result", sum(one.lost and one.second for one in left))
    change.count("result without a call", sum(one.lost and not one.second for one in left))


def _keep_in_position(batches: Sequence[Batch]) -> list[Placed]:
    """Let each batch keep the results behind it that answer its calls; returns the others, strays first."""
    others: list[Placed] = []
    for batch in sorted(batches, key=lambda batch: bool(batch.keys)):
        wanted = Counter(batch.keys)
        for one in batch.results:
            if wanted[one.key]:
                wanted[one.key] -= 1
                batch.kept.append(one)
            else:
                others.append(one)
        batch.missing = list(wanted.elements())
    return others


def kept_as_text(gone: Iterable[Placed | None]) -> str:
    """The words of the results that are lost, to be sent as a user's text; empty if there are none."""
    lost = (one for one in gone if one is not None and one.lost and one.words.strip())
    return BETWEEN.join(f"{_SECOND if one.second else _LOST}:\n{one.words}" for one in lost)


def instead_of(gone: Sequence[Placed | None]) -> str:
    """A user's text to replace results that are removed, for a position that must not stay empty."""
    lost = any(one is not None and one.lost for one in gone)
    return kept_as_text(gone) or (f"{_LOST} stood here." if lost else LATE)
