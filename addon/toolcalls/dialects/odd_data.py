"""The data of an event that is no JSON object: what it is, told once for all protocols."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ..turn import payload
from ..wire.events import Event
from .trouble import ERROR_EVENTS, trouble_in, trouble_in_text

Json = dict[str, Any]

_BLANK_LINES = (b"\n\n", b"\r\n\r\n", b"\r\r")


class OddKind(Enum):
    ERROR = "an error in a form of its own"
    KEEP_ALIVE = "nothing, or a comment that a gateway wrapped as data: clients stumble over it"
    DONE = "`[DONE]`"
    SEVERAL_LINES = "lines that may be events of their own"
    BROKEN = "an object in broken JSON"
    HALF = "the beginning of an event whose end never came"
    OTHER = "something else, which concerns nobody"


@dataclass(slots=True, frozen=True)
class OddData:
    kind: OddKind
    value: Json = field(default_factory=dict)
    """The error, or the object that is meant."""


def odd_data(event: Event, value: Any) -> OddData:
    """What the data of an event is. `value` is what strict JSON reads in it: no object, or None."""
    data = event.data or ""
    text = data.strip()
    if text == "[DONE]" and event.type not in ERROR_EVENTS:
        return OddData(OddKind.DONE)
    error = trouble_in(value) or (trouble_in_text(data, event.type) if value is None else None)
    if error is not None:
        return OddData(OddKind.ERROR, error)
    if not text or text.startswith(":"):
        return OddData(OddKind.KEEP_ALIVE)
    if "\n" in data:
        return OddData(OddKind.SEVERAL_LINES)
    if value is None and text.startswith("{"):
        meant = payload.read_broken(data)
        if meant is not None:
            return OddData(OddKind.BROKEN, meant)
    return OddData(OddKind.OTHER if event.raw.endswith(_BLANK_LINES) else OddKind.HALF)
