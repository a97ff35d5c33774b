"""Messages streams: what arrives broken goes out as a legal sequence, what is healthy as it came."""

from __future__ import annotations

import json
import re

import pytest

from tests.protocols.messages_wire import (
    CALL_A,
    CALL_B,
    ERROR,
    MESSAGE_STOP,
    PING,
    REQUEST,
    SERVER_TOOL,
    A,
    B,
    Run,
    begin,
    client,
    delta,
    end,
    fragment,
    mended,
    reason,
    say,
    start,
    stop,
    text,
    text_start,
    thinking,
    tool,
    tool_start,
)
from tests.validators import messages as strict

# Healthy answers


HEALTHY_TEXT = {
    "text": begin() + PING + text(0, "The parser", " reads", " \\u003cdiv\\u003e.") + end("end_turn"),
    "thinking": begin() + thinking(0, "Let me", " see") + text(1, "Done.") + end("end_turn"),
    "redacted thinking": begin()
    + start(0, type="redacted_thinking", data="EmwKAhgB")
    + stop(0)
    + text(1, "Done.")
    + end("end_turn"),
    "server tools": begin() + text(0, "Searching.") + SERVER_TOOL + text(3, "Found.") + end("end_turn"),
    "mcp": begin()
    + start(0, type="mcp_tool_use", id="mcptoolu_1", name="echo", server_name="s", input={})
    + fragment(0, "{}")
    + stop(0)
    + end("end_turn"),
    "a word about tool_use": begin() + text(0, "A tool_use", " block", ' has an "index": 3.') + end("end_turn"),
    "citations": begin()
    + text_start(0)
    + say(0, "As said")
    + delta(0, type="citations_delta", citation={"type": "char_location", "document_index": 0})
    + stop(0)
    + end("end_turn"),
    "max_tokens": begin() + text(0, "cut") + end("max_tokens"),
    "pause_turn": begin() + SERVER_TOOL.replace(b'"index": 1', b'"index": 0').replace(b'"index": 2', b'"index": 1')
    + end("pause_turn"),
    "CRLF": (begin() + text(0, "one", "two", "three", "four") + end("end_turn")).replace(b"\n", b"\r\n"),
    "no space": (begin() + text(0, "one", "two", "three") + end("end_turn")).replace(b": ", b":"),
    "comments": b": hello\n\n" + begin() + b": keep-alive\n\n" + text(0, "one") + end("end_turn"),
    "error": begin() + text_start(0) + say(0, "incomplete") + ERROR,
    "error at once": ERROR,
    "escapes": begin()
    + text(0).replace(stop(0), b"")
    + b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    + b'"delta":{"type":"text_delta","text":"\\u003cdiv\\ud83d\\ude00"}}\n\n' * 5
    + stop(0)
    + end("end_turn"),
    "keys in another order": begin()
    + text_start(0)
    + b"".join(
        b'event: content_block_delta\ndata: {"delta":{"text":"%s","type":"text_delta"},"index":0,'
        b'"type":"content_block_delta"}\n\n' % word
        for word in (b"one", b"two \\\"x\\\"", b"", b"three")
    )
    + stop(0)
    + end("end_turn"),
}  # fmt: skip


@pytest.mark.parametrize("body", HEALTHY_TEXT.values(), ids=HEALTHY_TEXT)
def test_an_answer_without_a_call_arrives_as_the_same_bytes(body):
    out, outcomes = mended(body)
    assert out == body
    assert outcomes == []


@pytest.mark.parametrize("body", HEALTHY_TEXT.values(), ids=HEALTHY_TEXT)
def test_an_answer_without_a_call_arrives_at_the_same_time(body):
    run = Run()
    waiting = b""
    for piece in re.split(rb"(?<=\n\n)|(?<=\r\n\r\n)", body):
        # Some servers send a call behind a stop reason: so that one waits for the end, and for nothing else.
        waiting += piece if waiting or b"message_delta" in piece else b""
        assert run.feed(piece) == (b"" if waiting and b"message_stop" not in piece else waiting or piece)
        waiting = b"" if b"message_stop" in piece else waiting
    assert run.close() == b""


@pytest.mark.parametrize("body", HEALTHY_TEXT.values(), ids=HEALTHY_TEXT)
def test_where_no_tool_is_declared_not_even_the_stop_reason_waits(body):
    run = Run(request={"model": "glm-5", "stream": True, "messages": []})
    for piece in re.split(rb"(?<=\n\n)|(?<=\r\n\r\n)", body):
        assert run.feed(piece) == piece
    assert run.close() == b""


def test_valid_calls_keep_id_name_and_argument_text_and_come_once():
    body = begin() + text(0, "I read.") + tool(1, A[:9], "", A[9:]) + tool(2, B, identity="toolu_02") + end()
    out, outcomes = mended(body)
    message = strict.read(out)
    assert message.calls == [CALL_A, CALL_B]
    assert message.ids == ["toolu_01", "toolu_02"]
    assert message.stop_reason == "tool_use"
    assert json.dumps(B) in out.decode()
    assert [outcome.as_json() for outcome in outcomes] == [
        {"status": "valid", "name": "Read", "arguments": A},
        {"status": "valid", "name": "Read", "arguments": B},
    ]


def test_a_valid_call_goes_out_at_its_stop():
    run = Run()
    run.feed(begin() + tool_start(0) + fragment(0, A))
    assert b"tool_use" in run.feed(stop(0))


def test_a_broken_call_waits_for_the_block_behind_it():
    run = Run()
    assert run.feed(begin()) == begin()
    assert run.feed(tool(0, "{'file_path': '/src/a.py'}")) == b""
    call, _, text = run.feed(text_start(1)).partition(text_start(1))
    assert b"/src/a.py" in call and text == b""
    for piece in (say(1, "Meanwhile"), say(1, " I talk"), stop(1)):
        assert run.feed(piece) == piece


def test_a_broken_call_that_nothing_follows_waits_for_the_end():
    run = Run()
    run.feed(begin())
    assert run.feed(tool(0, "{'file_path': '/src/a.py'}")) == b""
    # Another reason may follow, which says that the answer was cut off.
    assert run.feed(reason("tool_use")) == b""
    assert b"/src/a.py" in run.feed(MESSAGE_STOP)


def test_thinking_beside_an_open_call_keeps_its_words_and_its_signature():
    signed = thinking(1, "I \\u003cthink", 'so. "index": 7', signature="Eq/+==")
    run = Run()
    run.feed(begin() + tool_start(0) + fragment(0, A[:5]))
    renumbered = signed.replace(b'"index": 1', b'"index": 0')
    read = [json.loads(line[6:]) for line in run.feed(signed).splitlines() if line.startswith(b"data: ")]
    assert read == [json.loads(line[6:]) for line in renumbered.splitlines() if line.startswith(b"data: ")]


def test_the_keys_that_a_server_adds_to_a_call_are_kept():
    out, _ = mended(begin() + tool(0, A, caller={"type": "direct"}) + end())
    assert strict.read(out).content[0]["caller"] == {"type": "direct"}


# Inputs


@pytest.mark.parametrize(
    "call",
    [
        tool_start(0, input=json.loads(A)) + stop(0),
        tool_start(0, input=json.loads(A)) + fragment(0, A) + stop(0),
        tool_start(0, input=json.loads(A)) + fragment(0, "{}") + stop(0),
        tool_start(0, input=A) + stop(0),
        tool_start(0, input=[json.loads(A)]) + stop(0),
        start(0, type="tool_use", id="toolu_01", name="Read") + fragment(0, "") + fragment(0, A) + stop(0),
        start(0, type="tool_use", id="toolu_01", name="Read", input=None) + fragment(0, A) + stop(0),
        tool_start(0) + fragment(0, json.loads(A)) + stop(0),
        tool_start(0) + fragment(0, f"[{A}]") + stop(0),
        tool_start(0) + delta(0, partial_json=A) + stop(0),
        tool_start(0) + fragment(0, A),
        tool_start(0) + stop(0) + fragment(0, A) + stop(0),
        tool_start(0) + fragment(1, A) + stop(0),
        tool_start(None) + fragment(None, A) + stop(None),
        fragment(0, A[:4]) + tool_start(0) + fragment(0, A[4:]) + stop(0),
        tool_start(0) + tool_start(0) + fragment(0, A) + stop(0) + stop(0),
        tool_start(0) + fragment(0, A) + stop(0) + fragment(0, A) + stop(0),
    ],
    ids=[
        "only in the start",
        "in both places",
        "in the start, and an empty object",
        "a string in the start",
        "a list in the start",
        "empty pieces and no input",
        "null input",
        "an object as a piece",
        "a list",
        "a delta without type",
        "no stop",
        "after the stop",
        "under another index",
        "without any index",
        "before the start",
        "two starts",
        "twice",
    ],
)
def test_an_input_is_found_wherever_the_server_put_it(call):
    message = client(begin() + call + end())
    assert message.calls == [CALL_A]
    assert message.stop_reason == "tool_use"


@pytest.mark.parametrize("pieces", [[], [""], ["", ""], ["{}"], [" "]])
def test_a_call_without_arguments_gets_an_empty_object(pieces):
    message = client(begin() + tool(0, *pieces, name="TaskList") + end())
    assert message.calls == [("TaskList", {})]


def test_an_empty_list_is_no_arguments():
    assert client(begin() + tool_start(0, name="TaskList", input=[]) + stop(0) + end()).calls == [("TaskList", {})]


def test_the_form_in_which_anthropic_sends_a_call_without_arguments_counts_as_valid():
    _, outcomes = mended(begin() + tool(0, "", name="TaskList") + end())
    assert [outcome.status for outcome in outcomes] == ["valid"]


@pytest.mark.parametrize("pieces", [[], ["{"], ['{"file_path": "/sr']])
def test_max_tokens_never_turns_half_a_call_into_a_whole_one(pieces):
    out, outcomes = mended(begin() + tool(0, *pieces) + end("max_tokens"))
    message = strict.read(out)
    assert message.calls == [("Read", {})]
    assert message.stop_reason == "max_tokens"
    assert outcomes[0].status == "refused"


def test_a_call_that_cannot_be_mended_and_would_run_on_nothing_goes_to_the_invalid_tool_declared_or_not():
    message = client(begin() + tool(0, '{"a": ', name="TaskList") + tool(1, A, identity="t2") + end())
    (name, given), other = message.calls
    assert (name, given["tool"], other) == ("invalid", "TaskList", CALL_A)
    assert (message.text, message.stop_reason) == ("", "tool_use")


def test_a_refused_call_of_a_tool_without_fields_is_dropped_and_a_note_says_so_where_no_other_is_left():
    free = {**REQUEST, "tools": [*REQUEST["tools"], {"type": "custom", "name": "patch"}]}
    cut_off = tool_start(0, name="patch") + end("max_tokens")
    out, outcomes = mended(begin() + cut_off, free)
    message = strict.read(out)
    assert (message.calls, message.stop_reason) == ([], "max_tokens")
    assert "patch" in message.text and outcomes[0].dropped
    out, _ = mended(begin() + tool(0, A) + cut_off.replace(b'"index": 0', b'"index": 1'), free)
    assert (strict.read(out).calls, strict.read(out).text) == ([CALL_A], "")


# Blocks


@pytest.mark.parametrize(
    "blocks",
    [
        tool(0, A) + tool(1, B, identity="t2"),
        tool(0, A) + tool(5, B, identity="t2"),
        tool(0, A) + tool(0, B, identity="t2"),
        tool_start(0) + tool_start(1, "t2") + fragment(1, B[:5]) + fragment(0, A) + fragment(1, B[5:])
        + stop(1) + stop(0),
        tool_start(0) + fragment(0, A) + tool_start(1, "t2") + fragment(1, B) + stop(1),
        tool_start(0) + fragment(0, A) + tool_start(0, "t2") + fragment(0, B) + stop(0),
        tool_start(None) + fragment(None, A) + tool_start(None, "t2") + fragment(None, B) + stop(None),
        tool_start(0) + fragment(0, A) + stop(0) + stop(0) + stop(7) + tool(1, B, identity="t2"),
        tool_start(0) + fragment(0, A) + say(0, "\n") + stop(0) + tool_start(1, "t2") + fragment(1, B)
        + say(1, "\n") + stop(1),
    ],
    ids=["healthy", "gap", "repeated index", "interleaved", "no stops", "shared index", "no index", "stray stops",
         "white space in the call"],
)  # fmt: skip
def test_two_calls_come_out_as_two(blocks):
    message = client(begin() + blocks + end())
    assert message.calls == [CALL_A, CALL_B]
    assert message.text == ""


def test_two_starts_at_one_index_and_then_their_inputs_are_refused():
    """Nothing but the order tells whose an input is, and here it is not that of the starts."""
    body = begin() + tool_start(0) + tool_start(0, "t2") + fragment(0, B) + stop(0) + fragment(0, A) + stop(0) + end()
    assert client(body).calls == [("Read", {}), ("Read", {})]


def test_a_start_and_fragments_that_tell_two_different_inputs_are_refused():
    given = {"file_path": "/etc/passwd"}
    assert client(begin() + tool_start(0, "t1", "Read", given) + fragment(0, A) + stop(0) + end()).calls == [
        ("Read", {})
    ]
    same = tool_start(0, "t1", "Read", json.loads(A)) + fragment(0, A) + stop(0)
    assert client(begin() + same + end()).calls == [CALL_A]


def test_text_in_a_call_block_gets_a_block_of_its_own():
    body = begin() + tool_start(0) + say(0, "\n") + say(0, "Now") + fragment(0, A) + say(0, " then") + stop(0) + end()
    message = client(body)
    assert message.text == "\nNow then"
    assert message.calls == [CALL_A]


def test_thinking_in_a_text_block_gets_a_block_of_its_own():
    body = (
        begin()
        + text_start(0)
        + delta(0, type="thinking_delta", thinking="Hm.")
        + delta(0, type="thinking_delta", thinking=" Yes.")
        + delta(0, type="signature_delta", signature="sig")
        + say(0, "Hello")
        + say(0, " you")
        + stop(0)
        + end("end_turn")
    )
    message = client(body)
    assert (message.thinking, message.text) == ("Hm. Yes.", "Hello you")
    assert message.content[1]["signature"] == "sig"


def test_deltas_without_a_start_open_their_block():
    message = client(begin() + say(0, "Hello") + say(0, " you") + end("end_turn"))
    assert [block["text"] for block in message.content] == ["Hello you"]


def test_a_block_opened_before_the_last_was_stopped_closes_it():
    body = begin() + thinking(0, "Hm.")[: -len(stop(0))] + text_start(1) + say(1, "Hello") + end("end_turn")
    message = client(body)
    assert [block["type"] for block in message.content] == ["thinking", "text"]


def test_the_text_of_interleaved_blocks_keeps_its_order():
    body = begin() + text_start(0) + say(0, "a") + text_start(1) + say(1, "b") + say(0, "c") + stop(0) + say(1, "d")
    assert client(body + stop(1) + end("end_turn")).text == "abcd"


def test_a_text_block_inside_a_call_is_not_lost():
    body = begin() + tool_start(1) + text_start(2) + say(2, "So") + stop(2) + fragment(1, A) + stop(1) + end()
    message = client(body)
    assert (message.text, message.calls) == ("So", [CALL_A])


def test_indices_that_skip_are_made_dense_for_text_alone():
    message = client(begin() + thinking(0, "Hm.") + text(2, "a", "b", "c") + end("end_turn"))
    assert (message.thinking, message.text) == ("Hm.", "abc")


def test_an_open_block_is_not_split_by_a_call_that_is_ready():
    body = begin() + text_start(0) + say(0, "a") + tool(1, A) + say(0, "b") + stop(0) + end()
    assert [block["type"] for block in client(body).content] == ["text", "tool_use"]
