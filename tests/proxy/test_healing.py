"""Sessions that heal, through the hooks of the script: what one answer carried, or refused, decides on the next request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.test import taddons

from tests.proxy.test_script import CHAT, answered, asked, play
from toolcalls.recording import store
from toolcalls.recording.replay import replay
from toolfix import Toolfix

Json = dict[str, Any]
CALL = {"id": "c", "type": "function", "function": {"name": "Bash", "arguments": '{"command": "ls"}'}}
HISTORY = [
    {"role": "user", "content": "Go."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "a.md"},
]


def send(addon: Toolfix, messages: list[Json], host: str = "api.deepseek.com", stream: bool = True) -> http.HTTPFlow:
    flow = asked(host, content=json.dumps({"model": "m", "stream": stream, "messages": messages}).encode())
    addon.request(flow)
    return flow


def thinks(addon: Toolfix, flow: http.HTTPFlow, stream: bool = True) -> None:
    """The host answers with a thought and a call."""
    if stream:
        answered(flow)
        deltas = [{"reasoning_content": "I "}, {"reasoning_content": "look."}, {"tool_calls": [{"index": 0, **CALL}]}]
        lines = [json.dumps({"choices": [{"index": 0, "delta": delta}]}) for delta in deltas]
        finish = json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
        play(addon, flow, [f"data: {line}\n\n".encode() for line in (*lines, finish, "[DONE]")])
        return
    message = {"role": "assistant", "content": None, "reasoning_content": "I look.", "tool_calls": [CALL]}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    answered(flow, content=json.dumps(body).encode())
    addon.http.responseheaders(flow)
    addon.http.response(flow)


def went_up(flow: http.HTTPFlow) -> list[Json]:
    messages: list[Json] = json.loads(flow.request.content or b"")["messages"]
    return messages


@pytest.mark.parametrize("stream", [True, False])
def test_what_an_answer_carried_goes_up_with_the_next_request(
    addon: Toolfix, context: taddons.context, stream: bool
) -> None:
    thinks(addon, send(addon, HISTORY[:1], stream=stream), stream)
    flow = send(addon, HISTORY, stream=stream)
    assert went_up(flow)[1] == {**HISTORY[1], "reasoning_content": "I look."}
    assert 'toolfix_request_steps_total{protocol="chat",step="reasoning given back"} 1' in addon.stats()
    assert went_up(send(addon, HISTORY, "api.moonshot.ai")) == HISTORY, "another host"


def test_a_host_that_refuses_it_gets_what_the_client_sent(addon: Toolfix, context: taddons.context) -> None:
    thinks(addon, send(addon, HISTORY[:1]))
    flow = send(addon, HISTORY)
    said = {"error": {"message": "property 'reasoning_content' is unsupported", "type": "invalid_request_error"}}
    answered(flow, status=400, content=json.dumps(said).encode(), content_type="application/json")
    addon.http.responseheaders(flow)
    addon.http.response(flow)
    assert went_up(send(addon, HISTORY)) == HISTORY


def test_the_option_and_observing_leave_the_request_as_it_came(addon: Toolfix, context: taddons.context) -> None:
    thinks(addon, send(addon, HISTORY[:1]))
    context.configure(addon, toolfix_mode="observe")
    assert went_up(send(addon, HISTORY)) == HISTORY
    context.configure(addon, toolfix_mode="repair", toolfix_reasoning="off")
    assert went_up(send(addon, HISTORY)) == HISTORY


def test_a_recording_holds_what_was_given_back_and_can_be_replayed(
    addon: Toolfix, context: taddons.context, tmp_path: Path
) -> None:
    context.configure(addon, toolfix_record=str(tmp_path))
    thinks(addon, send(addon, HISTORY[:1]))
    thinks(addon, send(addon, HISTORY))
    addon.done()
    recordings = [store.load(path) for path in store.find(tmp_path)]
    [mended] = [one for one in recordings if one.request_after is not None]
    assert mended.flow["request_steps"] == {"reasoning given back": 1}
    assert not replay(mended).drift


FAILED = {
    "error": {
        "message": "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
        "type": "invalid_request_error",
        "code": "tool_use_failed",
        "failed_generation": '<function=Bash>{"command": "ls"}</function>',
    }
}


@pytest.mark.parametrize(
    ("path", "stream", "kind"),
    [
        (CHAT, True, "text/event-stream"),
        (CHAT, False, "application/json"),
        ("/api/chat", True, "application/x-ndjson"),
        ("/api/chat", False, "application/json"),
    ],
)
def test_a_call_that_the_server_could_not_read_reaches_the_client(
    addon: Toolfix, context: taddons.context, tmp_path: Path, path: str, stream: bool, kind: str
) -> None:
    context.configure(addon, toolfix_record=str(tmp_path))
    flow = asked("api.groq.com", path, stream=stream)
    addon.request(flow)
    response = answered(flow, status=400, content=json.dumps(FAILED).encode(), content_type="application/json")
    addon.http.responseheaders(flow)
    addon.http.response(flow)
    assert response.status_code == 200
    assert response.headers["content-type"] == kind
    assert b'"name":"Bash"' in (response.content or b"")
    assert 'step="call taken out of the error of the server"} 1' in addon.stats()
    addon.done()
    [recording] = [store.load(path) for path in store.find(tmp_path)]
    assert recording.flow["status"] == 400
    assert not replay(recording).drift


def test_an_error_that_quotes_no_call_and_one_that_is_only_observed_stay(
    addon: Toolfix, context: taddons.context
) -> None:
    plain = {"error": {"message": "Rate limit reached", "type": "tokens", "code": "rate_limit_exceeded"}}
    for mode, error in (("repair", plain), ("observe", FAILED)):
        context.configure(addon, toolfix_mode=mode)
        flow = asked("api.groq.com")
        addon.request(flow)
        response = answered(flow, status=429, content=json.dumps(error).encode(), content_type="application/json")
        addon.http.responseheaders(flow)
        addon.http.response(flow)
        assert response.status_code == 429
        assert response.content == json.dumps(error).encode()


GEMINI_PATH = "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"
GEMINI_CALL = {"functionCall": {"name": "Bash", "args": {"command": "ls"}}}
GEMINI_HISTORY = [
    {"role": "user", "parts": [{"text": "Go."}]},
    {"role": "model", "parts": [GEMINI_CALL]},
    {"role": "user", "parts": [{"functionResponse": {"name": "Bash", "response": {"output": "a.md"}}}]},
]


def test_a_signature_of_gemini_goes_up_with_the_next_request_of_its_account(
    addon: Toolfix, context: taddons.context
) -> None:
    def ask(contents: list[Json], key: str = "mine", path: str = GEMINI_PATH) -> http.HTTPFlow:
        flow = asked("generativelanguage.googleapis.com", path, content=json.dumps({"contents": contents}).encode())
        flow.request.headers["x-goog-api-key"] = key
        addon.request(flow)
        return flow

    flow = ask(GEMINI_HISTORY[:1])
    answered(flow)
    # The arguments are a text: what the client gets, and sends back, is the object.
    call = {"functionCall": {"name": "Bash", "args": '{"command": "ls"}'}, "thoughtSignature": "sig"}
    answer = {"candidates": [{"content": {"parts": [call], "role": "model"}, "finishReason": "STOP", "index": 0}]}
    play(addon, flow, [f"data: {json.dumps(answer)}\r\n\r\n".encode()])
    sent = json.loads(ask(GEMINI_HISTORY).request.content or b"")
    assert sent["contents"][1]["parts"] == [{**GEMINI_CALL, "thoughtSignature": "sig"}]
    for other in (
        ask(GEMINI_HISTORY, "another"),
        ask(GEMINI_HISTORY, path=GEMINI_PATH + "&key=another"),
        ask(GEMINI_HISTORY, path=GEMINI_PATH.replace("3-pro", "3-flash")),
    ):
        assert json.loads(other.request.content or b"") == {"contents": GEMINI_HISTORY}


def test_thinking_of_ollama_goes_up_with_the_next_request(addon: Toolfix, context: taddons.context) -> None:
    call = {"function": {"name": "Bash", "arguments": {"command": "ls"}}}
    history: list[Json] = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_name": "Bash", "content": "a.md"},
    ]

    def ask(messages: list[Json]) -> http.HTTPFlow:
        body = json.dumps({"model": "gpt-oss", "messages": messages}).encode()
        flow = asked("localhost", "/api/chat", scheme="http", content=body)
        addon.request(flow)
        return flow

    flow = ask(history[:1])
    answered(flow, content_type="application/x-ndjson")
    pieces: list[Json] = [{"thinking": "I "}, {"thinking": "look."}, {"tool_calls": [{"id": "call_1", **call}]}, {}]
    lines = [{"message": {"role": "assistant", "content": "", **one}, "done": not one} for one in pieces]
    play(addon, flow, [json.dumps({"model": "gpt-oss", **line}).encode() + b"\n" for line in lines])
    assert went_up(ask(history))[1] == {**history[1], "thinking": "I look."}


def test_a_request_that_cannot_be_rewritten_is_no_failure_of_ours(
    addon: Toolfix, context: taddons.context, caplog: pytest.LogCaptureFixture
) -> None:
    broken = {**CALL, "function": {"name": "Bash", "arguments": "{'command': 'ls'}"}}
    messages = json.dumps([{**HISTORY[1], "tool_calls": [broken]}, HISTORY[2]])
    body = f'{{"model": "m", "messages": [], "messages": {messages}, "temperature": NaN}}'.encode()
    flow = asked("api.deepseek.com", content=body)
    addon.request(flow)
    assert flow.request.content == body
    assert "please report" not in caplog.text
