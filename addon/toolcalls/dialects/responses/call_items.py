"""The function calls of one response: their events are held, and go out when the answer lets a call leave."""

from __future__ import annotations

from ...mend.finish import Finish
from ...turn.item_answer import ItemAnswer
from ...turn.items import Item
from ...turn.live import LiveCall
from ...unread.fast_path import CallFragments, Lesson
from ...wire.events import Hold, Replace, Verdict
from .call_reader import arguments_in, fragment_in, item_in
from .call_writer import CallWriter
from .events import EventWriter, IncomingEvent
from .held_texts import HeldTexts


class CallItems:
    __slots__ = ("_answer", "_events", "_last", "_live", "_lives", "_texts", "_writer", "lesson")

    def __init__(self, answer: ItemAnswer, writer: EventWriter, texts: HeldTexts, *, live: bool = False) -> None:
        self._answer = answer
        self._events = writer
        self._writer = CallWriter(writer)
        self._texts = texts
        self._live = live
        self._lives: dict[int, LiveCall] = {}
        """By index: the calls that go out while they come."""
        self._last: Item | None = None
        """The call that the last delta belongs to."""
        self.lesson: Lesson | None = None
        """What the last delta says about those like it, if it was held."""

    def read_added(self, incoming: IncomingEvent) -> Verdict:
        item, new = self._answer.calls.begin(item_in(incoming))
        assert item is not None and item.call is not None
        live = self._answer.go_live(item.call) if new and self._live and not self._texts.undecided else None
        if live is None:
            return _hold(item)
        live.take(item.call)
        self._lives[item.index] = live
        return Replace((self._writer.announcement(item, item.call),))

    def read_delta(self, incoming: IncomingEvent) -> Verdict:
        fragment = fragment_in(incoming)
        item, added = self._answer.calls.add(fragment, incoming)
        if item is None or item.call is None:
            return Replace()
        if not added:
            return _hold(item)
        if item.index in self._lives:
            return self._go_on_live(item, self._lives[item.index], incoming, fragment.arguments)
        self._last = item
        if incoming.line == incoming.type and fragment.id:
            self.lesson = Lesson("delta", fragment.arguments, CallFragments(item.call.add, _hold(item)))
        return _hold(item)

    def read_stated(self, incoming: IncomingEvent) -> Verdict:
        item, new = self._answer.calls.state(carrier := arguments_in(incoming))
        if item is None or item.call is None:
            return Replace()
        if new and item.call.quoted.pieces and carrier.arguments is item.call.from_fragments()[0]:
            # They are long and were recognised, which took no time. Most of the work is at the end of the item.
            item.call.is_settled()
        return _hold(item)

    def read_ended(self, incoming: IncomingEvent) -> Verdict:
        item, new = self._answer.calls.end(item_in(incoming))
        if item is None:
            return Replace()
        if not new:
            return _hold(item)
        self._answer.ended.append(item)
        out: list[bytes] = []
        release: list[str] = []
        for ready in self._answer.take_settled() if not self._texts.undecided else ():
            out += self._write([ready], Finish.COMPLETE)
            release.append(_hold(ready).key)
        return Replace(tuple(out), tuple(release)) if release else _hold(item)

    @property
    def hold_of_last(self) -> Hold | None:
        """Under which key the call of the last delta is held; None where none is open."""
        last = self._last
        return _hold(last) if last is not None and last.open and last.index not in self._lives else None

    def expected(self) -> tuple[str, str] | None:
        """The arguments that are about to be stated, if they are long: as JSON writes them and as they are."""
        call = self._last.call if self._last is not None else None
        return call.expected() if call is not None and call.quoted.pieces else None

    def _go_on_live(self, item: Item, live: LiveCall, incoming: IncomingEvent, text: str) -> Verdict:
        assert item.call is not None
        part = live.take(item.call)
        sent = part.arguments if part is not None else ""
        if sent == text:
            return Replace((self._writer.fragment(item, incoming, text),))
        if not sent:
            return _hold(item)
        rest = self._events.unnumbered({**incoming.message, "delta": text[len(sent) :]}, incoming.type)
        return Replace((self._writer.fragment(item, incoming, sent),), hold=((_hold(item).key, rest),))

    # The end

    def flush(self, finish: Finish, *, before_error: bool = False) -> tuple[list[bytes], list[str]]:
        """Everything that is held: the calls that are done, in that order, then the others."""
        items = self._answer.take_all()
        return self._write(items, finish, before_error=before_error), [_hold(item).key for item in items]

    def flush_found(self, *, before_error: bool = False) -> list[bytes]:
        """The calls that were written as text and that no structured call repeats, behind all others."""
        out: list[bytes] = []
        for item, outcome in self._answer.leave_found(before_error=before_error):
            assert item.call is not None
            out += self._writer.whole(item, item.call, outcome, cut=False)
        return out

    def _write(self, items: list[Item], finish: Finish, *, before_error: bool = False) -> list[bytes]:
        out: list[bytes] = []
        for item, done in self._answer.leave(items, finish, before_error=before_error):
            assert item.call is not None
            if done.live is not None:
                out += self._writer.rest(item, item.call, done.live.arguments, done.outcome)
            else:
                out += self._writer.whole(item, item.call, done.outcome, cut=finish is Finish.CUT)
        return out


def _hold(item: Item) -> Hold:
    assert item.call is not None
    return Hold(item.call.held_under)
