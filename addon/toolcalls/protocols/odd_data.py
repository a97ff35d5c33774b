"""Classifies event data that is not a JSON object, once for all protocols."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .. import payload
from ..wire import sse
from ..wire.events import Event
from .errors import ERROR_EVENTS, error_in, error_in_text

Json = dict[str, Any]


class DataKind(Enum):
    ERROR = "an error in a form of its own"
    KEEP_ALIVE = "nothing, or a comment that a gateway wrapped as data: clients stumble over it"
    DONE = "`[DONE]`"
    SEVERAL_LINES = "lines that may be events of their own"
    BROKEN = "an object in broken JSON"
    TRUNCATED = "the beginning of an event whose end never arrived"
    OTHER = "something else, which is forwarded unchanged"


@dataclass(slots=True, frozen=True)
class OddData:
    kind: DataKind
    value: Json = field(default_factory=dict)
    """The error, or the object that the broken JSON was meant to be."""


def classify_data(event: Event, value: Any) -> OddData:
    """Classify the data of an event. `value`: the data as strict JSON, or None if it is no JSON."""
    data = event.data or ""
    text = data.strip()
    if text == "[DONE]" and event.type not in ERROR_EVENTS:
        return OddData(DataKind.DONE)
    error = error_in(value) or (error_in_text(data, event.type) if value is None else None)
    if error is not None:
        return OddData(DataKind.ERROR, error)
    if not text or text.startswith(":"):
        return OddData(DataKind.KEEP_ALIVE)
    if "\n" in data:
        return OddData(DataKind.SEVERAL_LINES)
    if value is None and text.startswith("{"):
        meant = payload.read_broken(data)
        if meant is not None:
            return OddData(DataKind.BROKEN, meant)
    return OddData(DataKind.OTHER if sse.is_ended(event.raw) else DataKind.TRUNCATED)
