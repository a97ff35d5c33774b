"""A model that calls tools badly: answers each request of an agent in its protocol, one scenario a session.

The first answer has the broken call. When the tool has done its work, the model says that all is done; when an
error comes back it sends the same broken call again, as models do, and gives up after the third.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolcalls.cli.upstream import Play, Seen

Json = dict[str, Any]
FINAL = "All done, says the model."
GIVES_UP = "I give up, says the model."
MARK = "mark"
CUT = "cutoff"
RUN = f"echo ran >> {MARK}"
ATTEMPTS = 3
EVENT_STREAM = {"content-type": "text/event-stream"}


@dataclass(slots=True, frozen=True)
class Tools:
    """What a broken call can be made of with this agent."""

    shell: str
    command: str
    wrong_command: str
    number: str
    list_tool: str
    list_arguments: Json
    """Arguments with a list, which the scenario sends as a string."""
    list_key: str
    list_done: Callable[[Path, list[str]], bool]
    """Has the tool with the list done its work? Asked with the work folder and the tool results."""


@dataclass(slots=True, frozen=True)
class Scenario:
    name: str
    call: Callable[[Tools], tuple[str, str]]
    """The name and the argument text that the model sends."""
    as_text: bool = False
    finish: str = ""
    """`length` where the answer is cut off, and says so."""
    cut: bool = False
    lists: bool = False


def _arguments(tools: Tools, **more: Any) -> Json:
    return {tools.command: RUN, **more}


def _shell(write: Callable[[Tools], str]) -> Callable[[Tools], tuple[str, str]]:
    return lambda tools: (tools.shell, write(tools))


def _swapped(name: str) -> str:
    return name.title() if name.islower() else name.lower()


def _listed(tools: Tools) -> tuple[str, str]:
    arguments = {**tools.list_arguments, tools.list_key: json.dumps(tools.list_arguments[tools.list_key])}
    return tools.list_tool, json.dumps(arguments)


def _cut(tools: Tools) -> str:
    return f'{{"{tools.command}": "echo cut >> {CUT}'


SCENARIOS = (
    Scenario("Python dict", _shell(lambda tools: repr(_arguments(tools)))),
    Scenario("array as string", _listed, lists=True),
    Scenario("double-encoded", _shell(lambda tools: json.dumps(json.dumps(_arguments(tools))))),
    Scenario("trailing comma", _shell(lambda tools: json.dumps(_arguments(tools))[:-1] + ",}")),
    Scenario("fence", _shell(lambda tools: f"```json\n{json.dumps(_arguments(tools))}\n```")),
    Scenario("number as string", _shell(lambda tools: json.dumps(_arguments(tools, **{tools.number: "5000"})))),
    Scenario("wrong-case name", lambda tools: (_swapped(tools.shell), json.dumps(_arguments(tools)))),
    Scenario("wrong key", _shell(lambda tools: json.dumps({tools.wrong_command: RUN}))),
    Scenario("text call", _shell(lambda tools: json.dumps(_arguments(tools))), as_text=True),
    Scenario("cut off", _shell(_cut), cut=True),
    Scenario("cut off, says so", _shell(_cut), finish="length", cut=True),
)


@dataclass(slots=True)
class Model:
    """The upstream's handler for one session."""

    tools: Tools
    scenario: Scenario
    work: Path
    sent: int = 0
    results: list[str] = field(default_factory=list)
    """What the tools gave back, as the agent last told it."""
    finished: bool = False

    def __call__(self, seen: Seen) -> Play:
        try:
            request = json.loads(seen.body)
        except ValueError:
            return Play([b"{}"], headers={"content-type": "application/json"})
        writer = next((writer for end, writer in WRITERS.items() if end in seen.path.partition("?")[0]), None)
        if writer is None or not request.get("stream"):
            return Play([b'{"error":{"message":"not here"}}'], 404, {"content-type": "application/json"})
        if self.tools.shell not in declared(request):
            return Play(writer.text("A title"), headers=EVENT_STREAM)
        return Play(self._answer(writer, request), headers=EVENT_STREAM)

    def _answer(self, writer: Writer, request: Json) -> list[bytes]:
        self.results = [*results(request)]
        if self.done():
            self.finished = True
            return writer.text(FINAL)
        self.sent += 1
        if self.sent > ATTEMPTS:
            self.finished = True
            return writer.text(GIVES_UP)
        if self.scenario.cut and self.sent > 1:
            # Cut off once; the second attempt is whole.
            return writer.call(f"call_{self.sent}", self.tools.shell, json.dumps({self.tools.command: RUN}), "")
        name, arguments = self.scenario.call(self.tools)
        if self.scenario.as_text:
            return writer.text(f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>')
        return writer.call(f"call_{self.sent}", name, arguments, self.scenario.finish)

    def done(self) -> bool:
        if self.scenario.lists:
            return self.tools.list_done(self.work, self.results)
        return (self.work / MARK).is_file()


def declared(request: Json) -> set[str]:
    return {str(tool.get("function", tool).get("name")) for tool in request.get("tools") or []}


def results(request: Json) -> Iterator[str]:
    """The tool results of a request, whatever its protocol."""
    for item in request.get("messages") or request.get("input") or []:
        if not isinstance(item, dict):
            continue
        if item.get("role") == "tool":
            yield json.dumps(item.get("content"))
        if item.get("type") == "function_call_output":
            yield json.dumps(item.get("output"))
        blocks = item.get("content")
        for block in blocks if isinstance(blocks, list) else []:
            if isinstance(block, dict) and block.get("type") == "tool_result":
                yield ("error: " if block.get("is_error") else "") + json.dumps(block.get("content"))


def _pieces(text: str) -> list[str]:
    return [text[start : start + 9] for start in range(0, len(text), 9)] or [""]


class Writer:
    def text(self, text: str) -> list[bytes]:
        raise NotImplementedError

    def call(self, ident: str, name: str, arguments: str, finish: str) -> list[bytes]:
        raise NotImplementedError


class Chat(Writer):
    def _event(self, delta: Json, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"

    def _end(self, finish: str) -> list[bytes]:
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        last = {
            "id": "c",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [],
            "usage": usage,
        }
        return [self._event({}, finish), b"data: " + json.dumps(last).encode() + b"\n\n", b"data: [DONE]\n\n"]

    def text(self, text: str) -> list[bytes]:
        first = self._event({"role": "assistant", "content": ""})
        return [first, *(self._event({"content": piece}) for piece in _pieces(text)), *self._end("stop")]

    def call(self, ident: str, name: str, arguments: str, finish: str) -> list[bytes]:
        function = {"name": name, "arguments": ""}
        start = {"index": 0, "id": ident, "type": "function", "function": function}
        events = [self._event({"role": "assistant", "content": None, "tool_calls": [start]})]
        deltas = [{"index": 0, "function": {"arguments": piece}} for piece in _pieces(arguments)]
        events += [self._event({"tool_calls": [delta]}) for delta in deltas]
        return [*events, *self._end(finish or "tool_calls")]


class Messages(Writer):
    def _event(self, kind: str, **fields: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()

    def _answer(self, block: Json, deltas: list[Json], finish: str) -> list[bytes]:
        usage = {"input_tokens": 10, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
        stop = {"stop_reason": finish, "stop_sequence": None}
        return [
            self._event("message_start", message={**message, "stop_reason": None, "stop_sequence": None}),
            self._event("content_block_start", index=0, content_block=block),
            *(self._event("content_block_delta", index=0, delta=delta) for delta in deltas),
            self._event("content_block_stop", index=0),
            self._event("message_delta", delta=stop, usage={"output_tokens": 10}),
            self._event("message_stop"),
        ]

    def text(self, text: str) -> list[bytes]:
        deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(text)]
        return self._answer({"type": "text", "text": ""}, deltas, "end_turn")

    def call(self, ident: str, name: str, arguments: str, finish: str) -> list[bytes]:
        block = {"type": "tool_use", "id": f"toolu_{ident}", "name": name, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in _pieces(arguments)]
        return self._answer(block, deltas, "max_tokens" if finish else "tool_use")


class Responses(Writer):
    def _answer(self, item: Json, between: list[Json], final: Json, finish: str) -> list[bytes]:
        usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "in_progress"}
        end = {**response, "status": "incomplete" if finish else "completed", "output": [final], "usage": usage}
        if finish:
            end["incomplete_details"] = {"reason": "max_output_tokens"}
        events: list[Json] = [
            {"type": "response.created", "response": {**response, "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            *between,
            {"type": "response.output_item.done", "output_index": 0, "item": final},
            {"type": "response.incomplete" if finish else "response.completed", "response": end},
        ]
        numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
        return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in numbered]

    def text(self, text: str) -> list[bytes]:
        item = {"id": "msg_1", "type": "message", "status": "in_progress", "role": "assistant", "content": []}
        part = {"type": "output_text", "text": text, "annotations": []}
        where = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        deltas = [{"type": "response.output_text.delta", **where, "delta": piece} for piece in _pieces(text)]
        between = [
            {"type": "response.content_part.added", **where, "part": {**part, "text": ""}},
            *deltas,
            {"type": "response.output_text.done", **where, "text": text},
            {"type": "response.content_part.done", **where, "part": part},
        ]
        return self._answer(item, between, {**item, "status": "completed", "content": [part]}, "")

    def call(self, ident: str, name: str, arguments: str, finish: str) -> list[bytes]:
        item = {"id": f"fc_{ident}", "type": "function_call", "call_id": ident, "name": name, "arguments": ""}
        where = {"item_id": item["id"], "output_index": 0}
        kind = "response.function_call_arguments"
        between: list[Json] = [
            *({"type": f"{kind}.delta", **where, "delta": piece} for piece in _pieces(arguments)),
            {"type": f"{kind}.done", **where, "name": name, "arguments": arguments},
        ]
        status = "incomplete" if finish else "completed"
        started = {**item, "status": "in_progress"}
        return self._answer(started, between, {**item, "arguments": arguments, "status": status}, finish)


WRITERS: dict[str, Writer] = {"/chat/completions": Chat(), "/messages": Messages(), "/responses": Responses()}


def shortened(text: str, width: int = 160) -> str:
    return textwrap.shorten(text, width, placeholder=" …")
