"""The events of one stream: each is recognised by its bytes or parsed, and then passes, is held or is replaced.

What happens to an event is entered in the ledger. If anything here raises, the stream fails open (`stream.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from .dialects.interface import Dialect
from .outcome import Outcome
from .unread.fast_path import FastPath
from .wire import sse
from .wire.events import PASS, SPLIT_LINES, Event, Hold, LimitReached, Replace, Verdict, joined
from .wire.framing import SSE
from .wire.ledger import Ledger
from .work import CHARACTERS, EVENT, EVENT_WITHOUT_DATA, LINE, Work

_WRAPPED = ("data:", "event:")
"""Servers that forward another server's stream inside their own data lines repeat its field names."""
_LONG_EVENT = 1024
_WHOLE_JSON = (b"}", b"]")
_MOST_VALUES = 250_000
"""How many JSON values the held events of one answer may contain."""
_ENVELOPE = 8
"""In a held event, one value per this many bytes is not counted: these values are the JSON around a fragment."""


class EventReader:
    """Takes the events of one stream."""

    __slots__ = (
        "_changed",
        "_fast_path",
        "_ledger",
        "_outcomes",
        "_values_left",
        "_work",
        "decided",
        "dialect",
        "recover_event",
    )

    def __init__(
        self, dialect: Dialect, ledger: Ledger, fast_path: FastPath, outcomes: list[Outcome], work: Work
    ) -> None:
        self.dialect = dialect
        self._ledger = ledger
        self._fast_path = fast_path
        self._outcomes = outcomes
        self.decided = 0
        """How many outcomes there were after the last event: if the next one fails, its calls have none."""
        self._work = work
        self._values_left = Work(_MOST_VALUES)
        """How many more values may be held: when a call is complete, all of them are parsed at once."""
        self._changed = False
        """An event was held or replaced. (One that was unwrapped passes, but in other bytes.)"""
        self.recover_event: Callable[[Event, bool], tuple[list[Event], list[Outcome]] | None] | None = None
        """Returns the events that replace an error event, and the calls in them; None if it needs no more events."""

    def set_dialect(self, dialect: Dialect) -> None:
        """Use this dialect from now on: the protocol of the answer has been recognised."""
        self.dialect = dialect

    @property
    def holding(self) -> bool:
        """Whether a tool call is held back right now."""
        return self._ledger.held_bytes > 0 or self.dialect.holding

    def take(self, block: bytes, limit: int, out: list[bytes]) -> None:
        """Take the events of a block, and hold at most `limit` bytes."""
        ledger, take, before = self._ledger, self._fast_path.take, len(out)
        room = limit - ledger.held_bytes
        sent = at = 0  # Between these are events that pass and have not been sent yet.
        for raw in ledger.framing.split(block):
            # The limit and the fast path are checked for each event as if it were a chunk of its own, so that the
            # result does not depend on how the stream was cut.
            fits = len(raw) <= room
            verdict = take(raw) if fits else None
            if verdict is PASS:
                at += len(raw)
                continue
            if at > sent:
                ledger.passed(at - sent, block[sent:at], out)
            sent = at = at + len(raw)
            if isinstance(verdict, Hold):
                self.hold(verdict.key, raw, len(raw))
            elif fits:
                self._read_event(raw, out)
            else:
                raise LimitReached
            room = limit - ledger.held_bytes
        if at > sent:
            ledger.passed(at - sent, block[sent:at], out)
        if len(out) > before + 1 and b"".join(out[before:]) == block:
            out[before:] = [block]

    def hold(self, key: str, raw: bytes, size: int) -> None:
        """Hold an event, and count its values, except for about as many as the envelope of a fragment has."""
        values = len(raw) - len(raw.translate(None, b",[")) - len(raw) // _ENVELOPE
        if values > 0:
            self._values_left.spend(values)
        self._ledger.held(key, size)

    def _read_event(self, raw: bytes, out: list[bytes]) -> None:
        """Parse an event, unless that takes too much work, and ask the dialect about it."""
        work, size = self._work, len(raw)
        work.add_bytes(size)
        if size > _LONG_EVENT:
            work.spend((size >> CHARACTERS) + LINE * sse.count_lines(raw))
            work.read_json(raw)
        event = self._ledger.framing.read_event(raw)
        work.spend(EVENT_WITHOUT_DATA if event.data is None else EVENT)
        if event.data is not None:
            if event.data.startswith(_WRAPPED):
                event = sse.unwrapped(event)
            if self.recover_event is not None and self._recover(event, size, out):
                return
        self._ask_dialect(event, size, out)

    def _recover(self, event: Event, size: int, out: list[bytes]) -> bool:
        """If the event is an error that quotes a call, ask the dialect about events with that call instead."""
        recovered = self.recover_event and self.recover_event(event, self.holding or bool(self._outcomes))
        if recovered is None:
            self.recover_event = None
            return False
        events, calls = recovered
        known = len(self._outcomes)
        for number, one in enumerate(events):
            if self._ledger.framing is not SSE:
                one = one._replace(raw=self._ledger.framing.write(one.data or "", one.type))
            self._ask_dialect(one, 0 if number else size, out)
        if len(self._outcomes) == known + len(calls):
            # These outcomes also say how the call was found; what the client got is the same.
            self._outcomes[known:] = calls
        return bool(events)

    def _ask_dialect(self, event: Event, size: int, out: list[bytes]) -> None:
        """Ask the dialect about an event that takes `size` bytes of the block, and carry out its verdict."""
        if event.data is None and not self.dialect.converting and not self.dialect.waits:
            self._ledger.passed(size, event.raw, out)
            return
        verdict = self.dialect.read(event)
        as_arrived = verdict is PASS or isinstance(verdict, Hold)
        self._fast_path.learn(event.raw, self.dialect.lesson if as_arrived else None)
        if verdict is SPLIT_LINES:
            verdict = self._read_lines_alone(event)
        self._carry_out(verdict, event, size, out)

    def _carry_out(self, verdict: Verdict, event: Event, size: int, out: list[bytes]) -> None:
        """Carry out the verdict on an event; `size`: how many bytes of the block it takes."""
        if verdict is not PASS:
            self._changed = True
        if isinstance(verdict, Hold):
            self.hold(verdict.key, event.raw, size)
        elif isinstance(verdict, Replace):
            self._ledger.replaced(size, verdict, out)
        else:
            self._ledger.passed(size, event.raw, out)
        self.decided = len(self._outcomes)

    def _read_lines_alone(self, event: Event) -> Verdict:
        """Parse each data line as an event of its own: a "blank" line with spaces in it glued events together."""
        lines = sse.lines_alone(event)
        self._work.spend(EVENT * len(lines))
        return joined((line, self.dialect.read(line)) for line in lines)

    def close(self, out: list[bytes]) -> None:
        """The stream has ended: take the rest, which may be half an event, and what the dialect sends at the end."""
        last = self._ledger.ended()
        idle = self._ledger.framing is SSE and not self.dialect.converting and sse.has_only_comments(last)
        waits = self.dialect.waits
        if last and not idle:
            self._take_last(last, out)
        reply = self.dialect.close()
        if reply is not None:
            self._ledger.replaced(0, reply, out)
            # An event that the upstream did not end gets its end before another event follows.
            out[:-1] = [self._ledger.framing.ended(piece) for piece in out[:-1]]
        if last and idle and not waits:
            self._ledger.passed(len(last), last, out)
        # What the dialect has not released by now is no call, and `holding` must not report one.
        self._ledger.drain()

    def _take_last(self, raw: bytes, out: list[bytes]) -> None:
        """Take the last event, without its blank line: the stream may have been cut off inside it."""
        self._work.add_bytes(len(raw))
        if raw.rstrip().endswith(_WHOLE_JSON):
            self._work.read_json(raw)
        self._work.spend(LINE * sse.count_lines(raw))
        event = sse.unwrapped(self._ledger.framing.read_event(raw))
        if self._ledger.framing is not SSE:
            self._ask_dialect(event, len(raw), out)
            return
        # Clients drop an event without its blank line, which is right only for half an event.
        whole = sse.is_whole(event.data, say_done=self._changed)
        event = event._replace(raw=sse.ended(event.raw) if whole else raw)
        if (event.data or "").strip():
            self._ask_dialect(event, len(raw), out)
        else:
            self._carry_out(self.dialect.break_off(event), event, len(raw), out)
