"""Decides which result answers which call of a history, whatever its protocol.

A result in the position that the protocol wants counts first. A result elsewhere answers its call only if no other
call of the history has that id: ids repeat (`functions.Bash:0`), and then only the position tells results apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field

from .change import Change
from .history import BETWEEN, History, PastResult, Turn

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
    second: bool = False
    """Its call already has another result."""


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
    """Results from elsewhere that belong here."""
    missing: list[str] = field(default_factory=list)
    """The calls without a result."""

    @property
    def ambiguous(self) -> bool:
        """Whether calls share a key and it is unclear which of them is answered."""
        return len(set(self.keys)) < len(self.keys) and Counter(self.keys) != Counter(one.key for one in self.results)


@dataclass(slots=True)
class Pairing:
    """The results that do not stay in their position."""

    moved: set[Placed] = field(default_factory=set)
    repeated: set[Placed] = field(default_factory=set)
    orphans: set[Placed] = field(default_factory=set)
    """Results without a call, or whose call has a different result: their text is kept."""
    leaving: set[Placed] = field(default_factory=set)
    """All results that do not stay: moved, repeated or without a call."""


def read_batches(history: History, change: Change) -> tuple[list[Batch], set[str]]:
    """The turns whose calls can be paired, and the keys of the calls that are left alone, with all their results."""
    batches: list[Batch] = []
    unclear: set[str] = set()
    for turn in history.turns:
        keys, answered = history.keys(turn)
        pairs = zip(turn.results, answered, strict=True)
        batch = Batch(turn, keys, [Placed(one, key, history.words_of(one)) for one, key in pairs if key])
        ours = all(keys) and all(change.touches(call.name) for call in turn.calls)
        if ours and history.is_clear(turn) and not batch.ambiguous:
            batches.append(batch)
        else:
            unclear.update(filter(None, keys))
    return batches, unclear


def pair(batches: Sequence[Batch], unclear: Set[str], change: Change) -> Pairing:
    """Fill in what each batch keeps, gets and lacks."""
    strays = [stray for stray in _keep_in_position(batches) if stray.key not in unclear]
    pairing = Pairing()
    if not strays and not any(batch.missing for batch in batches):
        return pairing
    calls = Counter(key for batch in batches for key in set(batch.keys))
    answered = Counter(one.key for batch in batches for one in batch.kept)
    first: dict[str, Placed] = {}
    for stray in strays:
        first.setdefault(stray.key, stray)
    for batch in batches:
        found = {key: first[key] for key in batch.missing if calls[key] == 1 and key in first}
        batch.late = list(found.values())
        batch.missing = [key for key in batch.missing if key not in found]
        pairing.moved.update(found.values())
        answered.update(found.keys())
    lacking = {key for batch in batches for key in batch.missing}
    words: dict[str, set[str]] = {}
    """The words of the results so far, by call."""
    for batch in batches:
        for one in (*batch.kept, *batch.late):
            words.setdefault(one.key, set()).add(one.words)
    for stray in strays:
        if stray in pairing.moved:
            continue
        stray.second = bool(answered[stray.key]) and stray.key not in lacking
        repeats = stray.second and stray.words in words.get(stray.key, ())
        (pairing.repeated if repeats else pairing.orphans).add(stray)
        words.setdefault(stray.key, set()).add(stray.words)
    pairing.leaving = pairing.moved | pairing.repeated | pairing.orphans
    second = sum(one.second for one in pairing.orphans)
    change.count("cancelled call", sum(len(batch.missing) for batch in batches))
    change.count("result moved", len(pairing.moved))
    change.count("repeated result", len(pairing.repeated))
    change.count("another result", second)
    change.count("result without a call", len(pairing.orphans) - second)
    return pairing


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


def kept_as_text(orphans: Iterable[Placed]) -> str:
    """The words of these results, to be sent as a user's text; empty if there are none."""
    lines = [f"{_SECOND if one.second else _LOST}:\n{one.words}" for one in orphans if one.words.strip()]
    return BETWEEN.join(lines)


def instead_of(gone: Sequence[Placed], pairing: Pairing) -> str:
    """A user's text to replace results that are removed, for a position that must not stay empty."""
    lost = f"{_LOST} stood here." if any(one in pairing.orphans for one in gone) else LATE
    return kept_as_text(one for one in gone if one in pairing.orphans) or lost
