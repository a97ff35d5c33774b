"""Loops: the third same result of the same call in a row says so, once and in the same place ever after."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcalls.policy import BadOption, Policy, make_policy, read_options
from toolcalls.request.guidance import looped as sentence
from toolcalls.request.mend import mend_request
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode

Json = dict[str, Any]
USER = {"role": "user", "content": "Go."}


def turn(protocol: str, number: int, given: Json, said: Any) -> list[Json]:
    identity = f"call_{number}"
    if protocol == "chat":
        call = {"id": identity, "type": "function", "function": {"name": "read", "arguments": json.dumps(given)}}
        return [
            {"role": "assistant", "content": f"Look {number}.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": identity, "content": said},
        ]
    if protocol == "messages":
        use = {"type": "tool_use", "id": identity, "name": "read", "input": given}
        result = {"type": "tool_result", "tool_use_id": identity, "content": said}
        return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return [
        {"type": "reasoning", "id": f"rs_{number}", "summary": []},
        {"type": "function_call", "call_id": identity, "name": "read", "arguments": json.dumps(given)},
        {"type": "function_call_output", "call_id": identity, "output": said},
    ]


def up(protocol: str, entries: list[Json], **options: Any) -> list[Json]:
    key = "input" if protocol == "responses" else "messages"
    body = json.dumps({key: entries}).encode()
    changed = mend_request(protocol, body, decode(body), Policy(**options), Refusals())
    if changed is None:
        return entries
    assert set(changed.steps) == {"loop"}
    assert mend_request(protocol, changed.body, decode(changed.body), Policy(**options), Refusals()) is None
    after: list[Json] = json.loads(changed.body)[key]
    return after


def said_in(protocol: str, entry: Json) -> Any:
    if protocol == "responses":
        return entry["output"]
    return entry["content"] if protocol == "chat" else entry["content"][0]["content"]


@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
def test_the_third_result_says_so_and_in_the_same_place_ever_after(protocol: str) -> None:
    history = [USER, *(entry for number in range(2) for entry in turn(protocol, number, {"a": 1}, "no"))]
    assert up(protocol, history) == history
    history += turn(protocol, 2, {"a": 1}, "no")
    first = up(protocol, history)
    assert said_in(protocol, first[-1]) == f"no\n\n{sentence(3)}"
    assert first[:-1] == history[:-1]
    for number, given in enumerate([{"a": 1}, {"a": 1}, {"a": 1}, {"a": 2}, {"a": 1}], start=3):
        history += turn(protocol, number, given, "no")
        assert up(protocol, history) == first + history[len(first) :]


@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
def test_what_is_no_loop_stays(protocol: str) -> None:
    polling = [entry for number in range(5) for entry in turn(protocol, number, {"a": 1}, f"{number} %")]
    others = [entry for number in range(5) for entry in turn(protocol, number, {"a": number}, "no")]
    asked = [entry for number in range(5) for entry in (*turn(protocol, number, {"a": 1}, "no"), USER)]
    warned = [
        *turn(protocol, 0, {}, "no"),
        *turn(protocol, 1, {}, "no"),
        *turn(protocol, 2, {}, "no\nYou repeat it."),
    ]
    notice = "[Old tool result content cleared]"
    cleared = [entry for number in range(4) for entry in turn(protocol, number, {}, notice)]
    for history in (polling, others, asked, warned, cleared):
        assert up(protocol, [USER, *history]) == [USER, *history]
    looping = [USER, *(entry for number in range(3) for entry in turn(protocol, number, {}, "no"))]
    assert up(protocol, looping, loops=0) == looping
    assert up(protocol, looping, loops=4) == looping
    assert up(protocol, looping, request=False) == looping
    assert up(protocol, looping, loops=2) != looping


def test_what_a_user_says_beside_a_result_and_a_result_that_fails_end_the_row() -> None:
    said = [turn("messages", number, {}, "no") for number in range(3)]
    for _, answer in said:
        answer["content"].append({"type": "text", "text": "I mended it, try again."})
    failed = [turn("messages", number, {}, "no") for number in range(3)]
    failed[1][1]["content"][0]["is_error"] = True
    for turns in (said, failed):
        history = [USER, *(entry for pair in turns for entry in pair)]
        assert up("messages", history) == history


def test_parts_get_a_part_and_parallel_calls_are_no_row() -> None:
    part = [{"type": "text", "text": "no"}]
    history = [USER, *(entry for number in range(3) for entry in turn("chat", number, {}, part))]
    assert up("chat", history)[-1]["content"] == [*part, {"type": "text", "text": sentence(3)}]
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "read", "arguments": "{}"}} for n in range(3)]
    results = [{"role": "tool", "tool_call_id": f"c{n}", "content": "no"} for n in range(3)]
    parallel = [USER, {"role": "assistant", "content": None, "tool_calls": calls}, *results]
    assert up("chat", parallel) == parallel


@pytest.mark.parametrize(("text", "times"), [("0", 0), ("3", 3), (" 12 ", 12)])
def test_the_option(text: str, times: int) -> None:
    assert make_policy(read_options({"toolfix_loops": text})).loops == times


@pytest.mark.parametrize("text", ["1", "-1", "x", ""])
def test_what_the_option_does_not_take(text: str) -> None:
    with pytest.raises(BadOption, match="use 0 for off"):
        read_options({"toolfix_loops": text})
