"""Messages: tool calls written as text become tool_use blocks, on the wire and in whole bodies."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.protocols.messages_wire import (
    ERROR,
    MESSAGE_STOP,
    PING,
    Run,
    begin,
    delta,
    end,
    mended,
    reason,
    say,
    stop,
    text,
    text_start,
    thinking,
    tool,
    tool_start,
)
from tests.protocols.text_protocols import deltas
from tests.splits import mend as mend_all
from tests.validators.messages import Message, read
from toolcalls.engine import Response, mend_whole
from toolcalls.policy import Policy
from toolcalls.request.request import read_request

CALL = '<tool_call>{"name": "Read", "arguments": {"file_path": "/a.py"}}</tool_call>'
OTHER = '<tool_call>{"name": "TaskList", "arguments": {}}</tool_call>'
READ_A = ("Read", {"file_path": "/a.py"})


def client(body: bytes, **policy: Any) -> Message:
    return read(mended(body, **policy)[0])


def kinds(message: Message) -> list[str]:
    return [block["type"] for block in message.content]


def answered(*pieces: str, why: str = "end_turn") -> bytes:
    return begin() + text(0, *pieces) + end(why)


def test_the_text_block_is_closed_then_the_call_comes() -> None:
    message = client(answered(*deltas(f"I look: {CALL}\n", 6)))
    assert kinds(message) == ["text", "tool_use"]
    assert message.content[0]["text"] == "I look: "
    assert message.calls == [READ_A] and message.stop_reason == "tool_use"


def test_a_call_that_text_follows_is_text_and_keeps_its_bytes() -> None:
    for body in (
        answered(*deltas(f"I look: {CALL}\nAnd on it goes.", 1)),
        begin() + text(0, "I look: ", CALL) + text(1, "And on it goes.") + end("end_turn"),
        begin() + text(0, "I look: ", CALL) + thinking(1, "Hm.") + end("end_turn"),
    ):
        assert mended(body)[0] == body


def test_a_structured_call_waits_behind_text_that_may_be_a_call() -> None:
    run = Run()
    run.feed(begin() + text(0, CALL))
    assert run.feed(tool(1, '{"file_path":"/b.py"}')) == b""
    body = begin() + text(0, CALL) + tool(1, '{"file_path":"/b.py"}') + text(2, "Or not.") + end()
    message = client(body)
    assert message.calls == [("Read", {"file_path": "/b.py"})] and message.text == f"{CALL}Or not."
    assert kinds(message) == ["text", "tool_use", "text"]


def test_a_call_comes_out_as_start_one_delta_and_stop() -> None:
    out, outcomes = mended(answered(f"I look: {CALL}"))
    assert out.count(b'"input_json_delta"') == 1
    assert b'"input":{}' in out
    assert [(outcome.name, outcome.steps) for outcome in outcomes] == [("Read", ("written as text",))]


def test_several_calls_and_the_white_space_between_them() -> None:
    message = client(answered(f"{CALL}\n{OTHER}\n"))
    assert kinds(message) == ["text", "tool_use", "tool_use"]
    assert message.calls == [READ_A, ("TaskList", {})]
    assert message.text == ""


def test_text_is_never_late_and_what_was_untouched_keeps_its_bytes() -> None:
    run = Run()
    for said in (begin(), text_start(0), say(0, "Let me look. "), say(0, "a\nb"), PING, say(0, "c\n")):
        assert run.feed(said) == said
    assert run.feed(say(0, "<tool")) == b""
    assert run.answer.holding
    assert run.feed(say(0, "box> it")) == say(0, "<tool") + say(0, "box> it")
    assert run.feed(stop(0) + end("end_turn")) == stop(0) + end("end_turn") and not run.answer.holding


def test_every_character_but_a_possible_opener_is_out_at_once() -> None:
    run, said = Run(), "It is 1 < 2, `<tool_call>` and <b>bold</b>: {}\n"
    run.feed(begin() + text_start(0))
    out = ""
    for at, character in enumerate(said):
        raw = run.feed(say(0, character))
        out += "".join(json.loads(line[6:])["delta"]["text"] for line in raw.decode().splitlines()[1::3])
        held = said[len(out) : at + 1]
        assert not held or "<tool_call>".startswith(held) or held[0] in "<["
    assert out == said


def test_a_structured_call_that_repeats_the_text_wins() -> None:
    body = begin() + text(0, CALL, "\n") + tool(1, '{"file_path":"/a.py"}') + end()
    message = client(body)
    assert message.ids == ["toolu_01"] and message.text == ""
    other = begin() + text(0, f"{CALL} {OTHER}") + tool(1, '{"file_path":"/a.py"}') + end()
    assert client(other).calls == [READ_A, ("TaskList", {})]


def test_a_repeated_call_does_not_run_twice_when_text_stands_between() -> None:
    body = begin() + text(0, f"{CALL}\nSo I read it.") + tool(1, '{"file_path":"/a.py"}') + end()
    message = client(body)
    assert message.calls == [READ_A] and message.text == f"{CALL}\nSo I read it."


def test_a_structured_call_of_its_own_goes_out_too() -> None:
    body = begin() + text(0, CALL) + tool(1, '{"file_path":"/b.py"}') + end()
    assert sorted(call[1]["file_path"] for call in client(body).calls) == ["/a.py", "/b.py"]


def test_thinking_is_never_searched() -> None:
    body = begin() + thinking(0, CALL) + text(1, "Done.") + end("end_turn")
    assert mended(body)[0] == body


def test_without_declared_tools_nothing_is_searched() -> None:
    body = answered(*deltas(CALL, 5))
    assert mended(body, request={"stream": True})[0] == body
    assert mended(body, text_calls="off")[0] == body


def test_a_tool_that_the_user_does_not_want_touched_stays_text() -> None:
    body = answered(*deltas(CALL, 5))
    question = read_request({"tools": [{"name": "Read", "input_schema": {"type": "object"}}]})
    out, _ = mend_all(body, protocol="messages", question=question, policy=Policy(tools=(re.compile("Bash"),)))
    assert out == body


def test_a_text_that_is_cut_in_a_value_stays_text() -> None:
    said = 'I look: <tool_call>{"name": "Read", "arguments": {"file_path": "/etc/pass'
    message = client(answered(*deltas(said, 9), why="max_tokens"))
    assert message.text == said and not message.calls and message.stop_reason == "max_tokens"
    no_stop = begin() + text_start(0) + say(0, said) + reason("max_tokens") + MESSAGE_STOP
    assert client(no_stop).text == said


def test_a_call_before_a_cut_is_text_for_nobody_knows_what_would_have_followed() -> None:
    for said in (CALL, f"{CALL}\nand <tool_call>", f"{CALL}{CALL}"):
        body = answered(*deltas(said, 1), why="max_tokens")
        assert mended(body)[0] == body


def test_an_error_gives_held_text_back_before_it() -> None:
    message = client(begin() + text_start(0) + say(0, "a <tool_ca") + ERROR)
    assert message.text == "a <tool_ca" and message.error


def test_a_call_in_the_text_before_an_error_is_text() -> None:
    message = client(begin() + text_start(0) + say(0, f"a\n{CALL}") + ERROR)
    assert not message.calls and message.text == f"a\n{CALL}" and message.error


def test_a_stream_that_ends_behind_a_call_is_not_complete() -> None:
    message = client(begin() + text_start(0) + say(0, f"a\n{CALL}"))
    assert not message.calls and message.text == f"a\n{CALL}" and message.error


def test_a_stream_that_ends_in_an_open_region_is_not() -> None:
    message = client(begin() + text_start(0) + say(0, 'a <tool_call>{"name": "Re'))
    assert message.text == 'a <tool_call>{"name": "Re' and message.error


def test_a_json_answer_streams_once_it_cannot_be_a_call() -> None:
    run = Run()
    run.feed(begin() + text_start(0))
    assert run.feed(say(0, '{"na')) == b""
    assert b'{\\"na' in run.feed(say(0, 'tion": 1'))
    assert run.feed(say(0, ', "b": 2}')) == say(0, ', "b": 2}')


def test_json_is_a_call_only_where_it_is_the_whole_message() -> None:
    bare = '{"name": "Read", "arguments": {"file_path": "/a.py"}}'
    assert client(answered(bare)).calls == [READ_A]
    body = begin() + text(0, "This is one:") + text(1, bare) + end("end_turn")
    assert mended(body)[0] == body


@pytest.mark.parametrize("aggregate", [True, False])
def test_text_between_events_in_any_order(aggregate: bool) -> None:
    body = (
        begin()
        + text_start(0)
        + say(0, "a <tool_")
        + tool_start(1)
        + say(0, "call> b")
        + delta(1, type="input_json_delta", partial_json='{"file_path":"/c"}')
        + stop(1)
        + stop(0)
        + end()
    )
    message = read(mended(body, aggregate=aggregate)[0], fragments=not aggregate)
    assert message.text == "a <tool_call> b" and message.calls == [("Read", {"file_path": "/c"})]


def test_a_call_that_is_repeated_while_it_flows() -> None:
    body = begin() + text(0, CALL) + tool(1, '{"file_path":"/a.py"}') + end()
    message = read(mended(body, aggregate=False)[0], fragments=True)
    assert message.ids == ["toolu_01"]


def test_a_body_is_split_into_blocks() -> None:
    block = {"type": "text", "text": f"I look: {CALL}\n", "citations": None}
    message = {"id": "m", "type": "message", "role": "assistant", "content": [block], "stop_reason": "end_turn",
               "usage": {"input_tokens": 1, "output_tokens": 2}}  # fmt: skip
    question = read_request({"tools": [{"name": "Read", "input_schema": {"type": "object"}}]})
    out = json.loads(mend_whole(Response("messages", question), json.dumps(message).encode()))
    assert [entry["type"] for entry in out["content"]] == ["text", "tool_use"]
    assert out["content"][0] == {**block, "text": "I look: "}
    assert out["content"][1]["input"] == {"file_path": "/a.py"} and out["stop_reason"] == "tool_use"


def test_in_a_body_a_call_that_something_follows_is_text() -> None:
    question = read_request({"tools": [{"name": "Read", "input_schema": {"type": "object"}}]})
    usage = {"input_tokens": 1, "output_tokens": 2}
    said = {"type": "text", "text": CALL}
    more = {"type": "text", "text": "And on."}
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/b"}}
    for content in ([{"type": "text", "text": f"{CALL} and on."}], [said, more], [said, call, more]):
        message = {
            "type": "message",
            "content": content,
            "stop_reason": "tool_use" if call in content else "end_turn",
        }
        body = json.dumps({**message, "usage": usage}).encode()
        assert mend_whole(Response("messages", question), body) == body


def test_in_a_body_too_a_structured_call_wins() -> None:
    real = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/a.py"}}
    content = [{"type": "text", "text": CALL}, real]
    usage = {"input_tokens": 1, "output_tokens": 2}
    message = {"type": "message", "content": content, "stop_reason": "tool_use", "usage": usage}
    question = read_request({"tools": [{"name": "Read", "input_schema": {"type": "object"}}]})
    out = json.loads(mend_whole(Response("messages", question), json.dumps(message).encode()))
    assert out["content"] == [real]


def test_a_citation_stays_behind_text_that_may_become_a_call() -> None:
    cited = delta(0, type="citations_delta", citation={"type": "char_location", "document_index": 0})
    body = begin() + text_start(0) + say(0, "<tool") + cited + stop(0) + end("end_turn")
    assert mended(body)[0] == body
