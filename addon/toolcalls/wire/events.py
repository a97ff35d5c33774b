"""What the wire hands to a dialect, and what a dialect answers.

A dialect never touches the output: it says for each event that it passes, that it is held, or what is sent instead.
The stream keeps account of all bytes (`ledger.py`), so that an exception at any point can give everything back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from ..work import LimitReached as LimitReached


class Event(NamedTuple):
    """One event of the upstream. `raw` are its bytes with its blank line; `data` is None when it carries none."""

    raw: bytes
    data: str | None
    type: str = ""


class WholeEnds(NamedTuple):
    """How a chunk of whole events ends, nearly always: its `last` bytes are one of `ends`."""

    last: slice
    ends: tuple[bytes, ...]


@dataclass(slots=True, frozen=True)
class Pass:
    """Forward the event as the bytes it came in."""


@dataclass(slots=True, frozen=True)
class SplitLines:
    """The data lines of the event do not fit together: read each of them as an event of its own."""


@dataclass(slots=True, frozen=True)
class Hold:
    """Keep the event back under a key; its bytes go out as they are only if we fail."""

    key: str


@dataclass(slots=True, frozen=True)
class Replace:
    """What goes out instead of an event.

    `release` names the keys whose held events are replaced by `out`. `hold` are bytes that would still
    have to go out if we failed later (the tool-call half of an event whose text half is sent at once).
    """

    out: tuple[bytes, ...] = ()
    release: tuple[str, ...] = ()
    hold: tuple[tuple[str, bytes], ...] = ()


PASS: Final = Pass()
SPLIT_LINES: Final = SplitLines()

Verdict = Pass | SplitLines | Hold | Replace


def joined(answers: Iterable[tuple[Event, Verdict]]) -> Pass | Replace:
    """The answers to the events that one event stood for, as the answer to that one."""
    out: list[bytes] = []
    release: list[str] = []
    hold: list[tuple[str, bytes]] = []
    untouched = True
    for event, answer in answers:
        if isinstance(answer, Hold):
            hold.append((answer.key, event.raw))
        elif isinstance(answer, Replace):
            out += answer.out
            release += answer.release
            hold = [entry for entry in hold if entry[0] not in answer.release]
            hold += answer.hold
        else:
            out.append(event.raw)
            continue
        untouched = False
    return PASS if untouched else Replace(tuple(out), tuple(release), tuple(hold))


MOST_CALLS: Final = 500
"""Most tool calls, choices or output items of one answer: each has state, and is told apart from all the others."""
