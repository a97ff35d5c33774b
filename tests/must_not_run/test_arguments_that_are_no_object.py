"""Arguments that are a list: one rule for every protocol, streamed and not, as JSON text and as a JSON value.

An empty list is an empty object for a tool that declares that it has no parameters: there is nothing that could be
missing. For every other tool it may be the rest of arguments that were lost, and the call does not run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.protocols import messages_wire
from tests.protocols.responses_wire import Upstream
from tests.protocols.test_chat import DONE, chunk, piece
from tests.protocols.text_protocols import (
    CHAT,
    GEMINI,
    MESSAGES,
    OLLAMA,
    RESPONSES,
    ZAI,
    Client,
    Protocol,
    gemini_answer,
    gemini_event,
    ollama_line,
    zai_end,
)
from tests.protocols.zai_streams import Backend, block
from tests.splits import mend
from toolcalls.engine import Response, mend_whole
from toolcalls.request.request import read_request

Json = dict[str, Any]

PATH = {"path": {"type": "string"}}
SCHEMAS: dict[str, Json | None] = {
    "list_tabs": {"type": "object", "properties": {}},
    "list_tasks": {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
    "list_files": {"type": "object", "properties": PATH},
    "write_todos": {"type": "object", "properties": {"todos": {"type": "array"}}, "required": ["todos"]},
    "set_fields": {"type": "object", "properties": {}, "additionalProperties": True},
    "set_numbers": {"type": "object", "properties": {}, "additionalProperties": {"type": "number"}},
    "set_flags": {"type": "object", "properties": {}, "patternProperties": {"^x-": {"type": "string"}}},
    "act": {"type": "object", "properties": {}, "anyOf": [{"properties": PATH}, {}]},
    "no_properties": {"type": "object"},
    "no_schema": None,
    "invalid": {"type": "object", "properties": {"tool": {}, "error": {}, "receivedArgs": {}}},
}
TOOLS = [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in SCHEMAS.items()]
QUESTION = read_request({"tools": TOOLS, "stream": True})


def streams(name: str, text: str, value: Any) -> Iterator[tuple[Protocol, bytes]]:
    """A call with these arguments as streams of every protocol: as JSON text, and as a value where servers do that."""
    wire = messages_wire
    for arguments in (text, value):
        yield CHAT, (chunk(piece(0, "call_1", name, arguments)) + chunk({}, "tool_calls") + DONE).encode()
        yield ZAI, zai_end(Backend().become(block(name, arguments)), "stop")
        yield GEMINI, gemini_event({"functionCall": {"name": name, "args": arguments}}, finish="STOP")
        said = {"tool_calls": [{"function": {"name": name, "arguments": arguments}}]}
        yield OLLAMA, ollama_line(said) + ollama_line({}, done_reason="stop")
        given = wire.tool_start(0, name=name, input=arguments) + wire.stop(0)
        yield MESSAGES, wire.begin() + given + wire.end()
        followed = given + wire.text(1, "Done.")
        yield MESSAGES, wire.begin() + followed + wire.end()
    yield CHAT, (chunk(piece(0, "call_1", name, text[:1])) + chunk(piece(0, arguments=text[1:])) + DONE).encode()
    yield MESSAGES, wire.begin() + wire.tool(0, text[:1], text[1:], name=name) + wire.end()
    yield RESPONSES, Upstream().call(name, text[:1], text[1:]).end("completed").bytes()


def documents(name: str, text: str, value: Any) -> Iterator[tuple[Protocol, bytes]]:
    """The same as documents."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    head = {"id": "msg_01", "type": "message", "role": "assistant", "model": "m", "usage": usage}
    for arguments in (text, value):
        function = {"name": name, "arguments": arguments}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        }
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        yield CHAT, json.dumps({"choices": [choice]}).encode()
        yield (
            GEMINI,
            json.dumps(gemini_answer({"functionCall": {"name": name, "args": arguments}}, finish="STOP")).encode(),
        )
        yield OLLAMA, ollama_line({"tool_calls": [{"function": function}]}, done_reason="stop")
        content = [{"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}]
        yield (
            MESSAGES,
            json.dumps({**head, "content": content, "stop_reason": "tool_use", "stop_sequence": None}).encode(),
        )
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed", **function}
        response = Upstream().end("completed").events[-1]["response"]
        yield RESPONSES, json.dumps({**response, "output": [item]}).encode()


def clients(name: str, text: str, value: Any) -> Iterator[tuple[str, Client]]:
    """What strict clients end with."""
    for number, (protocol, stream) in enumerate(streams(name, text, value)):
        out, _ = mend(stream, protocol=protocol.name, question=QUESTION)
        yield f"{protocol.name} streamed {number}", protocol.read(out)
    for number, (protocol, body) in enumerate(documents(name, text, value)):
        answer = Response(protocol.name, QUESTION)
        yield f"{protocol.name} whole {number}", protocol.read_document(mend_whole(answer, body))


@pytest.mark.parametrize("name", ["list_tabs", "list_tasks"])
def test_an_empty_list_is_an_empty_object_for_a_tool_that_has_no_parameters(name: str) -> None:
    for where, client in clients(name, "[]", []):
        assert client.calls == [{"name": name, "arguments": {}}], where


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name not in ("list_tabs", "list_tasks", "invalid")])
def test_an_empty_list_is_refused_for_any_tool_that_may_have_parameters(name: str) -> None:
    for where, client in clients(name, "[]", []):
        assert [made["name"] for made in client.calls] == ["invalid"], where
        assert client.calls[0]["arguments"]["tool"] == name, where


@pytest.mark.parametrize("name", ["list_tabs", "list_files"])
@pytest.mark.parametrize("value", [["ls"], [[]], [None], [{}, {}], 0, 1.5, False, True], ids=json.dumps)
def test_other_values_are_refused_for_every_tool(name: str, value: Any) -> None:
    for where, client in clients(name, json.dumps(value), value):
        assert [made["name"] for made in client.calls] == ["invalid"], where


@pytest.mark.parametrize("text", ["[", "[,]", "[]]", "[] []", "[] rm", "[/* all */]"])
def test_what_is_not_exactly_an_empty_list_is_refused(text: str) -> None:
    for where, client in clients("list_tabs", text, text):
        assert [made["name"] for made in client.calls] == ["invalid"], where


@pytest.mark.parametrize("name", ["list_tabs", "list_files"])
@pytest.mark.parametrize("fragments", [("{}",), ("", "{", "}")])
def test_an_object_in_fragments_counts_more_than_the_empty_list_before_them(
    name: str, fragments: tuple[str, ...]
) -> None:
    wire = messages_wire
    body = wire.begin() + wire.tool(0, *fragments, name=name, input=[]) + wire.end()
    assert MESSAGES.read(mend(body, protocol="messages", question=QUESTION)[0]).calls == [
        {"name": name, "arguments": {}}
    ]
