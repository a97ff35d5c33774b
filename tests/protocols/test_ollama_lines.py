"""Ollama: a last line with valid calls passes as it came, calls come before the line that ends the answer, and a call
without the arguments that it needs is counted as refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.protocols.test_ollama import question
from tests.protocols.text_protocols import OLLAMA, ollama_line
from tests.splits import mend
from toolcalls.engine import Response, mend_whole

Json = dict[str, Any]
COUNTS = {"total_duration": 12, "eval_count": 7}
READ = {"id": "call_k3j9x0ab", "function": {"index": 0, "name": "Read", "arguments": {"path": "/a"}}}
BASH = {"id": "call_k3j9x0ac", "function": {"index": 1, "name": "Bash", "arguments": {"command": "ls"}}}
BROKEN = {"id": "call_k3j9x0ad", "function": {"index": 2, "name": "bash", "arguments": {"cmd": "ls"}}}
DONE = ollama_line({}, done_reason="stop", **COUNTS)


def sent(*lines: bytes) -> bytes:
    return mend(b"".join(lines), protocol="ollama", question=question())[0]


VALID = [
    [ollama_line({"tool_calls": [READ]}, done_reason="stop", **COUNTS)],
    [ollama_line({"content": "Look:", "tool_calls": [READ]}, done_reason="stop", **COUNTS)],
    [ollama_line({"content": "Look"}), ollama_line({"tool_calls": [READ, BASH]}, done_reason="stop", **COUNTS)],
]


@pytest.mark.parametrize("lines", VALID, ids=range(len(VALID)))
def test_a_last_line_with_valid_calls_passes_as_it_came(lines: list[bytes]) -> None:
    assert sent(*lines) == b"".join(lines)


@pytest.mark.parametrize("ends", [False, True])
def test_beside_a_call_that_is_mended_the_text_comes_first_and_once(ends: bool) -> None:
    end = {"done_reason": "stop", **COUNTS} if ends else {}
    out = sent(
        ollama_line({"content": ""}),
        ollama_line({"content": "Look:", "tool_calls": [READ, BROKEN]}, **end),
        *([] if ends else [DONE]),
    )
    _, first, *_ = out.splitlines()
    assert json.loads(first)["message"] == {"role": "assistant", "content": "Look:"}
    held = OLLAMA.read(out)
    assert held.text == "Look:"
    assert [call["arguments"] for call in held.calls] == [{"path": "/a"}, {"command": "ls"}]


@pytest.mark.parametrize("ends", [False, True])
def test_a_call_that_may_be_cut_is_refused_and_its_text_is_kept(ends: bool) -> None:
    line = ollama_line({"content": "Look:", "tool_calls": [READ]}, **({"done_reason": "length"} if ends else {}))
    held = OLLAMA.read(sent(line, *([] if ends else [ollama_line({}, done_reason="length")])))
    assert held.text == "Look:"
    assert [call["arguments"] for call in held.calls] == [{}]


def test_a_call_that_comes_twice_beside_text_is_sent_once_with_both_texts() -> None:
    held = OLLAMA.read(
        sent(
            ollama_line({"content": "a", "tool_calls": [READ]}),
            ollama_line({"content": "b", "tool_calls": [READ]}),
            DONE,
        )
    )
    assert held.text == "ab"
    assert len(held.calls) == 1


@pytest.mark.parametrize("before", [[], [ollama_line({"content": "Hi"})], [ollama_line({"tool_calls": [BASH]})]])
@pytest.mark.parametrize("call", [READ, {**READ, "function": {**READ["function"], "arguments": '{"path": "/a"}'}}])
def test_a_call_behind_the_last_line_goes_out_before_it(before: list[bytes], call: Json) -> None:
    late = json.loads(ollama_line({"tool_calls": [call]}))
    for line in (late, {**late, "done": True, "done_reason": "stop"}):
        out = sent(*before, DONE, json.dumps(line).encode() + b"\n")
        lines = [json.loads(line) for line in out.splitlines()]
        assert [line["done"] for line in lines[:-1]] == [False] * (len(lines) - 1)
        assert lines[-1]["done"]
        assert OLLAMA.read(out).calls[-1] == {"name": "Read", "arguments": {"path": "/a"}}


@pytest.mark.parametrize("tools", [True, False])
def test_the_last_line_of_an_answer_without_a_call_keeps_its_bytes(tools: bool) -> None:
    asked = question() if tools else question(tools=[])
    for lines in (
        [ollama_line({"content": "Hi"}), DONE],
        [ollama_line({"content": "Hi"}), ollama_line({"content": "!"}, done_reason="stop", **COUNTS)],
        [ollama_line({"content": "Hi"}), ollama_line({"thinking": "Hm"}, done_reason="stop", **COUNTS)],
        [ollama_line({"content": "Hi"}), ollama_line({}, done_reason="length")],
    ):
        body = b"".join(lines)
        assert mend(body, protocol="ollama", question=asked)[0] == body
        answer = Response("ollama", asked)
        if not tools:
            assert [b"".join(answer.feed(line)) for line in lines] == lines


@pytest.mark.parametrize(
    "function", [{"name": "Read"}, {"name": "Read", "arguments": None}, {"name": "Read", "arguments": ""}]
)
def test_a_call_without_the_arguments_that_it_needs_counts_as_refused(function: Json) -> None:
    said = {"tool_calls": [{"function": function}]}
    out, answer = mend(ollama_line(said) + DONE, protocol="ollama", question=question())
    assert OLLAMA.read(out).calls == [{"name": "Read", "arguments": {}}]
    assert [outcome.status for outcome in answer.outcomes] == ["refused"]
    assert answer.outcomes[0].reason == "Invalid arguments: missing required field(s): path"
    whole = Response("ollama", question())
    mend_whole(whole, ollama_line(said, done_reason="stop"))
    assert [outcome.status for outcome in whole.outcomes] == ["refused"]


@pytest.mark.parametrize("function", [{"name": "list_tabs"}, {"name": "list_tabs", "arguments": None}])
def test_a_call_without_arguments_that_needs_none_counts_as_mended(function: Json) -> None:
    out, answer = mend(
        ollama_line({"tool_calls": [{"function": function}]}) + DONE, protocol="ollama", question=question()
    )
    assert OLLAMA.read(out).calls == [{"name": "list_tabs", "arguments": {}}]
    assert [outcome.status for outcome in answer.outcomes] == ["repaired"]
