"""A call that an answer contains several times: its announcement, fragments, the arguments as a whole, the finished
item, and the list of all items. Servers omit some of these, or they contradict each other: one text is chosen.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

from ..mend.finish import Finish
from . import payload
from .assembled_call import AssembledCall
from .fragments import full_arguments, may_begin
from .resent import Arrival, ComparedCall


@dataclass(slots=True, frozen=True)
class CallSnapshot:
    """What one event says about a call as a whole: compared with other reports, never appended."""

    wire_id: str
    """The id of the item."""
    wire_index: int | None
    call_id: str = ""
    name: str = ""
    namespace: str = ""
    arguments: str = ""
    cut: bool = False
    """The event says that the call was cut off, however the answer ended."""
    body: dict[str, Any] = field(default_factory=dict)
    """The item, if the event contains it."""
    source: Any = None
    """The event."""


@dataclass(slots=True)
class ItemCall(AssembledCall):
    """One call. Its events are held under their own key, `held_under`."""

    held_under: str = ""
    wire_id: str = ""
    """The first item id that the upstream sent; `index` is the first index, `id` the client's id of the item."""
    announcement: CallSnapshot | None = None
    first: Any = None
    """The event with the first fragment."""
    arguments_done: CallSnapshot | None = None
    """Its arguments as a whole."""
    end: CallSnapshot | None = None
    in_list: CallSnapshot | None = None
    """The call in the list of all items."""
    contradiction: bool = False
    """Its reports contain two different objects."""
    read_last: tuple[str, Any] | None = None
    """The arguments that were parsed last, and their value; `value` is the value for the mender."""
    decided_from: tuple[Any, ...] | None = None
    """Everything that was known when its arguments were last decided."""
    joined: tuple[int, str, tuple[str, ...]] = (0, "", ())
    """How many fragments were last joined, the result, and what had to be done for it."""
    raw_input: bool = False
    """It calls a freeform tool: its arguments are no JSON."""
    sent_id: str = ""
    """The id that the client gets, once it is chosen."""
    compared: ComparedCall | None = None
    """Its form for comparisons when it was released."""

    # What the reports say

    @property
    def snapshots(self) -> list[CallSnapshot]:
        """The reports that contain the item, the most reliable first."""
        snapshots = (self.end, self.in_list, self.announcement)
        return [snapshot for snapshot in snapshots if snapshot is not None and snapshot.body]

    @property
    def call_id(self) -> str:
        """The call id that arrived; the id of the item if there is none."""
        call_ids = (snapshot.call_id for snapshot in self.snapshots if snapshot.call_id)
        return next(call_ids, self.wire_id or self.id)

    @property
    def name(self) -> str:
        snapshots = (*self.snapshots, *((self.arguments_done,) if self.arguments_done else ()))
        return next((snapshot.name for snapshot in snapshots if snapshot.name), "")

    @property
    def namespace(self) -> str:
        return next((snapshot.namespace for snapshot in self.snapshots if snapshot.namespace), "")

    def finish_for(self, finish: Finish) -> Finish:
        if any(snapshot.cut for snapshot in self.snapshots):
            return Finish.CUT
        if finish is Finish.COMPLETE and not (self.arguments_done or self.end or self.in_list):
            # The answer ended in the middle of the call: more may have followed.
            return Finish.UNKNOWN
        return finish

    def began_as(self, wire_id: str) -> bool:
        """Whether the call was announced or first seen with this id; other ids were attributed to it later."""
        announced = self.announcement.wire_id if self.announcement else None
        return bool(wire_id) and wire_id in (self.wire_id, announced)

    # Its arguments

    def decide_arguments(self) -> tuple[str, tuple[str, ...]]:
        """The arguments that every event will be given, and what had to be done to find them."""
        known = (
            bool(self.refusal_reason),
            len(self.fragments),
            self.arguments_done,
            self.end,
            self.announcement,
            self.in_list,
        )
        last = self.decided_from
        # The snapshots are compared as objects: their texts may be long.
        if last is None or last[:2] != known[:2] or not all(map(operator.is_, last[2:], known[2:])):
            self.decided_from, self.decided = known, self._decide_arguments()
        return self.decided

    def from_fragments(self) -> tuple[str, tuple[str, ...]]:
        """The arguments that the fragments alone make, joined once, and what had to be done for it."""
        if self.joined[0] != len(self.fragments):
            self.joined = (len(self.fragments), *full_arguments(self.fragments))
        return self.joined[1:]

    def _decide_arguments(self) -> tuple[str, tuple[str, ...]]:
        """Choose one text among the reports, and note whether they contradict each other."""
        fragments, steps = ("", ()) if self.refusal_reason else self.from_fragments()
        others: list[tuple[str, str]] = []
        if self.arguments_done:
            others.append(("done", self.arguments_done.arguments))
        if self.end:
            others.append(("the item", self.end.arguments))
        if self.announcement and self.announcement.arguments:
            others.append(("the announced item", self.announcement.arguments))
        if self.in_list and self.in_list.body:
            others.append(("the response", self.in_list.arguments))
        text, more = choose_one_text(fragments, others)
        texts = dict.fromkeys([_with_pairs(fragments), *(text for _, text in others)]) if more else {}
        self.contradiction = payload.contradict(map(payload.object_in, texts))
        return text, steps + more

    def is_decided(self) -> bool:
        """Whether the arguments are final, whatever follows."""
        value = self._read()
        if isinstance(value, str) and not self.refusal_reason:
            # A server that encodes twice always closes the string, so the text inside has to be complete too.
            value = payload.read_strict(value)
        return isinstance(value, dict)

    @property
    def uncertain(self) -> bool:
        """Whether the arguments may belong to another call: not if a snapshot besides the fragments has them all."""
        value = self._read()
        if self.contradiction:
            return True
        return bool(self.refusal_reason) and not (isinstance(value, dict) and value)

    def _read(self) -> Any:
        text, _ = self.decide_arguments()
        if self.read_last is None or self.read_last[0] is not text:
            value = self.read(text)
            self.read_last = (text, value)
            own = not self.refusal_reason and text is self.from_fragments()[0]
            # The raw input of a freeform tool begins differently, and may contain anything.
            if own and may_begin(text):
                self.refuse_if_mixed(value)
                if self.refusal_reason:
                    return self._read()
        return self.read_last[1]

    def pop_value(self, text: str) -> dict[str, Any] | None:
        """The value of these arguments if they were the last to be parsed. It is not kept: it may be large."""
        (last, self.read_last), (value, self.value) = (self.read_last, None), (self.value, None)
        return value if last is not None and last[0] is text else None

    def to_compare(self, name: str) -> ComparedCall:
        certain = not self.uncertain
        item = f"\0{self.wire_id}" if self.wire_id else ""
        key = next((snapshot.call_id for snapshot in self.snapshots if snapshot.call_id), item)
        arrival = Arrival(key not in ("", item), self.answer_id, self._events())
        return ComparedCall(key, name, self.decide_arguments()[0], item, certain, arrival=arrival)

    def note_listed(self, snapshot: CallSnapshot) -> None:
        """Take the entry of the call in the list of all items; it counts for a call that was sent already, too."""
        self.in_list = snapshot
        if self.compared is not None:
            self.compared.arrival = self.compared.arrival._replace(events=self._events())

    def _events(self) -> frozenset[str]:
        """The kinds of events that contained the call."""
        seen = {
            "announcement": self.announcement,
            "fragments": self.fragments,
            "arguments": self.arguments_done,
            "end": self.end,
            "list": self.in_list,
        }
        return frozenset(kind for kind, event in seen.items() if event)

    # Long arguments

    def expected(self) -> tuple[str, str] | None:
        """Long arguments from the fragments so far, as a JSON string and as text; None if they are short."""
        text, steps = self.from_fragments()
        pieces = self.pieces(text)
        return (self.escaped.literal(), text) if pieces and not steps else None

    def pieces(self, arguments: str) -> list[str]:
        """The escaped arguments, if they are long and exactly those of the fragments; else nothing."""
        text, steps = self.from_fragments()
        if not self.escaped.pieces or arguments is not text or steps:
            return []
        self.escaped.take(self.fragments)
        return self.escaped.pieces


def choose_one_text(fragments: str, others: list[tuple[str, str]]) -> tuple[str, tuple[str, ...]]:
    """Choose one text. The fragments win, unless they are no object and the text of another snapshot is one."""
    if all(text == fragments for _, text in others):
        return fragments, ()
    candidates = [("", fragments), *others] if fragments else [entry for entry in others if entry[1]]
    if not candidates:
        return "", ()
    objects = [(entry, value) for entry in candidates if (value := payload.object_in(entry[1])) is not None]
    if objects:
        # Some servers send an empty object before, or instead of, the real one.
        label, text = next((entry for entry, value in objects if value), objects[0][0])
    else:
        label, text = candidates[0]
        for other, longer in candidates[1:]:
            if len(longer) > len(text) and text in longer:
                label, text = other, longer
    if not label:
        return text, ("carriers made to agree",)
    return text, (f"arguments taken from {label}" if fragments else f"arguments only in {label}",)


def _with_pairs(text: str) -> str:
    """The text with surrogate pairs joined whose halves arrived in two fragments."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def is_whole(text: str) -> bool:
    """Whether this is a complete object, so that it does not matter how the response ends."""
    return isinstance(payload.read_encoded(text), dict)
