"""An error in any form is never turned into success: no finish, no `[DONE]`, no completed response is written behind it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.chat_client import read
from tests.must_not_run.wires import TOOLS
from tests.protocols import messages_wire as wire
from tests.protocols.responses_wire import Upstream
from tests.protocols.test_chat import DONE, chunk, line, piece
from tests.splits import mend
from tests.validators import messages as strict_messages
from toolcalls.request.request import Request, read_request

LS = '{"command":"ls"}'
HALF = '{"command":"rm -rf /'


def data(said: Any) -> str:
    return f"data: {json.dumps(said)}\n\n"


ERRORS = {
    "vLLM, SGLang": data(
        {"object": "error", "message": "boom", "type": "BadRequestError", "param": None, "code": 400}
    ),
    "type error": data({"type": "error", "message": "boom"}),
    "type error with an error": data({"type": "error", "error": {"type": "overloaded_error", "message": "boom"}}),
    "an error as text": data({"error": "boom"}),
    "TGI": data({"error": "boom", "error_type": "incomplete_generation"}),
    "TGI, a status": data({"message": "boom", "http_status_code": 422}),
    "FastAPI": data({"detail": "boom"}),
    "FastAPI, a list": data({"detail": [{"loc": ["body"], "msg": "boom", "type": "missing"}]}),
    "DashScope": data({"code": "InvalidParameter", "message": "boom", "request_id": "1"}),
    "a code and a message": data({"code": 500, "message": "boom"}),
    "a code and msg": data({"code": 500, "msg": "boom", "success": False}),
    "Bedrock": data({"message": "boom: Internal server error"}),
    "AWS": data({"__type": "ThrottlingException", "message": "boom"}),
    "Qianfan": data({"error_code": 336003, "error_msg": "boom", "id": "as-1"}),
    "MiniMax": data({"id": "1", "choices": None, "base_resp": {"status_code": 1008, "status_msg": "boom"}}),
    "Google": data([{"error": {"code": 429, "message": "boom", "status": "RESOURCE_EXHAUSTED"}}]),
    "an error event with bare text": "event: error\ndata: boom\n\n",
    "an error event of several lines": "event: error\ndata: Traceback\ndata: boom\n\n",
    "an error event without any data that is known": "event: error\n" + data({"boom": 1}),
    "an error event with half an object": 'event: error\ndata: {"error": {"message": "boom\n\n',
    "bare text": "data: [ERROR] boom, upstream error\n\n",
    "llama.cpp": 'error: {"code":500,"message":"boom","type":"server_error"}\n\n',
}

HARMLESS = {
    "usage": data({"usage": {"total_tokens": 3}}),
    "a comment": ": error\n\n",
    "a comment as data": "data: : OPENROUTER PROCESSING\n\n",
    "an event of a vendor": data({"type": "status", "message": "no error so far", "code": 0}),
    "a queue": data({"message": "queued", "status": "waiting"}),
    "a word": "data: keep-alive\n\n",
    "no error": data({"error": None, "id": "1"}),
}


@pytest.fixture
def question() -> Request:
    return read_request({"tools": TOOLS, "stream": True})


@pytest.mark.parametrize("tail", ["", DONE])
@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_chat(error: str, tail: str, question: Request) -> None:
    text = chunk({"content": "Let me look."})
    whole, half = chunk(piece(0, "a", "Bash", LS)), chunk(piece(1, "b", "Bash", HALF))
    for before, calls in ((text, []), (text + whole, [("Bash", LS)]), (text + whole + half, [("Bash", LS)])):
        out, _ = mend(before + error + tail, question=question)
        known = error.startswith("data: {") and '"error": ' in error
        held = read(out if known or error.encode() not in out else out.replace(error.encode(), b""))
        assert held.text == "Let me look." and held.call_list() == calls
        assert held.finishes == [] and held.done == bool(tail)
        assert "boom" in json.dumps(held.errors)


@pytest.mark.parametrize("tail", [b"", wire.PING, b"data: [DONE]\n\n"])
@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_messages(error: str, tail: bytes, question: Request) -> None:
    whole = wire.tool(1, LS, name="Bash")
    half = wire.tool_start(2, "toolu_02", name="Bash") + wire.fragment(2, HALF)
    bash = ("Bash", json.loads(LS))
    for before, calls in ((b"", []), (whole, [bash]), (whole + half, [bash])):
        body = wire.begin() + wire.text(0, "Let me look.") + before + error.encode() + tail
        out, _ = mend(body, protocol="messages", question=question)
        assert b"message_stop" not in out and b"message_delta" not in out
        message = strict_messages.read(out)
        assert message.error is not None and "boom" in json.dumps(message.error)
        assert (message.text, message.calls) == ("Let me look.", calls)


@pytest.mark.parametrize("tail", ["", DONE])
@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_responses(error: str, tail: str, question: Request) -> None:
    for build in (
        lambda made: made,
        lambda made: made.call("Bash", LS),
    ):
        upstream = build(Upstream().message("Let me look."))
        body = "".join(f"event: {said['type']}\ndata: {json.dumps(said)}\n\n" for said in upstream.events)
        out, answer = mend(body + error + tail, protocol="responses", question=question)
        assert b"boom" in out
        assert b"response.completed" not in out
        assert b"response.failed" in out or b'"type": "error"' in out
        assert [each.name for each in answer.outcomes if each.status != "refused"] == ["Bash"] * (
            len(upstream.output) - 1
        )


@pytest.mark.parametrize("said", HARMLESS.values(), ids=HARMLESS)
def test_what_only_looks_like_an_error_ends_nothing(said: str, question: Request) -> None:
    whole = chunk(piece(0, "a", "Bash", LS))
    out, _ = mend(whole + said + chunk({}, "tool_calls") + DONE, question=question)
    assert b'"finish_reason": "tool_calls"' in out and b'"error":{' not in out
    body = wire.begin() + wire.tool(0, LS, name="Bash") + said.encode() + wire.end()
    out, _ = mend(body, protocol="messages", question=question)
    assert b"event: error" not in out and out.endswith(wire.end())


def test_text_about_errors_is_text(question: Request) -> None:
    words = '{"object":"error","message":"boom","code":400} event: error'
    body = chunk({"content": words}) + chunk({}, "stop") + DONE
    assert mend(body, question=question)[0] == body.encode()
    body = wire.begin() + wire.text(0, words) + wire.end("end_turn")
    assert mend(body, protocol="messages", question=question)[0] == body


def test_a_call_behind_what_was_taken_for_an_error_is_not_lost(question: Request) -> None:
    body = (
        line({"message": "failed, trying again"}) + chunk(piece(0, "a", "Bash", LS)) + chunk({}, "tool_calls") + DONE
    )
    held = read(mend(body, question=question)[0].replace(line({"message": "failed, trying again"}).encode(), b""))
    assert held.call_list() == [("Bash", LS)]


@pytest.mark.parametrize("kind", ["response.error", "response.cancelled"])
def test_responses_an_end_that_is_no_success_is_none(kind: str, question: Request) -> None:
    upstream = Upstream().call("Bash", LS)
    said = {"type": kind, "sequence_number": 99, "error": {"message": "boom"},
            "response": {**upstream.response, "status": "cancelled"}}  # fmt: skip
    events = [*upstream.events, said]
    body = "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
    out, _ = mend(body, protocol="responses", question=question)
    assert b"response.completed" not in out and b"boom" in out


def test_chat_an_error_in_a_choice_is_an_error(question: Request) -> None:
    said = {"choices": [{"index": 0, "delta": {}, "finish_reason": None, "error": {"message": "boom"}}]}
    out, _ = mend(chunk(piece(0, "a", "Bash", LS)) + line(said), question=question)
    assert b"[DONE]" not in out and b"tool_calls" in out and b'"finish_reason":"' not in out
    out, _ = mend(chunk(piece(0, "a", "Bash", LS)) + chunk({}, "error"), question=question)
    assert b"[DONE]" not in out and b'"finish_reason": "error"' in out


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_an_error_line_is_found_wherever_the_network_cuts(line_end: str, question: Request) -> None:
    body = chunk({"content": "Hi"}) + chunk(piece(0, "a", "Bash", LS)) + ERRORS["llama.cpp"]
    out, _ = mend(body.replace("\n", line_end), question=question)
    assert b'{"error":{' in out and b"[DONE]" not in out
    out, _ = mend((chunk({"content": "Hi"}) + ERRORS["llama.cpp"]).replace("\n", line_end), question=question)
    assert b'{"error":{' in out
