"""Responses over a WebSocket: one JSON text a frame."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.protocols.responses_wire import REQUEST, Upstream, compact
from tests.validators.responses import Final, validate
from toolcalls.mend.mender import Mender
from toolcalls.websocket import ResponsesSocket


def frames(upstream: Upstream) -> list[str]:
    return [compact(event) for event in upstream.events]


def socket(**policy: Any) -> ResponsesSocket:
    from toolcalls.policy import Policy

    subject = ResponsesSocket(Policy(**policy))
    subject.client_message(json.dumps({"type": "response.create", **REQUEST}))
    return subject


def read(messages: list[str]) -> Final:
    return validate("".join(f"data: {message}\n\n" for message in messages).encode(), event_lines=False)


def deliver(subject: ResponsesSocket, messages: list[str]) -> list[str]:
    return [out for message in messages for out in subject.server_message(message)]


def test_frames_without_a_call_pass_as_they_are() -> None:
    messages = frames(Upstream(echo=True).reasoning("hm").message("Hel", "lo").search().end())
    assert deliver(socket(), messages) == messages


def test_frames_that_are_none_of_ours_pass_as_they_are() -> None:
    odd = ["not json", "[]", "{}", '{"type":"codex.rate_limits","plan":"pro"}', '{"type": "response.created"\n}']
    assert deliver(socket(), odd)[:4] == odd[:4]


def test_a_broken_call_is_mended_and_text_is_not_late() -> None:
    subject = socket()
    upstream = Upstream().call("shell", "{'command': ", "'ls'}").message("One", "b").end()
    out = []
    for message in frames(upstream):
        delivered = subject.server_message(message)
        if "output_text.delta" in message:
            assert delivered == [message]
        out += delivered
    final = read(out)
    assert final.calls() == [("function_call", "shell", '{"command":"ls"}')]
    assert [outcome.status for outcome in subject.outcomes] == ["repaired"]


def test_the_tools_stay_for_follow_up_requests_that_carry_none() -> None:
    subject = socket()
    first = deliver(subject, frames(Upstream().call("shell", '{"command":"ls"}').end()))
    subject.client_message(json.dumps({"type": "response.create", "previous_response_id": "resp_1", "input": []}))
    patch = json.dumps({"input": "*** Begin Patch"})
    second = deliver(subject, frames(Upstream().call("apply_patch", patch).end()))
    assert read(first).calls() == [("function_call", "shell", '{"command":"ls"}')]
    assert read(second).calls() == [("custom_tool_call", "apply_patch", "*** Begin Patch")]


def test_tools_declared_in_the_input_are_known() -> None:
    subject = ResponsesSocket()
    additional = {"type": "additional_tools", "tools": REQUEST["tools"]}
    subject.client_message(json.dumps({"type": "response.create", "input": [additional]}))
    out = deliver(subject, frames(Upstream().call("apply_patch", json.dumps({"patch": "*** Begin Patch"})).end()))
    assert read(out).calls() == [("custom_tool_call", "apply_patch", "*** Begin Patch")]


def test_without_any_request_calls_are_still_mended() -> None:
    out = deliver(ResponsesSocket(), frames(Upstream().call("shell", "{'command': 'ls'}").end()))
    assert read(out).calls() == [("function_call", "shell", '{"command":"ls"}')]


def test_an_exception_delivers_everything_as_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    def boom(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("boom")

    subject = socket()
    monkeypatch.setattr(Mender, "decide", boom)
    messages = frames(Upstream().message("a").call("shell", "{'command': 'ls'}").message("b").end())
    out = deliver(subject, messages)
    assert sorted(out) == sorted(messages)
    assert isinstance(subject.failure, RuntimeError)
    monkeypatch.undo()
    healthy = frames(Upstream().call("shell", "{'command': 'ls'}").end())
    subject.client_message(json.dumps({"type": "response.create", "input": []}))
    assert read(deliver(subject, healthy)).calls() == [("function_call", "shell", '{"command":"ls"}')]


def test_a_message_is_an_event_whatever_line_ends_are_in_it() -> None:
    subject = socket()
    pretty = [json.dumps(event, indent=1) for event in Upstream().message("Hel", "lo").search().end().events]
    assert deliver(subject, pretty) == pretty


def test_a_fragment_that_nobody_can_read_passes_and_its_call_comes_once() -> None:
    subject = socket()
    messages = frames(Upstream().call("shell", '{"command":', '"ls"}').end())
    broken = next(message for message in messages if "arguments.delta" in message)[:-20]
    at = next(at for at, message in enumerate(messages) if "arguments.done" in message)
    out = deliver(subject, [*messages[:at], broken, *messages[at:]])
    assert out.count(broken) == 1
    read_by_clients = [message for message in out if message != broken]
    assert read(read_by_clients).calls() == [("function_call", "shell", '{"command":"ls"}')]


def test_a_keepalive_is_numbered_like_the_events_around_it() -> None:
    upstream = Upstream().message("a ", "<", "b").end()
    held = next(at for at, event in enumerate(upstream.events) if event.get("delta") == "<")
    upstream.events.insert(held + 1, {"type": "keepalive"})
    upstream.events = [{**event, "sequence_number": number} for number, event in enumerate(upstream.events)]
    numbers = [json.loads(message)["sequence_number"] for message in deliver(socket(), frames(upstream))]
    assert numbers == sorted(set(numbers))


def test_the_type_of_a_message_is_known_wherever_it_stands() -> None:
    subject = socket()
    events = Upstream().call("shell", "{'command': 'ls'}").end().events
    turned = [compact(dict(reversed(event.items()))) for event in events]
    assert read(deliver(subject, turned)).calls() == [("function_call", "shell", '{"command":"ls"}')]


def test_with_aggregation_off_the_first_fragment_is_delivered_at_once() -> None:
    subject = socket(aggregate=False)
    delivered = [subject.server_message(m) for m in frames(Upstream().call("shell", '{"command":', '"ls"}').end())]
    assert all(delivered[:2]) and all(delivered[3:5]), "the announcement goes with the first fragment"


def test_the_ids_and_texts_of_a_connection_are_remembered_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolcalls import websocket

    monkeypatch.setattr(websocket, "_MOST_IDS_LENGTH", 100)
    monkeypatch.setattr(websocket, "_MOST_TEXTS_LENGTH", 1000)
    subject = socket()
    for number in range(50):
        told = {"type": "function_call_output", "call_id": f"call_{number:04}", "output": f"{number}" * 200}
        subject.client_message(json.dumps({"type": "response.create", "input": [told]}))
    assert "call_0049" in subject._used
    assert "call_0000" not in subject._used
    assert sum(map(len, subject._used)) <= 100
    assert subject._read_by_model.texts[-1] == "49" * 200
    assert sum(map(len, subject._read_by_model.texts)) <= 1000
