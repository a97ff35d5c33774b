"""The block machine of a Messages stream: events of blocks in, a legal sequence of blocks out.

Text, thinking and the server's own tools pass at once, under the next free index. A tool_use is held; it
goes out whole when it is closed and strictly valid, or when the stop reason says what became of the
answer, and never before an earlier call. With aggregation off the first call in line flows instead.
Text goes its way in `text_blocks.py`; a call that is found in it goes out as a block of its own.
"""

from __future__ import annotations

import itertools

from ...mend.arguments import Finish
from ...mend.call import Mender
from ...tools.declared import Tools
from ...turn import payload
from ...turn.fragments import MIXED
from ...turn.turn import GatheredCall, Turn
from ...unread.fast_path import CallFragments, Lesson
from ...wire.events import Event, Hold
from ..reply_builder import ReplyBuilder
from .assembler import Calls, LiveToolUse
from .block_search import BlockSearch
from .blocks import DELTA_NEEDS, SAYS, Blocks, Place, delta_of, place_of, write
from .calls import TOOL_USE, Json, ToolUse, gathered, named_block
from .text_blocks import TextBlocks

_LATER = "later"
_SPOILER = ",\x1a"
"""No JSON at any place of an open object. The Python SDK reads what is there of an object as the object (and nothing
at all as `{}`), so that a prefix left open would be run; on this it raises."""


class BlockSequencer:
    __slots__ = (
        "_flow",
        "_flowing",
        "_last_place",
        "_later",
        "_later_places",
        "_mender",
        "_others",
        "_search",
        "blocks",
        "calls",
        "lesson",
        "other_tools",
        "talk",
        "turn",
    )

    def __init__(self, mender: Mender, tools: Tools, *, flowing: bool, search: BlockSearch | None = None) -> None:
        self._mender = mender
        self.turn = Turn(tools, mender, legal=True, spoiler=_SPOILER)
        self._search = search
        self._flowing = flowing
        self.blocks = Blocks()
        self.talk = TextBlocks(self.blocks, search, self.turn, self._make_room)
        self.calls = Calls()
        self.other_tools = False
        self.lesson: Lesson | None = None
        """What the last delta says about those like it, if it went on or was held as it came."""
        self._flow: LiveToolUse | None = None
        self._later: list[tuple[Event, Json]] = []
        self._later_places: set[Place] = set()
        self._others: set[Place] = set()
        """Where the server's own tools were started last."""
        self._last_place: Place = None

    # Events of blocks

    def take(self, event: Event, said: Json, draft: ReplyBuilder) -> None:
        kind = said["type"]
        if kind == "content_block_delta":
            self._delta(event, said, draft)
        elif kind == "content_block_start":
            self._start(event, said, draft)
        else:
            self._stop(event, said, draft)

    def _place(self, said: Json) -> Place:
        place = place_of(said)
        return self._last_place if place is None else place

    def _start(self, event: Event, said: Json, draft: ReplyBuilder) -> None:
        block = said.get("content_block")
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(block, dict) or not isinstance(kind, str):
            # It says nothing; the deltas open the block that they need.
            return
        place = self._last_place = place_of(said)
        self._others.discard(place)
        if kind == TOOL_USE:
            self._start_call(event, said, block, place, draft)
        elif not self._postponed(event, said, draft):
            self.talk.pass_on(draft)
            self.calls.close(place)
            self._make_room(draft)
            self.talk.ends_in_text = True
            if kind.endswith(TOOL_USE):
                self.other_tools = True
                self._others.add(place)
            draft.out.append(self.blocks.start(kind, place, event, said))

    def _start_call(self, event: Event, said: Json, block: Json, place: Place, draft: ReplyBuilder) -> None:
        flow = self._flow
        if flow is not None and flow.arguments.complete:
            self._settle(draft, Finish.COMPLETE)
        search = self._search
        # Where the text before it may be a call, this one waits for what becomes of that.
        behind_text = search is not None and search.undecided and search.place != place
        if self._flow is None and not behind_text:
            self.talk.pass_on(draft)
        if flow is None and self.blocks.open is not None and self.blocks.open.place == place:
            # The index is given away: the stop of the block that had it is missing.
            draft.out.append(self.blocks.stop())
            self._send_ready(draft)
        call = self.calls.start(place, block)
        self.talk.ends_in_text = False
        draft.hold(call.key, event.raw)
        if self._flowing and self._flow is None and len(self.calls.waiting) == 1 and not behind_text:
            self._let_flow(call, event, said, place, draft)

    def _delta(self, event: Event, said: Json, draft: ReplyBuilder) -> None:
        delta, kind = delta_of(said)
        if not delta:
            return
        if delta is not said.get("delta"):
            said = {**said, "delta": delta}
            event = Event(write(said), event.data, event.type)
        place = self._place(said)
        if kind == "input_json_delta":
            self._fragment(event, said, delta, place, draft)
        else:
            self._say(event, said, delta, kind, place, draft)

    def _fragment(self, event: Event, said: Json, delta: Json, place: Place, draft: ReplyBuilder) -> None:
        there = self.blocks.open
        if there is not None and there.place == place and there.kind not in (TOOL_USE, "text", "thinking"):
            draft.out.append(self.blocks.renumbered(event, said))
            return
        if place in self._later_places and self._postponed(event, said, draft):
            return
        text = payload.text_of(delta.get("partial_json"))
        # The rest of a server's own tool whose block had to be closed has nowhere to go.
        call = None
        if place not in self._others:
            call = self.calls.fragment_of(place, placed=place_of(said) is not None)
        if call is None:
            return
        self.talk.ends_in_text = False
        if self._flow is not None and call is self._flow.call:
            self._flow_on(self._flow, event, said, text, draft)
            return
        call.add(text)
        draft.hold(call.key, event.raw)
        if not call.unsure:
            # Where another call may be meant, the next fragment is asked about too.
            self.lesson = Lesson("partial_json", text, CallFragments(call.add, Hold(call.key)))

    def _say(self, event: Event, said: Json, delta: Json, kind: str, place: Place, draft: ReplyBuilder) -> None:
        need = DELTA_NEEDS.get(kind)
        spoken = kind == "text_delta" and bool(delta.get("text"))
        if kind == "citations_delta" and self._flow is None:
            self.talk.pass_on(draft)  # what is cited is no call
        if spoken and (self._postponed(event, said, draft) or self.talk.search(event, said, delta, place, draft)):
            return
        there = self.blocks.open
        if there is not None and there.place == place and there.kind != TOOL_USE and need in (None, there.kind):
            self.talk.go_on(event, said, draft)
            self.lesson = self.talk.lesson(kind, delta)
            return
        if need is None or self._postponed(event, said, draft):
            return
        text = delta.get(SAYS[kind]) if kind in SAYS else None
        if kind in SAYS and not text:
            return
        if kind == "text_delta" and isinstance(text, str):
            self.talk.tell(text, place, said, draft)
            return
        self.talk.pass_on(draft)
        self.talk.open(need, place, draft)
        draft.out.append(self.blocks.renumbered(Event(write(said), None), said))

    def _stop(self, event: Event, said: Json, draft: ReplyBuilder) -> None:
        place = self._place(said)
        call = self.calls.close(place)
        if call is None and not self.talk.may_stop(event, said, place, draft):
            return
        there = self.blocks.open
        if call is not None:
            draft.hold(call.key, event.raw)
            if self._flow is not None and call is self._flow.call:
                if self._flow.arguments.complete:
                    self._settle(draft, Finish.COMPLETE, self.blocks.renumbered(event, said))
                return
        elif self._flow is not None:
            if place in self._later_places:
                self._postponed(event, said, draft)
            return
        if there is not None and there.place == place and there.kind != TOOL_USE:
            raw = self.blocks.renumbered(event, said)
            draft.out.append(self.blocks.stop() if call is not None else raw)
            self.blocks.open = None
            self.talk.ends_in_text = False
        self._send_ready(draft)

    # Calls going out

    def _make_room(self, draft: ReplyBuilder) -> None:
        """Another block begins: the open one is closed, and what is complete goes out before it."""
        if self.blocks.open is not None:
            draft.out.append(self.blocks.stop())
        self._send_ready(draft)
        self.calls.followed()

    def _send_found(self, draft: ReplyBuilder, *, before_error: bool = False) -> bool:
        """The calls out of the text, but for those that structured calls told. False when one was refused."""
        whole = True
        for outcome in self.turn.complete_found(before_error=before_error):
            whole = whole and outcome.status != "refused"
            draft.out += [] if outcome.dropped else self.blocks.call({}, outcome, [])
        return whole

    def _send_ready(self, draft: ReplyBuilder) -> None:
        """The calls at the head of the line that need no stop reason."""
        waiting = self.calls.waiting
        while waiting and self.blocks.open is None and waiting[0].closed and waiting[0].ready():
            self._send([waiting.pop(0)], draft, Finish.COMPLETE)

    def _send(self, calls: list[ToolUse], draft: ReplyBuilder, finish: Finish, *, before_error: bool = False) -> bool:
        """Send each of them once. False when one was refused or is none."""
        whole = True
        told = [gathered(call, finish) for call in calls]
        outcomes = self.turn.complete(told, finish, before_error=before_error)
        for call, known, outcome in zip(calls, told, outcomes, strict=True):
            call.done = True
            draft.release(call.key)
            if outcome is None:
                whole = whole and not known.told.kept
                continue
            whole = whole and outcome.status != "refused"
            if not outcome.dropped:
                draft.out += self.blocks.call(call.block, outcome, call.pieces(outcome.arguments))
        return whole

    def stopped(self, draft: ReplyBuilder, finish: Finish) -> None:
        """A stop reason was said: the calls that are closed go out, unless something before them is still open."""
        if self._flow is not None or self.blocks.open is not None or self.talk.holding:
            return
        self.calls.judge(complete=finish is Finish.COMPLETE)
        # All of them at once: the first may only have begun what a later one tells.
        closed = list(itertools.takewhile(lambda call: call.closed, self.calls.waiting))
        if not all(call.ready() for call in closed):
            return  # Another reason may follow, which says that it was cut off.
        del self.calls.waiting[: len(closed)]
        self._send(closed, draft, finish)

    def finish(self, draft: ReplyBuilder, finish: Finish, *, before_error: bool = False) -> bool:
        """The answer is over: everything open is closed, every call goes out. False when one was refused."""
        whole = True
        complete = finish is Finish.COMPLETE
        self.calls.judge(*((self._flow.call,) if self._flow is not None else ()), complete=complete)
        if self._flow is not None:
            whole = self._settle(draft, finish, before_error=before_error)
            self.calls.judge(complete=complete)
        self.talk.end(draft, finish)
        waiting, self.calls.waiting = self.calls.waiting, []
        found = self.turn.has_found
        if self.blocks.open is not None and (waiting or found or not before_error):
            draft.out.append(self.blocks.stop())
        whole = self._send(waiting, draft, finish, before_error=before_error) and whole
        whole = self._send_found(draft, before_error=before_error) and whole
        self.talk.drop_space(draft)
        return whole

    # Aggregation off

    def _let_flow(self, call: ToolUse, event: Event, said: Json, place: Place, draft: ReplyBuilder) -> None:
        if not call.name or call.block.get("input") or call.fragments or self.turn.resent.knows(call.id):
            return
        if self.blocks.open is not None:
            draft.out.append(self.blocks.stop())
        draft.release(call.key)
        identity = self._mender.ids.legal(call.id)
        if call.block == named_block(call.block, identity, call.name, {}):
            draft.out.append(self.blocks.start(TOOL_USE, place, event, said))
        else:
            draft.out.append(self.blocks.call_start(call.block, identity, call.name, place))
        self.calls.waiting.clear()
        self.turn.count_sent()
        self._flow = LiveToolUse(call, place, () if identity == call.id else ("new id",))

    def _flow_on(self, flow: LiveToolUse, event: Event, said: Json, text: str, draft: ReplyBuilder) -> None:
        size = flow.take(text)
        if size == len(text):
            draft.out.append(self.blocks.renumbered(event, said))
            return
        if size:
            draft.out.append(self.blocks.call_delta(text[:size]))
            rest = {**said, "delta": {"type": "input_json_delta", "partial_json": text[size:]}}
            draft.hold(flow.call.key, write(rest))
        else:
            draft.hold(flow.call.key, event.raw)

    def _postponed(self, event: Event, said: Json, draft: ReplyBuilder) -> bool:
        """Only the open block may flow: what belongs to another waits until the flowing call is over."""
        flow = self._flow
        if flow is None:
            return False
        if flow.call.closed or flow.arguments.complete:
            self._settle(draft, Finish.COMPLETE if flow.arguments.complete else Finish.UNKNOWN)
            return False
        self._later.append((event, said))
        place = self._place(said)
        if place != flow.place:
            self._later_places.add(place)
        draft.hold(_LATER, event.raw)
        return True

    def _settle(self, draft: ReplyBuilder, finish: Finish, stop: bytes = b"", *, before_error: bool = False) -> bool:
        """The end of the flowing call: what is missing of it, if its mended text continues what was sent."""
        flow, self._flow = self._flow, None
        assert flow is not None
        call = flow.call
        call.done = call.closed = True
        sent = flow.arguments.sent
        told = call.told
        told.out = True
        doubt = call.doubt or (MIXED if call.unsure and finish is not Finish.COMPLETE else "")
        known = GatheredCall(call.name, call.arguments, steps=flow.steps, doubt=doubt, live=flow.arguments, told=told)
        outcome = next(self.turn.complete([known], finish, before_error=before_error))
        assert outcome is not None
        draft.release(call.key)
        if len(outcome.arguments) > len(sent):
            draft.out.append(self.blocks.call_delta(outcome.arguments[len(sent) :]))
        refused = outcome.status == "refused"
        if not (refused and before_error and not self.calls.waiting and not self._later):
            # Before an error an unfinished call stays open: some clients run a block when it is closed.
            written = self.blocks.stop()
            draft.out.append(stop or written)
        self.blocks.open = None
        later, self._later = self._later, []
        self._later_places.clear()
        if later:
            draft.release(_LATER)
            for event, said in later:
                self.take(event, said, draft)
            # Learnt on the way; whoever asked for room opens another block now.
            self.lesson = None
        self._send_ready(draft)
        return not refused
