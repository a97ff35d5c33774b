"""A gateway that asks its upstream again sends the answer again, with new ids: what it repeats runs once."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from scripts.fuzzing.clients import CALLS
from tests.must_not_run.interleaved import QUESTION
from tests.must_not_run.wires import TOOLS
from tests.protocols import messages_wire as wire
from tests.protocols.responses_wire import Upstream, written
from tests.protocols.test_chat import DONE, chunk, piece
from tests.protocols.text_protocols import gemini_answer, ollama_line
from tests.splits import mend
from toolcalls.policy import Policy
from toolcalls.websocket import ResponsesSocket

Json = dict[str, Any]
LS, PWD, RM = '{"command":"ls"}', '{"command": "pwd"}', '{"command":"rm -rf build"}'
Events = list[bytes]


def chat(answer: str, *commands: str) -> Events:
    body = [chunk({"role": "assistant", "content": ""}, id=answer)]
    for index, said in enumerate(commands):
        body.append(chunk(piece(index, f"{answer}_{index}", "Bash", said[:9]), id=answer))
        body.append(chunk(piece(index, arguments=said[9:]), id=answer))
    return [event.encode() for event in (*body, chunk({}, "tool_calls", id=answer), DONE)]


def messages(answer: str, *commands: str) -> Events:
    events = [wire.begin(id=answer)]
    for index, said in enumerate(commands):
        events += [
            wire.tool_start(index, f"{answer}_{index}", "Bash"),
            wire.fragment(index, said[:9]),
            wire.fragment(index, said[9:]),
            wire.stop(index),
        ]
    return [*events, wire.reason("tool_use"), wire.MESSAGE_STOP]


def responses(answer: str, *commands: str) -> Events:
    upstream = Upstream()
    for index, said in enumerate(commands):
        upstream.call("Bash", said[:9], said[9:], id=f"fc_{answer}_{index}", call_id=f"{answer}_{index}")
    events = copy.deepcopy(upstream.end().events)
    for event in events:
        if "item_id" in event:
            event["item_id"] = event["item_id"].replace("fc_", f"fc_{answer}_")
        if "response" in event:
            event["response"]["id"] = answer
    return [written([event]) for event in events]


def gemini(answer: str, *commands: str) -> Events:
    calls = [
        gemini_answer({"functionCall": {"id": f"{answer}_{index}", "name": "Bash", "args": json.loads(said)}})
        for index, said in enumerate(commands)
    ]
    events = [*calls, gemini_answer(finish="STOP")]
    return [b"data: " + json.dumps({**event, "responseId": answer}).encode() + b"\r\n\r\n" for event in events]


WIRES: dict[str, Callable[..., Events]] = {
    "chat": chat,
    "messages": messages,
    "responses": responses,
    "gemini": gemini,
}


def ran(protocol: str, events: Events, **policy: Any) -> list[str]:
    """The commands that a client runs."""
    out, _ = mend(b"".join(events), protocol=protocol, question=QUESTION, policy=Policy(**policy))
    made: list[str] = []
    for name, arguments in CALLS[protocol](out):
        try:
            value = json.loads(arguments) if isinstance(arguments, str) else arguments
        except ValueError:
            continue  # A refused call that was sent while it arrived.
        made += [value["command"]] if name == "Bash" and "command" in value else []
    return made


def without_end(protocol: str, events: Events) -> Events:
    return events[: {"chat": -2, "messages": -2, "responses": -1, "gemini": -1}[protocol]]


@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize("protocol", WIRES)
def test_an_answer_that_begins_again_in_the_middle_runs_no_call_twice(protocol: str, aggregate: bool) -> None:
    first, again = WIRES[protocol]("one", RM, PWD), WIRES[protocol]("two", RM, PWD)
    for end in range(1, len(without_end(protocol, first)) + 1):
        made = ran(protocol, first[:end] + again, aggregate=aggregate)
        assert made in (["rm -rf build", "pwd"], ["pwd", "rm -rf build"], ["rm -rf build"], ["pwd"], []), end


@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize("protocol", WIRES)
def test_an_answer_that_begins_again_after_its_calls_runs_once(protocol: str, aggregate: bool) -> None:
    first, again = WIRES[protocol]("one", RM, PWD), WIRES[protocol]("two", RM, PWD)
    assert ran(protocol, without_end(protocol, first) + again, aggregate=aggregate) == ["rm -rf build", "pwd"]
    assert ran(protocol, first[:1] + again, aggregate=aggregate) == ["rm -rf build", "pwd"]


@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize("protocol", ["messages", "responses"])
def test_an_answer_that_begins_again_behind_its_end_runs_once(protocol: str, aggregate: bool) -> None:
    first, again = WIRES[protocol]("one", RM, PWD), WIRES[protocol]("two", RM, PWD)
    assert ran(protocol, first + again, aggregate=aggregate) == ["rm -rf build", "pwd"]


@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize("protocol", WIRES)
def test_another_call_of_the_second_answer_runs(protocol: str, aggregate: bool) -> None:
    first, again = WIRES[protocol]("one", RM), WIRES[protocol]("two", RM, PWD)
    assert ran(protocol, without_end(protocol, first) + again, aggregate=aggregate) == ["rm -rf build", "pwd"]


@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize("protocol", WIRES)
def test_twins_of_one_answer_stay_two(protocol: str, aggregate: bool) -> None:
    assert ran(protocol, WIRES[protocol]("one", LS, LS), aggregate=aggregate) == ["ls", "ls"]


def test_other_calls_run_if_every_chunk_has_an_answer_id_of_its_own() -> None:
    body = [
        chunk(piece(index, f"call_{index}", "Bash", said), id=f"c{index}") for index, said in enumerate((LS, PWD))
    ]
    end = [chunk({}, "tool_calls", id="c3"), DONE]
    assert ran("chat", [event.encode() for event in (*body, *end)]) == ["ls", "pwd"]


def test_ollama_a_call_behind_the_last_line_that_repeats_one_before_it_runs_once() -> None:
    def call(identity: str, said: str) -> bytes:
        function = {"name": "Bash", "arguments": json.loads(said)}
        return ollama_line({"tool_calls": [{"id": identity, "function": function}]})

    done = ollama_line({}, done_reason="stop")
    assert ran("ollama", [call("a", RM), done, call("b", RM), call("c", PWD), done]) == ["rm -rf build", "pwd"]
    assert ran("ollama", [call("a", LS), call("b", LS), done]) == ["ls", "ls"]


# Calls behind the end


def behind_messages(*more: bytes) -> list[str]:
    return ran("messages", [*messages("one", LS), *more])


def test_messages_nothing_of_a_call_passes_behind_the_end() -> None:
    late = wire.tool(1, RM, identity="late", name="Bash")
    again = wire.tool(0, LS, identity="one_0", name="Bash")
    for more in (late, again, again + late, wire.stop(0), wire.MESSAGE_STOP + late):
        assert behind_messages(more) == ["ls"]
    assert ran("messages", [wire.begin(), wire.text(0, "So."), wire.end("end_turn"), late]) == []
    assert ran("messages", [wire.begin(), wire.tool(0, LS, name="Bash"), wire.ERROR, late]) == ["ls"]


def test_messages_text_behind_the_end_of_an_answer_without_calls_passes() -> None:
    body = wire.begin() + wire.text(0, "So.") + wire.end("end_turn") + wire.text(1, "And so on.")
    assert mend(body, protocol="messages", question=QUESTION)[0] == body


@pytest.mark.parametrize("typed", [True, False])
def test_responses_nothing_of_a_call_passes_behind_the_terminal_event(typed: bool) -> None:
    def only_data(events: Events) -> Events:
        return [b"data: " + event.partition(b"data: ")[2] for event in events]

    whole = responses("one", LS)
    late = responses("two", RM)[2:]
    for more in (whole[-2:-1], whole[2:-1], whole[-1:], late, whole + late):
        events = whole + more
        assert ran("responses", events if typed else only_data(events)) == ["ls"]


@pytest.mark.parametrize("kind", ["completed", "incomplete", "failed"])
def test_responses_the_end_of_a_call_behind_the_terminal_event_does_not_run_it_again(kind: str) -> None:
    upstream = Upstream().call("Bash", LS)
    end = upstream.events.pop()
    events = [*upstream.end(kind).events, end]
    out, _ = mend(written(events), protocol="responses", question=QUESTION)
    assert len(CALLS["responses"](out)) <= 1


def test_responses_text_behind_the_terminal_event_passes() -> None:
    body = Upstream().message("So.").end().bytes() + Upstream().message('It is a "function_call".').bytes()
    assert mend(body, protocol="responses", question=QUESTION)[0] == body


# Over a WebSocket


def over_a_socket(*messages: Events | None) -> list[str]:
    """The commands that run; None: the client asks again."""
    socket = ResponsesSocket()
    made: list[str] = []
    for events in (None, *messages):
        if events is None:
            tools = [{"type": "function", **tool["function"]} for tool in TOOLS]
            socket.client_message(json.dumps({"type": "response.create", "tools": tools}))
        for event in events or []:
            for sent in socket.server_message(event.decode().partition("data: ")[2].strip()):
                said = json.loads(sent)
                if said["type"] == "response.output_item.done":
                    made.append(json.loads(said["item"]["arguments"]).get("command", ""))
    return made


def test_over_a_websocket_an_answer_that_begins_again_runs_once() -> None:
    first, again = responses("one", RM, PWD), responses("two", RM, PWD)
    for end in range(1, len(first) + 1):
        made = [command for command in over_a_socket(first[:end] + again) if command]
        assert sorted(made) == ["pwd", "rm -rf build"], end


def test_over_a_websocket_the_answer_to_another_request_may_repeat_a_call() -> None:
    first, second = responses("one", LS), responses("two", LS)
    assert over_a_socket(first, None, second) == ["ls", "ls"]
    assert over_a_socket(first, None, second[1:]) == ["ls", "ls"]
    assert over_a_socket(None, first, second) == ["ls", "ls"]
