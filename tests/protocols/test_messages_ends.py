"""Messages streams: the stop reason, the end, errors, ids and bounds."""

from __future__ import annotations

import re

import pytest

from tests.protocols.messages_wire import (
    CALL_A,
    ERROR,
    MESSAGE_STOP,
    PING,
    SERVER_TOOL,
    A,
    B,
    Run,
    begin,
    client,
    end,
    event,
    fragment,
    mended,
    reason,
    say,
    text,
    text_start,
    tool,
    tool_start,
)
from tests.validators import messages as strict
from toolcalls.ids import restore

# The events around the blocks


@pytest.mark.parametrize("why", ["end_turn", "stop", "", None, "tool_use"])
def test_with_a_call_the_stop_reason_is_tool_use(why):
    assert client(begin() + tool(0, A) + end(why)).stop_reason == "tool_use"


@pytest.mark.parametrize(
    "why", ["max_tokens", "refusal", "pause_turn", "stop_sequence", "model_context_window_exceeded"]
)
def test_other_stop_reasons_are_never_rewritten(why):
    assert client(begin() + tool(0, A) + end(why)).stop_reason == why


def test_tool_use_without_a_call_becomes_end_turn():
    assert client(begin() + text(0, "Done.") + end("tool_use")).stop_reason == "end_turn"


def test_tool_use_of_the_servers_own_tools_stays():
    body = begin() + text(0, "x") + SERVER_TOOL + end("tool_use")
    assert mended(body)[0] == body


def test_missing_usage_is_filled_and_input_tokens_are_not_overwritten():
    out, _ = mended(begin(usage=None) + text(0, "Hi") + reason("end_turn", nothing=1) + MESSAGE_STOP)
    message = strict.read(out)
    assert message.start["usage"] == {"input_tokens": 0, "output_tokens": 0}
    out, _ = mended(begin() + tool(0, A) + reason("tool_use", nothing=1) + MESSAGE_STOP)
    assert strict.read(out).usage == {"input_tokens": 12, "output_tokens": 1}


def test_a_count_in_passing_is_no_end():
    body = (
        begin() + text(0, "a") + reason(None) + tool(1, A) + reason(None, usage={"output_tokens": 50}) + MESSAGE_STOP
    )
    message = client(body)
    assert (message.text, message.calls, message.stop_reason) == ("a", [CALL_A], "tool_use")
    assert message.usage["output_tokens"] == 50


def test_a_second_message_delta_repeats_the_true_reason():
    body = begin() + tool(0, A) + reason("end_turn") + reason(None, usage={"output_tokens": 99}) + MESSAGE_STOP
    message = client(body)
    assert (message.stop_reason, message.usage["output_tokens"]) == ("tool_use", 99)


@pytest.mark.parametrize("tail", [b"", MESSAGE_STOP, reason("tool_use"), reason(None), reason(None) + MESSAGE_STOP,
                                  b"data: [DONE]\n\n", PING + PING])  # fmt: skip
def test_a_missing_end_is_written_when_the_calls_are_whole(tail):
    message = client(begin() + text(0, "I read.") + tool(1, A) + tail)
    assert (message.calls, message.stop_reason, message.error) == ([CALL_A], "tool_use", None)


@pytest.mark.parametrize(
    "blocks",
    [text(0, "Half an ans"), text_start(0) + say(0, "Half"), tool_start(0), tool_start(0) + fragment(0, A[:9]),
     tool(0, A) + text_start(1) + say(1, "And n"), b""],
    ids=["text", "open text", "a call without input", "half a call", "text after a call", "nothing"],
)  # fmt: skip
def test_an_answer_that_just_stops_ends_with_the_protocols_error(blocks):
    message = client(begin() + blocks)
    assert message.error["type"] == "api_error"


def test_a_whole_call_before_half_a_call_comes_out_and_the_half_does_not():
    out, outcomes = mended(begin() + tool(0, A) + tool_start(1, "t2") + fragment(1, B[:9]))
    assert strict.read(out).calls == [CALL_A]
    assert strict.read(out).error
    assert [outcome.dropped for outcome in outcomes] == [False, True]


@pytest.mark.parametrize("why", ["end_turn", "max_tokens"])
def test_a_stop_reason_without_message_stop_is_completed(why):
    message = client(begin() + text(0, "Done.") + reason(why))
    assert (message.stop_reason, message.error) == (why, None)


def test_half_an_event_at_the_end_does_not_reach_the_client():
    out, _ = mended(begin() + text(0, "Done.") + say(1, "more")[:-30])
    assert strict.read(out).error


def test_an_error_lets_whole_calls_out_first_and_drops_the_others():
    body = begin() + text(0, "a") + tool_start(1) + fragment(1, A) + tool_start(2, "t2") + fragment(2, B[:7]) + ERROR
    out, outcomes = mended(body)
    message = strict.read(out)
    assert message.calls == [CALL_A]
    assert message.error["type"] == "overloaded_error"
    assert out.endswith(ERROR)
    assert [outcome.dropped for outcome in outcomes] == [False, True]


def test_an_error_in_another_form_is_an_error_too():
    odd = b'data: {"error":{"type":"server_error","message":"no"}}\n\n'
    out, _ = mended(begin() + tool_start(0) + fragment(0, A[:7]) + odd)
    assert strict.read(out).error["type"] == "server_error"


def test_a_missing_message_start_is_written():
    message = client(text(0, "Hi") + tool(1, A) + end())
    assert message.start["model"] == "glm-5"
    assert (message.text, message.calls) == ("Hi", [CALL_A])


def test_a_second_message_start_is_dropped():
    assert client(begin() + begin() + text(0, "Hi") + end("end_turn")).text == "Hi"


def test_an_empty_ping_gets_its_data():
    body = begin() + b"event: ping\ndata: \n\n" + text(0, "Hi") + end("end_turn")
    assert mended(body)[0] == body.replace(b"ping\ndata: \n", b'ping\ndata: {"type":"ping"}\n')


def test_a_keep_alive_written_as_data_becomes_a_comment():
    body = begin() + b"data: : OPENROUTER PROCESSING\n\ndata: \n\n" + text(0, "Hi") + end("end_turn")
    out, _ = mended(body)
    assert strict.read(out).text == "Hi"
    assert b": OPENROUTER PROCESSING\n\n" in out


def test_a_byte_order_mark_which_the_sdks_stumble_over_is_dropped():
    body = begin() + text(0, "a", "b") + end("end_turn")
    assert mended(b"\xef\xbb\xbf" + body)[0] == body


def test_missing_event_lines_are_written():
    body = re.sub(rb"event: .*\n", b"", begin() + text(0, "a", "b") + tool(1, A) + end())
    message = client(body)
    assert (message.text, message.calls) == ("ab", [CALL_A])


def test_blank_lines_of_spaces_do_not_glue_events():
    body = (begin() + text(0, "a", "b") + tool(1, A) + end()).replace(b"\n\n", b"\n  \n", 3)
    message = client(body)
    assert (message.text, message.calls) == ("ab", [CALL_A])


@pytest.mark.parametrize("line_end", [b"\r\n", b"\r"])
def test_calls_behind_other_line_ends_are_mended(line_end):
    body = (begin() + text(0, "a", "b") + tool(1, "{'file_path': '/src/a.py'}") + end("end_turn")).replace(
        b"\n", line_end
    )
    message = client(body)
    assert (message.text, message.calls) == ("ab", [CALL_A])


def test_an_upstream_page_passes():
    page = b"<!DOCTYPE html><html><body>502 Bad Gateway</body></html>"
    assert mended(page)[0] == page
    assert mended(b"")[0] == b""


# Ids


@pytest.mark.parametrize("identity", ["functions.read:0", "a b", "id|1", "ü"])
def test_an_illegal_id_is_replaced_and_can_be_restored(identity):
    out, outcomes = mended(begin() + tool(0, A, identity=identity) + end())
    [new] = strict.read(out).ids
    assert restore(new) == identity
    assert outcomes[0].steps == ("new id",)


@pytest.mark.parametrize("identity", ["", None])
def test_a_missing_id_is_made(identity):
    assert strict.read(mended(begin() + tool(0, A, identity=identity) + end())[0]).ids != [""]


def test_a_repeated_id_is_replaced_from_the_second_on():
    first, second = client(begin() + tool(0, A) + tool(1, B) + end()).ids
    assert first == "toolu_01"
    assert restore(second) == "toolu_01"


def test_another_seed_gives_other_ids():
    body = begin() + tool(0, A, identity="read:0") + end()
    assert Run(seed="a").whole(body) != Run(seed="b").whole(body)


# Bounds


def test_past_the_limit_the_rest_passes_as_it_came():
    body = begin() + tool(0, *["x" * 50] * 50) + end()
    run = Run(max_held_bytes=2000)
    assert run.whole(body, list(range(0, len(body), 100))) == body
    assert run.answer.limited


def test_a_call_of_many_fragments_takes_linear_time():
    pieces = [f'"k{n}": {n},' for n in range(20_000)]
    arguments = ["{", *pieces, '"end": 1}']
    message = strict.read(Run().whole(begin() + tool(0, *arguments) + end()))
    assert len(message.calls[0][1]) == 20_001


def test_the_event_type_alone_says_what_an_untyped_event_is():
    body = begin() + b'event: content_block_start\ndata: {"index":0,"content_block":{"type":"text","text":""}}\n\n'
    body += say(0, "Hi") + b'event: content_block_stop\ndata: {"index":0}\n\n' + end("end_turn")
    assert client(body).text == "Hi"


def test_unknown_events_pass():
    odd = event({"type": "vendor_note", "note": 1})
    body = begin() + odd + text(0, "Hi") + end("end_turn") + b"data: [DONE]\n\n"
    assert mended(body)[0] == body


@pytest.mark.parametrize("behind", [text(1, "Done."), MESSAGE_STOP], ids=["a block", "the end"])
def test_an_unknown_event_in_broken_json_behind_the_stop_reason_arrives_as_it_was_meant(behind):
    unknown = b'data: {"type": "tokens", "count": 1}}}\n\n'
    sent, _ = mended(begin() + text(0, "Hello.") + reason("end_turn") + unknown + behind)
    assert sent.count(b'data: {"type":"tokens","count":1}\n\n') == 1


def test_a_fragment_behind_a_count_in_passing_is_no_end_either():
    """Even one that looks like the last fragment: what was counted before it is not the end of the answer."""
    first, last = fragment(0, A[:4]), fragment(0, A[4:])
    body = (
        begin() + tool_start(0) + first + reason(None, usage={"output_tokens": 50}, nothing=1) + last + MESSAGE_STOP
    )
    out, _ = mended(body)
    assert strict.read(out).calls == [CALL_A]
    assert out.count(b"message_delta\n") == out.count(b"nothing") == 1, "it goes with the reason"
