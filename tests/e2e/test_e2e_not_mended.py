"""A call that the options leave alone, and that the connection cuts: the SDKs make of it what they make without us."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.fuzzing.cut_answers import NAME, WIRES, Cut
from tests.upstream import Play, Upstream

from .stage import EVENT_STREAM, Clients, Plays, Start

HALF = '{"command":"rm -rf build","cwd":"/tmp/sandb'
PARAMETERS: dict[str, Any] = {"type": "object", "properties": {"command": {"type": "string"}}}
ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Go on."}]}
REQUESTS: dict[str, dict[str, Any]] = {
    "chat": {**ASKED, "tools": [{"type": "function", "function": {"name": NAME, "parameters": PARAMETERS}}]},
    "messages": {**ASKED, "max_tokens": 100, "tools": [{"name": NAME, "input_schema": PARAMETERS}]},
    "responses": {
        "model": "m", "input": "Go on.",
        "tools": [{"type": "function", "name": NAME, "parameters": PARAMETERS, "strict": False}],
    },
}  # fmt: skip


@pytest.mark.parametrize("until_close", [False, True], ids=["broken", "closed"])
@pytest.mark.parametrize(
    "options", [("toolfix_tools=^another$",), ("toolfix_arguments=false",)], ids=["tools", "off"]
)
def test_the_half_call_of_a_tool_that_is_not_ours_does_not_run(
    options: tuple[str, ...], until_close: bool, start: Start, plays: Plays, upstream: Upstream, clients: Clients,
    certificate: Path,
) -> None:  # fmt: skip
    process = start(*(word for option in options for word in ("--set", option)))
    for protocol, request in REQUESTS.items():
        body = WIRES[protocol](Cut(HALF, "nothing", 8, closed=False))
        play = Play([body], headers=EVENT_STREAM, breaks=not until_close, until_close=until_close)
        plays.add(f"half-{protocol}", play)
        base = f"{upstream.url}/half-{protocol}" + ("" if protocol == "messages" else "/v1")
        asked: dict[str, Any] = {"stream": True, "request": request}
        past = clients.ask(protocol, base, None, ca=str(certificate), **asked)
        through = clients.ask(protocol, base, process, **asked)
        assert (through["finish"], bool(through["error"])) == (past["finish"], bool(past["error"])), protocol
        texts = [[call["arguments"] for call in answer["calls"]] for answer in (through, past)]
        assert texts[0] in ([], texts[1]), protocol  # mitmproxy drops what is held where a connection breaks
        assert not through["finish"] and json.dumps(HALF[:24]) not in through["calls"]
