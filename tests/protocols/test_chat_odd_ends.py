"""Finish reasons of api.z.ai and open.bigmodel.cn that no OpenAI client knows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.protocols.zai_streams import question
from tests.splits import mend
from toolcalls.engine import Response, mend_whole

BASH = {"index": 0, "id": "c1", "type": "function", "function": {"name": "Bash", "arguments": '{"command":"ls"}'}}


def event(delta: dict[str, Any], reason: str | None = None, spaced: bool = False) -> bytes:
    chunk = {"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    return f"data: {json.dumps(chunk, separators=None if spaced else (',', ':'))}\n\n".encode()


def chunks(stream: bytes) -> list[dict[str, Any]]:
    out = mend_whole(Response("chat", question()), stream)
    assert out == mend_whole(Response("chat", question()), stream, 1)
    return [json.loads(line[6:]) for line in out.decode().splitlines() if line.startswith("data: {")]


@pytest.mark.parametrize("spaced", [False, True])
@pytest.mark.parametrize(
    ("reason", "truth"), [("sensitive", "content_filter"), ("model_context_window_exceeded", "length")]
)
def test_a_foreign_reason_is_said_in_the_words_of_the_protocol(reason: str, truth: str, spaced: bool):
    got = chunks(event({"content": "One"}) + event({"content": "b"}, reason, spaced) + b"data: [DONE]\n\n")
    assert [chunk["choices"][0]["finish_reason"] for chunk in got] == [None, truth]
    assert [chunk["choices"][0]["delta"]["content"] for chunk in got] == ["One", "b"]


def test_a_call_before_a_foreign_reason_comes_out_and_the_reason_stays_an_end():
    got = chunks(event({"tool_calls": [BASH]}) + event({}, "sensitive"))
    assert got[0]["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"] == '{"command":"ls"}'
    assert got[1]["choices"][0]["finish_reason"] == "content_filter"


def test_a_network_error_is_an_error():
    got = chunks(event({"content": "a"}) + event({"content": "b"}, "network_error"))
    assert [chunk["choices"][0]["delta"]["content"] for chunk in got[:2]] == ["a", "b"]
    assert got[1]["choices"][0]["finish_reason"] is None
    assert got[2]["error"]["type"] == "network_error"


def test_before_a_network_error_complete_calls_come_out_and_others_do_not():
    half = {"index": 1, "id": "c2", "function": {"name": "Bash", "arguments": '{"command":"rm -rf /sr'}}
    got = chunks(event({"tool_calls": [BASH]}) + event({"tool_calls": [half]}, "network_error"))
    calls = [call["id"] for chunk in got[:-1] for call in chunk["choices"][0]["delta"]["tool_calls"]]
    assert calls == ["c1"]
    assert got[-1]["error"]["code"] == "network_error"


def test_the_words_in_a_text_change_nothing():
    stream = event({"content": 'say "sensitive" or "network_error"'}) + event({}, "stop")
    assert mend_whole(Response("chat", question()), stream) == stream


def test_a_whole_answer_is_told_the_same_way():
    body = json.dumps({"choices": [{"index": 0, "message": {"content": "a"}, "finish_reason": "sensitive"}]}).encode()
    got = json.loads(mend_whole(Response("chat", question()), body))
    assert got["choices"][0]["finish_reason"] == "content_filter"


def test_a_finish_that_no_blank_line_ends_is_ended_before_our_own_end_follows():
    for tail in (b"", b"\n", b"\r\n"):
        stream = event({"tool_calls": [BASH]}) + event({}, "tool_calls").rstrip() + tail
        assert [chunk["choices"][0]["finish_reason"] for chunk in chunks(stream)] == [None, "tool_calls"]
        assert mend_whole(Response("chat", question()), stream).endswith(b"\n\ndata: [DONE]\n\n")


def test_half_an_event_behind_a_call_is_no_event_and_behind_a_text_passes_as_it_came():
    last = event({}, "tool_calls").rstrip()
    for size in range(len(b"data:"), len(last)):
        got = chunks(event({"tool_calls": [BASH]}) + last[:size])
        assert got[0]["choices"][0]["delta"]["tool_calls"][0]["function"]["name"] == "Bash"
        text = event({"content": "One"}) + last[:size]
        assert mend_whole(Response("chat", question()), text) == text


@pytest.mark.parametrize("again", [None, "stop", "tool_calls"])
@pytest.mark.parametrize("text", [b"", event({"content": "Let me look."})], ids=["nothing before", "text before"])
def test_behind_a_reason_that_was_sent_a_call_gets_the_true_one(text: bytes, again: str | None) -> None:
    """The first reason left with the text: holding it would make every answer without a call late."""
    body = text + event({}, "stop") + event({"tool_calls": [BASH]}) + (event({}, again) if again else b"")
    begun = text + event({}, "stop")
    out, _ = mend(body + b"data: [DONE]\n\n", question=question())
    assert out.startswith(begun) and out.endswith(b"data: [DONE]\n\n")
    reasons = [json.loads(line[6:])["choices"][0]["finish_reason"] for line in out[len(begun) :].split(b"\n\n")[:-2]]
    assert reasons == [None, "tool_calls"]
