"""An answer that says in two ways how it ended: where one of them says that it was cut off, nothing is closed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scripts.fuzzing import clients
from tests.protocols.messages_wire import MESSAGE_STOP, begin, fragment, reason, stop, tool_start
from tests.protocols.responses_wire import Upstream
from tests.protocols.test_chat import DONE, chunk
from tests.splits import splits
from toolcalls.engine import Response
from toolcalls.request.request import read_request

CUT = '{"command": "rm -rf /"'
WHOLE = '{"command": "ls"}'
BASH = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
REQUEST = read_request(
    {"tools": [{"type": "function", "function": {"name": "Bash", "parameters": BASH}}], "stream": True}
)


def calls(protocol: str, body: bytes) -> list[Any]:
    """The calls of the answer with arguments, which are the same for every split."""
    outs = set()
    for pieces in splits(body):
        response = Response(protocol, REQUEST, seed="s")
        outs.add(b"".join([*(part for piece in pieces for part in response.feed(piece)), *response.close()]))
    assert len(outs) == 1
    return [arguments for _, arguments in clients.CALLS[protocol](outs.pop()) if arguments not in ("", "{}")]


def chat(arguments: str, *ends: dict[str, Any], before: tuple[dict[str, Any], ...] = ()) -> bytes:
    call = {"index": 0, "id": "a", "type": "function", "function": {"name": "Bash", "arguments": arguments}}
    said = [chunk(delta) for delta in before] + [chunk({"tool_calls": [call]})]
    said += [f"data: {json.dumps({'id': 'c', 'choices': [{'index': 0, 'delta': {}, **end}]})}\n\n" for end in ends]
    return "".join([*said, DONE]).encode()


CHAT = {
    "a router's native reason": chat(CUT, {"finish_reason": "tool_calls", "native_finish_reason": "length"}),
    "a native reason in capitals": chat(CUT, {"finish_reason": "stop", "native_finish_reason": "MAX_TOKENS"}),
    "a refusal before it": chat(CUT, {"finish_reason": "stop"}, before=({"refusal": "I won't"},)),
    "two reasons": chat(CUT, {"finish_reason": "stop"}, {"finish_reason": "length"}),
    "the context is full": chat(CUT, {"finish_reason": "model_length"}),
}


@pytest.mark.parametrize("name", CHAT)
def test_chat_closes_nothing(name: str) -> None:
    assert calls("chat", CHAT[name]) == []
    whole = CHAT[name].replace(json.dumps(CUT).encode(), json.dumps(WHOLE).encode())
    assert calls("chat", whole) == [WHOLE], "what is whole by itself needs no end"


@pytest.mark.parametrize("native", ["stop", "STOP", "tool_calls", None])
def test_chat_closes_where_both_say_that_it_ended(native: str | None) -> None:
    assert len(calls("chat", chat(CUT, {"finish_reason": "stop", "native_finish_reason": native}))) == 1


def messages(arguments: str, *reasons: str) -> bytes:
    call = tool_start(0, "t1", "Bash") + fragment(0, arguments) + stop(0)
    return begin() + call + b"".join(map(reason, reasons)) + MESSAGE_STOP


def test_messages_closes_nothing_where_a_later_reason_says_that_it_was_cut_off() -> None:
    assert calls("messages", messages(CUT, "tool_use", "max_tokens")) == []
    assert calls("messages", messages(CUT, "max_tokens", "tool_use")) == []
    assert len(calls("messages", messages(CUT, "tool_use"))) == 1
    assert len(calls("messages", messages(WHOLE, "tool_use", "max_tokens"))) == 1


@pytest.mark.parametrize(
    "said", [{"incomplete_details": {"reason": "max_output_tokens"}}, {"error": {"message": "x"}}]
)
def test_responses_closes_nothing_where_the_end_names_what_is_missing(said: dict[str, Any]) -> None:
    assert calls("responses", Upstream().call("Bash", CUT).end("completed", **said).bytes()) == []
    assert len(calls("responses", Upstream().call("Bash", CUT).end("completed").bytes())) == 1
