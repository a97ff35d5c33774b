"""mitmproxy's flow files and HAR files are replayed as recordings are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mitmproxy import http
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow, tutils
from mitmproxy.websocket import WebSocketData, WebSocketMessage
from wsproto.frame_protocol import Opcode

from tests.cli.commands import ROOT, complaint, toolfix
from toolcalls.proxy import flow_files as flows
from toolcalls.recording import store
from toolcalls.recording.replay import replay

RECORDING = ROOT / "recordings" / "chat" / "chat-python-dict"
DOCUMENT = ROOT / "recordings" / "chat" / "chat-python-dict"


def flow_of(recording: store.Recording) -> http.HTTPFlow:
    flow = tflow.tflow()
    flow.request = tutils.treq(
        method=b"POST",
        scheme=b"https",
        host="api.example",
        authority=b"",
        port=443,
        path=b"/v1/chat/completions",
        content=recording.request,
        headers=http.Headers(host="api.example"),
    )
    kind = http.Headers(content_type="text/event-stream")
    flow.response = tutils.tresp(status_code=200, headers=kind, content=recording.before)
    return flow


@pytest.fixture
def recording() -> store.Recording:
    return store.load(RECORDING)


@pytest.fixture
def flow_file(tmp_path: Path, recording: store.Recording) -> Path:
    """Our flow between two that are none of ours."""
    path = tmp_path / "session.flows"
    other = tflow.tflow(resp=True)
    failed = flow_of(recording)
    failed.response = None
    with path.open("wb") as file:
        writer = FlowWriter(file)
        for flow in (other, flow_of(recording), failed, tflow.ttcpflow()):
            writer.add(flow)
    return path


@pytest.fixture
def har_file(tmp_path: Path, recording: store.Recording) -> Path:
    """As browsers export it."""
    entry = {
        "startedDateTime": "2026-11-16T00:00:00.000Z",
        "time": 12,
        "request": {
            "method": "POST",
            "url": "https://api.example/v1/chat/completions",
            "httpVersion": "HTTP/1.1",
            "headers": [{"name": "host", "value": "api.example"}],
            "queryString": [],
            "cookies": [],
            "headersSize": -1,
            "bodySize": len(recording.request),
            "postData": {"mimeType": "application/json", "text": recording.request.decode()},
        },
        "response": {
            "status": 200,
            "statusText": "OK",
            "httpVersion": "HTTP/1.1",
            "headers": [{"name": "content-type", "value": "text/event-stream"}],
            "cookies": [],
            "content": {
                "size": len(recording.before),
                "mimeType": "text/event-stream",
                "text": recording.before.decode(),
            },
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": len(recording.before),
        },
        "cache": {},
        "timings": {"send": 1, "wait": 1, "receive": 1},
        "serverIPAddress": "192.0.2.1",
    }
    path = tmp_path / "session.har"
    path.write_text(
        json.dumps({"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": [entry]}})
    )
    return path


def test_a_flow_file_gives_the_flows_that_are_ours(flow_file: Path, recording: store.Recording) -> None:
    (found,) = flows.read(flow_file)
    assert found.name == "flow 2"
    assert (found.before, found.request) == (recording.before, recording.request)
    assert replay(found).after == recording.after


def test_a_har_file_gives_the_same(har_file: Path, recording: store.Recording) -> None:
    (found,) = flows.read(har_file)
    assert replay(found).after == recording.after


def test_the_messages_of_a_websocket_are_replayed(tmp_path: Path) -> None:
    flow = tflow.tflow(resp=True)
    flow.request.path = "/v1/responses"
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "sh", "arguments": "{'a': 1}"}
    texts = [
        json.dumps({"type": "response.created", "response": {"id": "r", "output": []}}),
        json.dumps({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json.dumps({"type": "response.completed", "response": {"id": "r", "output": [item]}}),
    ]
    flow.websocket = WebSocketData(
        messages=[WebSocketMessage(Opcode.TEXT, False, text.encode(), 1.0) for text in texts]
    )
    path = tmp_path / "ws.flows"
    with path.open("wb") as file:
        FlowWriter(file).add(flow)
    (found,) = flows.read(path)
    assert [call["status"] for call in replay(found).calls] == ["repaired"]


def test_the_command_takes_both(flow_file: Path, har_file: Path) -> None:
    result = toolfix("replay", str(flow_file), str(har_file))
    assert result.returncode == 0, result.stderr.decode()
    assert result.stdout.decode().splitlines() == [
        f"{flow_file}/flow 2: 1 mended",
        f"{har_file}/flow 1: 1 mended",
    ]
    assert b"2 recordings, 0 changed" in toolfix("replay", "--check", str(flow_file), str(har_file)).stdout


def test_a_flow_file_is_never_written(flow_file: Path) -> None:
    before = flow_file.read_bytes()
    assert "stay as they are" in complaint(toolfix("replay", "--update", str(flow_file)))
    assert flow_file.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"no flows at all", b"{}", b'{"log": 1}', b"\x00\x01\x02"])
def test_what_is_no_flow_file_is_one_sentence(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    result = toolfix("replay", str(path), "--check")
    if content:
        assert "is neither a flow file nor a HAR file" in complaint(result, 1)
    else:
        assert "there is no answer of a model" in complaint(result, 2)
