"""What the wire hands to a dialect, and what a dialect answers.

A dialect never touches the output: it says for each event that it passes, that it is held, or what is
sent instead. The stream keeps the books, so that an exception at any point can give everything back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol


class Event(NamedTuple):
    """One event of the upstream. `raw` are its bytes with its blank line; `data` is None when it carries none."""

    raw: bytes
    data: str | None
    type: str = ""


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
LINES_ALONE: Final = SplitLines()

Verdict = Pass | SplitLines | Hold | Replace


MOST_CALLS: Final = 1000
"""Most tool calls, choices or output items of one answer: each has state, and is told apart from all the others."""


class LimitReached(Exception):
    """The answer has more of something than we keep: what is held goes out as it came, and the rest passes."""


class Dialect(Protocol):
    """One protocol. Sans-IO: events in, answers out; state lives from the first event to `close`."""

    @property
    def engaged(self) -> bool:
        """A tool call was seen: from here on every event is read. Before, plain blocks pass unread."""

    def plain(self, block: bytes) -> bool:
        """A cheap first look at whole events: True only if none of them can concern us."""

    def read(self, event: Event) -> Verdict:
        """Take one event."""

    def close(self) -> Replace | None:
        """The answer is over: what has to go out now. May be called again."""

    def body(self, body: bytes) -> bytes:
        """Mend an answer that came as one JSON document; the same bytes when nothing changes."""

    # A dialect may know by its bytes where a fragment belongs:
    #
    # def gathers(self, block: bytes) -> Hold | None
    #     A block of nothing but fragments of a call, which it takes without reading them as events; None to have
    #     them read.
    #
    # A dialect may keep an event back until it knows what follows:
    #
    # waits: bool
    #     Is it so now? Then events without data are given to `read` too, for they keep their place.
    #
    # A dialect that converts one protocol into another has three members more, all optional:
    #
    # converting: bool
    #     Nothing passes as it came: events without data are given to `read` too.
    # holding: bool
    #     Is a tool call kept back right now? Its events were answered, so the books know nothing of it.
    # def give_up(self, reason: str) -> tuple[bytes, ...] | None
    #     We fail, or the limit is reached. None: release what is held as it came. Else this is the end of
    #     the answer, and whatever still comes is swallowed.
