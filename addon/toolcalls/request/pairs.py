"""Decides which result answers which call of a history, whatever its protocol.

The module of a protocol finds and writes calls and results; this one decides what belongs together. A result in the
position that the protocol wants counts first. A result elsewhere answers its call only if no other call of the
history has that id: ids repeat (`functions.Bash:0`), and then only the position tells results apart.
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
"""The prefix of ids of calls that the host runs and answers itself; a gateway may show such calls over Chat."""
_LOST = "[toolfix] The result of a call that is no longer part of this conversation"
_SECOND = "[toolfix] Another result of a call that has one already"


@dataclass(slots=True, eq=False)
class PlacedResult:
    """A result, and the number by which its protocol finds it again."""

    number: int
    id: str
    text: str = ""
    """The text of the result, in case its call is gone."""
    second: bool = False
    """Its call already has another result."""


@dataclass(slots=True, eq=False)
class Batch:
    """The calls of one assistant turn, with the results in the right position behind it."""

    calls: list[str]
    results: list[PlacedResult] = field(default_factory=list)
    kept: list[PlacedResult] = field(default_factory=list)
    """The results behind it that answer its calls."""
    late: list[PlacedResult] = field(default_factory=list)
    """Results from elsewhere that belong here."""
    missing: list[str] = field(default_factory=list)
    """The calls without a result."""

    @property
    def ambiguous(self) -> bool:
        """Whether calls share an id and it is unclear which of them is answered."""
        return len(set(self.calls)) < len(self.calls) and Counter(self.calls) != Counter(
            result.id for result in self.results
        )


@dataclass(slots=True)
class Pairing:
    """The results that do not stay in their position."""

    moved: set[PlacedResult] = field(default_factory=set)
    repeated: set[PlacedResult] = field(default_factory=set)
    orphans: set[PlacedResult] = field(default_factory=set)
    """Results without a call, or whose call has a different result: their text is kept."""
    leaving: set[PlacedResult] = field(default_factory=set)
    """All results that do not stay: moved, repeated or without a call."""


def pair(batches: Sequence[Batch], strays: Iterable[PlacedResult], unclear: Set[str]) -> Pairing:
    """Fill in what each batch keeps, gets and lacks.

    `strays`: results behind no batch. `unclear`: ids of calls that are left alone, with all their results.
    """
    strays = [stray for stray in (*strays, *_keep_in_position(batches)) if stray.id not in unclear]
    pairing = Pairing()
    if not strays and not any(batch.missing for batch in batches):
        return pairing
    calls = Counter(call for batch in batches for call in set(batch.calls))
    answered = Counter(result.id for batch in batches for result in batch.kept)
    first: dict[str, PlacedResult] = {}
    for stray in strays:
        first.setdefault(stray.id, stray)
    for batch in batches:
        found = {call: first[call] for call in batch.missing if calls[call] == 1 and call in first}
        batch.late = list(found.values())
        batch.missing = [call for call in batch.missing if call not in found]
        pairing.moved.update(found.values())
        answered.update(found.keys())
    lacking = {call for batch in batches for call in batch.missing}
    texts: dict[str, set[str]] = {}
    """The texts of the results so far, by call."""
    for batch in batches:
        for result in (*batch.kept, *batch.late):
            texts.setdefault(result.id, set()).add(result.text)
    for stray in strays:
        if stray in pairing.moved:
            continue
        stray.second = bool(answered[stray.id]) and stray.id not in lacking
        repeats = stray.second and stray.text in texts.get(stray.id, ())
        (pairing.repeated if repeats else pairing.orphans).add(stray)
        texts.setdefault(stray.id, set()).add(stray.text)
    pairing.leaving = pairing.moved | pairing.repeated | pairing.orphans
    return pairing


def _keep_in_position(batches: Sequence[Batch]) -> list[PlacedResult]:
    """Let each batch keep the results behind it that answer its calls; returns the others."""
    others: list[PlacedResult] = []
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
                others.append(result)
        batch.missing = list(wanted.elements())
    return others


def kept_as_text(orphans: Iterable[PlacedResult]) -> str:
    """The texts of these results, to be sent as a user's text; empty if none has any."""
    texts = [f"{_SECOND if one.second else _LOST}:\n{one.text}" for one in orphans if one.text.strip()]
    return "\n\n".join(texts)


def instead_of(results: Iterable[PlacedResult], pairing: Pairing) -> str:
    """A user's text to replace results that are removed, for a position that must not stay empty."""
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
