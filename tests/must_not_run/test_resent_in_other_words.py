"""A call that is sent again without its id, or in other words that mean the same, runs once."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.fuzzing import clients
from tests.protocols.test_chat import DONE, chunk
from tests.splits import splits
from toolcalls.engine import Response
from toolcalls.request.request import read_request

SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "string"}, "timeout": {"type": "integer"}},
    "required": ["command"],
}
REQUEST = read_request(
    {"tools": [{"type": "function", "function": {"name": "Bash", "parameters": SCHEMA}}], "stream": True}
)
A = '{"command": "ls"}'
FINISH = chunk({}, "tool_calls")


def call(index: int, identity: str | None, arguments: str) -> str:
    entry: dict[str, Any] = {"index": index, "type": "function", "function": {"name": "Bash", "arguments": arguments}}
    return chunk({"tool_calls": [{**entry, "id": identity} if identity else entry]})


def calls(body: str) -> int:
    outs = set()
    for pieces in splits(body.encode()):
        response = Response("chat", REQUEST, seed="s")
        outs.add(b"".join([*(part for piece in pieces for part in response.feed(piece)), *response.close()]))
    assert len(outs) == 1
    return len(clients.CALLS["chat"](outs.pop()))


ONCE = {
    "behind the finish, without its id": call(0, "a", A) + FINISH + call(0, None, A) + FINISH + DONE,
    "another key for the same": call(0, "a", A) + call(1, "a", '{"cmd": "ls"}') + FINISH + DONE,
    "a number as text": (
        call(0, "a", '{"command": "ls", "timeout": 1}')
        + call(1, "a", '{"command": "ls", "timeout": "1"}')
        + FINISH
        + DONE
    ),
}
TWICE = {
    "ids of their own": call(0, "a", A) + call(1, "b", A) + FINISH + DONE,
    "ids of their own at one index": call(0, "a", A) + call(0, "b", A) + FINISH + DONE,
    "another command under the same id": call(0, "a", A) + call(1, "a", '{"command": "pwd"}') + FINISH + DONE,
    "another command without an id, behind the finish": (
        call(0, "a", A) + FINISH + call(0, None, '{"command": "pwd"}') + FINISH + DONE
    ),
}


@pytest.mark.parametrize("name", ONCE)
def test_it_is_one_call(name: str) -> None:
    assert calls(ONCE[name]) == 1


@pytest.mark.parametrize("name", TWICE)
def test_they_are_two_calls(name: str) -> None:
    assert calls(TWICE[name]) == 2
