"""A model that calls tools badly: answers each request of an agent in its protocol, with one broken per session.

The first answer contains the broken call. When the tool has done its work, the model says that all is done. If it
gets an error, it sends the broken call again, as models do, and gives up after the third attempt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.upstream import Play, Seen

from ..shared.answer_writers import Chat, Gemini, Json, Messages, Responses, Writer
from .broken_calls import MARK, RUN, BrokenCall, Tools

FINAL = "All done, says the model."
GIVES_UP = "I give up, says the model."
ATTEMPTS = 3
EVENT_STREAM = {"content-type": "text/event-stream"}
STREAM_PATH = ":streamGenerateContent"
"""A path with this asks for a stream, without a field in the request."""
WRITERS: dict[str, Writer] = {
    "/chat/completions": Chat(),
    "/messages": Messages(),
    "/responses": Responses(),
    STREAM_PATH: Gemini(),
}


@dataclass(slots=True)
class Model:
    """The upstream's handler for one session."""

    tools: Tools
    broken: BrokenCall
    work: Path
    sent: int = 0
    results: list[str] = field(default_factory=list)
    """The tool results in the last request of the agent."""
    finished: bool = False

    def __call__(self, seen: Seen) -> Play:
        try:
            request = json.loads(seen.body)
        except ValueError:
            return Play([b"{}"], headers={"content-type": "application/json"})
        writer = next((writer for end, writer in WRITERS.items() if end in seen.path.partition("?")[0]), None)
        if writer is None or not (request.get("stream") or STREAM_PATH in seen.path):
            return Play([b'{"error":{"message":"not here"}}'], 404, {"content-type": "application/json"})
        if self.tools.shell not in declared(request):
            return Play(writer.text("A title"), headers=EVENT_STREAM)
        events = self._answer(writer, request)
        pause = 0.0 if self.finished else self.broken.seconds / len(events)
        return Play(events, headers=EVENT_STREAM, pause=pause)

    def _answer(self, writer: Writer, request: Json) -> list[bytes]:
        self.results = [*results(request)]
        if self.done():
            self.finished = True
            return writer.text(FINAL)
        self.sent += 1
        if self.sent > ATTEMPTS:
            self.finished = True
            return writer.text(GIVES_UP)
        if self.broken.once and self.sent > 1:
            return writer.call(f"call_{self.sent}", self.tools.shell, json.dumps({self.tools.command: RUN}), "")
        name, arguments = self.broken.call(self.tools)
        if self.broken.as_text:
            return writer.text(f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>')
        return writer.call(f"call_{self.sent}", name, arguments, self.broken.finish)

    def done(self) -> bool:
        if self.broken.lists:
            return self.tools.list_done(self.work, self.results)
        return (self.work / MARK).is_file()


def declarations(request: Json) -> list[Json]:
    """The tools that a request declares, each with its name and parameters."""
    tools = [one for tool in request.get("tools") or [] for one in tool.get("functionDeclarations", [tool])]
    return [tool.get("function", tool) for tool in tools]


def declared(request: Json) -> set[str]:
    """The names of the tools that a request declares."""
    return {str(tool.get("name")) for tool in declarations(request)}


def results(request: Json) -> Iterator[str]:
    """The tool results of a request, whatever its protocol."""
    for item in request.get("messages") or request.get("input") or request.get("contents") or []:
        if not isinstance(item, dict):
            continue
        yield from (
            json.dumps(part["functionResponse"]) for part in item.get("parts") or [] if "functionResponse" in part
        )
        if item.get("role") == "tool":
            yield json.dumps(item.get("content"))
        if item.get("type") == "function_call_output":
            yield json.dumps(item.get("output"))
        blocks = item.get("content")
        for block in blocks if isinstance(blocks, list) else []:
            if isinstance(block, dict) and block.get("type") == "tool_result":
                yield ("error: " if block.get("is_error") else "") + json.dumps(block.get("content"))


COMMANDS = ("command", "cmd", "commands")
"""A tool with one of these properties is taken for the shell."""


@dataclass(slots=True)
class UnknownTools(Model):
    """Sends one broken call to the shell, whatever it is called; an agent without tools gets a text."""

    def __call__(self, seen: Seen) -> Play:
        try:
            request: Json = json.loads(seen.body)
        except ValueError:
            return Model.__call__(self, seen)
        tools = tools_of(request)
        if tools is None:
            return self._text(seen, request)
        self.tools = tools
        if not request.get("stream") and seen.path.endswith("/chat/completions"):
            return self._document(request)
        return Model.__call__(self, seen)

    def _text(self, seen: Seen, request: Json) -> Play:
        writer = next((writer for end, writer in WRITERS.items() if end in seen.path), None)
        if writer is None or not request.get("stream"):
            return Model.__call__(self, seen)
        return Play(writer.text(FINAL), headers=EVENT_STREAM)

    def _document(self, request: Json) -> Play:
        """The answer to a Chat client that does not stream."""
        self.results = [*results(request)]
        self.finished = self.done() or self.sent > 0
        message: Json = {"role": "assistant", "content": FINAL}
        if not self.finished:
            self.sent += 1
            function = {"name": self.tools.shell, "arguments": self.broken.call(self.tools)[1]}
            call = {"id": f"call_{self.sent}", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "stop" if self.finished else "tool_calls"}
        document = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        return Play([json.dumps(document).encode()], headers={"content-type": "application/json"})

    def done(self) -> bool:
        return not self.tools.shell or (self.work / MARK).is_file()


def tools_of(request: Json) -> Tools | None:
    """The declared tool that runs commands and requires nothing else, if there is one."""
    for tool in declarations(request):
        schema = tool.get("parameters") or tool.get("input_schema") or {}
        properties = schema.get("properties") or {}
        for name in COMMANDS:
            if name in properties and not set(schema.get("required") or ()) - {name}:
                listed = properties[name].get("type") == "array"
                return Tools(shell=str(tool.get("name")), command=name, run=[RUN] if listed else RUN)
    return None
