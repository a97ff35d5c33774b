"""What an edit of a chat.z.ai stream costs while the arguments of its call grow.

Each stream is one call whose arguments arrive in edits of about 60 characters, as the backend sends them: every edit
cuts the document before the tail of the block and repeats that tail. Linear means that the cost of an edit does not
depend on how much arrived before it: a growth exponent of 1 for the whole stream.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from typing import Any

from toolcalls.engine import Response
from toolcalls.request.request import read_request

SIZES = (20_000, 200_000, 2_000_000)
EDIT = 60
ROUNDS = 2
RATIO_GOAL = 1.5
HEAD = '\n\n<glm_block >{"type": "mcp", "data": {"metadata": {"id": "call_1", "name": "Write", "arguments": "'
TAIL = (
    '", "result": "", "display_result": "", "duration": "...", "status": "completed", "is_error": false, '
    '"mcp_server": {"name": "mcp-server"}}, "thought": null, "ppt": null, "browser": null}}</glm_block>'
)
LINE = '数据 "quoted" \\ back\n'


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps({"type": "chat:completion", "data": data}).encode() + b"\n\n"


def make_stream(size: int) -> list[bytes]:
    """The events of a call with about `size` characters of arguments (as they are encoded in the block)."""
    content = json.dumps({"file_path": "/tmp/a", "content": LINE})[:-2]
    arguments = json.dumps(content)[1:-1]
    filler = json.dumps(json.dumps(LINE)[1:-1])[1:-1]
    arguments += filler * (max(size - len(arguments), 0) // len(filler)) + '\\"}'
    events = [_event({"edit_index": 0, "edit_content": HEAD + TAIL, "phase": "tool_call"})]
    for start in range(0, len(arguments), EDIT):
        text = arguments[start : start + EDIT] + TAIL
        events.append(_event({"edit_index": len(HEAD) + start, "edit_content": text, "phase": "tool_call"}))
    patched = TAIL.replace('"result": ""', '"result": null')
    events.append(_event({"edit_index": len(HEAD) + len(arguments), "edit_content": patched, "phase": "other"}))
    return [*events, _event({"done": True, "phase": "done"})]


def _seconds(events: list[bytes]) -> float:
    tools = [{"type": "function", "function": {"name": "Write", "parameters": {"type": "object"}}}]
    answer = Response("zai", read_request({"tools": tools, "stream": True}))
    start = time.perf_counter()
    out = [piece for event in events for piece in answer.feed(event)] + answer.close()
    spent = time.perf_counter() - start
    assert answer.failure is None
    assert not answer.limited
    assert any(b'"tool_calls":[{' in piece for piece in out), "the call got lost"
    return spent


def run() -> list[dict[str, Any]]:
    """The rows of the table. `ratio` compares with the smallest stream: linear means 1."""
    streams = {size: make_stream(size) for size in SIZES}
    # In turns, so that a busy moment of the machine affects all alike.
    taken = [{size: _seconds(events) for size, events in streams.items()} for _ in range(ROUNDS)]
    best = {size: min(round_[size] for round_ in taken) for size in SIZES}
    an_edit = {size: best[size] / len(streams[size]) * 1e6 for size in SIZES}
    rows: list[dict[str, Any]] = [
        {
            "name": f"{size // 1000:,} KB of arguments in {len(streams[size]):,} edits",
            "figure": an_edit[size],
            "unit": "µs/edit",
            "ratio": an_edit[size] / an_edit[SIZES[0]],
            "goal": RATIO_GOAL,
        }
        for size in SIZES
    ]
    steps = itertools.pairwise(SIZES)
    growth = max(math.log(best[more] / best[less]) / math.log(more / less) for less, more in steps)
    return [
        *rows,
        {"name": "growth, steepest step", "figure": growth, "unit": "exponent", "goal": 1.15},
    ]
