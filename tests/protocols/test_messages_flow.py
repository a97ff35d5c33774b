"""Messages with `toolfix_aggregate=false`: fragments flow while they are a strict prefix of an object."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.protocols.messages_wire import (
    ERROR,
    Run,
    begin,
    end,
    fragment,
    mended,
    reason,
    say,
    stop,
    text,
    text_start,
    tool,
    tool_start,
)
from tests.validators import messages as strict
from toolcalls.ids import restore
from toolcalls.mend import mender
from toolcalls.mend.arguments import Mended
from toolcalls.mend.mender import Mender
from toolcalls.outcome import Outcome

A = '{"file_path": "/src/a.py"}'
B = '{"file_path": "/src/b.py"}'


def client(body: bytes, **policy: Any) -> tuple[strict.Message, list[Outcome]]:
    out, outcomes = mended(body, aggregate=False, **policy)
    return strict.read(out, fragments=True, unfinished_calls=True), outcomes


def test_a_healthy_answer_with_calls_passes_as_the_same_bytes_at_the_same_time():
    pieces = [
        begin(),
        text(0, "I read."),
        tool_start(1),
        *(fragment(1, A[at : at + 5]) for at in range(0, len(A), 5)),
    ]
    pieces += [stop(1), tool(2, B, identity="t2"), end()]
    run = Run(aggregate=False)
    for piece in pieces:
        assert run.feed(piece) == piece
    assert [outcome.status for outcome in run.outcomes] == ["valid", "valid"]


def test_from_the_first_odd_character_on_the_rest_is_held_and_mended():
    run = Run(aggregate=False)
    run.feed(begin() + tool_start(0))
    assert b'{\\"a\\": ' in run.feed(fragment(0, '{"a": '))
    assert run.feed(fragment(0, "'b', ")) == b""
    assert run.feed(fragment(0, "'c': True}")) == b""
    assert run.feed(stop(0)) == b""
    out = run.feed(end())
    assert b'\\"b\\",\\"c\\":true}' in out


@pytest.mark.parametrize(
    "text_of_call",
    [
        "{'a': 'é', \"b\": [1, 2]}",
        '{"a": "\\u00e9", \'b\': [1, 2]}',
        '{ "a" : "é" ,\n "b": [1, 2], }',
        '{"a": "é", "b": [1, 2]',
    ],
)
def test_what_was_sent_stays_a_prefix_of_what_the_client_holds(text_of_call, monkeypatch):
    def mend(arguments, *_, **__):
        value = {"a": "é", "b": [1, 2]}
        return Mended("repaired", json.dumps(value, ensure_ascii=False), value, ("mended",))

    monkeypatch.setattr(mender, "mend_arguments", mend)
    message, outcomes = client(begin() + tool(0, *text_of_call) + end())
    if text_of_call.endswith(", }"):
        assert outcomes[0].status == "refused"
        assert message.calls == [("Read", None)]
    else:
        assert message.calls == [("Read", {"a": "é", "b": [1, 2]})]


@pytest.mark.parametrize("arguments", ['{"a": "half', '{"a": 1}{"b": 2}', "nonsense", '{"a": nonsense}', "]"])
@pytest.mark.parametrize("why", ["tool_use", "max_tokens"])
def test_a_call_that_has_no_reading_is_never_valid_json_at_the_client(arguments, why):
    message, outcomes = client(begin() + tool(0, *arguments) + end(why))
    assert message.calls == [("Read", None)]
    assert message.stop_reason == why
    assert outcomes[0].status == "refused"


def test_a_refused_call_that_the_client_holds_makes_end_turn_untrue():
    message, _ = client(begin() + tool_start(0) + fragment(0, '"/a"}') + end("end_turn"))
    assert message.calls == [("Read", None)]
    assert message.stop_reason == "tool_use"


def test_a_second_end_of_a_call_that_waits_does_not_close_its_block():
    message, _ = client(begin() + tool_start(0) + stop(None) + stop(0) + end())
    assert [name for name, _ in message.calls] == ["Read"]


def test_a_call_that_began_to_flow_ends_before_those_behind_it_begin():
    again = tool_start(0) + tool_start(1, "t2") + tool_start(0) + fragment(1, A)
    message, outcomes = client(begin() + again + end())
    assert message.calls[0] == ("Read", None)
    assert {outcome.status for outcome in outcomes} == {"refused"}


def test_the_prefix_of_a_refused_call_is_spoilt_for_readers_of_prefixes():
    out, outcomes = mended(begin() + tool(0, '{"file_path": "/a", ', "nonsense") + end(), aggregate=False)
    assert outcomes[0].arguments == '{"file_path": "/a", ,\x1a'
    assert b'"partial_json":",\\u001a"' in out


@pytest.mark.parametrize(
    ("arguments", "closed"),
    [
        ('{"command": "rm -rf build", "cwd": "/tmp/sandb', '"'),
        ('{"command": "rm -rf build", "cw', '"'),
        ('{"command": "rm -rf build", "cwd": "C:\\', '""'),
        ('{"command": "rm -rf build", "cwd": "C:\\\\', '"'),
        ('{"command": "rm -rf build", "cwd": "C:\\u', '0000"'),
        ('{"command": "rm -rf build", "cwd": "C:\\u00e', '0"'),
        ('{"command": "rm -rf build", "cwd": "C:\\\\u00e', '"'),
        ('{"command": "rm -rf build"', ""),
    ],
)
@pytest.mark.parametrize("why", ["end_turn", "max_tokens"])
def test_a_string_that_is_open_where_a_refused_call_ends_is_closed_and_then_spoilt(arguments, closed, why):
    """Anthropic's SDK for JavaScript leaves out a string that is open at the end, and runs `rm -rf build`."""
    _, (outcome,) = mended(begin() + tool(0, arguments) + end(why), aggregate=False)
    assert outcome.arguments == f"{arguments}{closed},\x1a"


def test_a_call_cut_off_before_its_input_is_not_a_call_without_arguments():
    message, _ = client(begin() + tool(0, name="TaskList") + end("max_tokens"))
    assert message.calls == [("TaskList", None)]
    message, _ = client(begin() + tool(0, name="TaskList") + end())
    assert message.calls == [("TaskList", {})]


def test_interleaved_calls_come_out_one_after_the_other():
    body = (
        begin() + tool_start(0) + tool_start(1, "t2") + fragment(1, B[:5]) + fragment(0, A[:5]) + fragment(1, B[5:])
    )
    message, _ = client(body + stop(1) + fragment(0, A[5:]) + stop(0) + end())
    assert message.calls == [("Read", json.loads(A)), ("Read", json.loads(B))]


@pytest.mark.parametrize("block", [1, 0])
def test_a_flowing_call_inside_which_another_block_begins_is_refused(block: int):
    """The client has only one block open at a time. The text arrives, and of the call only what cannot run."""
    body = begin() + tool_start(0) + fragment(0, A[:5]) + text_start(block) + say(block, "So") + fragment(0, A[5:])
    message, outcomes = client(body + stop(0) + say(block, " it is") + end())
    assert message.text == "So it is"
    assert not [given for _, given in message.calls if given]
    assert {outcome.status for outcome in outcomes} == {"refused"}


def test_a_flowing_call_that_has_all_of_its_object_is_complete_where_another_block_begins():
    message, outcomes = client(begin() + tool_start(0) + fragment(0, A) + text(1, "So") + stop(0) + end())
    assert message.text == "So"
    assert [given for _, given in message.calls] == [json.loads(A)]
    assert [outcome.status for outcome in outcomes] == ["valid"]


def test_text_that_waited_does_not_let_later_text_pass_under_an_old_index():
    body = begin() + say(0, "a") + tool_start(1) + say(2, "b") + say(2, "c") + fragment(1, "{}") + say(0, "d")
    message, _ = client(body + say(2, "e") + end("max_tokens"))
    assert message.text == "abcde"


def test_a_second_call_at_the_index_of_the_flowing_one_is_another_call():
    body = begin() + tool_start(0) + fragment(0, A) + tool_start(0, "t2") + fragment(0, B[:5]) + tool_start(0, "t3")
    message, outcomes = client(body + fragment(0, A) + stop(0) + text(1, "So") + end())
    # The second one is broken, and nobody knows whether its end is in the third: neither goes out early, or runs.
    assert [name and given for name, given in message.calls] == [json.loads(A), {}, {}]
    assert [outcome.status for outcome in outcomes] == ["valid", "refused", "refused"]
    assert message.text == "So"


def test_a_cut_call_is_closed_where_text_that_waited_follows_it():
    body = begin() + tool_start(0) + fragment(0, A[:5]) + text_start(1) + say(1, "So") + ERROR
    message, _ = client(body)
    assert message.text == "So"
    assert message.error


def test_text_behind_a_broken_call_does_not_wait():
    run = Run(aggregate=False)
    run.feed(begin() + tool(0, '{"a": nonsense'))
    assert b'"So"' in run.feed(text_start(1) + say(1, "So"))


def test_a_stop_that_is_missing_ends_no_later_than_the_next_block():
    body = (
        begin()
        + text_start(0)
        + say(0, "One")
        + tool_start(1)
        + fragment(1, A)
        + tool_start(2, "t2")
        + fragment(2, B)
    )
    message, _ = client(body + text_start(3) + say(3, "b") + reason("tool_use"))
    assert [block["type"] for block in message.content] == ["text", "tool_use", "tool_use", "text"]


def test_an_error_leaves_the_unfinished_call_open():
    out, outcomes = mended(begin() + tool_start(0) + fragment(0, A[:9]) + ERROR, aggregate=False)
    assert out.endswith(fragment(0, A[:9]) + ERROR)
    assert outcomes[0].dropped


CUT = '{"file_path": "/a", "x": tru'
NOW = {"identity": "t2", "name": "TaskList"}


@pytest.mark.parametrize("behind", [b"", ERROR], ids=["the end of the stream", "an error"])
@pytest.mark.parametrize(
    "body",
    [
        tool(0, CUT) + tool(1, "{}", **NOW),
        tool_start(0) + fragment(0, CUT) + tool(1, "{}", **NOW) + stop(0),
        tool_start(0) + fragment(0, CUT) + tool(1, "{}", **NOW),
        tool_start(0) + tool_start(1, **NOW) + fragment(1, "{}") + fragment(0, CUT) + stop(1) + stop(0),
        tool_start(0) + fragment(0, CUT) + reason("max_tokens") + fragment(0, "x"),
    ],
    ids=["one after the other", "around", "not ended", "at once", "a reason"],
)
def test_a_cut_call_that_something_follows_is_spoilt_before_its_block_is_closed(body, behind):
    """Anthropic's SDK reads half an object as if it were complete, once its block has an end."""
    out, outcomes = mended(begin() + body + behind, aggregate=False)
    held = [json.loads(line[6:]) for line in out.decode().splitlines() if line.startswith("data: ")]
    of_first = [one for one in held if one.get("index") == 0]
    pieces = [one["delta"]["partial_json"] for one in of_first if one["type"] == "content_block_delta"]
    ended = [one["type"] for one in of_first][-1] == "content_block_stop"
    assert "".join(pieces).endswith(",\x1a") if pieces else not ended
    assert outcomes[0].status == "refused"


@pytest.mark.parametrize("given", [None, "", '{"file_path": "/a",}', "{'file_path': '/a'}", '{"file_path": "/a"'])
def test_a_block_that_has_ended_is_decided_where_the_next_call_begins(given):
    first = {} if given else {"name": "TaskList"}
    run = Run(aggregate=False)
    run.feed(begin() + tool(0, *([] if given is None else [given]), **first))
    pieces = [tool_start(1, "t2"), *(fragment(1, B[at : at + 10]) for at in range(0, len(B), 10)), stop(1), end()]
    out = run.feed(pieces[0])
    assert b"content_block_stop" in out
    assert out.endswith(pieces[0])
    for piece in pieces[1:]:
        assert run.feed(piece) == piece


def test_a_stream_that_just_ends_inside_a_call_ends_with_an_error():
    message, outcomes = client(begin() + tool_start(0) + fragment(0, A[:9]))
    assert message.error
    assert outcomes[0].dropped


def test_whole_input_in_the_start_is_sent_at_the_end():
    message, _ = client(begin() + tool_start(0, input=json.loads(A)) + stop(0) + end("end_turn"))
    assert message.calls == [("Read", json.loads(A))]
    assert message.stop_reason == "tool_use"


def test_an_illegal_id_is_replaced_at_once():
    message, outcomes = client(begin() + tool(0, A, identity="read:0") + end())
    assert restore(message.ids[0]) == "read:0"
    assert outcomes[0].steps == ("new id",)


def test_with_arguments_off_everything_passes_as_it_came():
    message, _ = client(begin() + tool(0, "{'a': ", "1}") + end(), arguments=False)
    assert message.calls == [("Read", None)]


def test_a_failure_after_the_waiting_text_went_out_sends_nothing_twice(monkeypatch):
    def fail(*_, **__):
        raise RuntimeError

    body = begin() + tool_start(0) + text_start(1) + say(1, "So") + fragment(0, A) + stop(0) + stop(1)
    run = Run(aggregate=False)
    out = run.feed(body)
    monkeypatch.setattr(Mender, "decide", fail)
    out += run.feed(tool_start(2, "t2") + fragment(2, "{'x'") + fragment(2, ": 1}") + stop(2) + end())
    assert isinstance(run.answer.failure, RuntimeError)
    assert out.count(b'"So"') == 1
    assert out.count(b"src/a.py") == 1
    assert out.endswith(fragment(2, ": 1}") + stop(2) + end())
    assert out.count(b"'x'") == 1
