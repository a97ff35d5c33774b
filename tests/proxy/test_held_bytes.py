"""One limit for all bytes that the process holds back: past it the newest answers pass as they came."""

from __future__ import annotations

import json

import pytest

from tests.hard_work import WIRES, chat, chat_call
from toolcalls.engine import Response
from toolcalls.policy import Policy
from toolcalls.proxy.body_stream import BodyStream, HeldBytes
from toolcalls.request.request import read_request

LIMIT = 1_000_000
"""What all streams here may hold together; each of them wants to hold 100,000 bytes."""
BROKEN = "{'command': '" + "x" * 100_000 + "',}"
END = (chat({}, "tool_calls") + "data: [DONE]\n\n").encode()


def streams(room: HeldBytes, count: int = 20) -> list[BodyStream]:
    request = read_request(WIRES["chat"].request)
    return [BodyStream(Response("chat", request, Policy()), all_held=room) for _ in range(count)]


def pieces(whole: bytes) -> list[bytes]:
    return [whole[at : at + 5_000] for at in range(0, len(whole), 5_000)]


@pytest.mark.parametrize("one_event", [False, True])
def test_of_20_streams_the_newest_pass_and_the_others_are_mended(one_event: bool) -> None:
    call = chat_call(BROKEN)
    if one_event:
        first = {"index": 0, "id": "call_0", "function": {"name": "Bash", "arguments": BROKEN}}
        call = chat({"tool_calls": [first]})
    room = HeldBytes(lambda: LIMIT)
    opened = streams(room)
    sent = [b""] * len(opened)
    for piece in pieces(call.encode()):
        for at, stream in enumerate(opened):
            sent[at] += b"".join(stream.feed(piece))
            assert room.total <= LIMIT + len(opened) * len(piece)
    assert room.total > 0.8 * LIMIT
    for at, stream in enumerate(opened):
        sent[at] += b"".join(stream.feed(END)) + b"".join(stream.end())
    assert room.total == 0
    limited = [stream.response.limited for stream in opened]
    assert limited == sorted(limited) and 8 <= limited.count(False) < 12
    for was_limited, body in zip(limited, sent, strict=True):
        assert (body == call.encode() + END) == was_limited
        mended = json.dumps(json.dumps({"command": "x" * 100_000}, separators=(",", ":"))).encode()
        assert (mended in body) == (not was_limited)


def test_a_stream_that_ends_makes_room_for_others() -> None:
    room, call = HeldBytes(lambda: LIMIT), chat_call(BROKEN).encode()
    for _ in range(3):
        for stream in streams(room, 8):
            stream.feed(call)
            stream.feed(END)
            assert not stream.response.limited
    assert room.total == 0
    left = streams(room, 8)
    for stream in left:
        stream.feed(call)
    assert room.total > 0.7 * LIMIT
    for stream in left:
        room.release(stream)  # the client left, the connection broke, or the flow was killed
        room.release(stream)
    assert room.total == 0
