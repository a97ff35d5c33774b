"""The model that calls tools badly, for agents whose tools are not known: it calls whatever shell is declared."""

from __future__ import annotations

import json
from dataclasses import dataclass

from toolcalls.cli.upstream import Play, Seen

from ..shared.answer_writers import Json
from .broken_calls import MARK, RUN, Tools
from .model import EVENT_STREAM, FINAL, WRITERS, Model, declarations, results

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
            function = {"name": self.tools.shell, "arguments": self.scenario.call(self.tools)[1]}
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
