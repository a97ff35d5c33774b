"""What text, reasoning and calls cost in protocols in which a call arrives whole: Ollama's lines, Gemini's events.

The events vary as with real servers: Ollama has the time in each line, Gemini token counts in each event. Each row is
compared with `json.loads` of the same events.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from toolcalls.engine import Response
from toolcalls.request.request import read_request

Events = Callable[[int], list[bytes]]

_TOOLS = [
    {"type": "function", "function": {"name": f"tool_{number}", "parameters": {"type": "object"}}}
    for number in range(20)
]


def _seconds(work: Callable[[], object], rounds: int) -> float:
    """The shortest of several runs, in processor seconds."""
    found = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def rows(protocol: str, made: dict[str, Events], *, quick: bool) -> list[dict[str, Any]]:
    """A row for each kind of event."""
    count, rounds = (50, 1) if quick else (4_000, 5)
    question = read_request({"tools": _TOOLS, "stream": True})
    out: list[dict[str, Any]] = []
    for what, events_of in made.items():
        events = events_of(count)

        def mend(events: list[bytes] = events) -> None:
            answer = Response(protocol, question)
            for event in events:
                answer.feed(event)
            assert answer.failure is None

        def parse(events: list[bytes] = events) -> None:
            for event in events:
                json.loads(event.strip().removeprefix(b"data: "))

        mended, parsed = _seconds(mend, rounds), _seconds(parse, rounds)
        us = mended / len(events) * 1e6
        out.append({"what": what, "size": len(events), "us": us, "ratio": mended / parsed})
    return out
