"""Long arguments are escaped while they come and read once, and nobody can tell by what goes out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.splits import cut
from toolcalls.engine import Response
from toolcalls.policy import Policy
from toolcalls.recording import store
from toolcalls.wire import sse
from toolcalls.wire.sse import in_one_line

Json = dict[str, Any]
DIRECTORIES = store.find(Path(__file__).parents[1] / "recordings")
WORDS = 'say "hi" \\ to\n渐 and 🎉, C:\\new\\docs \x7f / </b>\u2028 '
VALUE = {"file_path": "/a", "content": WORDS * 4000}
ARGUMENTS = json.dumps(VALUE, ensure_ascii=False)


def event(said: Json, kind: str = "", *, ascii_only: bool = False) -> bytes:
    head = f"event: {kind}\n" if kind else ""
    data = in_one_line(json.dumps(said, ensure_ascii=ascii_only, separators=(",", ":")))
    return f"{head}data: {data}\n\n".encode("utf-8", "backslashreplace")


def upstream(protocol: str, fragments: list[str], **how: Any) -> list[bytes]:
    """One call, whole."""
    if protocol == "chat":
        first = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "Write", "arguments": ""}}
        calls: list[Json] = [first, *({"index": 0, "function": {"arguments": piece}} for piece in fragments)]
        deltas: list[tuple[Json, str | None]] = [({"tool_calls": [call]}, None) for call in calls]
        said = [
            event({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": why}]}, **how)
            for delta, why in [*deltas, ({}, "tool_calls")]
        ]
        return [*said, b"data: [DONE]\n\n"]
    whole = "".join(fragments)
    if protocol == "messages":
        block = {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": {}}
        told: list[Json] = [
            {"type": "message_start", "message": {"id": "msg_1", "usage": {"output_tokens": 1}}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            *(
                {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": {"type": "input_json_delta", "partial_json": piece},
                }
                for piece in fragments
            ),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
            {"type": "message_stop"},
        ]
    else:
        where = {"item_id": "fc_1", "output_index": 0}
        item = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "Write", "status": "completed"}
        done = {**item, "arguments": whole}
        told = [
            {"type": "response.created", "response": {"id": "resp_1", "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": ""}},
            *({"type": "response.function_call_arguments.delta", **where, "delta": piece} for piece in fragments),
            {"type": "response.function_call_arguments.done", **where, "arguments": whole},
            {"type": "response.output_item.done", "output_index": 0, "item": done},
            {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "output": [done]}},
        ]
        told = [{**one, "sequence_number": number} for number, one in enumerate(told)]
    return [event(one, one["type"], **how) for one in told]


def run(protocol: str, chunks: list[bytes], **policy: Any) -> tuple[list[bytes], Response]:
    answer = Response(protocol, None, Policy(**policy))
    out = b"".join([piece for chunk in chunks for piece in answer.feed(chunk)] + answer.close())
    assert answer.failure is None
    return sse.split(out), answer


def written(raw: bytes) -> bytes:
    """The event as we write it when it is short."""
    came = sse.read_event(raw)
    data = came.data or ""
    return event(json.loads(data), came.type) if data != "[DONE]" else raw


def deltas(protocol: str, out: list[bytes]) -> list[str]:
    """The arguments that the client is given, one for each delta."""
    found: list[str] = []
    for raw in out:
        data = sse.read_event(raw).data or ""
        said = json.loads(data) if data.startswith("{") else {}
        if protocol == "chat" and said:
            calls = said["choices"][0]["delta"].get("tool_calls", [])
            found += [call["function"]["arguments"] for call in calls]
        elif said.get("type") in ("content_block_delta", "response.function_call_arguments.delta"):
            found.append(said["delta"]["partial_json"] if protocol == "messages" else said["delta"])
    return found


PROTOCOLS = pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])


@PROTOCOLS
@pytest.mark.parametrize("size", [100, 4000, 70_001, 10_000_000])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_a_long_call_is_written_as_a_short_one_however_it_came(protocol: str, size: int, ascii_only: bool) -> None:
    fragments = [ARGUMENTS[at : at + size] for at in range(0, len(ARGUMENTS), size)]
    chunks = upstream(protocol, fragments, ascii_only=ascii_only)
    out, answer = run(protocol, chunks)
    assert deltas(protocol, out) == [ARGUMENTS]
    assert [(outcome.status, outcome.arguments) for outcome in answer.outcomes] == [("valid", ARGUMENTS)]
    assert all(raw in (*chunks, written(raw)) for raw in out)
    body = b"".join(chunks)
    for pieces in ([body], cut(body, 1000), cut(body, 65_536)):
        assert run(protocol, pieces)[0] == out


@PROTOCOLS
def test_half_a_character_at_the_end_of_a_fragment_meets_its_other_half(protocol: str) -> None:
    half, other = "\ud83c", "\udf89"
    head, tail = json.dumps({"a": "x" * 90_000})[:-2] + half, other + '"}'
    out, _ = run(protocol, upstream(protocol, [head[:70_000], head[70_000:], tail], ascii_only=True))
    assert deltas(protocol, out) == [json.dumps({"a": "x" * 90_000 + "🎉"}, ensure_ascii=False)]


@PROTOCOLS
def test_a_long_call_that_was_cut_off_never_passes(protocol: str) -> None:
    chunks = upstream(protocol, [ARGUMENTS[at : at + 4000] for at in range(0, len(ARGUMENTS) - 4000, 4000)])
    out, answer = run(protocol, chunks)
    assert [outcome.status for outcome in answer.outcomes] == ["refused"]
    assert deltas(protocol, out) == ["{}"]
    assert b"file_path" not in b"".join(out)


@PROTOCOLS
def test_a_long_call_that_has_to_be_mended_is_written_as_it_was_mended(protocol: str) -> None:
    broken = ARGUMENTS[:-1] + ",}"
    fragments = [broken[at : at + 4000] for at in range(0, len(broken), 4000)]
    out, answer = run(protocol, upstream(protocol, fragments))
    assert [outcome.status for outcome in answer.outcomes] == ["repaired"]
    [text] = deltas(protocol, out)
    assert json.loads(text) == VALUE


@pytest.mark.parametrize("missing", [{".done"}, {"arguments.done"}, {"item.done"}])
def test_every_event_that_lacks_the_long_arguments_is_given_them(missing: set[str]) -> None:
    fragments = [ARGUMENTS[at : at + 4000] for at in range(0, len(ARGUMENTS), 4000)]
    chunks = [
        chunk
        for chunk in upstream("responses", fragments)
        if not any(f"{end}\ndata".encode() in chunk for end in missing)
    ]
    told = [json.loads(sse.read_event(raw).data or "") for raw in run("responses", chunks)[0]]
    assert [one["type"].removeprefix("response.") for one in told] == [
        "created",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]
    given = [told[2]["delta"], told[3]["arguments"], told[4]["item"]["arguments"]]
    assert given == [ARGUMENTS] * 3
    assert told[5]["response"]["output"] == [told[4]["item"]]


def test_a_response_that_states_other_arguments_than_its_deltas_is_made_to_agree() -> None:
    fragments = [ARGUMENTS[at : at + 4000] for at in range(0, len(ARGUMENTS), 4000)]
    chunks = upstream("responses", fragments)
    chunks[-3] = upstream("responses", ["{}"])[-3].replace(b'"sequence_number":3', b'"sequence_number":9000')
    out, answer = run("responses", chunks)
    assert [outcome.steps for outcome in answer.outcomes] == [("carriers made to agree",)]
    assert b"".join(out).count(in_one_line(json.dumps(ARGUMENTS, ensure_ascii=False)).encode()) == 4
