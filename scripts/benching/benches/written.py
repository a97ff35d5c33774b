"""What text costs that may be a call: one that is held to the end, heads that are none, and `<` alone.

The ratio compares with `json.loads` of the same Chat events, and has a goal for the held call. A row of its own has
the longest callback.
"""

from __future__ import annotations

import json
import time
from functools import partial

from toolcalls.engine import Response
from toolcalls.request.request import read_request

from .. import prose
from ..event_streams import Events
from ..measure import Row, in_turns

GOAL = 10.0
LONGEST_MS = 100.0
SIZES, PIECES = (20_000, 200_000, 2_000_000), (4, 64)
_PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}
REQUEST = read_request(
    {"stream": True, "tools": [{"type": "function", "function": {"name": "write", "parameters": _PARAMETERS}}]}
)


def _texts(size: int) -> dict[str, str]:
    code = "".join(prose.code(1 + size // 3000))
    arguments = {"path": "a.py", "content": (code * (1 + size // len(code)))[:size]}
    head = '<tool_call> {"name" no! '
    return {
        "a held call": f"<tool_call>{json.dumps({'name': 'write', 'arguments': arguments})}</tool_call>",
        "heads that are no call": head * (size // len(head)),
        "`<`": "<" * size,
    }


def _events(text: str, piece: int) -> Events:
    deltas = [{"content": text[at : at + piece]} for at in range(0, len(text), piece)]
    said = [*((delta, None) for delta in deltas), ({}, "stop")]
    choices = [{"index": 0, "delta": delta, "finish_reason": reason} for delta, reason in said]
    chunks = ({"id": "c", "object": "chat.completion.chunk", "choices": [choice]} for choice in choices)
    return [b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks]


def _feed(events: Events, callbacks: list[float]) -> None:
    """Feed an answer; the longest callback is noted."""
    response, longest = Response("chat", REQUEST), 0.0
    for event in (*events, b"data: [DONE]\n\n"):
        begin = time.process_time()
        response.feed(event)
        longest = max(longest, time.process_time() - begin)
    response.close()
    callbacks.append(longest)


def _load(events: Events) -> None:
    for event in events:
        json.loads(event[6:])


def run(quick: bool = False) -> list[Row]:
    rows: list[Row] = []
    for size in (2_000,) if quick else SIZES:
        for name, text in _texts(size).items():
            for piece in PIECES:
                events = _events(text, piece)
                callbacks: list[float] = []
                works = [partial(_feed, events, callbacks), partial(_load, events)]
                seconds, loads = in_turns(works, 1 if quick or size > 1_000_000 else 3)
                what = f"{name}, {size // 1000:,} KB in pieces of {piece}"
                goal = GOAL if name == "a held call" else None
                row = {"name": what, "figure": min(seconds) * 1000, "unit": "ms", "ratio": min(seconds) / min(loads)}
                rows.append({**row, "goal": goal})
                longest = {"name": f"{what}: the longest callback", "figure": min(callbacks) * 1000, "unit": "ms"}
                rows.append({**longest, "goal": LONGEST_MS})
    return rows
