"""Gemini, and Messages behind other paths, as the script meets them: what is a stream, and what passes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mitmproxy import http

from tests.proxy.test_script import answered, asked, play
from toolcalls.engine import Response
from toolfix import Toolfix

GEMINI = "/v1beta/models/gemini-3-pro"
VERTEX = "/v1/projects/p/locations/l/publishers/anthropic/models/claude"
BASH = {"name": "Bash", "parameters": {"type": "OBJECT", "properties": {"command": {"type": "STRING"}}}}
ASKED = {"contents": [{"parts": [{"text": "go"}]}], "tools": [{"functionDeclarations": [BASH]}]}


pytestmark = pytest.mark.usefixtures("context")


def gemini(path: str, host: str = "generativelanguage.googleapis.com") -> http.HTTPFlow:
    return asked(host, path, content=json.dumps(ASKED).encode())


def event(part: Any, finish: str = "") -> dict[str, Any]:
    candidate = {"content": {"parts": [part], "role": "model"}, **({"finishReason": finish} if finish else {})}
    return {"candidates": [candidate]}


CALL = event({"functionCall": {"name": "bash", "args": "{'command': 'ls'}"}}, "STOP")


@pytest.mark.parametrize(
    "path", [f"{GEMINI}:streamGenerateContent?alt=sse", "/v1internal:streamGenerateContent?alt=sse"]
)
def test_the_path_says_that_gemini_streams(addon: Toolfix, path: str) -> None:
    flow = gemini(path)
    addon.request(flow)
    answered(flow)
    text = f"data: {json.dumps(event({'text': 'x'}))}\r\n\r\n".encode()
    out = play(addon, flow, [text, f"data: {json.dumps(CALL)}\r\n\r\n".encode()])
    assert out[0] == text
    assert b'"args":{"command":"ls"}' in b"".join(out[1:])


def test_a_document_of_gemini_is_mended_at_once(addon: Toolfix) -> None:
    flow = gemini(f"{GEMINI}:generateContent")
    addon.request(flow)
    response = answered(flow, content_type="application/json")
    addon.http.responseheaders(flow)
    assert not response.stream
    response.content = json.dumps(CALL).encode()
    addon.http.response(flow)
    assert b'"args":{"command":"ls"}' in (response.content or b"")


def test_gemini_hears_an_event_for_a_comment_ends_its_clients() -> None:
    answer = Response("gemini")
    assert answer.feed(f"data: {json.dumps(CALL)}\r\n\r\n".encode()) == []
    assert answer.keep_alive() == b'data: {"candidates": []}\r\n\r\n'


MESSAGES = json.dumps({"tools": [{"name": "Bash", "input_schema": {"type": "object"}}], "messages": []}).encode()


def test_messages_behind_vertex_are_mended(addon: Toolfix) -> None:
    flow = asked("us-east5-aiplatform.googleapis.com", f"{VERTEX}:streamRawPredict", content=MESSAGES)
    addon.request(flow)
    answered(flow)
    block = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}
    said: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    out = play(addon, flow, [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in said])
    assert b'"name":"Bash"' in b"".join(out)


def test_the_binary_stream_of_amazon_passes_as_it_comes_and_nothing_of_a_signed_request_changes(
    addon: Toolfix,
) -> None:
    flow = asked("localhost", "/model/anthropic.claude-v2:1/invoke-with-response-stream", content=MESSAGES)
    flow.request.headers["authorization"] = "AWS4-HMAC-SHA256 Credential=x"
    came = flow.request.copy()
    addon.request(flow)
    assert (flow.request.headers, flow.request.content) == (came.headers, came.content)
    answered(flow, content_type="application/vnd.amazon.eventstream")
    frames = [b"\x00\x00\x00\x5b\x00\x00\x00\x4b:message-type", b"\x07\x00\x05event\n\n\x00"]
    assert play(addon, flow, frames) == frames
