"""Parses and writes events of the Responses protocol.

An event that needs no change is sent byte for byte. If it lacks a number, an index or its `event:` line, only that is
added. Numbers increase: an event keeps its number if that is higher than the last one sent, so a stream in order is
never renumbered.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from ...turn import payload
from ...turn.parts import string_of
from ...wire.events import PASS, Pass
from ...wire.framing import SSE, Framing
from .repeated_string import LONG, REPEATING, RepeatedString

Json = dict[str, Any]

NUMBER = "sequence_number"
_NUMBER_MARK = b'"sequence_number"'
_NUMBER = re.compile(rb'"sequence_number"\s*:\s*(\d+)')


@dataclass(slots=True)
class IncomingEvent:
    """An event of the upstream: its bytes, the type on its `event:` line, its data, and the parsed data."""

    raw: bytes
    line: str
    data: str
    message: Json
    item_text: str = ""
    """The source text of the item in the event that ends it."""
    type: str = field(init=False)
    item: Json = field(init=False)
    """The item in the event; empty if there is none."""

    def __post_init__(self) -> None:
        self.type = str(self.message.get("type") or self.line)
        item = self.message.get("item")
        self.item = item if isinstance(item, dict) else {}

    @property
    def item_id(self) -> str:
        """The id of the item in the event; "" if it has none."""
        return str(self.item.get("id") or "")

    def text(self, key: str) -> str:
        return string_of(self.message.get(key))

    def number(self, key: str) -> int | None:
        value = self.message.get(key)
        return value if type(value) is int and value >= 0 else None


ADDED, ENDED = "response.output_item.added", "response.output_item.done"
ITEM_EVENTS = frozenset({ADDED, ENDED})
_DECODER = json.JSONDecoder()


def read_incoming(raw: bytes, line: str, data: str, repeated: RepeatedString) -> IncomingEvent | None:
    """Parse an event and keep the source text of its item; None if the data is not a JSON object."""
    short = repeated.without(data, line) if len(data) > LONG and line in REPEATING else None
    if short is not None:
        incoming = _read_incoming(raw, line, short)
        if incoming is not None and repeated.put_back(incoming.message):
            incoming.data = data
            incoming.item_text = repeated.written(incoming.item_text)
            return incoming
    return _read_incoming(raw, line, data)


def _read_incoming(raw: bytes, line: str, data: str) -> IncomingEvent | None:
    """Parse an event; if it ends an item, the item is parsed on its own, because its source text is kept."""
    start = data.find('"item":') if line == ENDED else -1
    try:
        if start >= 0:
            start += len('"item":')
            start += data.startswith(" ", start)
            item, end = _DECODER.raw_decode(data, start)
            message = json.loads(f"{data[:start]}null{data[end:]}")
            # Make sure that a key of the event itself was replaced, and not one inside an earlier value.
            if isinstance(message, dict) and message.get("item", 0) is None:
                message["item"] = item
                return IncomingEvent(raw, line, data, message, data[start:end])
        message = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return IncomingEvent(raw, line, data, message) if isinstance(message, dict) else None


def number_in(data: bytes) -> int | None:
    """The sequence number of an event that is not parsed; None if it does not appear exactly once."""
    at = data.find(_NUMBER_MARK)
    # The number is near the beginning, and in CPython `rfind` takes half the time of `count`.
    if at < 0 or data.rfind(_NUMBER_MARK) != at:
        return None
    match = _NUMBER.match(data, at)
    return int(match[1]) if match else None


class EventWriter:
    """Writes events and keeps their numbers in order."""

    __slots__ = ("_framing", "_last", "passed")

    def __init__(self, framing: Framing = SSE) -> None:
        self._framing = framing
        self._last = -1
        self.passed = b""
        """The last event that passed without being parsed; its number is looked up only when it is needed."""

    @property
    def last(self) -> int:
        """The number of the last event sent, including events that were not parsed."""
        if self.passed:
            match = _NUMBER.search(self.passed)
            self._last = max(self._last, int(match[1]) if match else -1)
            self.passed = b""
        return self._last

    def receive(self, literal: bytes, raw: bytes) -> Pass:
        """Let an event pass without being parsed."""
        self.passed = raw
        return PASS

    def passes(self, number: int | None) -> bool:
        """Whether an event with this number may pass unchanged. If so, it counts as sent."""
        if number is None or number <= self.last:
            return False
        self._last = number
        return True

    def _next(self, wanted: int | None) -> int:
        last = self.last
        self._last = wanted if wanted is not None and wanted > last else last + 1
        return self._last

    def forward(self, incoming: IncomingEvent, **fields: Any) -> bytes:
        """An incoming event with these fields set; its own bytes if it already has them."""
        kind = incoming.type
        fields = {"type": kind, NUMBER: self._next(incoming.number(NUMBER)), **fields}
        message = incoming.message
        if incoming.line == kind and fields.items() <= message.items():
            return incoming.raw
        changed = {key: value for key, value in fields.items() if key not in message or message[key] != value}
        if any(key in message and not isinstance(value, int) for key, value in changed.items()):
            return self.write_unnumbered({**message, **changed}, kind)
        data = incoming.data.replace("\n", " ")
        for key, value in changed.items():
            spliced = _spliced(data, key, value, fresh=key not in message)
            if spliced is None:
                return self.write_unnumbered({**message, **changed}, kind)
            data = spliced
        return self._framing.write(data, kind)

    def write(self, kind: str, fields: Json, wanted: int | None = None) -> bytes:
        """An event of ours."""
        return self.write_unnumbered({"type": kind, NUMBER: self._next(wanted), **fields}, kind)

    def write_unnumbered(self, message: Json, kind: str) -> bytes:
        """An event without a new number, because it is not sent now or already has one."""
        return self._framing.write(payload.write(message), kind)


def _spliced(data: str, key: str, value: object, *, fresh: bool) -> str | None:
    """The data with one top-level value added or replaced and everything else unchanged; None if that fails."""
    if fresh:
        head, brace, tail = data.partition("{")
        comma = "" if tail.lstrip().startswith("}") else ","
        return f"{head}{brace}{payload.write(key)}:{payload.write(value)}{comma}{tail}"
    spliced, count = re.subn(rf'("{key}"\s*:\s*)-?\d+', rf"\g<1>{value}", data)
    return spliced if count == 1 else None
