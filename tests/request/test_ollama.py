"""The history of a request to Ollama: arguments go up as objects, everything else keeps its values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcalls.policy import Policy
from toolcalls.request.mend import mend_request
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode, read_request

ASK = {"role": "user", "content": "Go."}
ABSENT = object()


def body(*arguments: Any, identity: str = "") -> bytes:
    calls = [
        {
            **({"id": f"{identity}{number}"} if identity else {}),
            "function": {"name": "read", **({} if given is ABSENT else {"arguments": given})},
        }
        for number, given in enumerate(arguments)
    ]
    results = [
        {"role": "tool", "content": "ok", **({"tool_call_id": call["id"]} if identity else {"tool_name": "read"})}
        for call in calls
    ]
    message = {"role": "assistant", "content": "", "tool_calls": calls}
    return json.dumps({"model": "m", "messages": [ASK, message, *results], "options": {"temperature": 0.10}}).encode()


def sent(came: bytes, refusals: Refusals | None = None) -> bytes:
    changed = mend_request("ollama", came, decode(came), Policy(), refusals or Refusals())
    return came if changed is None else changed.body


@pytest.mark.parametrize("identity", ["", "call_"])
@pytest.mark.parametrize(
    ("came", "goes_up"),
    [
        ('{"path": "a", "n": 1.50}', '{"path":"a","n":1.50}'),
        ("{'path': 'a',}", '{"path":"a"}'),
        ('"{\\"path\\": \\"a\\"}"', '{"path":"a"}'),
        ('{"path": "a', "{}"),
        ("", "{}"),
        (None, "{}"),
        (ABSENT, "{}"),
        ([{"path": "a"}], '{"path":"a"}'),
    ],
)
def test_arguments_that_are_no_object_go_up_as_one(came: Any, goes_up: str, identity: str) -> None:
    told = sent(body(came, {"path": "b"}, identity=identity)).decode()
    assert f'"arguments":{goes_up}' in told
    assert '"arguments":{"path":"b"}' in told
    assert sent(told.encode()) == told.encode(), "what was mended is mended again"


@pytest.mark.parametrize("identity", ["", "call_"])
def test_a_history_of_objects_keeps_its_bytes(identity: str) -> None:
    came = body({"path": "{'a': 1"}, {}, identity=identity)
    assert sent(came) == came


def test_a_result_of_a_refused_call_says_why() -> None:
    refusals = Refusals()
    refusals.add("call_0", "the answer was cut off before the call was complete")
    assert b"[toolfix] This call was refused" in sent(body({}, identity="call_"), refusals)
    assert b"[toolfix]" not in sent(body({}), refusals)


@pytest.mark.parametrize(("asked", "streamed"), [({}, True), ({"stream": None}, True), ({"stream": False}, False)])
def test_an_answer_is_a_stream_unless_the_client_says_no(asked: dict[str, Any], streamed: bool) -> None:
    assert read_request({"model": "m", **asked}, "ollama").stream is streamed
    assert read_request({"model": "m", **asked}, "chat").stream is False
    assert read_request(None, "ollama").stream is True
