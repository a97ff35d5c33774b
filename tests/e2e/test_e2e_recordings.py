"""The real SDKs read every committed recording through a real mitmdump and end with the right calls."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.sampling import part
from tests.upstream import delivered, play_recording
from toolcalls.cli import demo
from toolcalls.cli.proxy_process import ProxyProcess
from toolcalls.recording import store
from toolcalls.recording.store import Recording

from .stage import DOCUMENT, MENDED, Clients, Play, Plays, Way, broken_document, request_body

ERROR = "error"
"""In the place of a finish reason: the SDK raises what the upstream reported."""


KEPT = {"length", "max_tokens", "content_filter", "refusal", "incomplete", "failed"}
"""Finish reasons that are never rewritten, calls or not."""

Event = dict[str, Any]


def chat_text(event: Event) -> str:
    choices = [choice for choice in event.get("choices") or [] if choice.get("index", 0) == 0]
    deltas = [choice.get("delta") or choice.get("message") or {} for choice in choices]
    return "".join(delta.get("content") or "" for delta in deltas)


def chat_finish(event: Event) -> str:
    reasons = [choice.get("finish_reason") for choice in event.get("choices") or []]
    return ERROR if event.get("error") else next(filter(None, reasons), "")


def zai_text(event: Event) -> str:
    data = event.get("data") or {}
    return str(data.get("delta_content") or "") if data.get("phase") == "answer" else ""


def zai_finish(_event: Event) -> str:
    """What the site reports as the end is that of its own turn, not of the client's."""
    return ""


def messages_text(event: Event) -> str:
    if event.get("type") == "message":
        return "".join(block.get("text", "") for block in event["content"])
    return str((event.get("delta") or {}).get("text", "")) if event.get("type") == "content_block_delta" else ""


def messages_finish(event: Event) -> str:
    told = event if event.get("type") == "message" else event.get("delta") or {}
    return ERROR if event.get("type") == "error" else str(told.get("stop_reason") or "")


def responses_text(event: Event) -> str:
    if "type" not in event and "output" in event:
        said = [item for item in event["output"] if item.get("type") != "reasoning"]
        parts = [part for item in said for part in item.get("content") or []]
        return "".join(part.get("text", "") for part in parts)
    return str(event["delta"]) if event.get("type") == "response.output_text.delta" else ""


def responses_finish(event: Event) -> str:
    if event.get("type") == "error" or ("error" in event and "type" not in event and "output" not in event):
        return ERROR
    return str((event.get("response") or event).get("status") or "")


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
    text: Callable[[Event], str]
    """What one event of the upstream says as text."""
    finish: Callable[[Event], str]
    """The finish reason that one event of the upstream gives, if it gives one."""
    least: dict[str, Any]
    """What the SDK insists on where the recorded request has nothing."""


_CHAT_LEAST = {"model": "m", "messages": [{"role": "user", "content": "Please go on."}]}
_CHAT = Protocol("chat", "/chat/completions", "tool_calls", "stop", chat_text, chat_finish, _CHAT_LEAST)

PROTOCOLS = {
    "chat": _CHAT,
    "zai": replace(_CHAT, text=zai_text, finish=zai_finish),
    "messages": Protocol(
        "messages",
        "/v1/messages",
        "tool_use",
        "end_turn",
        messages_text,
        messages_finish,
        {**_CHAT_LEAST, "max_tokens": 1024},
    ),
    "responses": Protocol(
        "responses",
        "/responses",
        "completed",
        "completed",
        responses_text,
        responses_finish,
        {"model": "m", "input": "Please go on."},
    ),
}

# Recordings that end otherwise than their upstream's events and their calls say.
FINISH = {
    "chat-error-without-the-usual-key": ERROR,
    "chat-half-event-behind-held-text": "",
    "messages-error-event-with-bare-text": ERROR,
    "messages-no-terminal-cut-call": ERROR,
    "messages-no-terminal-text": ERROR,
    "responses-breaks-off-in-text": "failed",
    "001-network-break": "length",
    "zai-cut-off": "length",
    "zai-error-event": ERROR,
}
# Recordings whose text is not that of the upstream's readable events: calls that were text, payloads that are no JSON.
TEXT = {
    "001-edit-index-append": "Hello World",
    "001-end-of-the-call": "",
    "004-text-call-apart": "",
    "chat-text-introduction-announces": "The build is stale, so I run\n",
    "chat-data-inside-data": "Let me do that.",
    "chat-python-payload": "It's a Python dict",
    "chat-text-finding-after-a-result": "The rounding is in `src/cart.ts`.\n\n",
    "chat-text-harmony-glued": "We need the files.",
    "chat-text-unclosed-parameter": "I run the tests.\n",
    "messages-block-type-mismatch-newline": "",
    "responses-patch-cut-off": "[toolfix] The call of apply_patch was dropped: "
    "the input of the freeform tool was cut off or is ambiguous.",
    "responses-text-markup-in-value": "I add it to the README.\n",
    "responses-text-token-in-the-ends": "I clean up.\n",
    "zai-null-patch-ends-the-turn": "Let me look.",
    "zai-text-call": "我来看看这个目录。\n\n",
    "zai-text-call-taken-back": "我来看看这个目录。\n\n<tool_call>Bash\n<arg_key>command</arg_key>\n"
    "<arg_value>ls -la</arg_value>\n</tool_call>目录是空的。",
}
# What is left of the text when the calls that were written in it are gone; the same on each protocol.
_LEFT = {
    "before-a-call": "Let me look.\n",
    "invoke": "I'll look at the failing test first.\n\n",
    "qwen3-coder": "Let me change the rounding.\n",
    "dsml": "Two things to check.\n\n",
    "glm": "I need to see the file.",
    "hermes": "Searching for the callers.\n",
    "special-token-behind": "I clean up.\n",
    "json": "",
    "kimi": "Running the tests now. ",
    "minimax": "The test reads the fixture, so I read it too.\n\n",
}
TEXT |= {
    f"{protocol}-text-{name}": text for protocol in ("chat", "messages", "responses") for name, text in _LEFT.items()
}
TEXT |= {
    "chat-text-below-a-doubt": "This deletes everything. No, wait.\n",
    "chat-text-below-a-finding": "The rounding is in `src/cart.ts`.\n\n",
    "chat-text-below-a-presentation": "I wrote the dialogue you wanted.\n\nThe user asks for space.\n\nI'll remove the build.\n\n",
    "chat-text-below-a-refusal": "これは実行しません。作業が消えてしまいます。\n\n",
}

# The session's proxy has the default options. Ollama's and Gemini's clients have files of their own.
_ALL = [store.load(path) for path in store.find(demo.RECORDINGS)]
_PLAYED = [one for one in _ALL if one.suffix != ".jsonl" and one.protocol not in ("ollama", "gemini")]
RECORDINGS = [recording for recording in _PLAYED if not recording.flow.get("policy")]
UNTOUCHED = [recording for recording in RECORDINGS if recording.before == recording.after]
TOUCHED = [recording for recording in RECORDINGS if recording not in UNTOUCHED]
# An error that goes on is no answer: the SDK asks again, and then raises.
UNTOUCHED = [recording for recording in UNTOUCHED if recording.flow["status"] == 200]


def upstream_events(body: bytes) -> list[Event]:
    """What the upstream said, as far as the standard library can read it."""
    lines = body.decode("utf-8", "replace").splitlines()
    texts = [line.removeprefix("data:") for line in lines if line.startswith("data:")]
    found = []
    for text in [body.decode()] if body.lstrip().startswith(b"{") else texts:
        with contextlib.suppress(ValueError):
            found.append(json.loads(text))
    return [event for event in found if isinstance(event, dict)]


def expected_finish(recording: Recording, protocol: Protocol, events: list[Event], calls: list[Event]) -> str:
    """The rule of the design: calls decide, but what cut the answer short is never rewritten."""
    last = next(filter(None, map(protocol.finish, reversed(events))), "")
    if recording.flow["status"] != 200:
        last = ""  # An error in whose place the client gets an answer.
    told = last if last in {*KEPT, ERROR} else protocol.with_calls if calls else protocol.without
    return FINISH.get(recording.name, told)


def read(arguments: str) -> Any:
    """Arguments as values; the input of a freeform tool is text."""
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


def by_version(recordings: list[Recording]) -> list[Any]:
    """Chat over both HTTP versions, the others over one each in turn: what differs by version differs for all alike.

    Those of the documents are about calls, not about versions: one each in turn, too.
    """
    versions = ("http1", "http2")
    return [
        pytest.param(recording, version, id=f"{recording.name}-{version}")
        for number, recording in enumerate(recordings)
        for version in (versions if recording.name.startswith("chat-") else (versions[number % 2],))
    ]


def question(recording: Recording, way: Way) -> dict[str, Any]:
    """The recorded request, for the SDK of its protocol."""
    protocol = PROTOCOLS[recording.protocol]
    path = str(recording.flow.get("path", "/v1/chat/completions"))
    assert path.endswith(protocol.suffix), "the SDK asks at another path than the recording"
    request = json.loads(recording.request or b"{}")
    streamed = recording.suffix == ".sse" if recording.flow["status"] == 200 else request["stream"]
    return {
        "api": protocol.api,
        "base_url": f"{way.upstream.url}/{recording.name}{path.removesuffix(protocol.suffix)}",
        "http2": way.http2,
        "stream": streamed,
        "request": {**protocol.least, **request},
    }


@pytest.mark.parametrize(("recording", "way"), part(by_version(TOUCHED), 3), indirect=["way"])
def test_an_sdk_ends_with_the_right_calls(
    recording: Recording, way: Way, plays: Plays, proxy: ProxyProcess, clients: Clients
) -> None:
    protocol = PROTOCOLS[recording.protocol]
    plays.add(recording.name, play_recording(recording))
    answer = clients.ask(proxy=proxy, **question(recording, way))
    expected = delivered(recording)
    events = upstream_events(recording.before)
    finish = expected_finish(recording, protocol, events, expected)
    assert bool(answer["error"]) == (finish == ERROR), answer["error"]
    if finish != ERROR:
        assert answer["finish"] == finish
    assert [call["name"] for call in answer["calls"]] == [call["name"] for call in expected]
    assert [read(call["arguments"]) for call in answer["calls"]] == [read(call["arguments"]) for call in expected]
    assert answer.get("carriers_agree", True), "deltas and finished items say different things"
    ids = [call["id"] for call in answer["calls"]]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    assert answer["text"] == TEXT.get(recording.name, "".join(map(protocol.text, events)))
    assert answer["http_version"] == way.client_version
    assert plays.seen[recording.name].http_version == way.upstream_version


@pytest.mark.parametrize(("recording", "way"), part(by_version(UNTOUCHED), 3), indirect=["way"])
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
