"""A fragment that went to another call is missing in its own: neither runs. A copy that lost its id is no second call."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.must_not_run.interleaved import QUESTION
from tests.must_not_run.test_resent_calls import (
    Called,
    chat,
    chat_document,
    entry,
    messages,
    responses,
    responses_document,
    responses_socket,
    zai,
    zai_delta,
)
from tests.protocols import messages_wire as wire
from tests.protocols.responses_wire import Upstream
from tests.protocols.test_chat import piece
from tests.protocols.text_protocols import GEMINI, OLLAMA, gemini_event, ollama_line
from tests.protocols.zai_streams import Backend
from tests.splits import mend

Json = dict[str, Any]

LS = '{"command":"ls"}'
RM = ('{"command":"rm -rf ', "/home/me/", 'build"}')
"""Without its middle it is another command, and valid."""
WHOLE = json.loads("".join(RM))


def run(calls: list[Called]) -> list[Any]:
    """The values of the calls that a client would run."""
    return [given for _, name, given in calls if name == "Bash" and given]


# Messages: the middle at an index that is not its own


@pytest.mark.parametrize("other", [0, 7])
def test_messages_a_piece_at_another_index_is_missing_in_the_open_call(other: int) -> None:
    first = wire.tool(0, LS, identity="toolu_0", name="Bash")
    begin = wire.tool_start(1, "toolu_1", "Bash")
    body = [first, begin, wire.fragment(1, RM[0]), wire.fragment(other, RM[1]), wire.fragment(1, RM[2]), wire.stop(1)]
    assert {"command": "rm -rf build"} not in run(messages(*body))


def test_messages_what_a_whole_call_said_may_be_said_again_while_another_one_comes() -> None:
    first = wire.tool(0, LS, identity="toolu_0", name="Bash")
    begin = wire.tool_start(1, "toolu_1", "Bash")
    for again in (LS, ""):
        body = [first, begin, wire.fragment(1, RM[0] + RM[1]), wire.fragment(0, again), wire.fragment(1, RM[2])]
        assert run(messages(*body, wire.stop(1))) == [{"command": "ls"}, WHOLE]


WORDS = {
    "in one fragment": (LS, RM[1]),
    "behind the end of a fragment": (LS[:5], LS[5:9], LS[9:], RM[1]),
}
"""A whole call and the middle of another one, at its index: with fragments before it that are nothing else."""


@pytest.mark.parametrize("pieces", WORDS.values(), ids=WORDS)
@pytest.mark.parametrize("first", [0, 1])
def test_messages_a_piece_behind_a_whole_call_is_missing_in_the_one_that_goes_on(
    pieces: tuple[str, ...], first: int
) -> None:
    begins = [wire.tool_start(0, "toolu_0", "Bash"), wire.tool_start(1, "toolu_1", "Bash")]
    body = [*begins, wire.fragment(1 - first, RM[0]), *(wire.fragment(first, text) for text in pieces)]
    body += [wire.fragment(1 - first, RM[2]), wire.stop(0), wire.stop(1)]
    assert run(messages(*body)) == []


@pytest.mark.parametrize("pieces", WORDS.values(), ids=WORDS)
@pytest.mark.parametrize("first", [0, 1])
def test_chat_a_piece_behind_a_whole_call_is_missing_in_the_one_that_goes_on(
    pieces: tuple[str, ...], first: int
) -> None:
    begins = [piece(0, "a", "Bash", ""), piece(1, "b", "Bash", "")]
    deltas = [*begins, piece(1 - first, None, None, RM[0]), *(piece(first, None, None, text) for text in pieces)]
    assert run(chat(*deltas, piece(1 - first, None, None, RM[2]))) == []


def test_chat_words_behind_the_last_of_several_calls_say_that_something_is_wrong() -> None:
    """They may belong to any of them."""
    deltas = [piece(0, "a", "Bash", "".join(RM)), piece(1, "b", "Bash", LS), piece(1, None, None, " or so")]
    assert run(chat(*deltas)) == []


# Z.AI and Chat: the middle under the id of a call that is whole


def test_zai_a_piece_with_the_id_of_a_whole_call_is_missing_in_the_open_one() -> None:
    backend = Backend(compact=True)
    for identity, name, text in (
        ("call_0", "Bash", LS),
        ("call_1", "Bash", RM[0]),
        ("call_0", "", RM[1]),
        ("call_1", "", RM[2]),
    ):
        backend.say(**zai_delta(identity, name, text))
    assert {"command": "rm -rf build"} not in run(zai(backend))


@pytest.mark.parametrize("index", [(0, 1), (0, 0)])
def test_chat_a_piece_of_the_open_call_at_the_place_of_a_whole_one(index: tuple[int, int]) -> None:
    one, other = index
    got = chat(
        piece(one, "call_0", "Bash", LS),
        piece(other, "call_1", "Bash", RM[0]),
        piece(one, "call_0", None, RM[1]),
        piece(other, "call_1", None, RM[2]),
    )
    assert {"command": "rm -rf build"} not in run(got)


def test_chat_calls_that_come_at_once_run_where_each_piece_is_its_own() -> None:
    got = chat(
        piece(0, "call_0", "Bash", LS[:5]),
        piece(1, "call_1", "Bash", RM[0]),
        piece(0, None, None, LS[5:]),
        piece(1, None, None, RM[1]),
        piece(0, None, None, "\n"),
        piece(1, None, None, RM[2]),
    )
    assert run(got) == [{"command": "ls"}, WHOLE]


# Gemini: pieces of two calls at once


def said(**call: Any) -> bytes:
    return gemini_event({"functionCall": call})


def pieces(key: str, text: str, more: bool = False, **call: Any) -> bytes:
    partial = {"jsonPath": f"$.{key}", "stringValue": text, **({"willContinue": True} if more else {})}
    return said(partialArgs=[partial], willContinue=True, **call)


def gemini(*events: bytes) -> list[tuple[str, Any]]:
    body = b"".join(events) + gemini_event({"text": ""}, finish="STOP")
    out, _ = mend(body, protocol="gemini", question=QUESTION)
    return [(call["name"], call["arguments"]) for call in GEMINI.read(out).calls if call["arguments"]]


BASH = said(name="Bash", id="c1", willContinue=True)
READ = said(name="Read", id="c2", willContinue=True)
END = said()


@pytest.mark.parametrize(
    "events",
    [
        (BASH, pieces("command", "ls"), READ, pieces("description", "x"), pieces("file_path", "/a"), END, END),
        (BASH, READ, pieces("file_path", "/a"), pieces("command", "ls"), END, END),
        (pieces("command", "ls /", True), BASH, pieces("command", "home"), END),
        (BASH, pieces("command", "rm ", True), READ, pieces("file_path", "/a"), END, pieces("command", "x"), END),
        (READ, said(name="Bash", willContinue=True), pieces("command", "ls"), pieces("command", " /"), END),
    ],
)
def test_gemini_pieces_of_calls_that_come_at_once_never_run(events: tuple[bytes, ...]) -> None:
    assert gemini(*events) == []


def test_gemini_calls_in_pieces_run_one_after_the_other_and_not_where_one_begins_inside_another() -> None:
    one_by_one = (BASH, pieces("command", "ls"), END, READ, pieces("file_path", "/a"), END)
    assert gemini(*one_by_one) == [("Bash", {"command": "ls"}), ("Read", {"file_path": "/a"})]
    named = (BASH, READ, pieces("file_path", "/", True, id="c2"), pieces("file_path", "a", id="c2"), END)
    assert gemini(*named) == []


def test_gemini_pieces_behind_a_whole_call_may_be_those_of_the_call_before_it() -> None:
    whole = said(name="Bash", id="c2", args={"command": "pwd"})
    woven = (BASH, whole, BASH, pieces("command", "rm -rf ", True), pieces("command", "/tmp"), END, END)
    assert ("Bash", {"command": "rm -rf /tmp"}) not in gemini(*woven)


# A copy without an id


def gone_id(*calls: tuple[str, str]) -> list[tuple[str, Counter[str]]]:
    """By wire: which commands run where calls have these ids and arguments."""

    def count(called: list[Called]) -> Counter[str]:
        return Counter(given["command"] for given in run(called))

    upstream = Upstream()
    for number, (identity, text) in enumerate(calls):
        own = {"call_id": identity, "id": f"fc_{number}"} if identity else {"call_id": "", "id": ""}
        upstream.call("Bash", text, **own)
        if not identity:
            for event in upstream.events:
                if event.get("output_index") == number:
                    event.pop("item_id", None)
    upstream.end()
    backend = Backend(compact=True)
    for identity, text in calls:
        backend.say(**zai_delta(identity, "Bash", text))
    lines = [
        ollama_line({"tool_calls": [{"id": identity, "function": {"name": "Bash", "arguments": json.loads(text)}}]})
        for identity, text in calls
    ]
    out, _ = mend(b"".join(lines) + ollama_line({}, done_reason="stop"), protocol="ollama", question=QUESTION)
    ollama = [("", call["name"], call["arguments"]) for call in OLLAMA.read(out).calls]
    events = [
        said(name="Bash", args=json.loads(text), **({"id": identity} if identity else {})) for identity, text in calls
    ]
    return [
        ("chat", count(chat(*(piece(at, identity or None, "Bash", text) for at, (identity, text) in enumerate(calls))))),
        *((f"chat, index {index} for all", count(chat(*(piece(index, identity or None, "Bash", text) for identity, text in calls))))
          for index in (None, 0)),
        ("chat whole", count(chat_document(*(entry(identity, "Bash", text) for identity, text in calls)))),
        ("messages", count(messages(*(
            wire.tool(at, text, identity=identity or None, name="Bash") for at, (identity, text) in enumerate(calls)
        )))),
        ("responses", count(responses(upstream))),
        ("responses whole", count(responses_document(upstream))),
        ("responses over a WebSocket", count(responses_socket(upstream))),
        ("zai", count(zai(backend))),
        ("ollama", count(ollama)),
        ("gemini", Counter(given["command"] for _, given in gemini(*events))),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "calls",
    [
        [("call_0", LS), ("", LS)],
        [("call_0", LS), ("", '{ "command" : "ls" }')],
        [("call_0", LS), ("call_1", '{"command":"pwd"}'), ("", LS), ("", '{"command":"pwd"}')],
    ],
)
def test_a_copy_of_a_call_that_has_lost_its_id_is_that_call(calls: list[tuple[str, str]]) -> None:
    for where, commands in gone_id(*calls):
        assert set(commands.values()) == {1}, where
        assert commands["ls"] == 1, where


@pytest.mark.parametrize(
    ("calls", "commands"),
    [
        ([("call_0", LS), ("call_1", LS)], {"ls": 2}),
        ([("call_0", LS), ("", '{"command":"pwd"}')], {"ls": 1, "pwd": 1}),
    ],
)
def test_twins_with_ids_and_another_call_without_one_stay_two(
    calls: list[tuple[str, str]], commands: dict[str, int]
) -> None:
    for where, found in gone_id(*calls):
        assert found == commands, where


@pytest.mark.parametrize("lost", [("call_id",), ("id", "call_id"), ("id",)])
def test_responses_an_item_listed_twice_with_fewer_ids_is_one_call(lost: tuple[str, ...]) -> None:
    upstream = Upstream().call("Bash", LS)
    again = {key: value for key, value in upstream.output[0].items() if key not in lost}
    upstream.output.append(again)
    upstream.end()
    for made in (responses(upstream), responses_document(upstream), responses_socket(upstream)):
        assert run(made) == [{"command": "ls"}]


@pytest.mark.parametrize("blank", ["", {}])
def test_ollama_a_copy_without_an_id_is_one_of_two_calls_without_arguments(blank: Any) -> None:
    """Some servers write no arguments in two ways."""

    def tabs(arguments: Any, **identity: str) -> Json:
        return {**identity, "function": {"name": "list_tabs", "arguments": arguments}}

    body = ollama_line({"tool_calls": [tabs({}, id="a")]}) + ollama_line({"tool_calls": [tabs(blank, id="b")]})
    out, _ = mend(
        body + ollama_line({"tool_calls": [tabs({}), tabs(blank)]}, done_reason="stop"),
        protocol="ollama",
        question=QUESTION,
    )
    assert [call["name"] for call in OLLAMA.read(out).calls] == ["list_tabs"] * 2
