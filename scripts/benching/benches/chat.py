"""What the events of a Chat stream cost."""

from __future__ import annotations

from ..chat_events import event, framed
from ..event_streams import Events, Writers, rows
from ..measure import Row


def _text(texts: list[str]) -> Events:
    return framed([event({"content": text}) for text in texts])


def _call(fragments: list[str]) -> Events:
    start = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "Write", "arguments": ""}}
    others = [{"index": 0, "function": {"arguments": fragment}} for fragment in fragments]
    return framed([event({"tool_calls": [delta]}) for delta in (start, *others)])


def _end_of_call() -> Events:
    return framed([event({}).replace('"finish_reason":null', '"finish_reason":"tool_calls"'), "[DONE]"])


def _pad(raw: bytes, padding: str) -> bytes:
    return raw.replace(b"}\n\n", f',"obfuscation":"{padding}"}}\n\n'.encode())


def run(quick: bool = False) -> list[Row]:
    return rows("chat", Writers(_text, _call, _end_of_call, _pad), quick=quick)
