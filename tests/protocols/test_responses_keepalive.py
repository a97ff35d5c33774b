"""Events beside the answer that have a `sequence_number` (OpenAI's `keepalive`, `error`) are numbered like all others."""

from __future__ import annotations

import json

import pytest

from tests.must_not_run.wires import TOOLS, Said
from tests.protocols.responses_wire import Upstream
from tests.splits import mend
from toolcalls.websocket import ResponsesSocket

WRITTEN = '<tool_call>\n{"name": "Read", "arguments": {"file_path": "/a"}}\n</tool_call>'
ERROR = {"code": "server_error", "message": "x", "param": None}


def numbers(out: bytes) -> list[int]:
    events = [json.loads(line[6:]) for line in out.decode().splitlines() if line.startswith("data: ")]
    return [event["sequence_number"] for event in events if "sequence_number" in event]


def beside(upstream: Upstream, at: int, kind: str) -> Upstream:
    """The events with one of this type at this place, numbered anew."""
    upstream.events.insert(at, {"type": kind, "sequence_number": 0, **(ERROR if kind == "error" else {})})
    if kind == "error":
        del upstream.events[at + 1 :]
    upstream.events = [{**event, "sequence_number": number} for number, event in enumerate(upstream.events)]
    return upstream


def upstreams() -> list[Upstream]:
    made = [
        Upstream().message("Let me look.\n", WRITTEN),
        Upstream().call("Read", "{'file_path':", " '/a'}").message("Done."),
        Upstream().call("read", '{"path": "/a"}').call("Read", '{"file_path": "/b"}'),
        Upstream().message("a <", "b").reasoning("Hm"),
        Upstream().call("Read", "{"),
    ]
    return [upstream.end("completed") for upstream in made]


@pytest.mark.parametrize("kind", ["keepalive", "error", "codex.rate_limits"])
@pytest.mark.parametrize("which", range(5))
def test_the_number_is_in_order_wherever_the_event_is(kind: str, which: int) -> None:
    for at in range(2, len(upstreams()[which].events)):
        upstream = beside(upstreams()[which], at, kind)
        out, _ = mend(upstream.bytes(), protocol="responses", question=Said().question, few=True)
        found = numbers(out)
        assert found == sorted(set(found)), at
        assert kind.encode() in out


@pytest.mark.parametrize("kind", ["keepalive", "error", "codex.rate_limits"])
@pytest.mark.parametrize("which", range(5))
def test_over_a_websocket_it_is_in_order_too(kind: str, which: int) -> None:
    for at in range(2, len(upstreams()[which].events)):
        socket = ResponsesSocket()
        socket.client_message(json.dumps({"type": "response.create", "tools": TOOLS}))
        upstream = beside(upstreams()[which], at, kind)
        sent = [json.loads(text) for event in upstream.events for text in socket.server_message(json.dumps(event))]
        found = [event["sequence_number"] for event in sent]
        assert found == sorted(set(found)), at
        assert kind in [event["type"] for event in sent]


@pytest.mark.parametrize("kind", ["keepalive", "codex.rate_limits"])
def test_in_an_answer_that_needs_nothing_it_keeps_its_bytes(kind: str) -> None:
    body = beside(Upstream().message("Just", " words").end("completed"), 4, kind).bytes()
    assert mend(body, protocol="responses", question=Said().question)[0] == body
    for odd in (b'data: {"type":"keepalive"}\n\n', b'data: {"type":"keepalive","sequence_number":4}\n\n'):
        assert mend(odd + body, protocol="responses", question=Said().question)[0].startswith(odd)
