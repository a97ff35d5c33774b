"""The calls of one response that are held: gathered, mended and written when it is time.

How long a call is held: until its `output_item.done` if its arguments are a closed JSON value, for then
nothing that follows can change what they mean. A broken one is held until the terminal event (or `[DONE]`,
or the end of the stream), because only that tells whether the answer was cut. Calls that are done leave in
the order in which they were done, so a whole call waits behind a broken one. Text never waits.
"""

from __future__ import annotations

from ...calls import Outcome
from ...mend.arguments import Finish
from ...mend.call import Mender
from ...tools.declared import Tools
from ...turn import payload
from ...turn.fragments import MIXED, may_begin
from ...turn.live import LiveArguments
from ...turn.turn import GatheredCall, Turn
from ...unread.fast_path import CallFragments, Lesson
from ...wire.escaper import PLACEHOLDER, fill_placeholder
from ...wire.events import Hold, Replace, Verdict
from .attribution import Attribution, is_another, says_the_same
from .calls import (
    CUSTOM,
    FUNCTION,
    FunctionCall,
    ItemKind,
    announced_item,
    finished_item,
    freeform_input,
    whole,
)
from .events import EventWriter, IncomingEvent, Json
from .item_search import ItemSearch
from .items import CALL, Items

CONTRADICTION = "the events of the call tell different arguments"
RETYPED = "retyped as a freeform call"


class CallQueue:
    __slots__ = (
        "_count",
        "_items",
        "_last",
        "_live",
        "_mender",
        "_noted",
        "_queue",
        "_search",
        "_streamed",
        "_tools",
        "_whose",
        "_writer",
        "dropped",
        "lesson",
        "turn",
    )

    def __init__(
        self,
        items: Items,
        writer: EventWriter,
        mender: Mender,
        tools: Tools,
        search: ItemSearch,
        turn: Turn,
        *,
        live: bool = False,
        streamed: bool = True,
    ) -> None:
        self._items = items
        self._whose = Attribution(items)
        self._writer = writer
        self._mender = mender
        self._tools = tools
        self._search = search
        self._live = live
        self._streamed = streamed
        self._queue: list[FunctionCall] = []
        self.turn = turn
        self._count = 0
        self._last: FunctionCall | None = None
        """The call that the last delta belongs to."""
        self.lesson: Lesson | None = None
        """What the last delta says about those like it, if it was held."""
        self.dropped = 0
        self._noted: list[int] = []
        """Where the dropped calls stood about which something is to be said."""

    @property
    def waiting(self) -> bool:
        return bool(self._queue)

    # Gathering

    def open(self, wire_id: str, wire_index: int | None) -> FunctionCall:
        self._count += 1
        index = self._items.place(wire_index)
        call = FunctionCall(index, self._items.identity(wire_id, CALL), CALL, {}, hold=Hold(f"call {self._count}"))
        call.wire_id, call.wire_index = wire_id, wire_index
        self._items.add(call, wire_id, wire_index)
        return call

    def read_added(self, incoming: IncomingEvent) -> Verdict:
        wire_id, wire_index = _text(incoming.item, "id"), incoming.number("output_index")
        call = self._whose.find(wire_id, wire_index)
        if (
            call is None
            or (call.added and not call.began_as(wire_id))
            or not self._whose.fits(call, incoming)
            or is_another(call, wire_id)
        ):
            call = self.open(wire_id, wire_index)
        if call.added is None:
            call.added = incoming
            told_before = self.turn.resent.knows(call.wanted_id())
            live = self._live and not self._search.undecided
            if live and not (call.delta or told_before or self._freeform(call)) and call.wanted_name():
                return Replace((self._begin_live(call),))
        return call.hold

    def read_delta(self, incoming: IncomingEvent) -> Verdict:
        wire_id, wire_index = incoming.text("item_id"), incoming.number("output_index")
        known = self._items.known(wire_id)
        if isinstance(known, FunctionCall) and not known.open and wire_index in (None, known.wire_index):
            # Behind the end of its item nothing is said of a call.
            return Replace() if known.done or known.dropped else known.hold
        call = self._whose.find(wire_id, wire_index)
        if (lost := self._whose.lost(call, wire_id, wire_index)) is not None:
            return lost.hold
        text = payload.text_of(incoming.message.get("delta"))
        if call is not None and self._begins_another(call, wire_id, wire_index, text):
            call = None
        if call is None and not text:
            # It says nothing about nobody.
            return Replace()
        if call is None:
            call = self.open(wire_id, wire_index)
            self._whose.stray(call, text)
        if text or known is not None:
            self._items.alias(call, wire_id, None)
            call.heard(wire_id)
        call.delta = call.delta or incoming
        call.add(text)
        if call.live:
            return self._go_on_live(call, call.live, incoming, text)
        self._last = call
        if incoming.line == incoming.type and wire_id:
            self.lesson = Lesson("delta", text, CallFragments(call.add, call.hold))
        return call.hold

    def _begins_another(self, call: FunctionCall, wire_id: str, wire_index: int | None, text: str) -> bool:
        """Is this the next call, on a server that does not count? Another id says so, or none and no index either."""
        if not wire_id and wire_index is not None and wire_index == call.wire_index:
            return False
        another = self._items.known(wire_id) is not call and call.delta is not None and may_begin(text)
        return another and whole("".join(call.fragments))

    @property
    def hold_of_last(self) -> Hold | None:
        """Under which key the call of the last delta is held; None where none is open."""
        last = self._last
        return last.hold if last is not None and last.open and last.live is None else None

    def expected(self) -> tuple[str, str] | None:
        """The arguments that are about to be stated, if they are long: as JSON writes them and as they are."""
        return self._last.expected() if self._last is not None and self._last.quoted.pieces else None

    def read_stated(self, incoming: IncomingEvent) -> Verdict:
        wire_id, wire_index = incoming.text("item_id"), incoming.number("output_index")
        call = self._whose.find(wire_id, wire_index)
        if (
            wire_id
            and call is not None
            and call.arguments_done
            and _arguments(call.arguments_done) == _arguments(incoming)
        ):
            # The same arguments of the same item, said twice: not another call.
            return call.hold
        if (lost := self._whose.lost(call, wire_id, wire_index)) is not None:
            return lost.hold
        if call is None or call.arguments_done:
            known = self._items.known(wire_id) or self._items.at(wire_index)
            if isinstance(known, FunctionCall) and not known.open:
                # Said again, or only after the item was done: the call is written already, or will be.
                known.arguments_done = known.arguments_done or incoming
                return Replace() if known.done or known.dropped else known.hold
            call = self.open(wire_id, wire_index)
        call.arguments_done = incoming
        if call.quoted.pieces and incoming.message.get("arguments") is call.said()[0]:
            # They are long and were recognised, which took no time. Most of the work is at the end of the item.
            call.is_whole()
        return call.hold

    def read_ended(self, incoming: IncomingEvent) -> Verdict:
        wire_id, wire_index = _text(incoming.item, "id"), incoming.number("output_index")
        call = self._whose.called(incoming)
        if call is None:
            call = self._whose.find(wire_id, wire_index)
            if call is not None and self._items.known(wire_id) is not call:
                call = self._whose.named(_text(incoming.item, "name"), wire_index) or call
            if self._whose.lost(call, wire_id, wire_index) is not None:
                # It tells a call as a whole: that is certain, whichever of those it is.
                call = None
        if call is None or not self._whose.fits(call, incoming):
            known = self._items.known(wire_id)
            if (
                isinstance(known, FunctionCall)
                and not known.open
                and self._whose.fits(known, incoming)
                and says_the_same(known, incoming)
            ):
                return Replace() if known.done or known.dropped else known.hold
            call = self.open(wire_id, wire_index)
        call.item_done = incoming
        self._queue.append(call)
        out: list[bytes] = []
        release: list[str] = []
        while self._queue and self._queue[0].is_whole() and not self._search.undecided:
            call = self._queue.pop(0)
            out += self._write_each([call], Finish.COMPLETE)
            release.append(call.hold.key)
        return Replace(tuple(out), tuple(release)) if release else call.hold

    # Aggregation off

    def _begin_live(self, call: FunctionCall) -> bytes:
        """The announcement goes out now: its name and its id are final."""
        assert call.added is not None
        call.live = LiveArguments()
        self.turn.count_sent()
        call.announced = True
        call.call_id = self._mender.ids.unique(call.wanted_id())
        call.name = call.wanted_name()
        item = {**call.added.item, "id": call.id, "type": CALL, "call_id": call.call_id, "arguments": ""}
        return self._writer.forward(call.added, output_index=call.index, item=item)

    def _go_on_live(self, call: FunctionCall, live: LiveArguments, incoming: IncomingEvent, text: str) -> Verdict:
        where = {"item_id": call.id, "output_index": call.index}
        taken = "" if call.doubt else live.take(text)
        if taken == text:
            return Replace((self._writer.forward(incoming, **where, delta=text),))
        if not taken:
            return call.hold
        rest = self._writer.unnumbered({**incoming.message, "delta": text[len(taken) :]}, incoming.type)
        return Replace((self._writer.forward(incoming, **where, delta=taken),), hold=((call.hold.key, rest),))

    def _write_rest(self, call: FunctionCall, live: LiveArguments, outcome: Outcome) -> list[bytes]:
        """The end of a live call: what is missing of it, if what is mended continues what was sent."""
        sent = live.sent
        whole_text = outcome.arguments if outcome.arguments.startswith(sent) else sent
        item = finished_item(call, FUNCTION, call.name, whole_text, cut=outcome.status == "refused")
        call.done = item
        where = {"item_id": call.id, "output_index": call.index}
        out: list[bytes] = []
        if len(whole_text) > len(sent) or not call.delta:
            delta = {**where, "delta": whole_text[len(sent) :]}
            out.append(self._writer.write(f"{FUNCTION.events}.delta", delta))
        out.append(self._write_stated(call, FUNCTION, where, call.name, whole_text))
        return [*out, self._write_ended(call, item)]

    # The end

    def flush(self, finish: Finish, *, before_error: bool = False) -> tuple[list[bytes], list[str]]:
        """Everything that is held: the calls that are done, in that order, then the others."""
        waiting = self._queue
        self._queue = []
        waiting += [item for item in self._items.in_order() if isinstance(item, FunctionCall) and item.open]
        if len(waiting) > 1 and any(not call.wanted_name() and call.settle()[0] for call in waiting):
            # Arguments of no call may be missing in each that is not whole by itself.
            for call in waiting:
                call.doubt = call.doubt or ("" if call.is_whole() else MIXED)
        return self._write_each(waiting, finish, before_error=before_error), [call.hold.key for call in waiting]

    def _write_each(self, calls: list[FunctionCall], finish: Finish, *, before_error: bool = False) -> list[bytes]:
        """Each of them once."""
        out: list[bytes] = []
        told = [self._gathered(call, finish) for call in calls]
        for call, known, outcome in zip(
            calls, told, self.turn.complete(told, finish, before_error=before_error), strict=True
        ):
            if outcome is None or outcome.dropped:
                call.dropped = True
                self.dropped += known.told.kept
                if outcome is not None and outcome.note:
                    self._noted.append(call.index)
            elif call.live is not None:
                out += self._write_rest(call, call.live, outcome)
            else:
                call.namespace = outcome.namespace or call.namespace
                out += self._write_whole(call, call.form, outcome, cut=finish is Finish.CUT)
        return out

    def notes(self) -> list[tuple[int, str]]:
        """What to tell the client about dropped calls where no call is left, and at which index."""
        return list(zip(self._noted, self.turn.take_notes(), strict=False))

    def flush_found(self, *, before_error: bool = False) -> list[bytes]:
        """The calls that were written as text and that no structured call repeats, behind all others."""
        out: list[bytes] = []
        for outcome in self.turn.complete_found(before_error=before_error):
            call = self.open("", None)
            if outcome.dropped:
                call.dropped = True
                self._noted += [call.index] if outcome.note else []
                continue
            call.namespace = outcome.namespace or ""
            out += self._write_whole(call, FUNCTION, outcome, cut=False)
        return out

    def _write_whole(self, call: FunctionCall, form: ItemKind, outcome: Outcome, *, cut: bool) -> list[bytes]:
        call.call_id = outcome.id
        text = outcome.arguments
        item = finished_item(call, form, outcome.name, text, cut=cut)
        call.type = form.type
        call.done = item
        where = {"item_id": call.id, "output_index": call.index}
        return [
            *self._write_beginning(call, form, where, announced_item(call, form, item), text),
            self._write_stated(call, form, where, outcome.name, text),
            self._write_ended(call, item),
        ]

    def _freeform(self, call: FunctionCall) -> bool:
        tool = self._tools.get(call.wanted_name(), call.wanted_namespace())
        return tool is not None and tool.kind == "custom"

    def _gathered(self, call: FunctionCall, finish: Finish) -> GatheredCall:
        """A call as its carriers tell it. `finish`: how the response ended."""
        told = call.told_once
        uncertain = call.uncertain
        text, steps = call.settle()
        if call.live is not None:
            told.out = True
            doubt = (call.doubt or CONTRADICTION) if uncertain else ""
            return GatheredCall(call.name, text, steps=steps, doubt=doubt, live=call.live, told=told)
        name, namespace, identity = call.wanted_name(), call.wanted_namespace(), call.wanted_id()
        if not name and not text:
            return GatheredCall("", "", told=told)
        if uncertain:
            doubt = call.doubt or CONTRADICTION
            return GatheredCall(name, call.said()[0], identity, doubt=doubt, told=told)
        finish = Finish.CUT if call.cut else finish
        known = GatheredCall(
            name, text, identity, steps if self._streamed else (), finish=finish, namespace=namespace, told=told
        )
        if self._freeform(call) and (text.strip() or finish is Finish.COMPLETE):
            raw = freeform_input(text, finish)
            if raw is not None:
                known.arguments, known.steps, call.form = raw, (*known.steps, RETYPED), CUSTOM
                return known
            if not whole(text):
                known.doubt = "the input of the freeform tool was cut off or has no one reading"
                return known
        known.value = call.take_value(text)
        return known

    def _write_beginning(self, call: FunctionCall, form: ItemKind, where: Json, item: Json, text: str) -> list[bytes]:
        writer = self._writer
        place = {"output_index": call.index, "item": item}
        first = (
            writer.forward(call.added, **place) if call.added else writer.write("response.output_item.added", place)
        )
        pieces = _unsaid(call, call.delta.message if call.delta else {}, "delta", text)
        told = PLACEHOLDER if pieces else text
        if call.delta and form is FUNCTION:
            return [first, fill_placeholder(writer.forward(call.delta, **where, delta=told), pieces)]
        wanted = call.delta.number("sequence_number") if call.delta else None
        return [
            first,
            fill_placeholder(writer.write(f"{form.events}.delta", {**where, "delta": told}, wanted), pieces),
        ]

    def _write_stated(self, call: FunctionCall, form: ItemKind, where: Json, name: str, text: str) -> bytes:
        pieces = _unsaid(call, call.arguments_done.message if call.arguments_done else {}, form.field, text)
        fields = {**where, form.field: PLACEHOLDER if pieces else text}
        if call.arguments_done and form is FUNCTION:
            if "name" in call.arguments_done.message:
                fields["name"] = name
            return fill_placeholder(self._writer.forward(call.arguments_done, **fields), pieces)
        wanted = call.arguments_done.number("sequence_number") if call.arguments_done else None
        return fill_placeholder(self._writer.write(f"{form.events}.done", fields, wanted), pieces)

    def _write_ended(self, call: FunctionCall, item: Json) -> bytes:
        key = FUNCTION.field
        pieces = _unsaid(call, call.item_done.item if call.item_done else {}, key, str(item.get(key, "")))
        place = {"output_index": call.index, "item": {**item, key: PLACEHOLDER} if pieces else item}
        if not call.item_done:
            return fill_placeholder(self._writer.write("response.output_item.done", place), pieces)
        written = fill_placeholder(self._writer.forward(call.item_done, **place), pieces)
        if call.item_done.message.get("item") == item:
            call.done_text = call.item_done.item_text
        return written


def _unsaid(call: FunctionCall, said: Json, key: str, text: str) -> list[str]:
    """The pieces of long arguments that the event has to be given, because it does not say them itself."""
    return call.pieces(text) if call.quoted.pieces and said.get(key) != text else []


def _arguments(stated: IncomingEvent) -> tuple[str, object]:
    """Whose arguments, and which."""
    return stated.text("item_id"), stated.message.get("arguments")


def _text(body: Json, key: str) -> str:
    value = body.get(key)
    return value if isinstance(value, str) else ""
