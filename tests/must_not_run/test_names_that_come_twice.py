"""A call whose name comes twice, but not with each fragment, may be two calls: it runs only where it is strict JSON."""

from __future__ import annotations

import json

import pytest

from tests.splits import cut, feed
from toolcalls.engine import Response
from toolcalls.outcome import Outcome
from toolcalls.policy import Policy
from toolcalls.request.request import read_request

BASH = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
REQUEST = {"stream": True, "tools": [{"type": "function", "function": {"name": "Bash", "parameters": BASH}}]}

Fragments = list[tuple[str, str]]
"""The name and the arguments of each."""

BROKEN: dict[str, Fragments] = {
    "in the middle": [("Bash", "{'command': 'a"), ("", "b', "), ("Bash", "'x': 1}")],
    "with the second fragment": [("Bash", "{'command': 'rm"), ("Bash", " -r"), ("", " x',}")],
}


def event(delta: dict[str, object], finish: str | None = None) -> bytes:
    return b"data: %s\n\n" % json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).encode()


def outcomes(fragments: Fragments, identity: str, size: int) -> list[Outcome]:
    named = {"id": identity} if identity else {}
    calls = (
        {"index": 0, **named, "function": {"arguments": given, **({"name": name} if name else {})}}
        for name, given in fragments
    )
    body = b"".join(event({"tool_calls": [call]}) for call in calls) + event({}, "tool_calls") + b"data: [DONE]\n\n"
    answer = Response("chat", read_request(REQUEST), Policy())
    feed(answer, cut(body, size))
    return answer.outcomes


@pytest.mark.parametrize("size", [1, 50, 10_000])
@pytest.mark.parametrize("identity", ["", "call_1"])
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_call_whose_name_comes_twice_is_refused(name: str, identity: str, size: int) -> None:
    [outcome] = outcomes(BROKEN[name], identity, size)
    assert outcome.status == "refused" and outcome.arguments == "{}"


@pytest.mark.parametrize("size", [1, 50, 10_000])
@pytest.mark.parametrize("identity", ["", "call_1"])
def test_a_name_with_each_fragment_and_strict_json_are_one_call(identity: str, size: int) -> None:
    each = [("Bash", "{'command': 'a"), ("Bash", "b"), ("Bash", "'}")]
    strict = [("Bash", '{"command": "a'), ("", "b"), ("Bash", '"}')]
    for fragments, status in ((each, "repaired"), (strict, "valid")):
        [outcome] = outcomes(fragments, identity, size)
        assert outcome.status == status and json.loads(outcome.arguments) == {"command": "ab"}
