"""chat.z.ai: calls that are written as text or left in the reasoning, while the document they stand in changes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.protocols.zai_streams import CLOSED, WRAPPER, Backend, block, convert, question, received
from toolcalls.engine import Response

LS = '{"command":"ls"}'
CALL = f'<tool_call>\n{{"name": "Bash", "arguments": {LS}}}\n</tool_call>'
BASH = ("Bash", {"command": "ls"})
THOUGHT = "The user wants to see it. I run the command now.\n\n"


def got(backend: Backend, **policy: Any) -> dict[str, Any]:
    """What the client ends with, the same for every split."""
    stream = backend.stream
    whole = convert(stream, **policy)
    for size in (1, 7, 64, 1000):
        assert convert(stream, size, **policy) == whole
    return received(whole)


def calls(answer: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(call["name"], call["arguments"]) for call in answer["tool_calls"]]


def wrapped(text: str) -> str:
    return "".join(f"> {line}\n" for line in text.split("\n"))


# In the text


@pytest.mark.parametrize("size", [1, 9, 1000])
def test_a_call_that_the_answer_ends_with_is_one(size: int) -> None:
    backend = Backend()
    for at in range(0, len(THOUGHT + CALL), size):
        backend.delta((THOUGHT + CALL)[at : at + size])
    answer = got(backend.usage().done())
    assert (calls(answer), answer["finish_reason"]) == ([BASH], "tool_calls")
    assert answer["content"].strip() == THOUGHT.strip()
    assert answer["usage"]["total_tokens"] == 7


def test_a_call_that_text_follows_is_text_and_so_is_one_in_an_answer_that_breaks_off() -> None:
    for backend in (
        Backend().delta(THOUGHT + CALL).delta("\nThat is how one would do it.").done(),
        Backend().delta(THOUGHT + CALL[:-30]),
        Backend().delta(THOUGHT + CALL[:-30]).say(error={"code": 1, "detail": "x"}),
    ):
        answer = got(backend)
        assert calls(answer) == []
        assert CALL[:-30] in answer["content"]


@pytest.mark.parametrize("after", ["", "Never mind.", "x" * 200])
def test_a_call_that_the_backend_takes_back_is_none(after: str) -> None:
    backend = Backend().delta(THOUGHT).delta(CALL)
    assert calls(got(Backend().delta(THOUGHT).delta(CALL).done())) == [BASH]
    assert calls(got(backend.become(THOUGHT + "So" + after, "answer").done())) == []
    backend = Backend().delta(THOUGHT).delta(CALL).become(THOUGHT[:-4] + after + ".", "other").usage()
    assert calls(got(backend.done())) == []


def test_a_call_that_the_backend_turns_into_a_block_is_one_call() -> None:
    backend = Backend().delta(THOUGHT).delta(CALL)
    backend.become(THOUGHT + "\n\n" + block("Bash", LS)).usage()
    assert calls(got(backend.done())) == [BASH]
    backend = Backend().delta(THOUGHT).delta(CALL).become(THOUGHT + CALL + "\n\n" + block("Bash", LS)).usage()
    assert calls(got(backend.done())) == [BASH]


def server_block(backend: Backend) -> Backend:
    before = backend.document + "\n\n"
    backend.become(before + block("search", "{}", "s1")).usage()
    return backend.become(before + block("search", "{}", "s1", "rows"), "other")


def declared_block_that_the_backend_ran(backend: Backend) -> Backend:
    before = backend.document + "\n\n"
    backend.become(before + block("Read", "{}", "s1")).usage()
    return backend.become(before + block("Read", "{}", "s1", "rows"), "other")


def server_deltas(backend: Backend) -> Backend:
    metadata = {"tool_call_id": "s1"}
    backend.say(phase="tool_call", delta_name="search", delta_arguments="{}", metadata=metadata)
    return backend.say(phase="tool_response", tool_name="search", delta_content="rows", metadata=metadata)


UPSTREAM = (server_block, declared_block_that_the_backend_ran, server_deltas)


@pytest.mark.parametrize("ran", UPSTREAM)
def test_a_call_behind_which_the_backend_ran_a_tool_of_its_own_is_text(ran: Any) -> None:
    answer = got(ran(Backend().delta(THOUGHT + CALL)).done())
    assert (calls(answer), answer["finish_reason"]) == ([], "stop")
    assert CALL in answer["content"]
    assert calls(got(ran(Backend().delta("I look.")).delta("\n\n" + CALL).done())) == [BASH]


# In the reasoning


def in_a_wrapper(thought: str) -> Backend:
    """As GLM-4.6 thinks: in the document, and an edit closes the wrapper."""
    backend = Backend().delta(WRAPPER, "thinking").delta(wrapped(thought), "thinking")
    return backend.become(CLOSED + wrapped(thought) + "</details>\n", "answer")


def test_a_call_at_the_end_of_a_reasoning_wrapper_is_one_where_nothing_else_is_said() -> None:
    answer = got(in_a_wrapper(THOUGHT + CALL).usage().done())
    assert (calls(answer), answer["content"], answer["finish_reason"]) == ([BASH], "", "tool_calls")
    assert answer["reasoning"].endswith("</tool_call>")


def test_a_rehearsal_stays_a_thought() -> None:
    for backend in (
        in_a_wrapper(THOUGHT + CALL).delta("Shall I?"),
        in_a_wrapper(THOUGHT + CALL + "\nNo, I had better ask."),
        in_a_wrapper(THOUGHT + CALL).delta("\n\n" + block("Bash", '{"command":"pwd"}'), "tool_call"),
        *(ran(in_a_wrapper(THOUGHT + CALL)) for ran in UPSTREAM),
        *(ran(Backend().think(THOUGHT + CALL)) for ran in UPSTREAM),
        *(ran(Backend().think("Hm.")).think(THOUGHT + CALL) for ran in UPSTREAM),
        in_a_wrapper(THOUGHT + CALL).say(choices=[{"index": 0, "delta": {}, "finish_reason": "length"}]),
    ):
        assert BASH not in calls(got(backend.usage().done()))
    assert BASH not in calls(got(in_a_wrapper(THOUGHT + CALL)))
    assert BASH not in calls(received(convert(in_a_wrapper(THOUGHT + CALL).stream + b"data: [DONE]\n\n")))


def test_a_thought_that_the_backend_takes_back_is_none() -> None:
    backend = Backend().delta(WRAPPER, "thinking").delta(wrapped(THOUGHT + CALL), "thinking")
    backend.become(CLOSED + wrapped(THOUGHT) + "</details>\n", "answer")
    assert calls(got(backend.usage().done())) == []


def test_the_reasoning_goes_out_in_the_callback_in_which_it_came() -> None:
    answer = Response("zai", question())
    text = THOUGHT + CALL
    backend = Backend()
    for at in range(0, len(text), 5):
        backend.think(text[at : at + 5])
    out = [b"".join(answer.feed(event)) for event in backend.events]
    for number, sent in enumerate(out):
        assert f'"reasoning_content":{json.dumps(text[5 * number : 5 * number + 5])}'.encode() in sent


# What is held


def test_text_that_may_be_a_call_is_held_and_goes_out_before_an_error() -> None:
    answer = Response("zai", question())
    answer.feed(Backend().delta(THOUGHT).stream)
    assert not answer.holding
    assert b"<tool" not in b"".join(answer.feed(Backend().delta(CALL[:20]).stream))
    assert answer.holding
    out = answer.feed(Backend().say(error={"code": 1, "detail": "x"}).stream)
    client = received(b"".join(out))
    assert (client["content"], client["error"]["message"], client["done"]) == (CALL[:20], "x", True)


def test_chunks_have_one_id_although_the_upstream_names_it_while_text_is_held() -> None:
    backend = Backend().delta("<tool_call").say(id="other", model="m", phase="other").delta("s are nice.").done()
    answer = got(backend)
    assert (answer["content"], len(answer["ids"]), answer["roles"]) == ("<tool_calls are nice.", 1, 1)
