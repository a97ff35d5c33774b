"""Calls and results in pairs: which result answers which call of a history, whatever its protocol.

A protocol says what stands where and how it is written; here it is decided what belongs together. A result that
stands where the protocol wants it counts first. One that stands elsewhere answers its call only where no other call
of the history has that id: ids repeat (`functions.Bash:0`), and then nothing but the place tells results apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

CANCELLED = (
    "[toolfix] This call has no result: it was cancelled, or its result was lost. "
    "Nobody knows whether it ran; look before you send it again."
)
LATE = "[toolfix] The result that stood here is with its call, further up."
SERVER_CALLS = "srvtoolu_"
"""Ids that begin so are of calls that the host runs and answers itself, also where a gateway shows them over Chat."""
_LOST = "[toolfix] The result of a call that is no longer part of this conversation"


@dataclass(slots=True, eq=False)
class PlacedResult:
    """A result, and the number by which its protocol finds it again."""

    number: int
    id: str
    text: str = ""
    """What it says, for the case that its call is gone."""


@dataclass(slots=True, eq=False)
class Batch:
    """The calls of one assistant turn, with the results that stand in their right place behind it."""

    calls: list[str]
    results: list[PlacedResult] = field(default_factory=list)
    kept: list[PlacedResult] = field(default_factory=list)
    """Of those results the ones that stay."""
    late: list[PlacedResult] = field(default_factory=list)
    """Results that stand elsewhere and belong here."""
    missing: list[str] = field(default_factory=list)
    """The calls that nobody answered."""

    @property
    def ambiguous(self) -> bool:
        """Do calls share an id, and is it open which of them is answered?"""
        return len(set(self.calls)) < len(self.calls) and Counter(self.calls) != Counter(
            result.id for result in self.results
        )


@dataclass(slots=True)
class Pairing:
    """What becomes of the results that stay in no place."""

    moved: set[PlacedResult] = field(default_factory=set)
    repeated: set[PlacedResult] = field(default_factory=set)
    orphans: set[PlacedResult] = field(default_factory=set)
    leaving: set[PlacedResult] = field(default_factory=set)
    """All of these."""


def pair(batches: Sequence[Batch], strays: Iterable[PlacedResult], unclear: Set[str]) -> Pairing:
    """Fill in what each batch keeps, gets and lacks.

    `strays` stand in the place of no batch. `unclear` are ids of calls that are left alone, with all their results.
    """
    strays = list(strays)
    lacks = False
    for batch in batches:
        if [result.id for result in batch.results] == batch.calls:
            batch.kept = batch.results
            continue
        wanted = Counter(batch.calls)
        for result in batch.results:
            if wanted[result.id]:
                wanted[result.id] -= 1
                batch.kept.append(result)
            else:
                strays.append(result)
        batch.missing = list(wanted.elements())
        lacks = lacks or bool(batch.missing)
    strays = [stray for stray in strays if stray.id not in unclear]
    pairing = Pairing()
    if not strays and not lacks:
        return pairing
    homes = Counter(call for batch in batches for call in set(batch.calls))
    answered = Counter(result.id for batch in batches for result in batch.kept)
    first: dict[str, PlacedResult] = {}
    for stray in strays:
        first.setdefault(stray.id, stray)
    for batch in batches:
        found = {call: first[call] for call in batch.missing if homes[call] == 1 and call in first}
        batch.late = list(found.values())
        batch.missing = [call for call in batch.missing if call not in found]
        pairing.moved.update(found.values())
        answered.update(found.keys())
    lacking = {call for batch in batches for call in batch.missing}
    for stray in strays:
        if stray in pairing.moved:
            continue
        (pairing.repeated if answered[stray.id] and stray.id not in lacking else pairing.orphans).add(stray)
    pairing.leaving = pairing.moved | pairing.repeated | pairing.orphans
    return pairing


def kept_as_text(orphans: Iterable[PlacedResult]) -> str:
    """What results without a call say, for a user's text; empty where none of them says anything."""
    said = [f"{_LOST}:\n{orphan.text}" for orphan in orphans if orphan.text.strip()]
    return "\n\n".join(said)


def instead_of(results: Iterable[PlacedResult], pairing: Pairing) -> str:
    """A user's text in the place of results that leave it, where something has to stand there."""
    gone = list(results)
    lost = f"{_LOST} stood here." if any(result in pairing.orphans for result in gone) else LATE
    return kept_as_text(result for result in gone if result in pairing.orphans) or lost


def text_of(content: Any) -> str:
    """The words of a result: a text, or the texts of its parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))
