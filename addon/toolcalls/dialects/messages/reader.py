"""Turns the events of Messages into parts. Types and indices that a server leaves out are filled in."""

from __future__ import annotations

from typing import Any, Final

from ...mend.finish import Finish
from ...request.read_by_model import ReadByModel
from ...turn import payload
from ...turn.parts import (
    BlockEnd,
    BlockStart,
    CallStart,
    Failure,
    Fragment,
    Index,
    OtherDelta,
    Part,
    ReadEvent,
    Stop,
    TextDelta,
    index_of,
    shown_text,
    string_of,
)
from ...wire import sse
from ...wire.events import Event
from ..upstream_errors import error_in
from .wire import (
    BLOCK_DELTA,
    BLOCK_START,
    BLOCK_STOP,
    ERROR,
    EVENTS,
    MESSAGE_DELTA,
    TEXT,
    THINKING,
    TOOL_USE,
    Json,
    write,
)

_NEEDS: Final = {"text_delta": TEXT, "citations_delta": TEXT, "thinking_delta": THINKING, "signature_delta": THINKING}
"""The kind of block that a delta needs. Deltas of other types may appear in any block."""
_TEXT_KEYS: Final = {"text_delta": TEXT, "thinking_delta": THINKING}
_KIND_OF_KEY: Final = {
    "partial_json": "input_json_delta",
    "text": "text_delta",
    "thinking": "thinking_delta",
    "signature": "signature_delta",
}


class MessagesReader:
    __slots__ = ("_last_index", "_read_by_model")

    def __init__(self, read_by_model: ReadByModel) -> None:
        self._read_by_model = read_by_model
        self._last_index: Index = None
        """The index of the last block that began: events without an index belong to that block."""

    def read(self, event: Event, data: Json) -> ReadEvent:
        """Parse an event whose data is a JSON object. An event that the protocol does not have gets no parts."""
        kind = data.get("type")
        typed = isinstance(kind, str) and kind != ""
        named = kind if typed else event.type
        # An event that the protocol does not have, or an error without its `error` object.
        odd = named not in EVENTS or (named == ERROR and not isinstance(data.get("error"), dict))
        error = error_in(data, event.type) if odd else None
        if error is not None:
            kind, typed = ERROR, False
            data = {"type": kind, "error": {"type": "api_error", **error}}
        elif not isinstance(kind, str) or not typed:
            kind = event.type
            data = {"type": kind, **{key: value for key, value in data.items() if key != "type"}}
        raw = event.raw
        if kind not in EVENTS:
            return ReadEvent(raw, data)
        if event.type != kind or not typed:
            # The SDKs look at the `event:` line before the data and skip events without that line.
            raw = write(data)
        elif raw.startswith(sse.BOM):
            # The SDKs do not strip a BOM either, and would lose the message_start after it.
            raw = raw.removeprefix(sse.BOM)
        if kind == BLOCK_DELTA:
            return self._delta(raw, data)
        return ReadEvent(raw, data, self._parts(kind, data))

    def _parts(self, kind: str, data: Json) -> list[Part]:
        """The parts of an event that is no content_block_delta."""
        if kind == BLOCK_START:
            return self._start(data)
        if kind == BLOCK_STOP:
            return [BlockEnd(self._index(data))]
        if kind == MESSAGE_DELTA:
            delta = data.get("delta")
            reason = string_of(delta.get("stop_reason")) if isinstance(delta, dict) else ""
            return [Stop(reason, Finish.of(reason))] if reason else []
        return [Failure()] if kind == ERROR else []

    def _start(self, data: Json) -> list[Part]:
        """The part of a content_block_start; none if it does not say what begins."""
        block = data.get("content_block")
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(block, dict) or not isinstance(kind, str):
            # The deltas open the block that they need.
            return []
        index = self._last_index = index_of(data.get("index"))
        if kind == TOOL_USE:
            return [call_start(block, index)]
        self._read_by_model.add_results(block)
        return [BlockStart(index, kind, calls=kind.endswith(TOOL_USE), shown=shown_text(block.get(TEXT)))]

    def _delta(self, raw: bytes, data: Json) -> ReadEvent:
        """Parse a content_block_delta."""
        delta: Any = data.get("delta")
        if not isinstance(delta, dict) or not delta:
            return ReadEvent(raw, data)
        kind = string_of(delta.get("type"))
        if not kind:
            kind = next((known for key, known in _KIND_OF_KEY.items() if key in delta), "")
            if kind:
                delta = {"type": kind, **delta}
                data = {**data, "delta": delta}
                raw = write(data)
        index, key = self._index(data), _TEXT_KEYS.get(kind, "")
        text = delta.get(key)
        part: Part
        if kind == "input_json_delta":
            arguments = payload.text_of(delta.get("partial_json"))
            part = Fragment(index, "", "", arguments, has_index=index_of(data.get("index")) is not None)
        elif kind == "text_delta" and text and isinstance(text, str):
            part = TextDelta(text, index)
        else:
            text = payload.text_of(text) if key else ""
            shown = shown_text(delta.get(TEXT))
            part = OtherDelta(key=key, text=text, block=index, kind=_NEEDS.get(kind, ""), shown=shown)
        return ReadEvent(raw, data, [part])

    def _index(self, data: Json) -> Index:
        index = index_of(data.get("index"))
        return self._last_index if index is None else index


def call_start(block: Json, index: Index) -> CallStart:
    """The beginning of the call in a tool_use block."""
    return CallStart(index, string_of(block.get("id")), string_of(block.get("name")), block.get("input"), block)
