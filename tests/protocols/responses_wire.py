"""Builds upstream answers of the Responses protocol for the tests: healthy ones, to be damaged by hand."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from typing import Any

from toolcalls.engine import Response
from toolcalls.policy import Policy
from toolcalls.request.request import read_request

Json = dict[str, Any]

TOOLS: list[Json] = [
    {
        "type": "function",
        "name": "shell",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    },
    {"type": "function", "name": "now", "parameters": {"type": "object", "properties": {}}},
    {"type": "custom", "name": "apply_patch", "format": {"type": "grammar"}},
    {"type": "namespace", "name": "mcp__node_repl", "tools": [{"type": "function", "name": "js", "parameters": {}}]},
    {"type": "web_search"},
]
REQUEST: Json = {"model": "gpt-test", "stream": True, "tools": TOOLS, "input": "hi"}


class Upstream:
    """Events of one response, numbered as they are made."""

    def __init__(self, *, echo: bool = False) -> None:
        self.events: list[Json] = []
        self.output: list[Json] = []
        self.response: Json = {
            "id": "resp_1",
            "object": "response",
            "created_at": 1763250000,
            "status": "in_progress",
            "error": None,
            "model": "gpt-test",
            "output": [],
            "tools": TOOLS if echo else [],
        }
        self.say("response.created", response=self.response)
        self.say("response.in_progress", response=self.response)

    def say(self, kind: str, **fields: Any) -> Json:
        event = {"type": kind, "sequence_number": len(self.events), **fields}
        self.events.append(event)
        return event

    def message(self, *deltas: str) -> Upstream:
        index = len(self.output)
        where = {"item_id": f"msg_{index}", "output_index": index, "content_index": 0}
        item = {"id": f"msg_{index}", "type": "message", "status": "in_progress", "role": "assistant", "content": []}
        self.say("response.output_item.added", output_index=index, item=item)
        part = {"type": "output_text", "text": "", "annotations": []}
        self.say("response.content_part.added", **where, part=part)
        for delta in deltas:
            self.say("response.output_text.delta", **where, delta=delta)
        text = "".join(deltas)
        self.say("response.output_text.done", **where, text=text)
        self.say("response.content_part.done", **where, part={**part, "text": text})
        self.finish(index, {**item, "status": "completed", "content": [{**part, "text": text}]})
        return self

    def call(self, name: str, *fragments: str, **extra: Any) -> Upstream:
        index = len(self.output)
        where = {"item_id": f"fc_{index}", "output_index": index}
        item = {
            "id": f"fc_{index}",
            "type": "function_call",
            "status": "in_progress",
            "arguments": "",
            "call_id": f"call_{index}",
            "name": name,
            **extra,
        }
        self.say("response.output_item.added", output_index=index, item=item)
        for fragment in fragments:
            self.say("response.function_call_arguments.delta", **where, delta=fragment)
        arguments = "".join(fragments)
        self.say("response.function_call_arguments.done", **where, arguments=arguments)
        self.finish(index, {**item, "status": "completed", "arguments": arguments})
        return self

    def custom(self, name: str, *fragments: str) -> Upstream:
        index = len(self.output)
        where = {"item_id": f"ctc_{index}", "output_index": index}
        item = {
            "id": f"ctc_{index}",
            "type": "custom_tool_call",
            "call_id": f"call_{index}",
            "name": name,
            "input": "",
        }
        self.say("response.output_item.added", output_index=index, item=item)
        for fragment in fragments:
            self.say("response.custom_tool_call_input.delta", **where, delta=fragment)
        self.say("response.custom_tool_call_input.done", **where, input="".join(fragments))
        self.finish(index, {**item, "input": "".join(fragments)})
        return self

    def reasoning(self, *deltas: str, own_words: bool = False) -> Upstream:
        """`own_words`: as servers of open models tell it, not as a summary."""
        index = len(self.output)
        item: Json = {
            "id": f"rs_{index}",
            "type": "reasoning",
            "encrypted_content": "gAAAAABo1\u00e9==",
            "summary": [],
        }
        self.say("response.output_item.added", output_index=index, item=item)
        text = "".join(deltas)
        if own_words:
            where = {"item_id": item["id"], "output_index": index, "content_index": 0}
            for delta in deltas:
                self.say("response.reasoning_text.delta", **where, delta=delta)
            self.say("response.reasoning_text.done", **where, text=text)
            self.finish(index, {**item, "content": [{"type": "reasoning_text", "text": text}]})
            return self
        if text:
            where = {"item_id": item["id"], "output_index": index, "summary_index": 0}
            part = {"type": "summary_text", "text": ""}
            self.say("response.reasoning_summary_part.added", **where, part=part)
            for delta in deltas:
                self.say("response.reasoning_summary_text.delta", **where, delta=delta)
            self.say("response.reasoning_summary_text.done", **where, text=text)
            self.say("response.reasoning_summary_part.done", **where, part={**part, "text": text})
        self.finish(index, {**item, "summary": [{"type": "summary_text", "text": text}] if text else []})
        return self

    def search(self) -> Upstream:
        index = len(self.output)
        where = {"item_id": f"ws_{index}", "output_index": index}
        item: Json = {"id": f"ws_{index}", "type": "web_search_call", "status": "in_progress"}
        self.say("response.output_item.added", output_index=index, item=item)
        for step in ("in_progress", "searching", "completed"):
            self.say(f"response.web_search_call.{step}", **where)
        self.finish(index, {**item, "status": "completed", "action": {"type": "search", "query": "toolfix"}})
        return self

    def finish(self, index: int, item: Json) -> None:
        self.say("response.output_item.done", output_index=index, item=item)
        self.output.append(item)

    def end(self, kind: str = "completed", **fields: Any) -> Upstream:
        response = {**self.response, "status": kind, "output": list(self.output), **fields}
        self.say(f"response.{kind}", response=response)
        return self

    def bytes(self) -> bytes:
        return written(self.events)

    def of(self, *kinds: str) -> list[Json]:
        return [event for event in self.events if event["type"].endswith(kinds)]


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def written(events: Iterable[Json]) -> bytes:
    return "".join(f"event: {event['type']}\ndata: {compact(event)}\n\n" for event in events).encode()


def answer(request: Json | None = REQUEST, **policy: Any) -> Response:
    return Response("responses", read_request(request), Policy(**policy), seed="test")


def run(
    body: bytes, cuts: Iterable[int] = (), request: Json | None = REQUEST, **policy: Any
) -> tuple[bytes, Response]:
    subject = answer(request, **policy)
    places = [0, *sorted(set(cuts)), len(body)]
    out = [piece for a, b in itertools.pairwise(places) for piece in subject.feed(body[a:b])]
    return b"".join([*out, *subject.close()]), subject
