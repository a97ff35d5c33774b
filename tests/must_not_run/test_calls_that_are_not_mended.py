"""A call that the options leave alone ends as it came: no end, reason or terminator is made up for its answer."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from scripts.fuzzing.cut_answers import NAME, WIRES, Cut
from tests.protocols.text_protocols import gemini_event, ollama_line
from tests.splits import mend
from toolcalls.engine import Response, mend_whole
from toolcalls.policy import Policy
from toolcalls.request.request import Request, read_request
from toolcalls.websocket import ResponsesSocket

Json = dict[str, Any]

HALF = '{"command":"rm -rf build","cwd":"/tmp/sandb'
WHOLE = '{"command":"rm -rf build"}'
NOT_MENDED = {
    "another tool": Policy(tools=(re.compile("^another$"),)),
    "no arguments": Policy(arguments=False),
    "another tool, live": Policy(tools=(re.compile("^another$"),), aggregate=False),
    "no arguments, live": Policy(arguments=False, aggregate=False),
}
ENDS = {
    "chat": ("finish_reason", "[DONE]"),
    "messages": ("content_block_stop", "message_delta", "message_stop", "error"),
    "responses": (
        "response.function_call_arguments.done",
        "response.output_item.done",
        "response.completed",
        "response.failed",
        "response.incomplete",
    ),
}
"""What ends a call or an answer."""


def ends_in(protocol: str, out: bytes) -> list[str]:
    """The ends that a stream contains, in order."""
    found: list[str] = []
    for line in out.decode().splitlines():
        data = line.removeprefix("data: ")
        if data == line:
            continue
        if data == "[DONE]":
            found.append(data)
            continue
        event = json.loads(data)
        choices = event.get("choices") or []
        found += ["finish_reason" for choice in choices if choice.get("finish_reason")]
        found += [event["type"]] if event.get("type") in ENDS[protocol] else []
    return found


def arguments_in(protocol: str, out: bytes) -> str:
    """The arguments as a client joins them from deltas."""
    events = [json.loads(line[6:]) for line in out.decode().splitlines() if line.startswith("data: {")]
    if protocol == "chat":
        calls = [
            call
            for event in events
            for choice in event.get("choices", [])
            for call in choice["delta"].get("tool_calls", [])
        ]
        return "".join(call["function"].get("arguments", "") for call in calls)
    if protocol == "messages":
        return "".join(event["delta"]["partial_json"] for event in events if event["type"] == "content_block_delta")
    return "".join(event["delta"] for event in events if event["type"].endswith("arguments.delta"))


@pytest.mark.parametrize("name", NOT_MENDED)
@pytest.mark.parametrize("arguments", [HALF, WHOLE, '{"timeout":3', "{'command': 'ls'", ""])
@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
@pytest.mark.parametrize("protocol", ENDS)
def test_it_gets_no_end_where_the_connection_breaks(protocol: str, closed: bool, arguments: str, name: str) -> None:
    for size in (0, 3):
        body = WIRES[protocol](Cut(arguments, "nothing", size, closed=closed))
        out, answer = mend(body, protocol=protocol, question=Request(), policy=NOT_MENDED[name])
        assert ends_in(protocol, out) == ends_in(protocol, body)
        if protocol != "chat" or arguments:
            assert arguments_in(protocol, out) == arguments
        assert [outcome.status for outcome in answer.outcomes] == ["valid"]


@pytest.mark.parametrize("name", NOT_MENDED)
@pytest.mark.parametrize("arguments", [HALF, '{"timeout":3'])
@pytest.mark.parametrize(
    ("protocol", "end"),
    [("chat", "[DONE]"), ("chat", "stop"), ("chat", "length"), ("chat", "tool_calls"), ("messages", "stop"),
     ("messages", "[DONE]"), ("messages", "end_turn"), ("messages", "max_tokens"), ("responses", "completed"),
     ("responses", "incomplete")],
)  # fmt: skip
def test_it_keeps_the_ends_that_came(protocol: str, end: str, arguments: str, name: str) -> None:
    for closed in (False, True):
        body = WIRES[protocol](Cut(arguments, end, 3, closed=closed))
        out, _ = mend(body, protocol=protocol, question=Request(), policy=NOT_MENDED[name])
        assert ends_in(protocol, out) == ends_in(protocol, body)
        assert arguments_in(protocol, out) == arguments
        word = f'"{end}"'.encode()
        assert (word in out) == (word in body), "the reason stays the one that came"


@pytest.mark.parametrize("name", NOT_MENDED)
def test_calls_that_come_whole_get_no_end_either(name: str) -> None:
    policy = NOT_MENDED[name]
    function = {"name": NAME, "arguments": {"command": "rm -rf bu"}}
    line = ollama_line({"tool_calls": [{"function": function}]})
    assert mend(line, protocol="ollama", question=Request(), policy=policy)[0] == line
    cut = line + ollama_line({}, done_reason="length")
    assert mend(cut, protocol="ollama", question=Request(), policy=policy)[0] == cut
    event = gemini_event({"functionCall": {"name": NAME, "args": {"command": "rm -rf bu"}}})
    assert mend(event, protocol="gemini", question=Request(), policy=policy)[0] == event
    cut = event + gemini_event(finish="MAX_TOKENS")
    assert mend(cut, protocol="gemini", question=Request(), policy=policy)[0] == cut


def test_a_call_of_ours_beside_it_changes_nothing() -> None:
    """Both orders: the answer has a call without an end of its own, so it has none."""
    policy = Policy(tools=(re.compile("^look$"),))
    for protocol in ENDS:
        body = WIRES[protocol](Cut(HALF, "nothing", 3, closed=False, followed=True))
        out, answer = mend(body, protocol=protocol, question=Request(), policy=policy)
        assert set(ends_in(protocol, out)) <= set(ends_in(protocol, body))
        assert {outcome.status for outcome in answer.outcomes} == {"valid"}


def test_a_complete_call_of_ours_still_gets_the_end_that_is_missing() -> None:
    for protocol in ENDS:
        policy = Policy(tools=(re.compile(f"^{NAME}$"),))
        body = WIRES[protocol](Cut(WHOLE, "nothing", 3))
        out, _ = mend(body, protocol=protocol, question=Request(), policy=policy)
        assert ends_in(protocol, out)[-1] in ("[DONE]", "message_stop", "response.completed")


@pytest.mark.parametrize("end", ["nothing", "[DONE]"])
@pytest.mark.parametrize("protocol", ENDS)
def test_a_half_call_that_was_sent_while_it_came_gets_no_reason(protocol: str, end: str) -> None:
    """`toolfix_aggregate=false`: the client has the beginning, and nothing tells it to run that."""
    for arguments in (HALF, '{"command":"rm -rf build"', '{"timeout":3'):
        body = WIRES[protocol](Cut(arguments, end, 3, closed=False))
        out, _ = mend(body, protocol=protocol, question=Request(), policy=Policy(aggregate=False))
        assert not {"finish_reason", "message_delta", "response.completed"} & set(ends_in(protocol, out)) or (
            protocol == "messages" and end == "[DONE]" and b"\\u001a" in out
        )


def test_documents_keep_their_reason() -> None:
    function = {"name": NAME, "arguments": HALF}
    message = {"role": "assistant", "content": None}
    message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    for reason in ("stop", "length", "tool_calls", None):
        body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": reason}]}).encode()
        for policy in NOT_MENDED.values():
            assert mend_whole(Response("chat", read_request({}), policy), body) == body


def test_a_broken_call_that_lacks_nothing_gets_its_reason() -> None:
    """The near miss: gathering and the finish reason stay as they are with mending off."""
    for arguments in (WHOLE, "{'command': 'ls'}"):
        body = WIRES["chat"](Cut(arguments, "stop", 3))
        for policy in NOT_MENDED.values():
            out, _ = mend(body, question=Request(), policy=policy)
            assert b'"finish_reason":"tool_calls"' in out


@pytest.mark.parametrize("arguments", ['{"command":"rm -rf out00","timeout":3', '{"command":"rm'])
def test_a_half_call_that_was_sent_while_it_came_keeps_the_reason_that_came(arguments: str) -> None:
    """The client has a prefix that nothing completes: no reason of ours tells it to run that."""
    for reason in ("stop", "length", "tool_calls"):
        body = WIRES["chat"](Cut(arguments, reason, 3))
        out, answer = mend(body, question=Request(), policy=Policy(aggregate=False))
        assert [outcome.status for outcome in answer.outcomes] == ["refused"]
        assert out.count(f'"finish_reason": "{reason}"'.encode()) == 1
        assert ends_in("chat", out) == ends_in("chat", body)


# Near cases


def chunk(delta: Json, reason: str | None = None, index: int = 0) -> bytes:
    choice = {"index": index, "delta": delta, "finish_reason": reason}
    return f"data: {json.dumps({'id': 'c', 'choices': [choice]})}\n\n".encode()


def half(at: int) -> Json:
    begin = {"index": 0, "id": "call_1", "type": "function"} if not at else {"index": 0}
    function = {"arguments": HALF[at : at + 20], **({} if at else {"name": NAME})}
    return {"tool_calls": [{**begin, "function": function}]}


HALVES = [half(at) for at in range(0, len(HALF), 20)]
LEGACY = [{"function_call": {"name": NAME, "arguments": ""}}, {"function_call": {"arguments": HALF}}]


@pytest.mark.parametrize("name", NOT_MENDED)
def test_the_old_form_of_a_call_gets_no_end_either(name: str) -> None:
    asked = read_request({"functions": [{"name": NAME, "parameters": {"type": "object"}}], "stream": True})
    body = b"".join(chunk(delta) for delta in LEGACY)
    out, _ = mend(body, question=asked, policy=NOT_MENDED[name])
    assert ends_in("chat", out) == []
    joined = [json.loads(line[6:])["choices"][0]["delta"] for line in out.decode().splitlines() if line]
    assert "".join(delta.get("function_call", {}).get("arguments", "") for delta in joined) == HALF


@pytest.mark.parametrize("name", NOT_MENDED)
@pytest.mark.parametrize("end", [b"", b"data: [DONE]\n\n"])
def test_the_end_of_another_choice_is_not_that_of_the_half_call(end: bytes, name: str) -> None:
    asked = read_request({"n": 2, "stream": True})
    body = b"".join(map(chunk, HALVES)) + chunk({"content": "hi"}, None, 1) + chunk({}, "stop", 1) + end
    out, _ = mend(body, question=asked, policy=NOT_MENDED[name])
    events = [json.loads(line[6:]) for line in out.decode().splitlines() if line.startswith("data: {")]
    reasons = {choice["index"]: choice["finish_reason"] for event in events for choice in event["choices"]}
    assert reasons == {0: None, 1: "stop"}
    assert out.endswith(end)


@pytest.mark.parametrize("name", NOT_MENDED)
@pytest.mark.parametrize("protocol", ENDS)
def test_an_error_behind_half_a_call_goes_on_and_is_the_end(protocol: str, name: str) -> None:
    body = WIRES[protocol](Cut(HALF, "error", 7, closed=False))
    out, _ = mend(body, protocol=protocol, question=Request(), policy=NOT_MENDED[name])
    assert ends_in(protocol, out) == ends_in(protocol, body)
    assert arguments_in(protocol, out) == HALF
    assert out.count(b"overloaded") == body.count(b"overloaded")


@pytest.mark.parametrize("name", NOT_MENDED)
def test_over_a_websocket_half_a_call_gets_no_end(name: str) -> None:
    socket = ResponsesSocket(NOT_MENDED[name])
    socket.client_message(json.dumps({"type": "response.create", "tools": []}))
    sent = WIRES["responses"](Cut(HALF, "nothing", 7, closed=False)).decode()
    out = [
        text for line in sent.splitlines() if line.startswith("data: ") for text in socket.server_message(line[6:])
    ]
    assert not {json.loads(text)["type"] for text in out} & set(ENDS["responses"])


@pytest.mark.parametrize("text", [
    '{"command":"ls","list":[1,2', '{"command":"ls","on":tru', '{"command":"ls","timeout":-',
    '{"command":"ls","timeout":3.', '{"command":"ls","timeout":3e', '{"command":"ls","timeout":3,',
    '{"command":"ls","timeout":3 // all', "{'command':'ls','timeout':3", '{"command":"ls","timeout":0x1', "{command:ls",
    '{"command":"ls","timeout":3```', '```json\n{"command":"ls","timeout":3\n```', '{"command":"ls","timeout":3</tool_call>',
    '{"command":"ls","timeout":3<|im_end|>', '"command":"ls","timeout":3', '"{\\"command\\":\\"ls\\",\\"timeout\\":3"',
    '{"command":"ls","more":"{\\"timeout\\":3"',
])  # fmt: skip
@pytest.mark.parametrize("protocol", ENDS)
def test_a_bare_number_or_word_at_the_end_is_never_closed(protocol: str, text: str) -> None:
    """In whatever it stands, and whatever reason the answer gives: it may have been longer."""
    parameters = {"type": "object", "properties": {"command": {"type": "string"}, "more": {"type": "object"}}}
    tools = [{"type": "function", "name": NAME, "input_schema": parameters, "parameters": parameters}]
    tools[0]["function"] = {"name": NAME, "parameters": parameters}
    end = {"chat": "tool_calls", "messages": "tool_use", "responses": "completed"}[protocol]
    for size in (0, 5):
        _, answer = mend(
            WIRES[protocol](Cut(text, end, size)),
            protocol=protocol,
            question=read_request({"tools": tools, "stream": True}),
        )
        for outcome in answer.outcomes:
            given = json.loads(outcome.arguments)
            assert not {"timeout", "list", "on"} & set(given), outcome
            assert outcome.status == "refused" or not isinstance(given.get("more"), dict), outcome
