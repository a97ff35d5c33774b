"""What the real SDKs make of an answer whose call was held for long: the keep-alive events in it change nothing."""

from __future__ import annotations

import json

import pytest

from scripts.shared.answer_writers import Chat, Messages, Responses, Writer
from tests.upstream import Play, Upstream
from toolcalls.engine import Response
from toolcalls.proxy.body_stream import KEEP_ALIVE_SECONDS, BodyStream

from .stage import EVENT_STREAM, Clients, Plays

WRITERS: dict[str, Writer] = {"chat": Chat(), "messages": Messages(), "responses": Responses()}
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
ASKED = [{"role": "user", "content": "Please go on."}]
STRICT = {**SCHEMA, "additionalProperties": False}
REQUESTS = {
    "chat": {
        "messages": ASKED,
        "tools": [{"type": "function", "function": {"name": "Bash", "strict": True, "parameters": STRICT}}],
    },
    "messages": {"max_tokens": 100, "messages": ASKED, "tools": [{"name": "Bash", "input_schema": SCHEMA}]},
    "responses": {
        "input": ASKED,
        "tools": [{"type": "function", "name": "Bash", "strict": True, "parameters": STRICT}],
    },
}
ARGUMENTS = {"command": "echo " + "x" * 60}
FINISHES = {"chat": "tool_calls", "messages": "tool_use", "responses": "completed"}


def held(protocol: str) -> list[bytes]:
    """What the client gets when the upstream takes two seconds for every fragment."""
    now = 0.0
    stream = BodyStream(Response(protocol), clock=lambda: now)
    out: list[bytes] = []
    for event in WRITERS[protocol].call("call_1", "Bash", json.dumps(ARGUMENTS), ""):
        now += KEEP_ALIVE_SECONDS
        out += stream.feed(event)
    return [*out, *stream.end()]


@pytest.mark.parametrize("helper", [False, True], ids=["raw stream", "helper"])
@pytest.mark.parametrize("protocol", WRITERS)
def test_an_sdk_reads_a_call_that_was_held_for_long(
    protocol: str, helper: bool, plays: Plays, plain_upstream: Upstream, clients: Clients
) -> None:
    chunks = held(protocol)
    plain = WRITERS[protocol].call("call_1", "Bash", json.dumps(ARGUMENTS), "")
    assert len(chunks) > 8, "a keep-alive for nearly every fragment"
    plays.add("held", Play(chunks, headers=EVENT_STREAM))
    plays.add("direct", Play(plain, headers=EVENT_STREAM))
    version = "" if protocol == "messages" else "/v1"
    told = [
        clients.ask(
            protocol,
            f"{plain_upstream.url}/{name}{version}",
            None,
            stream=True,
            helper=helper,
            request={"model": "m", **REQUESTS[protocol]},
        )
        for name in ("held", "direct")
    ]
    for answer in told:
        assert answer["error"] == ""
        assert answer["finish"] == FINISHES[protocol]
        assert [json.loads(call["arguments"]) for call in answer["calls"]] == [ARGUMENTS]
        for call in answer["calls"]:
            call.pop("deltas", None)
    assert told[0] == told[1], "as without us"
