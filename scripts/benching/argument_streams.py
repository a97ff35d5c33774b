"""One call with given arguments in each protocol: as a streamed answer, and as the history of a request."""

from __future__ import annotations

import json

from ..shared.answer_writers import Chat, Json, Messages, Responses, Writer

PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
NAME = "Write"
SCHEMA = {
    "type": "object",
    "properties": {"file_path": {"type": "string"}, "content": {"type": "string"}, "overwrite": {"type": "boolean"}},
    "required": ["file_path", "content"],
}

WRITERS: dict[str, Writer] = {"chat": Chat(), "messages": Messages(), "responses": Responses()}


def answer(protocol: str, arguments: str, piece: int) -> list[bytes]:
    """The events of an answer with one call, with `piece` characters of its arguments in each event."""
    return WRITERS[protocol].call("call_1", NAME, arguments, "", piece)


def request(protocol: str, arguments: str | None = None) -> bytes:
    """A request that declares the tool; if `arguments` are given, its history contains a call with them."""
    asked: Json = {"model": "m", "stream": True, "max_tokens": 9}
    question = {"role": "user", "content": "Go on."}
    function: Json = {"name": NAME, "parameters": SCHEMA}
    past: list[Json] = []
    if protocol == "chat":
        asked["tools"] = [{"type": "function", "function": function}]
        call = {"id": "call_0", "type": "function", "function": {"name": NAME, "arguments": arguments}}
        past = [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_0", "content": "done"},
        ]
    elif protocol == "responses":
        asked["tools"] = [{"type": "function", **function}]
        past = [
            {"type": "function_call", "call_id": "call_0", "name": NAME, "arguments": arguments},
            {"type": "function_call_output", "call_id": "call_0", "output": "done"},
        ]
    else:
        asked["tools"] = [{"name": NAME, "input_schema": SCHEMA}]
        # In Messages the arguments are an object; broken ones are sent as a text instead.
        try:
            given = json.loads(arguments or "{}")
        except ValueError:
            given = arguments
        past = [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_0", "name": NAME, "input": given}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_0", "content": "done"}]},
        ]
    key = "input" if protocol == "responses" else "messages"
    asked[key] = [question, *(past if arguments is not None else [])]
    return json.dumps(asked, ensure_ascii=False).encode()
