"""What the events of a Messages stream cost."""

from __future__ import annotations

import json
from typing import Any

from ..event_streams import Events, Writers, rows
from ..measure import Row


def _event(payload: dict[str, Any]) -> bytes:
    return f"event: {payload['type']}\ndata: {json.dumps(payload, separators=(',', ':'))}\n\n".encode()


def _stream(block: dict[str, Any], kind: str, key: str, pieces: list[str]) -> Events:
    message: dict[str, Any] = {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 1},
    }  # fmt: skip
    deltas = [{"type": kind, key: piece} for piece in pieces]
    return [
        _event({"type": "message_start", "message": message}),
        _event({"type": "content_block_start", "index": 0, "content_block": block}),
        *(_event({"type": "content_block_delta", "index": 0, "delta": delta}) for delta in deltas),
    ]


def _text(texts: list[str]) -> Events:
    return _stream({"type": "text", "text": ""}, "text_delta", "text", texts)


def _call(fragments: list[str]) -> Events:
    block = {"type": "tool_use", "id": "toolu_01", "name": "Write", "input": {}}
    return _stream(block, "input_json_delta", "partial_json", fragments)


def _end_of_call() -> Events:
    return [_event({"type": "content_block_stop", "index": 0})]


def _pad(raw: bytes, padding: str) -> bytes:
    return raw.replace(b"}\n\n", f',"p":"{padding}"}}\n\n'.encode())


def run(quick: bool = False) -> list[Row]:
    return rows("messages", Writers(_text, _call, _end_of_call, _pad), quick=quick)
