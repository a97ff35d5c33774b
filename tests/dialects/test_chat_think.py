"""Chat with toolfix_think: reasoning that leaked into the text goes to reasoning_content."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.chat_client import Held, read
from tests.dialects.test_chat import DONE, chunk
from tests.dialects.test_chat_text import ASKED, HERMES, stream
from tests.dialects.text_protocols import MESSAGES, RESPONSES, deltas
from tests.splits import mend
from tests.validators.chat import validate
from toolcalls.engine import Response, mend_whole
from toolcalls.policy import Policy

THINK = Policy(think=True)


def client(body: bytes | str, question: Any = ASKED) -> Held:
    out, _ = mend(body, question=question, policy=THINK)
    validate(out)
    return read(out)


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("question", [ASKED, None], ids=["tools", "no tools"])
def test_a_leading_block_and_a_stray_end_are_moved(size: int, question: Any) -> None:
    held = client(stream("\n<think>Let me see.</think>\n\nThe answer is 1 < 2.", size), question)
    assert (held.reasoning, held.text) == ("Let me see.", "The answer is 1 < 2.")
    held = client(stream("</think>\nThe answer.", size), question)
    assert (held.reasoning, held.text) == ("", "The answer.")


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_call_behind_the_reasoning_is_found_and_one_inside_is_not(size: int) -> None:
    held = client(stream(f"<think>I could {HERMES}\n</think>\n{HERMES}", size))
    assert held.call_list() == [("Bash", '{"command": "ls"}')]
    assert HERMES in held.reasoning and not held.text.strip()


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_other_text_comes_out_as_it_came(size: int) -> None:
    for text in ("Plain text about <think> tags.</think>", "<thinking>", "  <thi", "x"):
        held = client(stream(text, size))
        assert (held.text, held.reasoning) == (text, "")


def test_a_block_that_never_ends_is_reasoning() -> None:
    held = client(stream("<think>Let me see", 4, "length"))
    assert (held.reasoning, held.text, held.finishes) == ("Let me see", "", ["length"])


def test_what_is_held_comes_out_without_a_finish() -> None:
    out, _ = mend(chunk({"content": "<thi"}) + DONE, question=ASKED, policy=THINK)
    assert read(out).text == "<thi"
    out, _ = mend(chunk({"content": "<thi"}) + 'data: {"error": {"message": "x"}}\n\n', question=ASKED, policy=THINK)
    assert read(out).text == "<thi" and read(out).errors


def test_in_a_body() -> None:
    message = {"role": "assistant", "content": f"<think>Hm.</think>\nDone.\n{HERMES}"}
    body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
    told = json.loads(mend_whole(Response("chat", ASKED, THINK), body))["choices"][0]
    assert told["message"]["reasoning_content"] == "Hm." and told["message"]["content"] == "Done.\n"
    assert told["finish_reason"] == "tool_calls"
    plain = json.dumps({"choices": [{"index": 0, "message": {"content": "Hi."}, "finish_reason": "stop"}]}).encode()
    assert mend_whole(Response("chat", ASKED, THINK), plain) == plain


def test_off_by_default_and_left_alone_where_reasoning_is_signed() -> None:
    body = stream("<think>Hm.</think>Done.", 1)
    assert mend(body, question=ASKED)[0] == body
    for protocol in (MESSAGES, RESPONSES):
        body = protocol.stream(deltas("<think>Hm.</think>Done.", 1), False)
        assert mend(body, protocol=protocol.name, question=ASKED, policy=THINK)[0] == body
