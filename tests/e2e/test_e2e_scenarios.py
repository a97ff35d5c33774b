"""The real SDKs read every committed scenario through a real mitmdump and end with the right calls."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from toolcalls.cli.demo import recordings_directory
from toolcalls.cli.proxy_process import ProxyProcess
from toolcalls.cli.upstream import play_recording
from toolcalls.recording import store
from toolcalls.recording.store import Recording

from .stage import DOCUMENT, MENDED, Clients, Play, Plays, Way, broken_document, request_body

ERROR = "error"
"""In the place of a finish reason: the SDK raises what the upstream reported."""


def chat_text(event: dict[str, Any]) -> str:
    choices = [choice for choice in event.get("choices", []) if choice.get("index", 0) == 0]
    deltas = [choice.get("delta", choice.get("message", {})) for choice in choices]
    return "".join(delta.get("content") or "" for delta in deltas)


def messages_text(event: dict[str, Any]) -> str:
    if event.get("type") == "message":
        return "".join(block.get("text", "") for block in event["content"])
    return str((event.get("delta") or {}).get("text", "")) if event.get("type") == "content_block_delta" else ""


def responses_text(event: dict[str, Any]) -> str:
    return str(event["delta"]) if event.get("type") == "response.output_text.delta" else ""


@dataclass(frozen=True)
class Protocol:
    """How a protocol is asked for, and what a client is told."""

    api: str
    """Which client of sdk_client.py."""
    suffix: str
    """What the SDK adds to its base URL."""
    with_calls: str
    """The finish reason of an answer with calls."""
    without: str
    text: Callable[[dict[str, Any]], str]
    """What one event of the upstream says as text."""
    least: dict[str, Any]
    """What the SDK insists on where the recorded request has nothing."""


_CHAT_LEAST = {"model": "m", "messages": [{"role": "user", "content": "Please go on."}]}

PROTOCOLS = {
    "chat": Protocol("chat", "/chat/completions", "tool_calls", "stop", chat_text, _CHAT_LEAST),
    "zai": Protocol("chat", "/chat/completions", "tool_calls", "stop", chat_text, _CHAT_LEAST),
    "messages": Protocol(
        "messages", "/v1/messages", "tool_use", "end_turn", messages_text, {**_CHAT_LEAST, "max_tokens": 1024}
    ),
    "responses": Protocol(
        "responses", "/responses", "completed", "completed", responses_text, {"model": "m", "input": "Please go on."}
    ),
}

# Scenarios whose end is not that of their protocol.
FINISH = {
    "chat-cut-off-write": "length",
    "chat-error-in-mid-call": ERROR,
}
# Scenarios whose text is not that of the upstream's readable events.
TEXT = {
    "chat-python-payload": "It's a Python dict",
}

RECORDINGS = [store.load(path) for path in store.find(recordings_directory())]
UNTOUCHED = [recording for recording in RECORDINGS if recording.before == recording.after]
TOUCHED = [recording for recording in RECORDINGS if recording not in UNTOUCHED]


def upstream_text(protocol: Protocol, body: bytes) -> str:
    """The text of what the upstream said, read with nothing but the standard library."""
    if body.lstrip().startswith(b"{"):
        return protocol.text(json.loads(body))
    said = ""
    for line in body.decode().splitlines():
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        try:
            event = json.loads(data)
        except ValueError:
            continue
        said += protocol.text(event) if isinstance(event, dict) else ""
    return said


def question(recording: Recording, way: Way) -> dict[str, Any]:
    """The recorded request, for the SDK of its protocol."""
    protocol = PROTOCOLS[recording.protocol]
    path = str(recording.flow.get("path", "/v1/chat/completions"))
    assert path.endswith(protocol.suffix), "the SDK asks at another path than the recording"
    return {
        "api": protocol.api,
        "base_url": f"{way.upstream.url}/{recording.name}{path.removesuffix(protocol.suffix)}",
        "http2": way.http2,
        "stream": recording.suffix == ".sse",
        "request": {**protocol.least, **json.loads(recording.request or b"{}")},
    }


@pytest.mark.parametrize("recording", TOUCHED, ids=lambda recording: recording.name)
def test_an_sdk_ends_with_the_right_calls(
    recording: Recording, way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients
) -> None:
    protocol = PROTOCOLS[recording.protocol]
    plays.add(recording.name, play_recording(recording))
    answer = clients.ask(proxy=proxy, **question(recording, way))
    expected = [call for call in recording.calls or [] if not call.get("dropped")]
    finish = FINISH.get(recording.name, protocol.with_calls if expected else protocol.without)
    assert bool(answer["error"]) == (finish == ERROR), answer["error"]
    if finish != ERROR:
        assert answer["finish"] == finish
    assert [call["name"] for call in answer["calls"]] == [call["name"] for call in expected]
    assert [json.loads(call["arguments"]) for call in answer["calls"]] == [
        json.loads(call["arguments"]) for call in expected
    ]
    ids = [call["id"] for call in answer["calls"]]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    assert answer["text"] == TEXT.get(recording.name, upstream_text(protocol, recording.before))
    assert answer["http_version"] == way.client_version
    assert plays.seen[recording.name].http_version == way.upstream_version


@pytest.mark.parametrize("recording", UNTOUCHED, ids=lambda recording: recording.name)
def test_an_sdk_reads_an_untouched_answer_as_without_the_proxy(
    recording: Recording, way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients, certificate: Path
) -> None:
    # Errors included: the SDK of Chat stumbles over an event without data, with and without us.
    plays.add(recording.name, play_recording(recording))
    through = clients.ask(proxy=proxy, **question(recording, way))
    direct = clients.ask(proxy=None, ca=str(certificate), **question(recording, way))
    assert through == direct
    assert through["http_version"] == way.client_version


def test_chat_calls_arrive_in_one_delta_each(way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients) -> None:
    name = "chat-interleaved-calls"
    recording = next(recording for recording in RECORDINGS if recording.name == name)
    plays.add(name, play_recording(recording))
    answer = clients.ask(proxy=proxy, **question(recording, way))
    assert [call["deltas"] for call in answer["calls"]] == [1] * len(recording.calls or [])


def test_an_answer_that_is_not_streamed_is_mended(
    way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients
) -> None:
    plays.add("document", Play([broken_document()], headers=DOCUMENT))
    answer = clients.ask(
        "chat",
        f"{way.upstream.url}/document/v1",
        proxy,
        http2=way.http2,
        stream=False,
        request=json.loads(request_body(stream=False)),
    )
    assert not answer["error"]
    assert [json.loads(call["arguments"]) for call in answer["calls"]] == [MENDED]
    assert answer["finish"] == "tool_calls"
    assert answer["content_is_null"]
    assert answer["http_version"] == way.client_version


def test_every_protocol_of_the_recordings_is_in_the_table() -> None:
    assert {recording.protocol for recording in RECORDINGS} <= set(PROTOCOLS)
