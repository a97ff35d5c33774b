"""A call that an answer tells several times: announced, in fragments, its arguments as a whole, its item, and once
more in the list of all items. Servers forget or contradict some of these: one text is settled on.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any, Final

from ..mend.finish import Finish
from . import payload
from .assembled_call import AssembledCall
from .fragments import may_begin
from .resent import ComparedCall

CONTRADICTION: Final = "the events of the call tell different arguments"


@dataclass(slots=True, frozen=True)
class CallReport:
    """What one event tells about a call as a whole: to be compared with the others, never appended."""

    wire_id: str
    """The id of the item."""
    place: int | None
    call_id: str = ""
    name: str = ""
    namespace: str = ""
    arguments: str = ""
    cut: bool = False
    """It says of the call that it was cut off, whatever became of the answer."""
    body: dict[str, Any] = field(default_factory=dict)
    """The item, where it tells one."""
    source: Any = None
    """The event."""


@dataclass(slots=True)
class ItemCall(AssembledCall):
    """One call. Its events are held under a key of its own."""

    held_under: str = ""
    wire_id: str = ""
    """The first id of its item that the upstream said; `place` is the first index, `id` what the client calls it."""
    announcement: CallReport | None = None
    first: Any = None
    """The event with the first fragment."""
    stated: CallReport | None = None
    """Its arguments as a whole."""
    end: CallReport | None = None
    listed: CallReport | None = None
    """What the list of all items tells."""
    contradiction: bool = False
    """Its reports tell two different objects."""
    read_last: tuple[str, Any] | None = None
    """The arguments that were looked at last, and what they are; `value` is what they are for those who mend them."""
    settled_by: tuple[Any, ...] | None = None
    """All that was known when its arguments were settled last."""
    settled_on: tuple[str, tuple[str, ...]] = ("", ())
    raw_input: bool = False
    """It is the call of a freeform tool: its arguments are no JSON."""
    live: bool = False
    """The client has a part of it."""
    sent_id: str = ""
    """The id that the client gets, once it is chosen."""
    compared: ComparedCall | None = None
    """What it was compared by when it left."""

    def add(self, fragment: str) -> None:
        self.fragments.append(fragment)
        if not self.live:
            self.escaped.grew(self.fragments, len(fragment))

    # What the reports tell

    @property
    def reports(self) -> list[CallReport]:
        """Those that tell the item, the best word first."""
        reports = (self.end, self.listed, self.announcement)
        return [report for report in reports if report is not None and report.body]

    @property
    def call_id(self) -> str:
        """The call id that came; the id of the item where there is none."""
        call_ids = (report.call_id for report in self.reports if report.call_id)
        return next(call_ids, self.wire_id or self.id)

    @property
    def name(self) -> str:
        reports = (*self.reports, *((self.stated,) if self.stated else ()))
        return next((report.name for report in reports if report.name), "")

    @property
    def namespace(self) -> str:
        return next((report.namespace for report in self.reports if report.namespace), "")

    def finish_for(self, finish: Finish) -> Finish:
        return Finish.CUT if any(report.cut for report in self.reports) else finish

    def began_as(self, wire_id: str) -> bool:
        """Is this the id that it was announced or first heard of with? Others were taken for its own later."""
        announced = self.announcement.wire_id if self.announcement else None
        return bool(wire_id) and wire_id in (self.wire_id, announced)

    # Its arguments

    def settle(self) -> tuple[str, tuple[str, ...]]:
        """The arguments that all reports will have, and what had to be done to find them."""
        known = (bool(self.doubt), len(self.fragments), self.stated, self.end, self.announcement, self.listed)
        if self.settled_by is None or not _same_objects(self.settled_by, known):
            self.settled_by, self.settled_on = known, self._settle()
        return self.settled_on

    def _settle(self) -> tuple[str, tuple[str, ...]]:
        fragments, steps = ("", ()) if self.doubt else self.from_fragments()
        others: list[tuple[str, str]] = []
        if self.stated:
            others.append(("done", self.stated.arguments))
        if self.end:
            others.append(("the item", self.end.arguments))
        if self.announcement and self.announcement.arguments:
            others.append(("the announced item", self.announcement.arguments))
        if self.listed and self.listed.body:
            others.append(("the response", self.listed.arguments))
        text, more = settle_on_one_text(fragments, others)
        texts = dict.fromkeys([_with_pairs(fragments), *(text for _, text in others)]) if more else {}
        self.contradiction = payload.contradict(map(payload.object_in, texts))
        return text, steps + more

    def is_settled(self) -> bool:
        """Is it settled what the arguments are, whatever follows?"""
        value = self._read()
        return isinstance(value, dict) if self.doubt else is_object(value)

    @property
    def uncertain(self) -> bool:
        """May the arguments be those of another call? Not where another report than the fragments tells them all."""
        value = self._read()
        if self.contradiction:
            return True
        return bool(self.doubt) and not (isinstance(value, dict) and value)

    def _read(self) -> Any:
        text, _ = self.settle()
        if self.read_last is None or self.read_last[0] is not text:
            value = self.read(text)
            self.read_last = (text, value)
            own = not self.doubt and text is self.from_fragments()[0]
            # The raw input of a freeform tool begins otherwise, and may say anything.
            if own and may_begin(text):
                self.doubt_if_mixed(value)
                if self.doubt:
                    return self._read()
        return self.read_last[1]

    def pop_value(self, text: str) -> dict[str, Any] | None:
        """What these arguments are, if they are those that were looked at. It is given once: it may be large."""
        (last, self.read_last), (value, self.value) = (self.read_last, None), (self.value, None)
        return value if last is not None and last[0] is text else None

    def to_compare(self, name: str) -> ComparedCall:
        certain = not self.uncertain
        item = f"\0{self.wire_id}" if self.wire_id else ""
        key = next((report.call_id for report in self.reports if report.call_id), item)
        return ComparedCall(key, name, self.settle()[0], item, certain=certain)

    # Long arguments

    def expected(self) -> tuple[str, str] | None:
        """Long arguments as JSON writes them and as they are, as far as the fragments have told."""
        text, steps = self.from_fragments()
        pieces = self.pieces(text)
        return (self.escaped.literal(), text) if pieces and not steps else None

    def pieces(self, arguments: str) -> list[str]:
        """What is to be written, where the arguments are long and those of the fragments; else nothing."""
        text, steps = self.from_fragments()
        if not self.escaped.pieces or arguments is not text or steps:
            return []
        self.escaped.take(self.fragments)
        return self.escaped.pieces


def settle_on_one_text(fragments: str, others: list[tuple[str, str]]) -> tuple[str, tuple[str, ...]]:
    """One text out of several. Fragments win unless they are no object and another report's text is one."""
    if all(text == fragments for _, text in others):
        return fragments, ()
    candidates = [("", fragments), *others] if fragments else [entry for entry in others if entry[1]]
    if not candidates:
        return "", ()
    objects = [(entry, value) for entry in candidates if (value := payload.object_in(entry[1])) is not None]
    if objects:
        # An empty object is what some servers say before, or instead of, the real one.
        label, text = next((entry for entry, value in objects if value), objects[0][0])
    else:
        label, text = candidates[0]
        for other, longer in candidates[1:]:
            if len(longer) > len(text) and text in longer:
                label, text = other, longer
    if not label:
        return text, ("carriers made to agree",)
    return text, (f"arguments taken from {label}" if fragments else f"arguments only in {label}",)


def _same_objects(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Two flags and numbers that are equal, and the same reports behind them."""
    return one[:2] == other[:2] and all(map(operator.is_, one[2:], other[2:]))


def _with_pairs(text: str) -> str:
    """The text with the halves of characters joined that came in two fragments."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def is_whole(text: str) -> bool:
    """Is this an object that no cut can have damaged? Then the end of the response need not be known."""
    return isinstance(payload.read_encoded(text), dict)


def is_object(value: object) -> bool:
    """An object, or one in a string: what encodes twice closes the string, wherever the model was cut off."""
    if isinstance(value, str):
        value = payload.read_strict(value)
    return isinstance(value, dict)
