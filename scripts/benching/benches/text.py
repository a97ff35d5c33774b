"""What the text scanner costs: a typical delta compared with json.loads of its event, and growth on hostile text."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from toolcalls.textcalls import Scanner
from toolcalls.tools.declared import Tool, Tools
from toolcalls.work import TooMuchWork

PROSE = (
    "The parser reads one event at a time and keeps what it has not understood yet. "
    "Most of an answer is plain prose like this, so the common case has to be cheap. "
    "Code such as value = table.get(key, 0) appears now and then, and so do commas.\n"
    "A second paragraph begins here and talks about something else for a while. "
) * 8


def tools(count: int = 20) -> Tools:
    schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    return Tools(Tool(f"tool_number_{number}", schema) for number in range(count))


def deltas() -> list[str]:
    words = PROSE.split(" ")
    return [" ".join(words[at : at + 5]) + " " for at in range(0, len(words), 5)]


def event(delta: str) -> str:
    return json.dumps(
        {
            "id": "chatcmpl-9f8e7d6c5b4a",
            "object": "chat.completion.chunk",
            "created": 1755000000,
            "model": "a-model-of-today",
            "choices": [{"index": 0, "delta": {"content": delta}, "finish_reason": None}],
        }
    )


def best(work: Callable[[], Any], times: int = 7) -> float:
    """The shortest of several runs, in processor seconds, because other processes may share the machine."""
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def run() -> list[dict[str, Any]]:
    texts = deltas() * 10
    events = [event(text) for text in texts]
    declared = tools()

    def parse() -> None:
        for line in events:
            json.loads(line)

    def scan() -> None:
        scanner = Scanner(declared)
        needs, feed = scanner.needs, scanner.feed
        for text in texts:
            if needs(text):
                feed(text)
        scanner.close()

    parsed, scanned = best(parse), best(scan)
    rows: list[dict[str, Any]] = [
        {
            "what": "5-word delta, 20 tools",
            "size": len(texts),
            "us": scanned / len(texts) * 1e6,
            "ratio": scanned / parsed,
        }
    ]
    hostile = {
        "<": "<",
        "backticks": "`",
        "backticks and spaces": "` ",
        "half openers": "<tool_cal <|tool_ca <function_ca [TOOL_CAL ",
        "openers": "<tool_call>",
        "open strings": '<tool_call>{"',
        "weak openers": '<invoke name="',
        "fences": "```\n",
    }
    for name, unit in hostile.items():
        for piece in (0, 64):
            before = 0.0
            for size in (20_000, 200_000, 2_000_000):
                text = (unit * (size // len(unit) + 1))[:size]
                took = best(partial(stream, declared, text, piece), 1 if size > 200_000 else 3)
                rows.append(
                    {
                        "what": f"{name}, {'whole' if not piece else f'{piece} at a time'}",
                        "size": size,
                        "us": took * 1e6,
                        "ratio": took / before if before else 0.0,
                    }
                )
                before = took
    return rows


def stream(declared: Tools, text: str, piece: int) -> None:
    """Search a text until its end, or until the work budget is used up, after which an answer passes unchanged."""
    scanner = Scanner(declared)
    step = piece or len(text)
    out = 0
    try:
        for at in range(0, len(text), step):
            out += sum(len(item) for item in scanner.feed(text[at : at + step]) if isinstance(item, str))
        out += sum(len(item) for item in scanner.close() if isinstance(item, str))
    except TooMuchWork:
        return
    assert out == len(text)
