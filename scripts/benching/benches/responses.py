"""What one event of a Responses stream costs, compared with `json.loads` of its data.

`json.loads` gets the data as text that is already extracted and decoded: the hardest comparison.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from toolcalls.engine import Response
from toolcalls.request.request import Request, read_request

from ..measure import Row, best_ratio, in_turns
from ..prose import CUT_GOAL, MARKDOWN_GOAL, SEARCH_GOAL, TEXT_GOAL
from ..prose import deltas as prose_deltas
from ..prose import request as prose_request

WHOLE_GOAL = 0.6
"""The goal for a whole answer, whose first and last events must be parsed."""
DELTA_GOAL = 1.5

Json = dict[str, Any]
_SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
TOOLS: list[Json] = [
    {"type": "function", "name": f"tool_{number}", "description": "d" * 900, "parameters": _SCHEMA}
    for number in range(13)
]
QUESTION = read_request({"model": "a-model-of-today", "stream": True, "tools": TOOLS})
NO_TOOLS = read_request({"model": "a-model-of-today", "stream": True})
TWENTY = read_request(prose_request())
ITEM_ID = "msg_68a1f2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f607"
LINE = "    def read(self, event: Event) -> Answer:  # it doesn't parse what can't be a call, \"tool\" or not\n"
WORDS = ("The", "parser", "reads", "one", "event", "at", "a", "time", "and", "keeps", "what", "it", "hasn't", "yet")


class Script:
    """The data of the events of one response."""

    def __init__(self, *, echo: bool) -> None:
        self.events: list[str] = []
        self.response: Json = {"id": "resp_0", "object": "response", "status": "in_progress", "output": []}
        if echo:
            self.response["tools"] = TOOLS
        self.say("response.created", response=self.response)
        self.say("response.in_progress", response=self.response)

    def say(self, kind: str, **fields: Any) -> None:
        event = {"type": kind, "sequence_number": len(self.events), **fields}
        self.events.append(json.dumps(event, ensure_ascii=False, separators=(",", ":")))

    def message(self, deltas: list[str], *, end: bool) -> list[str]:
        where = {"item_id": ITEM_ID, "output_index": 0, "content_index": 0}
        part = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
        item = {"id": ITEM_ID, "type": "message", "status": "in_progress", "content": [], "role": "assistant"}
        self.say("response.output_item.added", output_index=0, item=item)
        self.say("response.content_part.added", **where, part=part)
        for delta in deltas:
            self.say("response.output_text.delta", **where, delta=delta, logprobs=[], obfuscation="aX8kq2")
        if end:
            whole = {**part, "text": "".join(deltas)}
            self.say("response.output_text.done", **where, text=whole["text"], logprobs=[])
            self.say("response.content_part.done", **where, part=whole)
            self.end({**item, "status": "completed", "content": [whole]})
        return self.events

    def call(self, deltas: list[str], *, end: bool, padded: bool = False) -> list[str]:
        where = {"item_id": "fc_0", "output_index": 0}
        item = {"id": "fc_0", "type": "function_call", "status": "in_progress", "call_id": "call_0", "name": "tool_0"}
        self.say("response.output_item.added", output_index=0, item={**item, "arguments": ""})
        for number, delta in enumerate(deltas):
            padding = f"{number * 7919:x}" if padded else "aX8kq2"
            self.say("response.function_call_arguments.delta", **where, delta=delta, obfuscation=padding)
        if end:
            self.say("response.function_call_arguments.done", **where, arguments="".join(deltas))
            self.end({**item, "status": "completed", "arguments": "".join(deltas)})
        return self.events

    def end(self, item: Json) -> None:
        self.say("response.output_item.done", output_index=0, item=item)
        self.say("response.completed", response={**self.response, "status": "completed", "output": [item]})


def framed(events: list[str]) -> list[bytes]:
    return [f"event: {json.loads(data)['type']}\ndata: {data}\n\n".encode() for data in events]


def many_a_chunk(events: list[str], many: int = 20) -> list[bytes]:
    pieces = framed(events)
    return [b"".join(pieces[at : at + many]) for at in range(0, len(pieces), many)]


def all_in_one(events: list[str]) -> list[bytes]:
    return [b"".join(framed(events))]


def cut_inside(events: list[str]) -> list[bytes]:
    """Chunks that are slightly larger than an event, so that nearly every cut falls inside one."""
    body = b"".join(framed(events))
    size = len(body) // len(events) + 7
    return [body[at : at + size] for at in range(0, len(body), size)]


def pass_all(question: Request, chunks: list[bytes]) -> None:
    feed = Response("responses", question).feed
    for chunk in chunks:
        feed(chunk)


def load_all(events: list[str]) -> None:
    for data in events:
        json.loads(data)


def compare(
    name: str,
    goal: float,
    events: list[str],
    cut: Callable[[list[str]], list[bytes]],
    rounds: int,
    question: Request = QUESTION,
) -> Row:
    # Without tools, because text that is searched for calls has rows of its own.
    question = NO_TOOLS if goal in (TEXT_GOAL, WHOLE_GOAL) else question
    seconds, loads = in_turns([partial(pass_all, question, cut(events)), partial(load_all, events)], rounds)
    figure = min(seconds) / len(events) * 1e6
    return {"name": name, "figure": figure, "unit": "µs/event", "ratio": best_ratio(seconds, loads), "goal": goal}


def run(quick: bool = False) -> list[Row]:
    count, rounds = (40, 1) if quick else (400, 60)
    words = [" " + " ".join(WORDS[(number * 3 + at) % len(WORDS)] for at in range(3)) for number in range(count)]
    text = Script(echo=False).message(words, end=False)
    large = Script(echo=False).message([(LINE * 40)[at : at + 3000] for at in range(count // 4)], end=False)
    pieces = ['{"command":"', *(f"abc def {number % 100:02d}" for number in range(count)), '"}']
    deltas = Script(echo=False).call(pieces, end=False)
    padded = Script(echo=False).call(pieces, end=False, padded=True)
    answer = Script(echo=True).message(words, end=True)
    paragraphs = Script(echo=True).message([(LINE * 40)[at : at + 3000] for at in range(40)], end=True)
    call = Script(echo=True).call(pieces, end=True)
    prose = Script(echo=False).message(prose_deltas(count), end=False)
    markdown = Script(echo=False).message(prose_deltas(count, markdown=True), end=False)
    return [
        compare("text, 20 tools, one event a chunk", SEARCH_GOAL, prose, framed, rounds, TWENTY),
        compare("text, 20 tools, 20 events a chunk", SEARCH_GOAL, prose, many_a_chunk, rounds, TWENTY),
        compare("text, 20 tools, cuts inside events", CUT_GOAL, prose, cut_inside, rounds, TWENTY),
        compare("text, 20 tools, events of 3 KB", SEARCH_GOAL, large, framed, rounds, TWENTY),
        compare("Markdown, 20 tools, one event a chunk", MARKDOWN_GOAL, markdown, framed, rounds, TWENTY),
        compare("Markdown, 20 tools, cuts inside events", MARKDOWN_GOAL, markdown, cut_inside, rounds, TWENTY),
        compare("text, one event a chunk", TEXT_GOAL, text, framed, rounds),
        compare("text, 20 events a chunk", TEXT_GOAL, text, many_a_chunk, rounds),
        compare("text, all in one chunk", TEXT_GOAL, text, all_in_one, rounds),
        compare("text, cuts inside events", CUT_GOAL, text, cut_inside, rounds, NO_TOOLS),
        compare("text, events of 3 KB", TEXT_GOAL, large, framed, rounds),
        compare("text, events of 3 KB, cuts inside", CUT_GOAL, large, cut_inside, rounds, NO_TOOLS),
        compare("a whole text answer, tools echoed", WHOLE_GOAL, answer, framed, rounds),
        compare("a whole text answer, tools echoed, 20 a chunk", WHOLE_GOAL, answer, many_a_chunk, rounds),
        compare("a whole text answer in 3 KB events", WHOLE_GOAL, paragraphs, framed, rounds),
        compare("10-byte argument deltas, one event a chunk", DELTA_GOAL, deltas, framed, rounds),
        compare("10-byte argument deltas, 20 events a chunk", DELTA_GOAL, deltas, many_a_chunk, rounds),
        compare("10-byte argument deltas, cuts inside events", DELTA_GOAL, deltas, cut_inside, rounds),
        compare("10-byte argument deltas, each padded", DELTA_GOAL, padded, framed, rounds),
        compare("10-byte argument deltas, each padded, 20 a chunk", DELTA_GOAL, padded, many_a_chunk, rounds),
        compare("10-byte argument deltas, each padded, cuts inside", DELTA_GOAL, padded, cut_inside, rounds),
        compare("a whole call, mended and written", DELTA_GOAL, call, framed, rounds),
    ]
