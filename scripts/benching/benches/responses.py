"""What the events of a Responses stream cost."""

from __future__ import annotations

import json
from typing import Any

from ..event_streams import Events, Writers, rows
from ..measure import Row

Json = dict[str, Any]

_ITEM_ID = "msg_68a1f2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f607"
_RESPONSE: Json = {"id": "resp_0", "object": "response", "status": "in_progress", "output": []}
_CALL: Json = {"id": "fc_0", "type": "function_call", "status": "in_progress", "call_id": "call_0", "name": "Write"}


def _events(payloads: list[Json]) -> Events:
    started = [{"type": f"response.{kind}", "response": _RESPONSE} for kind in ("created", "in_progress")]
    return [_event(payload, number) for number, payload in enumerate([*started, *payloads])]


def _event(payload: Json, number: int) -> bytes:
    kind = payload["type"]
    data = json.dumps({"type": kind, "sequence_number": number, **payload}, separators=(",", ":"))
    return f"event: {kind}\ndata: {data}\n\n".encode()


def _text(texts: list[str]) -> Events:
    where: Json = {"item_id": _ITEM_ID, "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
    item = {"id": _ITEM_ID, "type": "message", "status": "in_progress", "content": [], "role": "assistant"}
    delta: Json = {"type": "response.output_text.delta", **where}
    return _events(
        [
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.content_part.added", **where, "part": part},
            *({**delta, "delta": text, "logprobs": [], "obfuscation": "aX8kq2"} for text in texts),
        ]
    )


def _call(fragments: list[str]) -> Events:
    delta: Json = {"type": "response.function_call_arguments.delta", "item_id": "fc_0", "output_index": 0}
    return _events(
        [
            {"type": "response.output_item.added", "output_index": 0, "item": {**_CALL, "arguments": ""}},
            *({**delta, "delta": fragment, "obfuscation": "aX8kq2"} for fragment in fragments),
        ]
    )


def _end_of_call() -> Events:
    # Without the arguments, which the deltas have said.
    ended = {"type": "response.output_item.done", "output_index": 0, "item": {**_CALL, "status": "completed"}}
    return [_event(ended, 10_000_000)]


def _pad(raw: bytes, padding: str) -> bytes:
    return raw.replace(b'"aX8kq2"', f'"{padding}"'.encode())


def run(quick: bool = False) -> list[Row]:
    return rows("responses", Writers(_text, _call, _end_of_call, _pad), quick=quick)
