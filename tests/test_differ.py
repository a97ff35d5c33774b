"""`scripts/differ --held`: what counts as a difference for a client, and what does not."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from scripts.differing.held import different
from toolcalls.wire import sse

CALL = {"index": 0, "id": "a", "type": "function", "function": {"name": "Read", "arguments": '{"path":"x"}'}}


def body(*deltas: Any, reason: str = "tool_calls") -> bytes:
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": reason})
    return b"".join(sse.write(json.dumps({"choices": [choice]})) for choice in choices) + b"data: [DONE]\n\n"


def compare(old: bytes, new: bytes, *, untouched: bool = False) -> Any:
    encoded = [base64.b64encode(sent).decode() for sent in (old, old, new)]
    job = {"kind": "answer", "protocol": "chat", "body": encoded[0], "untouched": untouched}
    return different(job, [encoded[1]], [encoded[2]])


PIECES = [
    {**CALL, "function": {"name": "Read", "arguments": '{"path"'}},
    {"index": 0, "function": {"arguments": ':"x"}'}},
]


def test_a_call_in_pieces_is_the_same_as_whole() -> None:
    pieces = [{"tool_calls": [piece]} for piece in PIECES]
    assert (
        compare(body({"content": "a"}, {"content": "b"}, *pieces), body({"content": "ab"}, {"tool_calls": [CALL]}))
        is None
    )


@pytest.mark.parametrize(
    "new",
    [
        body({"tool_calls": [CALL]}),
        body({"content": "ab"}, {"tool_calls": [{**CALL, "id": "b"}]}),
        body({"content": "ab"}, {"tool_calls": [{**CALL, "function": {"name": "Read", "arguments": "{}"}}]}),
        body({"tool_calls": [CALL]}, {"content": "ab"}),
        body({"content": "ab"}, {"tool_calls": [CALL]}, reason="stop"),
        body({"content": "ab"}, {"tool_calls": [CALL]}).removesuffix(b"data: [DONE]\n\n"),
    ],
    ids=["no text", "another id", "other arguments", "another order", "another reason", "no end"],
)
def test_what_a_client_would_notice_is_a_difference(new: bytes) -> None:
    assert compare(body({"content": "ab"}, {"tool_calls": [CALL]}), new) is not None


def test_where_nothing_may_change_other_bytes_are_a_difference() -> None:
    old = body({"content": "ab"}, reason="stop")
    new = body({"content": "a"}, {"content": "b"}, reason="stop")
    assert compare(old, new) is None
    assert compare(old, new, untouched=True) is not None


def test_a_stream_that_is_no_longer_legal_is_a_difference() -> None:
    old, new = (body({"tool_calls": [{**CALL, "index": index}]}) for index in (0, 1))
    assert compare(old, new) is not None
