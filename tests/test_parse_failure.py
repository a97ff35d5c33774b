"""The server's own parse failure: the call that it quotes reaches the client, or the error goes on as it came."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import pytest

from tests.validators import chat as strict_chat
from tests.validators import messages as strict_messages
from tests.validators import ollama as strict_ollama
from tests.validators import responses as strict_responses
from toolcalls.engine import Response, mend_whole
from toolcalls.outcome import Outcome
from toolcalls.policy import Policy
from toolcalls.request.request import Request, read_request

Json = dict[str, Any]
SEARCH = {
    "type": "object",
    "properties": {"query": {"type": "string"}, "domain": {"type": "array", "items": {"type": "string"}}},
    "required": ["query"],
}
SHELL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
TOOLS = {"web_search": SEARCH, "shell": SHELL}


class Recovered(NamedTuple):
    body: bytes
    outcomes: list[Outcome]


def recovered(protocol: str, asked: Request, policy: Policy, error: bytes, size: int = 0) -> Recovered | None:
    """The answer that the client gets instead of a response with an error; None if it gets the error as it came."""
    response = Response(protocol, asked, policy, is_error=True, seed="seed")
    body = mend_whole(response, error, size)
    assert not response.failure
    assert (body == error) == (not response.outcomes)
    return Recovered(body, response.outcomes) if response.outcomes else None


def request(protocol: str = "chat", *, stream: bool = False, **more: Any) -> Request:
    tools: list[Json] = [
        {"type": "function", "name": name, "parameters": schema, "input_schema": schema}
        for name, schema in TOOLS.items()
    ]
    if protocol == "chat":
        tools = [{"type": "function", "function": tool} for tool in tools]
    key = "input" if protocol == "responses" else "messages"
    asked = {"model": "m", "stream": stream, "tools": tools, key: [{"role": "user", "content": "Go."}], **more}
    return read_request(asked)


def groq(generation: str | None, message: str = "Failed to call a function.") -> bytes:
    error = {"message": message, "type": "invalid_request_error", "code": "tool_use_failed"}
    return json.dumps({"error": error if generation is None else {**error, "failed_generation": generation}}).encode()


def ollama(raw: str, err: str = "invalid character ']' after top-level value") -> bytes:
    return json.dumps({"error": {"message": f"error parsing tool call: raw='{raw}', err={err}"}}).encode()


def llama(rest: str, at: int = 12) -> bytes:
    message = f"Failed to parse input at pos {at}: {rest}"
    return json.dumps({"error": {"code": 500, "message": message, "type": "server_error"}}).encode()


def calls(body: bytes, **more: Any) -> list[tuple[str, Any]]:
    answer = recovered("chat", request(**more), Policy(), body)
    return [(call.name, json.loads(call.arguments)) for call in answer.outcomes] if answer else []


@pytest.mark.parametrize(
    ("error", "name", "arguments"),
    [
        (groq('<function=web_search>{"query": "Hello!"}</function>'), "web_search", {"query": "Hello!"}),
        (groq('web_search{"query": "x"}</function>'), "web_search", {"query": "x"}),
        (
            groq(
                '<function=web_search>{"query": "x", "domain": "a.com"}</function>', "expected array, but got string"
            ),
            "web_search",
            {"query": "x", "domain": ["a.com"]},
        ),
        (groq('{"name": "shell", "arguments": {"command": "ls",}}'), "shell", {"command": "ls"}),
        (groq('{"tool_calls":[{"name":"shell","arguments":{"command":"[{"}}]}'), "shell", {"command": "[{"}),
        (groq('[TOOL_CALLS][{"name":"shell","arguments":{"command":"ls"}}]'), "shell", {"command": "ls"}),
        (ollama('{"command":"ls"}]'), "shell", {"command": "ls"}),
        (ollama('[{"command":"it\'s', "x") + b"", "", None),
        (ollama('{"command":"echo \'a\', err=b"}]'), "shell", {"command": "echo 'a', err=b"}),
        (
            llama("<tool_call>\n<function=shell>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>"),
            "shell",
            {"command": "ls"},
        ),
        (
            llama(
                "\n<tool_call>\n<function=shell>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>", 0
            ),
            "shell",
            {"command": "ls"},
        ),
        (
            llama('\r\n\n<tool_call>{"name": "shell", "arguments": {"command": "ls"}}</tool_call>\n'),
            "shell",
            {"command": "ls"},
        ),
        (groq('\n{"name": "shell", "arguments": {"command": "ls"}}\n'), "shell", {"command": "ls"}),
        (llama('<|tool_call_start|>[shell(command="ls")]<|tool_call_end|>'), "shell", {"command": "ls"}),
    ],
    ids=str,
)
def test_a_whole_call_of_a_declared_tool_is_taken_out_of_the_error(error: bytes, name: str, arguments: Any) -> None:
    assert calls(error) == ([(name, arguments)] if name else [])


@pytest.mark.parametrize(
    "error",
    [
        groq(None),
        groq("I cannot do that, because the tool is not there."),
        groq('<function=unknown>{"query": "x"}</function>'),
        groq('<function=web_search>{"query": "half a sen'),
        groq('{"name": "shell", "arguments": {"command": "ls"}'),
        groq('You would say <function=web_search>{"query": "x"}</function> for that.'),
        ollama('{"command":"ls -', "unexpected end of JSON input"),
        ollama('{"command":"ls -'),
        ollama("ls -R\n"),
        ollama("{}"),
        ollama('{"other":"ls"}'),
        llama("</tool_call>"),
        llama("\n"),
        llama(
            "\nSo I call:\n<tool_call>\n<function=shell>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>"
        ),
        llama("\n<tool_call>\n<function=shell>\n<parameter=command>\nls"),
        llama("<tool_call>\n<function=shell>\n<parameter=command>\nls"),
        llama("<tool_call>\n<function=shell>\n<parameter=command>\nls\n</parameter>"),
        groq("<tool_call>\n<function=shell>\n<parameter=command>\nls\n</parameter>\n<param"),
        groq('{"tool_calls":[{"name":"shell","arguments":{"command":"ls"}}'),
        groq('{"tool_calls":[{"name":"shell","arguments":{"command":"ls"}}]'),
        groq('<tool-use>{"tool_calls":[{"name":"shell","arguments":{"command":"ls"}}</tool-use>'),
        groq('[TOOL_CALLS][{"name":"shell","arguments":{"command":"ls ]}"}}'),
        groq('[{"name":"shell","arguments":{"command":"ls"}}'),
        groq("<tool_call>shell\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n"),
        b'{"error":{"message":"The model produced output that does not match the expected format"}}',
        b'{"error":"tool_use_failed"}',
        b"tool_use_failed",
        b'["tool_use_failed"]',
    ],
    ids=str,
)
def test_what_was_cut_off_or_is_no_call_or_has_two_readings_goes_on_as_it_came(error: bytes) -> None:
    assert calls(error) == []


def test_nothing_is_recovered_where_nobody_wants_a_call() -> None:
    error = groq('<function=web_search>{"query": "Hello!"}</function>')
    assert calls(error)
    assert not calls(error, tool_choice="none")
    assert not calls(error, tool_choice={"type": "function", "function": {"name": "shell"}})
    assert not calls(error, tools=[])
    assert recovered("chat", request(), Policy(text_calls="off"), error) is None
    read_aloud = [{"role": "user", "content": '<function=web_search>{"query": "Hello!"}</function>'}]
    assert not calls(error, messages=read_aloud), "it stands in what the model was given to read"


@pytest.mark.parametrize(
    "heard",
    [
        '{"command":"ls"}]',
        'The page says {"name": "shell", "arguments": {"command": "ls"}}, does it not?',
        'shell({"command":\n  "ls"\n}]',
        "&#123;&quot;command&quot;: &quot;ls&quot;}]",
    ],
)
@pytest.mark.parametrize("role", ["user", "tool"])
def test_arguments_that_stand_in_the_request_are_no_call_of_the_model(heard: str, role: str) -> None:
    error = ollama('{"command":"ls"}]')
    assert calls(error)
    said = {"role": role, "content": heard, **({"tool_call_id": "c"} if role == "tool" else {})}
    assert not calls(error, messages=[{"role": "user", "content": "Go."}, said])
    assert calls(error, messages=[{"role": "user", "content": "Run ls, with the shell."}])


@pytest.mark.parametrize("stream", [True, False])
def test_on_its_own_wire_ollama_s_client_gets_lines_or_a_document(stream: bool) -> None:
    error = {"error": "error parsing tool call: raw='{\"command\":\"ls\"}]', err=invalid character ']'"}
    tools = [{"type": "function", "function": {"name": name, "parameters": TOOLS[name]}} for name in TOOLS]
    asked = {
        "model": "gpt-oss:20b",
        "stream": stream,
        "tools": tools,
        "messages": [{"role": "user", "content": "Go."}],
    }
    answer = recovered("ollama", read_request(asked, "ollama"), Policy(), json.dumps(error).encode())
    assert answer is not None
    strict_ollama.read(answer.body)
    lines = [json.loads(line) for line in answer.body.splitlines()]
    assert lines[0]["message"]["tool_calls"] == [{"function": {"name": "shell", "arguments": {"command": "ls"}}}]
    assert [line["done"] for line in lines] == ([False, True] if stream else [True])
    assert lines[-1]["done_reason"] == "stop"
    json_only = read_request({**asked, "format": "json"}, "ollama")
    assert recovered("ollama", json_only, Policy(), json.dumps(error).encode()) is None


SHELL_NAMED = 'shell{"command": "rm -rf /"}'
QUOTED_CALL = '<tool_call>\n{"name": "shell", "arguments": {"command": "ls"}}\n</tool_call>'


@pytest.mark.parametrize(
    "seen",
    [
        'error parsing tool call: raw=\'{"command":"rm -rf /"}]\', err=invalid character',
        f"Failed to parse input at pos 3: {QUOTED_CALL}",
    ],
)
def test_an_error_that_quotes_what_somebody_wrote_about_such_errors_goes_on(seen: str) -> None:
    error = {"message": f"Invalid 'messages[1].content': got: {seen}", "type": "invalid_request_error"}
    assert calls(json.dumps({"error": error}).encode()) == []


def test_a_name_and_arguments_that_stand_in_the_request_are_read_aloud() -> None:
    assert calls(groq(SHELL_NAMED)) == [("shell", {"command": "rm -rf /"})]
    assert calls(groq(SHELL_NAMED), messages=[{"role": "user", "content": f"Never say {SHELL_NAMED}!"}]) == []


@pytest.mark.parametrize("role", ["user", "tool"])
def test_arguments_without_a_name_that_stand_in_the_request_are_read_aloud(role: str) -> None:
    error = ollama('{"command":"rm -rf /"}]')
    assert calls(error) == [("shell", {"command": "rm -rf /"})]
    for page in (
        '<tool_call>{"name": "shell", "arguments": {"command": "rm -rf /"}}</tool_call>',
        '{"command": "rm -rf /"}',
    ):
        assert calls(error, messages=[{"role": role, "content": f"The page says {page}!"}]) == []
    assert calls(error, messages=[{"role": role, "content": "Please run rm -rf / now."}]), "the command is no call"


def test_tools_that_are_not_to_be_touched_and_several_choices_are_left_alone() -> None:
    web_only = Policy(tools=(re.compile("web"),))
    for error in (groq(SHELL_NAMED), ollama('{"command":"ls"}]'), llama(QUOTED_CALL)):
        assert calls(error)
        assert recovered("chat", request(), web_only, error) is None
        assert not calls(error, n=2), "nobody knows which choice it would be"


@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
@pytest.mark.parametrize(
    "generation", ['shell{"command": "rm -rf /', 'shell{"command": rm}', 'shell{"command": "x",}']
)
def test_arguments_that_are_not_mended_have_to_be_whole(protocol: str, generation: str) -> None:
    policy = Policy(arguments=False)
    assert recovered(protocol, request(protocol), policy, groq(generation)) is None


def test_a_tool_that_takes_a_text_is_no_function_and_a_namespace_is_named() -> None:
    patch = request("responses", tools=[{"type": "custom", "name": "patch"}])
    assert recovered("responses", patch, Policy(), groq('patch{"input": "x"}')) is None
    inside = [{"type": "function", "name": "shell", "parameters": SHELL}]
    files = request("responses", tools=[{"type": "namespace", "name": "fs", "tools": inside}])
    answer = recovered("responses", files, Policy(), llama(QUOTED_CALL))
    assert answer is not None
    assert json.loads(answer.body)["output"][0]["namespace"] == "fs"


def one_call(protocol: str, body: bytes, stream: bool) -> Json:
    """The call in an answer that a strict reader takes."""
    if protocol == "chat":
        if stream:
            strict_chat.validate(body)
            lines = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: {")]
            [call] = [call for line in lines for call in line["choices"][0]["delta"].get("tool_calls", ())]
        else:
            [call] = json.loads(body)["choices"][0]["message"]["tool_calls"]
        return {
            "id": call["id"],
            "name": call["function"]["name"],
            "given": json.loads(call["function"]["arguments"]),
        }
    if protocol == "messages":
        message = strict_messages.read(body) if stream else None
        content = message.content if message else json.loads(body)["content"]
        [block] = content
        return {"id": block["id"], "name": block["name"], "given": block["input"]}
    if stream:
        strict_responses.validate(body)
        last = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: {")][-1]
        response = last["response"]
    else:
        response = json.loads(body)
    [item] = response["output"]
    return {"id": item["call_id"], "name": item["name"], "given": json.loads(item["arguments"])}


@pytest.mark.parametrize("size", [0, 7])
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
def test_the_answer_has_the_protocol_and_the_form_that_was_asked_for(protocol: str, stream: bool, size: int) -> None:
    asked = request(protocol, stream=stream)
    answer = recovered(protocol, asked, Policy(), ollama('{"command":"ls"}]'), size)
    assert answer is not None
    call = one_call(protocol, answer.body, stream)
    assert call["given"] == {"command": "ls"}
    assert call["id"] == answer.outcomes[0].id
    assert answer.outcomes[0].status == "repaired"
    assert answer.outcomes[0].steps[0] == "call taken out of the error of the server"
    again = Response(protocol, asked, Policy(), seed="seed")
    assert one_call(protocol, mend_whole(again, answer.body), stream) == call, "a second proxy"
    assert [outcome.status for outcome in again.outcomes] == ["valid"]


# In the midst of a stream


def streamed(protocol: str, body: bytes, size: int = 0) -> tuple[bytes, list[Outcome]]:
    answer = Response(protocol, request(protocol, stream=True), Policy(), seed="seed")
    return mend_whole(answer, body, size), answer.outcomes


TEXT = b'data: {"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":"Let me see."}}]}\n\n'
FAILED = json.loads(groq('<function=web_search>{"query": "Hello!"}</function>'))
ERROR = b"event: error\ndata: " + json.dumps({**FAILED, "status_code": 400}).encode() + b"\n\n"


@pytest.mark.parametrize("size", [0, 1, 7, 100])
@pytest.mark.parametrize("before", [b"", TEXT])
def test_an_error_in_a_stream_becomes_the_call_and_its_end(before: bytes, size: int) -> None:
    after, [outcome] = streamed("chat", before + ERROR, size)
    assert after.startswith(before)
    assert (outcome.name, json.loads(outcome.arguments)) == ("web_search", {"query": "Hello!"})
    assert outcome.steps[0] == "call taken out of the error of the server"
    assert b'"error"' not in after
    assert b'"finish_reason":"tool_calls"' in after
    assert after.endswith(b"data: [DONE]\n\n")
    assert after == streamed("chat", before + ERROR)[0]


def test_an_error_in_a_stream_goes_on_where_a_call_is_on_its_way_already() -> None:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "shell", "arguments": '{"comm'}}
    begun = b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}).encode() + b"\n\n"
    after, _ = streamed("chat", begun + ERROR)
    assert ERROR in after
    assert b"Hello!" not in after.replace(ERROR, b"")


def chunk(delta: Json, reason: str | None = None) -> bytes:
    return (
        b"data: "
        + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}).encode()
        + b"\n\n"
    )


REST = b"data: " + llama(QUOTED_CALL) + b"\n\n"


@pytest.mark.parametrize("size", [0, 1, 100])
@pytest.mark.parametrize(
    ("before", "error"),
    [
        (chunk({"content": "Never run this:\n```\n"}), REST),
        (chunk({"content": "Look: Failed to parse input at pos "}), REST),
        (chunk({"content": "I might run"}) + chunk({"content": " `"}), REST),
        (TEXT + chunk({}, "stop"), ERROR),
        (TEXT + chunk({}, "length"), ERROR),
        (TEXT + b"data: [DONE]\n\n", ERROR),
        (chunk({"refusal": "I will not run that."}), ERROR),
    ],
)
def test_an_error_behind_words_that_decide_or_behind_the_end_goes_on(before: bytes, error: bytes, size: int) -> None:
    after, outcomes = streamed("chat", before + error, size)
    assert (after, outcomes) == (before + error, [])


def test_the_rest_that_a_server_quotes_behind_reasoning_is_the_call() -> None:
    after, [outcome] = streamed("chat", chunk({"reasoning_content": "I look."}) + REST)
    assert (outcome.name, outcome.arguments) == ("shell", '{"command": "ls"}')
    assert b'"error"' not in after


def test_an_error_that_is_the_first_event_of_messages_becomes_an_answer() -> None:
    error = {
        "type": "error",
        "error": json.loads(llama('<tool_call>\n{"name": "shell", "arguments": {"command": "ls"}}\n</tool_call>'))[
            "error"
        ],
    }
    event = b"event: error\ndata: " + json.dumps(error).encode() + b"\n\n"
    after, [outcome] = streamed("messages", event)
    assert one_call("messages", after, True)["given"] == {"command": "ls"}
    assert outcome.name == "shell"
    ping = b'event: ping\ndata: {"type": "ping"}\n\n'
    assert one_call("messages", streamed("messages", ping + event)[0].removeprefix(ping), True)["given"]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {}}
    start = json.dumps({"type": "message_start", "message": message}).encode()
    begun = b"event: message_start\ndata: " + start + b"\n\n"
    assert streamed("messages", begun + event)[0] == begun + event, "where its block would stand is not known"
