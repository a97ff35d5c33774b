"""Chat: tool calls written as text become real ones, on the wire and in whole bodies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.chat_client import read
from tests.protocols.test_chat import DONE, chunk, piece
from tests.splits import feed, mend
from toolcalls.engine import Response, mend_whole
from toolcalls.policy import Policy
from toolcalls.request.request import read_request

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "textcalls" / "corpus" / "text-calls.jsonl")
    .read_text("utf-8")
    .splitlines()
]
NEGATIVE = [case for case in CASES if case["kind"] == "negative"]
OTHERS = [case for case in CASES if case["kind"] != "negative"]


def stream(text: str, size: int, finish: str = "stop") -> bytes:
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    return ("".join(chunk({"content": part}) for part in parts) + chunk({}, finish) + DONE).encode()


def question(case: dict[str, Any]) -> Any:
    return read_request({"tools": case["tools"], "stream": True})


def values(calls: list[tuple[str, str]]) -> list[dict[str, Any]]:
    return [{"name": name, "arguments": json.loads(arguments)} for name, arguments in calls]


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("case", NEGATIVE, ids=lambda case: case["name"])
def test_text_that_is_no_call_comes_out_byte_for_byte(case: dict[str, Any], size: int) -> None:
    body = stream(case["text"], size)
    answer = Response("chat", question(case))
    out = feed(answer, [body])
    assert read(out).text == case["text"]
    assert not read(out).calls and read(out).finishes == ["stop"]
    whole = json.dumps(
        {"choices": [{"index": 0, "message": {"content": case["text"]}, "finish_reason": "stop"}]}
    ).encode()
    assert mend_whole(Response("chat", question(case)), whole) == whole


def test_every_call_of_the_corpus_reaches_the_client_streamed_and_not() -> None:
    wrong = []
    for case in OTHERS:
        texts = [text.split() for text in (case["content"], *case.get("content_alt", ()))]
        for size in (1, 5, 1000):
            held = read(feed(Response("chat", question(case)), [stream(case["text"], size)]))
            if values(held.call_list()) != case["expected"] or held.text.split() not in texts:
                wrong.append((case["name"], size))
            elif case["expected"]:
                assert held.finishes == ["tool_calls"]
        choice = {"index": 0, "message": {"role": "assistant", "content": case["text"]}, "finish_reason": "stop"}
        body = mend_whole(Response("chat", question(case)), json.dumps({"choices": [choice]}).encode())
        message = json.loads(body)["choices"][0]["message"]
        calls = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", [])]
        if values(calls) != case["expected"] or (message["content"] or "").split() not in texts:
            wrong.append((case["name"], 0))
    assert not wrong


HERMES = '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}}</tool_call>'
ASKED = read_request(
    {
        "tools": [
            {
                "type": "function",
                "function": {"name": "Bash", "parameters": {"type": "object", "required": ["command"]}},
            }
        ]
    }
)


def test_the_text_before_stays_text_and_is_not_late() -> None:
    answer = Response("chat", ASKED)
    event = chunk({"content": "Let me look. "}).encode()
    assert answer.feed(event) == [event]
    assert answer.feed(chunk({"content": "<tool"}).encode()) == []
    assert read(b"".join(answer.feed(chunk({"content": "box>"}).encode()))).text == "<toolbox>"


def test_the_same_for_every_split() -> None:
    body = stream(f"I look: {HERMES}\n", 6)
    held = read(mend(body, question=ASKED)[0])
    assert values(held.call_list()) == [{"name": "Bash", "arguments": {"command": "ls"}}]
    assert held.text.split() == ["I", "look:"]


def test_a_call_that_text_follows_is_text_and_keeps_its_bytes() -> None:
    body = stream(f"I look: {HERMES}\nAnd on.", 1)
    assert mend(body, question=ASKED)[0] == body


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_a_call_that_reasoning_follows_is_text(key: str) -> None:
    body = chunk({"content": HERMES}) + chunk({key: "But no."}) + chunk({}, "stop") + DONE
    out = read(mend(body, question=ASKED)[0])
    assert out.text == HERMES and not out.calls


def test_held_text_goes_out_before_the_reasoning_that_follows_it_and_both_keep_their_bytes() -> None:
    body = chunk({"content": HERMES}) + chunk({"reasoning_content": "But no."}) + chunk({}, "stop") + DONE
    assert mend(body, question=ASKED)[0] == body.encode()


def test_null_content_drops_no_text_that_only_looked_like_a_call() -> None:
    body = chunk({"content": f"I look:\n{HERMES}"}) + chunk({"content": " is what I would send."}, "stop") + DONE
    out = read(mend(body, question=ASKED, policy=Policy(null_content=True))[0])
    assert (out.text, out.calls) == (f"I look:\n{HERMES} is what I would send.", {})


def test_with_tool_choice_none_nothing_is_made_a_call() -> None:
    tools = [{"type": "function", "function": {"name": "Bash"}}]
    for choice in ({"tool_choice": "none"}, {"tool_choice": {"type": "none"}}, {"function_call": "none"}):
        body = stream(HERMES, 5)
        assert mend(body, question=read_request({"tools": tools, **choice}))[0] == body


def test_a_structured_call_that_repeats_the_text_wins() -> None:
    body = chunk({"content": HERMES}) + chunk(piece(0, "real", "Bash", '{"command":"ls"}')) + chunk({}, "stop") + DONE
    held = read(mend(body, question=ASKED)[0])
    assert [call["id"] for call in held.calls.values()] == ["real"]
    assert held.text == ""


def test_reasoning_is_never_searched() -> None:
    body = chunk({"reasoning_content": HERMES}) + chunk({"content": "Done."}, "stop") + DONE
    assert mend(body, question=ASKED)[0] == body.encode()


def test_without_declared_tools_nothing_is_searched() -> None:
    body = stream(HERMES, 5)
    assert mend(body)[0] == body
    assert mend(body, question=ASKED, policy=Policy(text_calls="off"))[0] == body


def test_text_that_is_cut_in_a_value_stays_text() -> None:
    text = 'I look: <tool_call>{"name": "Bash", "arguments": {"command": "rm -rf /tm'
    out, answer = mend(stream(text, 9, "length"), question=ASKED)
    assert read(out).text == text and not read(out).calls
    assert read(out).finishes == ["length"] and not answer.outcomes


def test_an_error_gives_held_text_back_before_it() -> None:
    error = 'data: {"error": {"message": "x"}}\n\n'
    body = chunk({"content": "a <tool_ca"}) + error
    out, _ = mend(body, question=ASKED)
    assert read(out).text == "a <tool_ca" and out.endswith(error.encode())
