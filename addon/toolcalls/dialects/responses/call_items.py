"""The function calls of one response: their events are held until the answer releases a call."""

from __future__ import annotations

from ...mend.finish import Finish
from ...turn.answer import CompletedCall
from ...turn.item_answer import ItemAnswer
from ...turn.items import CallItem
from ...turn.live import LiveCall
from ...unread.fast_path import CallFragments, Lesson
from ...wire.events import Hold
from ..reply_builder import ReplyBuilder
from .call_reader import arguments_in, fragment_in, item_in
from .call_writer import CallWriter
from .events import EventWriter, IncomingEvent
from .held_texts import HeldTexts


class CallItems:
    __slots__ = ("_answer", "_events", "_last", "_live", "_texts", "_writer", "lesson")

    def __init__(self, answer: ItemAnswer, writer: EventWriter, texts: HeldTexts, *, live: bool = False) -> None:
        self._answer = answer
        self._events = writer
        self._writer = CallWriter(writer)
        self._texts = texts
        self._live = live
        self._last: CallItem | None = None
        """The call that the last delta belongs to."""
        self.lesson: Lesson | None = None
        """How to handle deltas like the last one without parsing them, if that one was held."""

    def read_added(self, incoming: IncomingEvent, reply: ReplyBuilder) -> None:
        """Handle the announcement of a call."""
        item, new = self._answer.assembler.begin(item_in(incoming))
        assert item is not None
        live = self._answer.go_live(item.call) if new and self._live and not self._texts.undecided else None
        if live is None:
            reply.hold(item.call.held_under, incoming.raw)
            return
        live.next_part(item.call)
        reply.out.append(self._writer.announcement(item))

    def read_delta(self, incoming: IncomingEvent, reply: ReplyBuilder) -> None:
        """Handle a fragment of arguments."""
        fragment = fragment_in(incoming)
        item, added = self._answer.assembler.add(fragment, incoming)
        if item is None:
            return
        if added and item.call.live is not None:
            self._take_live_fragment(item, item.call.live, incoming, fragment.arguments, reply)
            return
        key = item.call.held_under
        reply.hold(key, incoming.raw)
        if added:
            self._last = item
            if incoming.line == incoming.type and fragment.id:
                self.lesson = Lesson("delta", fragment.arguments, CallFragments(item.call.add, Hold(key)))

    def read_arguments_done(self, incoming: IncomingEvent, reply: ReplyBuilder) -> None:
        """Handle an event with the whole arguments of a call."""
        item, new = self._answer.assembler.take_whole_arguments(snapshot := arguments_in(incoming))
        if item is None:
            return
        if new and item.call.escaped.pieces and snapshot.arguments is item.call.from_fragments()[0]:
            # These long arguments were recognised by their bytes, which took no time, so they are parsed now: the end
            # of the item has enough to do.
            item.call.is_decided()
        reply.hold(item.call.held_under, incoming.raw)

    def read_ended(self, incoming: IncomingEvent, reply: ReplyBuilder) -> None:
        """Handle the end of a call, and send the first calls that have ended if nothing can change them."""
        item, new = self._answer.assembler.end(item_in(incoming))
        if item is None:
            return
        reply.hold(item.call.held_under, incoming.raw)
        if new:
            self._answer.ended.append(item)
            for ready in self._answer.pop_decided() if not self._texts.undecided else ():
                self._write([ready], Finish.COMPLETE, reply)

    @property
    def hold_of_last(self) -> Hold | None:
        """The `Hold` for the call of the last delta; None if that call is over or is sent live."""
        last = self._last
        if last is None or not last.open or last.call.live is not None:
            return None
        return Hold(last.call.held_under)

    def expected(self) -> tuple[str, str] | None:
        """Long arguments that the next event is likely to repeat, as a JSON literal and as text; None if short."""
        call = self._last.call if self._last is not None else None
        return call.expected() if call is not None and call.escaped.pieces else None

    def _take_live_fragment(
        self, item: CallItem, live: LiveCall, incoming: IncomingEvent, text: str, reply: ReplyBuilder
    ) -> None:
        """Send as much of a fragment as keeps the arguments a strict JSON prefix, and hold the rest."""
        part = live.next_part(item.call)
        sent = part.arguments if part is not None else ""
        if text and not sent:
            reply.hold(item.call.held_under, incoming.raw)
            return
        reply.out.append(self._writer.fragment(item, incoming, sent))
        if sent != text:
            rest = self._events.write_unnumbered({**incoming.message, "delta": text[len(sent) :]}, incoming.type)
            reply.hold(item.call.held_under, rest)

    # The end

    def flush(self, finish: Finish, reply: ReplyBuilder, *, drop_refused: bool = False) -> None:
        """Send all held calls: those that have ended, in the order of their ends, then the others."""
        self._write(self._answer.pop_all(), finish, reply, drop_refused=drop_refused)

    def flush_all(self, finish: Finish, reply: ReplyBuilder, *, drop_refused: bool = False) -> None:
        """Send all held calls and those that were written as text, in the order in which the model made them."""
        items = self._answer.pop_all()
        completed = self._answer.complete_all(items, finish, drop_refused=drop_refused)
        self._write_completed(items, completed, finish, reply)

    def flush_found(self, reply: ReplyBuilder, *, drop_refused: bool = False) -> None:
        """Send the calls that were written as text, after all others, unless a structured call repeats them."""
        completed = self._answer.complete_all([], Finish.COMPLETE, drop_refused=drop_refused)
        self._write_completed([], completed, Finish.COMPLETE, reply)

    def _write(
        self, items: list[CallItem], finish: Finish, reply: ReplyBuilder, *, drop_refused: bool = False
    ) -> None:
        """Send these calls, without those that the client does not get."""
        completed = self._answer.complete_items(items, finish, drop_refused=drop_refused)
        self._write_completed(items, completed, finish, reply)

    def _write_completed(
        self,
        items: list[CallItem],
        completed: list[tuple[CallItem, CompletedCall]],
        finish: Finish,
        reply: ReplyBuilder,
    ) -> None:
        """Write completed calls, and release everything that was held of these items."""
        for item, done in completed:
            if done.live is not None:
                reply.out += self._writer.rest(item, done.live, done.outcome)
            else:
                # A call that was written as text is complete, however the response ended.
                cut = finish is Finish.CUT and done.assembled is not None
                reply.out += self._writer.whole(item, done.outcome, cut=cut)
        for item in items:
            reply.release(item.call.held_under)
