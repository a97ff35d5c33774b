"""Events, which go to a dialect, and verdicts, which the dialect returns.

A dialect never writes output: it says of each event that it passes, that it is held, or what is sent instead. The
stream accounts for all bytes (`ledger.py`), so that after any exception everything can still be sent unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from ..sizes import MOST_CALLS as MOST_CALLS
from ..sizes import LimitReached as LimitReached

LINE_ENDS: Final = "\x85\u2028\u2029"
"""The characters that `str.splitlines` cuts at, without the control characters, which JSON always escapes."""


def in_one_line(data: str) -> str:
    """JSON in which the characters are escaped that Python clients take for a line end: httpx reads lines of text."""
    for character in () if data.isascii() else LINE_ENDS:
        data = data.replace(character, f"\\u{ord(character):04x}")
    return data


class Event(NamedTuple):
    """One event of the upstream. `raw`: its bytes with its blank line; `data`: None if the event has no data."""

    raw: bytes
    data: str | None
    type: str = ""


@dataclass(slots=True, frozen=True)
class Pass:
    """Forward the event byte for byte."""


@dataclass(slots=True, frozen=True)
class SplitLines:
    """The data lines of the event do not belong together: parse each as an event of its own."""


@dataclass(slots=True, frozen=True)
class Hold:
    """Hold the event back under a key; its bytes are sent as they arrived only if we fail."""

    key: str


@dataclass(slots=True, frozen=True)
class Replace:
    """Send `out` instead of an event.

    `release`: the keys whose held events `out` replaces too. `hold`: bytes that would still have to be sent if we
    failed later (the tool-call half of an event whose text half is sent at once).
    """

    out: tuple[bytes, ...] = ()
    release: tuple[str, ...] = ()
    hold: tuple[tuple[str, bytes], ...] = ()


PASS: Final = Pass()
SPLIT_LINES: Final = SplitLines()

Verdict = Pass | SplitLines | Hold | Replace


def joined(verdicts: Iterable[tuple[Event, Verdict]]) -> Pass | Replace:
    """The verdicts on the events that were split off one event, joined into one verdict on that event."""
    out: list[bytes] = []
    release: list[str] = []
    hold: list[tuple[str, bytes]] = []
    untouched = True
    for event, verdict in verdicts:
        if isinstance(verdict, Hold):
            hold.append((verdict.key, event.raw))
        elif isinstance(verdict, Replace):
            out += verdict.out
            release += verdict.release
            hold = [entry for entry in hold if entry[0] not in verdict.release]
            hold += verdict.hold
        else:
            out.append(event.raw)
            continue
        untouched = False
    return PASS if untouched else Replace(tuple(out), tuple(release), tuple(hold))
