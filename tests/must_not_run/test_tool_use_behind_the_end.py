"""Messages: a tool_use behind the message_delta is a call like any other, and half of one is none.

The message_delta waits for what follows it; an answer in which nothing follows keeps its bytes.
"""

from __future__ import annotations

import json
import random

import pytest

from tests.protocols.messages_wire import (
    CALL_A,
    CALL_B,
    ERROR,
    MESSAGE_STOP,
    PING,
    A,
    B,
    Run,
    begin,
    client,
    event,
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
from tests.protocols.test_chat import DONE, chunk, piece, question
from tests.protocols.text_protocols import CHAT
from tests.splits import mend
from tests.validators import messages as strict

COMMENT = b": keep-alive\n\n"
VENDOR = event({"type": "vendor_note", "note": 1})
USAGE = reason(None, usage={"output_tokens": 99})
DONE_OF_CHAT = b"data: [DONE]\n\n"

BETWEEN = {
    "nothing": b"",
    "a ping": PING,
    "pings": PING + PING,
    "a comment": COMMENT,
    "an event of a vendor": VENDOR,
    "usage": USAGE,
    "all of it": PING + USAGE + COMMENT + PING + VENDOR,
}


@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
@pytest.mark.parametrize("why", ["tool_use", "end_turn", "stop", "tool_calls"])
def test_a_call_behind_the_stop_reason_comes_before_it(why: str, between: bytes) -> None:
    for before in (b"", text(0, "I read.")):
        out, _ = mended(begin() + before + reason(why) + between + tool(bool(before), A) + MESSAGE_STOP)
        message = strict.read(out.replace(VENDOR, b""))
        assert (message.calls, message.stop_reason) == ([CALL_A], "tool_use")


@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
@pytest.mark.parametrize("why", ["end_turn", "max_tokens", "stop_sequence", "refusal", "pause_turn"])
def test_an_answer_that_ends_there_keeps_its_bytes(why: str, between: bytes) -> None:
    between = between.replace(USAGE, b"")
    body = begin() + text(0, "Done.") + reason(why) + between + MESSAGE_STOP
    assert mended(body)[0] == body
    body = begin() + text(0, "Done.") + reason(why) + between + ERROR
    assert mended(body)[0] == body


def test_a_call_before_and_one_behind_are_two() -> None:
    message = client(begin() + tool(0, A) + reason("tool_use") + tool(1, B, identity="toolu_02") + MESSAGE_STOP)
    assert (message.calls, message.stop_reason) == ([CALL_A, CALL_B], "tool_use")


def test_a_limit_is_a_limit_wherever_the_call_stands() -> None:
    message = client(begin() + reason("max_tokens") + tool(0, A) + MESSAGE_STOP)
    assert (message.calls, message.stop_reason) == ([CALL_A], "max_tokens")
    message = client(begin() + tool(0, A) + reason("max_tokens") + reason("tool_use") + MESSAGE_STOP)
    assert message.stop_reason == "max_tokens"


def test_a_block_that_is_open_at_the_stop_reason_goes_on() -> None:
    for cut in (0, 5, len(A)):
        body = begin() + tool_start(0) + fragment(0, A[:cut]) + reason("tool_use") + fragment(0, A[cut:]) + stop(0)
        assert client(body + MESSAGE_STOP).calls == [CALL_A]


def test_several_deltas_all_say_what_is_true() -> None:
    body = begin() + reason("end_turn") + tool(0, A) + USAGE + reason("end_turn") + MESSAGE_STOP
    out, _ = mended(body)
    assert strict.read(out).stop_reason == "tool_use"
    assert b"end_turn" not in out


@pytest.mark.parametrize("tail", [b"", PING, DONE_OF_CHAT])
def test_without_a_message_stop_a_whole_call_comes_out(tail: bytes) -> None:
    message = client(begin() + reason("tool_use") + tool(0, A) + tail)
    assert (message.calls, message.stop_reason, message.error) == ([CALL_A], "tool_use", None)


@pytest.mark.parametrize("size", [*range(0, len(A), 3), len(A) - 1])
@pytest.mark.parametrize("tail", [b"", PING, ERROR])
@pytest.mark.parametrize("why", ["tool_use", "end_turn"])
def test_half_a_call_behind_the_stop_reason_never_runs(why: str, size: int, tail: bytes) -> None:
    """The reason was said before it: it does not tell that this call was finished."""
    message = client(begin() + reason(why) + tool_start(0) + fragment(0, A[:size]) + tail)
    assert message.error is not None
    assert message.calls == []


def test_before_an_error_a_whole_call_comes_out_and_the_error_goes_on() -> None:
    message = client(begin() + reason("tool_use") + tool(0, A) + ERROR)
    assert message.error is not None and message.calls == [CALL_A]


def test_a_stop_reason_alone_ends_the_answer_with_the_stream() -> None:
    for tail in (b"", PING, COMMENT):
        message = client(begin() + text(0, "Done.") + reason("end_turn") + tail)
        assert (message.text, message.stop_reason, message.error) == ("Done.", "end_turn", None)


def test_text_behind_the_stop_reason_is_not_late() -> None:
    run = Run()
    run.feed(begin())
    assert run.feed(reason("end_turn") + PING) == b""
    assert run.feed(text_start(0)) == PING + text_start(0)
    for word in ("one", " two"):
        assert run.feed(say(0, word)) == say(0, word)
    assert run.feed(PING) == PING
    assert run.feed(stop(0) + MESSAGE_STOP) == stop(0) + reason("end_turn") + MESSAGE_STOP


def test_what_waits_comes_out_with_the_end_and_a_broken_call_too() -> None:
    """Another reason may follow the first, and say that the answer was cut off."""
    run = Run()
    run.feed(begin() + tool(0, "{'file_path': '/src/a.py'}"))
    assert run.feed(reason("tool_use")) == b""
    assert run.feed(PING) == b""
    out = run.close()
    assert b"/src/a.py" in out.partition(b"message_delta")[0]
    assert out.endswith(reason("tool_use") + PING + b'event: message_stop\ndata: {"type":"message_stop"}\n\n')


def test_with_aggregation_off_too() -> None:
    out, _ = mended(begin() + reason("tool_use") + PING + tool(0, A[:7], A[7:]) + MESSAGE_STOP, aggregate=False)
    message = strict.read(out, fragments=True)
    assert (message.calls, message.stop_reason) == ([CALL_A], "tool_use")


@pytest.mark.parametrize("seed", range(40))
def test_wherever_the_deltas_stand_the_calls_are_those_that_were_made(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(5):
        parts, meant = [], []
        for index in range(chance.randint(0, 3)):
            path = f"/{index}"
            if chance.random() < 0.3:
                parts.append(text(index, "I read."))
            else:
                parts.append(tool(index, '{"file_path":', f'"{path}"}}', identity=f"toolu_{index}"))
                meant.append(("Read", {"file_path": path}))
        for each in chance.choices([PING, USAGE, *map(reason, ("tool_use", "end_turn", "max_tokens"))], k=4):
            parts.insert(chance.randint(0, len(parts)), each)
        parts.insert(chance.randint(0, len(parts)), reason("tool_use"))
        body = begin() + b"".join(parts) + chance.choice([MESSAGE_STOP, b"", ERROR, DONE_OF_CHAT])
        assert client(body).calls == meant


@pytest.mark.parametrize("why", ["tool_calls", "function_call", "tool_use"])
def test_chat_a_call_behind_a_finish_reason_that_promises_one(why: str) -> None:
    arguments = '{"command":"ls"}'
    late = chunk(piece(0, "c0", "Bash", arguments[:5])) + chunk(piece(0, None, None, arguments[5:]))
    usage = chunk({}, None).replace("}]}", '}], "usage": {"total_tokens": 3}}')
    for between in ("", ": wait\n\n"):
        out, _ = mend(
            chunk({"content": "I look."}) + chunk({}, why) + between + late + DONE, question=question("Bash")
        )
        held = CHAT.read(out)
        assert (held.finish, held.calls) == ("tool_calls", [{"name": "Bash", "arguments": json.loads(arguments)}])
    out, _ = mend(chunk({"content": "Done."}) + chunk({}, why) + usage + DONE, question=question("Bash"))
    assert CHAT.read(out).finish == "stop"
