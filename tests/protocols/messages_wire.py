"""Events of a Messages upstream, and ways to run them through the engine."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

from tests.validators import messages as strict
from toolcalls.engine import Response
from toolcalls.outcome import Outcome
from toolcalls.policy import Policy
from toolcalls.request.request import Request, read_request

Json = dict[str, Any]

READ = {
    "name": "Read",
    "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]},
}
LIST = {"name": "TaskList", "input_schema": {"type": "object", "properties": {}}}
REQUEST: Json = {"model": "glm-5", "stream": True, "tools": [READ, LIST], "messages": []}

A = '{"file_path":"/src/a.py"}'
B = '{"file_path": "/src/b.py"}'
CALL_A = ("Read", json.loads(A))
CALL_B = ("Read", json.loads(B))


def event(said: Json) -> bytes:
    return f"event: {said['type']}\ndata: {json.dumps(said, ensure_ascii=False)}\n\n".encode()


def begin(**message: Any) -> bytes:
    whole: Json = {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "glm-5", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 12, "output_tokens": 1},
    }  # fmt: skip
    return event({"type": "message_start", "message": {**whole, **message}})


def start(index: int | None, **block: Any) -> bytes:
    place = {} if index is None else {"index": index}
    return event({"type": "content_block_start", **place, "content_block": block})


def text_start(index: int | None) -> bytes:
    return start(index, type="text", text="")


def tool_start(
    index: int | None, identity: str | None = "toolu_01", name: str = "Read", input: Any = None, **more: Any
) -> bytes:
    block = {"type": "tool_use", "id": identity, "name": name, "input": {} if input is None else input, **more}
    return start(index, **{key: value for key, value in block.items() if value is not None})


def delta(index: int | None, **delta: Any) -> bytes:
    place = {} if index is None else {"index": index}
    return event({"type": "content_block_delta", **place, "delta": delta})


def say(index: int | None, text: str) -> bytes:
    return delta(index, type="text_delta", text=text)


def fragment(index: int | None, text: Any) -> bytes:
    return delta(index, type="input_json_delta", partial_json=text)


def stop(index: int | None) -> bytes:
    place = {} if index is None else {"index": index}
    return event({"type": "content_block_stop", **place})


def text(index: int, *pieces: str) -> bytes:
    return text_start(index) + b"".join(say(index, piece) for piece in pieces) + stop(index)


def tool(index: int, *pieces: str, **start: Any) -> bytes:
    return tool_start(index, **start) + b"".join(fragment(index, piece) for piece in pieces) + stop(index)


def thinking(index: int, *pieces: str, signature: str = "EqQB+/c2ln==") -> bytes:
    return (
        start(index, type="thinking", thinking="", signature="")
        + b"".join(delta(index, type="thinking_delta", thinking=piece) for piece in pieces)
        + delta(index, type="signature_delta", signature=signature)
        + stop(index)
    )


def reason(reason: str | None, **more: Any) -> bytes:
    said = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}}
    return event({**said, **(more or {"usage": {"output_tokens": 42}})})


def end(why: str | None = "tool_use") -> bytes:
    return reason(why) + MESSAGE_STOP


SERVER_TOOL = (
    start(1, type="server_tool_use", id="srvtoolu_1", name="web_search", input={})
    + fragment(1, '{"query":')
    + fragment(1, ' "toolfix"}')
    + stop(1)
    + start(2, type="web_search_tool_result", tool_use_id="srvtoolu_1", content=[{"type": "web_search_result"}])
    + stop(2)
)

MESSAGE_STOP = event({"type": "message_stop"})
PING = event({"type": "ping"})
ERROR = event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})


class Run:
    """One body through the engine, fed in chunks."""

    def __init__(self, request: Json | None = None, seed: str = "", **policy: Any) -> None:
        question: Request = read_request(REQUEST if request is None else request)
        self.answer = Response("messages", question, Policy(**policy), seed=seed)

    @property
    def outcomes(self) -> list[Outcome]:
        return self.answer.outcomes

    def feed(self, chunk: bytes) -> bytes:
        return _joined(self.answer.feed(chunk))

    def close(self) -> bytes:
        out = _joined(self.answer.close())
        if self.answer.failure is not None:
            raise self.answer.failure
        return out

    def whole(self, body: bytes, cuts: list[int] | None = None) -> bytes:
        edges = [0, *(cuts or []), len(body)]
        out = [self.feed(body[here:there]) for here, there in itertools.pairwise(edges)]
        return b"".join([*out, self.close()])


def _joined(pieces: list[bytes]) -> bytes:
    assert all(pieces), "an empty chunk ends a chunked response"
    return b"".join(pieces)


def cut_everywhere(body: bytes, seed: int = 1) -> list[list[int]]:
    """Whole, byte by byte, and at random places."""
    chance = random.Random(seed)
    randomly = [sorted(chance.sample(range(len(body)), min(len(body), count))) for count in (1, 3, 17, 60)]
    return [[], list(range(1, len(body))), *randomly]


def mended(body: bytes, request: Json | None = None, **policy: Any) -> tuple[bytes, list[Outcome]]:
    """What the client gets, the same for every way to cut the upstream's bytes."""
    first: tuple[bytes, list[Outcome]] | None = None
    for cuts in cut_everywhere(body):
        run = Run(request, **policy)
        result = run.whole(body, cuts), run.outcomes
        assert first is None or result == first, f"cut at {cuts[:20]}"
        first = first or result
    assert first is not None
    return first


def client(body: bytes, request: Json | None = None, **policy: Any) -> strict.Message:
    """What a strict client reads."""
    return strict.read(mended(body, request, **policy)[0])
