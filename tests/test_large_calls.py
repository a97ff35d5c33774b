"""Calls of megabytes and answers of 500 calls, on every protocol, streamed and in one piece: docs/mended.md has the limits.

Up to a limit a call is read, and mended where it is broken; past it the answer passes as it came and is counted. Nothing between.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.hard_work import WIRES, WORDS, Json, compact
from toolcalls.engine import Response, mend_whole
from toolcalls.policy import Policy
from toolcalls.request.request import read_request
from toolcalls.sizes import MOST_CALLS

Call = tuple[str, Any]
READ = 65_536


# What an upstream sends


def stream(protocol: str, calls: list[str], name: str) -> bytes:
    return WIRES[protocol].called(calls, name)


def _object(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _chat(calls: list[str], name: str) -> Json:
    made = [
        {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": text}}
        for number, text in enumerate(calls)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": made}
    return {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]}


def _messages(calls: list[str], name: str) -> Json:
    made = [
        {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": _object(text)}
        for number, text in enumerate(calls)
    ]
    return {"id": "m", "type": "message", "role": "assistant", "stop_reason": "tool_use", "content": made}


def _responses(calls: list[str], name: str) -> Json:
    made = [
        {"id": f"fc_{at}", "type": "function_call", "call_id": f"call_{at}", "name": name, "arguments": text}
        for at, text in enumerate(calls)
    ]
    return {"id": "resp_1", "object": "response", "status": "completed", "output": made}


def _ollama(calls: list[str], name: str) -> Json:
    made = [{"function": {"name": name, "arguments": _object(text)}} for text in calls]
    message = {"role": "assistant", "content": "", "tool_calls": made}
    return {"model": "m", "message": message, "done": True, "done_reason": "stop"}


def _gemini(calls: list[str], name: str) -> Json:
    parts = [{"functionCall": {"name": name, "args": _object(text)}} for text in calls]
    return {"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": parts}}]}


DOCUMENTS: dict[str, Callable[[list[str], str], Json]] = {
    "chat": _chat,
    "messages": _messages,
    "responses": _responses,
    "ollama": _ollama,
    "gemini": _gemini,
}


# What a client holds


def _told(said: Json) -> list[tuple[Any, str, str, Any]]:
    """The calls and fragments of one event or document: which call, its name, a fragment, or the whole value."""
    if choices := said.get("choices"):
        held = choices[0].get("delta") or choices[0].get("message") or {}
        calls = held.get("tool_calls") or []
        return [
            (
                call.get("index", at),
                call.get("function", {}).get("name") or "",
                call.get("function", {}).get("arguments") or "",
                None,
            )
            for at, call in enumerate(calls)
        ]
    if "message" in said and "tool_calls" in said["message"]:
        return [
            (None, one["function"]["name"], "", one["function"]["arguments"]) for one in said["message"]["tool_calls"]
        ]
    if candidates := said.get("candidates"):
        parts = [part["functionCall"] for part in candidates[0]["content"]["parts"] if "functionCall" in part]
        return [(None, part["name"], "", part["args"]) for part in parts]
    if "content" in said:
        return [(None, block["name"], "", block["input"]) for block in said["content"] if block["type"] == "tool_use"]
    if said.get("type") == "content_block_start" and said["content_block"]["type"] == "tool_use":
        return [(said["index"], said["content_block"]["name"], "", None)]
    if said.get("type") == "content_block_delta" and said["delta"]["type"] == "input_json_delta":
        return [(said["index"], "", said["delta"]["partial_json"], None)]
    output = said.get("output") or (said.get("type") == "response.completed" and said["response"]["output"]) or []
    return [(None, item["name"], item["arguments"], None) for item in output if item["type"] == "function_call"]


def calls_of(body: bytes, *, streamed: bool) -> list[Call]:
    """The calls that a client of any of these protocols reads, with the value of their arguments or their text."""
    events = [body]
    if streamed:
        lines = body.split(b"\n")
        events = [line.strip().removeprefix(b"data: ") for line in lines if line.startswith((b"data: {", b"{"))]
    held: dict[Any, list[Any]] = {}
    for event in events:
        for place, name, fragment, value in _told(json.loads(event)):
            call = held.setdefault(len(held) if place is None else place, ["", "", None])
            call[0] += name
            call[1] += fragment
            call[2] = value
    return [(name, _object(text) if value is None else value) for name, text, value in held.values()]


def answered(protocol: str, calls: list[str], name: str, *, streamed: bool) -> tuple[Response, bytes, bytes]:
    wire = WIRES[protocol]
    answer = Response(protocol, read_request({**wire.request, "stream": streamed}, protocol), Policy(), seed="s")
    if not streamed:
        came = compact(DOCUMENTS[protocol](calls, name)).encode()
        return answer, came, mend_whole(answer, came)
    came = stream(protocol, calls, name)
    pieces = [piece for at in range(0, len(came), READ) for piece in answer.feed(came[at : at + READ])]
    return answer, came, b"".join([*pieces, *answer.close()])


every_way = pytest.mark.parametrize(
    ("protocol", "streamed"),
    [*((protocol, True) for protocol in WIRES), *((protocol, False) for protocol in DOCUMENTS)],
)


def code(size: int) -> str:
    """Lines of code, of so many bytes as JSON."""
    return WORDS * (size // len(json.dumps(WORDS)))


BROKEN: dict[str, Callable[[str], str]] = {
    "a comma too many": lambda text: f'{{"command": {json.dumps(text)},}}',
    "raw line ends": lambda text: '{"command": "' + text + '"}',
    "Python": lambda text: "{'command': " + json.dumps(text) + ", }",
}


@every_way
def test_a_valid_call_of_800_kb_is_read(protocol: str, streamed: bool) -> None:
    text = code(800_000)
    answer, _, out = answered(protocol, [json.dumps({"command": text})], "Bash", streamed=streamed)
    assert not answer.limited and [outcome.status for outcome in answer.outcomes] == ["valid"]
    assert calls_of(out, streamed=streamed) == [("Bash", {"command": text})]


@every_way
@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_call_of_800_kb_is_mended(kind: str, protocol: str, streamed: bool) -> None:
    text = code(800_000)
    answer, _, out = answered(protocol, [BROKEN[kind](text)], "Bash", streamed=streamed)
    assert not answer.limited and [outcome.status for outcome in answer.outcomes] == ["repaired"]
    assert calls_of(out, streamed=streamed) == [("Bash", {"command": text})]


def passes_as_it_came(answer: Response, came: bytes, out: bytes, protocol: str) -> None:
    assert answer.limited and answer.failure is None and not answer.outcomes
    if protocol == "zai":
        # A converted stream has no bytes that could pass: it ends with an error, and no call.
        assert b'"error"' in out and b"tool_calls" not in out
    else:
        assert out == came


@every_way
@pytest.mark.parametrize("size", [4_000_000, 18_000_000], ids=["4 MB", "over toolfix_max_held_bytes"])
def test_a_larger_call_passes_as_it_came_and_is_counted(size: int, protocol: str, streamed: bool) -> None:
    text = code(size)
    for arguments in (json.dumps({"command": text}), BROKEN["a comma too many"](text)):
        answer, came, out = answered(protocol, [arguments], "Bash", streamed=streamed)
        passes_as_it_came(answer, came, out, protocol)


@every_way
def test_a_larger_call_behind_others_takes_none_of_them_away(protocol: str, streamed: bool) -> None:
    """The calls before it are mended or as they came, each once and in its place."""
    small, large = "{'command': 'ls', }", json.dumps({"command": code(4_000_000)})
    answer, _, out = answered(protocol, [small, large], "Bash", streamed=streamed)
    assert answer.failure is None
    if protocol == "zai":
        # Fragments that do not name their call are refused where one of the calls is broken.
        assert b'"error"' in out or {outcome.status for outcome in answer.outcomes} == {"refused"}
        return
    assert answer.limited
    first, second = calls_of(out, streamed=streamed)
    assert first[1] in ({"command": "ls"}, small) and second == ("Bash", json.loads(large))


TODO = {"id": 1, "content": "write the tests", "status": "pending"}


@every_way
def test_a_list_of_300_kb_is_read_where_it_is_valid_and_mended_up_to_25_kb(protocol: str, streamed: bool) -> None:
    many = {"todos": [TODO] * (300_000 // len(json.dumps(TODO)))}
    answer, _, out = answered(protocol, [json.dumps(many)], "Todo", streamed=streamed)
    assert [outcome.status for outcome in answer.outcomes] == ["valid"]
    assert calls_of(out, streamed=streamed) == [("Todo", many)]
    few = {"todos": [TODO] * (25_000 // len(json.dumps(TODO)))}
    answer, _, out = answered(protocol, [repr(few)], "Todo", streamed=streamed)
    assert [outcome.status for outcome in answer.outcomes] == ["repaired"]
    assert calls_of(out, streamed=streamed) == [("Todo", few)]


@every_way
@pytest.mark.parametrize("size", [60_000, 200_000, 1_000_000, 3_000_000])
def test_a_longer_list_that_is_broken_is_refused_or_passes_and_is_never_cut(
    size: int, protocol: str, streamed: bool
) -> None:
    many = {"todos": [TODO] * (size // len(json.dumps(TODO)))}
    answer, came, out = answered(protocol, [repr(many)], "Todo", streamed=streamed)
    if answer.limited:
        passes_as_it_came(answer, came, out, protocol)
        return
    [outcome] = answer.outcomes
    assert outcome.status == "refused" and "too many parts" in outcome.reason
    assert calls_of(out, streamed=streamed) in ([("Todo", {})], [])


@every_way
def test_500_calls_are_mended_and_one_more_passes_with_all_of_them(protocol: str, streamed: bool) -> None:
    broken = [f"{{'command': 'echo {number}', }}" for number in range(MOST_CALLS + 1)]
    answer, _, out = answered(protocol, broken[:MOST_CALLS], "Bash", streamed=streamed)
    assert not answer.limited and len(answer.outcomes) == MOST_CALLS
    made = calls_of(out, streamed=streamed)
    assert made == [("Bash", {"command": f"echo {number}"}) for number in range(MOST_CALLS)]
    answer, _, out = answered(protocol, broken, "Bash", streamed=streamed)
    assert answer.limited and answer.failure is None
    if protocol == "zai":
        assert b'"error"' in out
        return
    made = calls_of(out, streamed=streamed)
    assert len(made) == MOST_CALLS + 1
    for number, (name, value) in enumerate(made):
        assert name == "Bash" and value in ({"command": f"echo {number}"}, broken[number])
