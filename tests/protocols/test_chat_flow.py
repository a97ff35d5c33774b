"""Chat with aggregation off: fragments flow on while they are strict JSON."""

from __future__ import annotations

import json

import pytest

from tests.chat_client import events, read
from tests.protocols.test_chat import BASH, DONE, chunk, piece
from tests.splits import mend
from toolcalls.engine import Response
from toolcalls.policy import Policy

FLOW = Policy(aggregate=False)


def parts(text: str, size: int = 4) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def stream(arguments: str, finish: str = "tool_calls") -> str:
    return (
        chunk(piece(0, "a", "Bash", ""))
        + "".join(chunk(piece(0, arguments=part)) for part in parts(arguments))
        + chunk({}, finish)
        + DONE
    )


def test_the_first_fragment_reaches_the_client_in_the_callback_in_which_it_arrived() -> None:
    answer = Response("chat", BASH, FLOW)
    first = b"".join(answer.feed(chunk(piece(0, "a", "Bash", '{"comm')).encode()))
    assert read(first).call_list() == [("Bash", '{"comm')]
    second = b"".join(answer.feed(chunk(piece(0, arguments='and":')).encode()))
    assert json.loads(events(second)[0])["choices"][0]["delta"]["tool_calls"][0]["function"] == {"arguments": 'and":'}


def test_the_role_that_comes_with_the_first_fragment_is_in_the_first_delta() -> None:
    for first in ({"role": "assistant", "content": None}, {"role": "assistant"}):
        begun = chunk({**first, **piece(0, "a", "Bash", '{"comm')})
        out, _ = mend(begun + chunk(piece(0, arguments='and":"ls"}')) + chunk({}, "tool_calls") + DONE, policy=FLOW)
        deltas = [json.loads(data)["choices"][0]["delta"] for data in events(out)[:-1]]
        assert [delta.get("role") for delta in deltas].count("assistant") == 1
        assert deltas[0]["role"] == "assistant"
        assert read(out).call_list() == [("Bash", '{"command":"ls"}')]


def test_valid_fragments_arrive_as_they_are() -> None:
    text = '{"command": "ls -la", "timeout": 5}'
    out, answer = mend(stream(text), question=BASH, policy=FLOW)
    assert read(out).call_list() == [("Bash", text)]
    assert read(out).finishes == ["tool_calls"]
    assert [outcome.status for outcome in answer.outcomes] == ["valid"]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ('{"command": "ls", "n": 1,}', {"command": "ls", "n": 1}),
        ('{"command": "ls"', {"command": "ls"}),
        ("{'command': 'ls'}", {"command": "ls"}),
        ('{"command": "a\nb"}', {"command": "a\nb"}),
        ('{"command": "ls"}</tool_call>', {"command": "ls"}),
        ("", {}),
    ],
)
def test_what_was_sent_is_continued_by_what_was_mended(sent: str, expected: object) -> None:
    held = read(mend(stream(sent), question=BASH, policy=FLOW)[0])
    assert json.loads(held.call_list()[0][1]) == expected
    assert held.finishes == ["tool_calls"]


def test_a_call_that_was_cut_never_becomes_whole() -> None:
    out, answer = mend(stream('{"command": "rm -rf /tmp/x', "length"), question=BASH, policy=FLOW)
    held = read(out)
    with pytest.raises(ValueError, match=r"."):
        json.loads(held.call_list()[0][1])
    assert held.finishes == ["length"]
    assert answer.outcomes[0].status == "refused"


def test_interleaved_calls_arrive_whole() -> None:
    text = '{"command": "ls"}'
    body = chunk(piece(0, "a", "Bash", "")) + chunk(piece(1, "b", "Read", ""))
    for part in parts(text):
        body += chunk(piece(0, arguments=part)) + chunk(piece(1, arguments=part))
    held = read(mend(body + chunk({}, "stop") + DONE, question=BASH, policy=FLOW)[0])
    assert held.call_list() == [("Bash", text), ("Read", text)]
    assert held.finishes == ["tool_calls"]


def test_a_second_call_waits_for_the_end_because_only_one_flows_at_a_time() -> None:
    text = '{"command": "ls"}'
    answer = Response("chat", BASH, FLOW)
    first = b"".join(answer.feed(chunk(piece(0, "a", "Bash", text)).encode()))
    assert read(first).call_list() == [("Bash", text)]
    assert b"".join(answer.feed((chunk(piece(1, "b", "Read", "")) + chunk(piece(1, arguments=text))).encode())) == b""
    rest = b"".join([*answer.feed((chunk({}, "tool_calls") + DONE).encode()), *answer.close()])
    assert read(first + rest).call_list() == [("Bash", text), ("Read", text)]


def test_before_its_name_nothing_of_a_call_flows() -> None:
    body = (
        chunk(piece(0, "a", None, '{"comm')) + chunk(piece(0, None, "Bash", 'and": "ls"}')) + chunk({}, "stop") + DONE
    )
    out, _ = mend(body, question=BASH, policy=FLOW)
    assert read(out).call_list() == [("Bash", '{"command": "ls"}')]


def test_a_call_that_begins_where_only_the_order_tells_whose_fragments_are_goes_out_whole_with_its_name() -> None:
    text = '{"command": "ls"}'
    body = ""
    for number in range(3):
        start = {"id": f"call_{number}", "type": "function", "function": {"name": "Bash", "arguments": ""}}
        body += chunk({"tool_calls": [start]}) + chunk({"tool_calls": [{"function": {"arguments": text}}]})
    held = read(mend(body + chunk({}, "stop") + DONE, question=BASH, policy=FLOW)[0])
    assert held.call_list() == [("Bash", text)] * 3
