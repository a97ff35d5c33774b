"""A call that never gets a name runs only where its arguments can be those of one declared tool."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.must_not_run.test_merged_calls import chat
from tests.must_not_run.wires import TOOLS, Said, call, outcomes, stream
from tests.protocols.test_chat import DONE, chunk, piece
from tests.protocols.text_protocols import CHAT, MESSAGES, RESPONSES, Client, Protocol
from tests.splits import mend
from toolcalls.policy import Policy
from toolcalls.request.request import read_request

INVALID = {
    "type": "function",
    "function": {
        "name": "invalid",
        "parameters": {
            "type": "object",
            "properties": {"tool": {"type": "string"}, "error": {"type": "string"}},
            "required": ["tool", "error"],
        },
    },
}
WITHOUT_CALLS = {"chat": "stop", "messages": "end_turn", "responses": "completed"}

NAMED = {
    '{"command":"ls"}': "Bash",
    "{'command': 'ls', 'timeout': 5}": "Bash",
    '{"file_path":"/a"}': "Read",
    '{"file_path":"/a","content":"x"}': "Write",
}
NOT_NAMED = [
    "{}",
    '{"zzz":1}',
    '{"command":"ls","zzz":1}',
    '{"timeout":5}',
    '{"command":"rm -rf /tmp/x',
    "[1]",
    "ls",
]


def nameless(arguments: str, *more: dict[str, Any], tools: list[Any] = TOOLS, finish: str = "calls") -> Said:
    return Said(calls=(call("", arguments),), finish=finish, request={"tools": [*tools, *more]})


@pytest.mark.parametrize("arguments", NAMED)
def test_the_one_tool_that_the_arguments_fit_is_the_one_that_was_meant(arguments: str) -> None:
    for where, client in outcomes(nameless(arguments)):
        assert [each["name"] for each in client.calls] == [NAMED[arguments]], where


@pytest.mark.parametrize("arguments", NOT_NAMED)
def test_any_other_is_dropped_and_the_finish_follows(arguments: str) -> None:
    for where, client in outcomes(nameless(arguments)):
        assert client == Client("", [], WITHOUT_CALLS[where.split()[0]]), where


@pytest.mark.parametrize("arguments", NOT_NAMED)
def test_any_other_goes_to_the_invalid_tool_that_the_client_declares(arguments: str) -> None:
    for where, client in outcomes(nameless(arguments, INVALID)):
        [sent] = client.calls
        assert (sent["name"], sent["arguments"]["tool"]) == ("invalid", ""), where
        assert sent["arguments"]["error"] == "Not a tool name: empty.", where


def test_arguments_that_fit_two_tools_are_those_of_none() -> None:
    twice = [*TOOLS, {"type": "function", "function": {**TOOLS[0]["function"], "name": "Shell"}}]
    for where, client in outcomes(nameless('{"command":"ls"}', tools=twice)):
        assert client.calls == [], where


@pytest.mark.parametrize("choice", ["none", {"type": "function", "function": {"name": "Read"}}])
def test_a_tool_that_the_client_does_not_let_this_answer_call_is_not_meant(choice: Any) -> None:
    said = nameless('{"command":"ls"}')
    for where, client in outcomes(
        Said(calls=said.calls, finish="calls", request={**said.request, "tool_choice": choice})
    ):
        assert client.calls == [], where


def test_arguments_that_were_cut_off_are_those_of_no_tool() -> None:
    for where, client in outcomes(nameless('{"command":"rm -rf /tmp/x"', finish="length")):
        assert client.calls == [], where


@pytest.mark.parametrize("arguments", ["{}", '{"command":"ls"}', "{'command': 'ls'}"])
def test_without_declared_tools_it_goes_on_with_its_arguments_mended_and_its_name_as_it_is(arguments: str) -> None:
    meant = json.loads(arguments.replace("'", '"'))
    for where, client in outcomes(nameless(arguments, tools=[])):
        assert client.calls == [{"name": "", "arguments": meant}], where


@pytest.mark.parametrize("protocol", [CHAT, MESSAGES, RESPONSES], ids=lambda protocol: protocol.name)
def test_with_aggregation_off_nothing_of_it_goes_out_before_it_has_a_name(protocol: Protocol) -> None:
    for arguments, names in (('{"command":"ls"}', ["Bash"]), ('{"zzz":1}', [])):
        said = nameless(arguments)
        out, _ = mend(
            stream(protocol, said), protocol=protocol.name, question=said.question, policy=Policy(aggregate=False)
        )
        assert [each["name"] for each in protocol.read(out).calls] == names


LS = {"command": "ls"}
LATE = {
    "its last fragment": (
        [piece(0, "c", None, '{"command":'), piece(0, None, None, '"ls"}'), piece(0, None, "bash")],
        LS,
    ),
    "an empty name first": ([piece(0, "c", "", '{"command":"ls"}'), piece(0, None, "bash", "")], LS),
    "no index": ([piece(None, "c", None, '{"command":"ls"}'), piece(None, None, "bash", "")], LS),
    "a tool that cannot take them": ([piece(0, "c", "", '{"command":"ls"}'), piece(0, None, "read", "")], None),
    "a tool without parameters": ([piece(0, "c", "", '{"command":"ls"}'), piece(0, None, "list_tabs", "")], None),
    "arguments that are broken": ([piece(0, "c", "", "{'command': 'ls'}"), piece(0, None, "bash", "")], None),
    "arguments of its own": (
        [piece(0, "c", "", '{"command":"ls"}'), piece(0, None, "bash", ""), piece(0, None, None, '{"command":"rm"}')],
        None,
    ),
    "one index and no id": ([piece(1, None, None, '{"command":"ls"}'), piece(1, None, "bash", "")], LS),
    "one index, in pieces": (
        [piece(1, None, None, '{"comm'), piece(1, None, None, 'and":"ls"}'), piece(1, None, "bash", "")],
        LS,
    ),
    "one index and broken arguments": ([piece(0, None, None, "{'command': 'ls'}"), piece(0, None, "bash", "")], None),
    "one index, and a tool that cannot take them": (
        [piece(0, None, None, '{"command":"ls"}'), piece(0, None, "read", "")],
        None,
    ),
    "one index, and a tool without parameters": (
        [piece(0, None, None, '{"command":"ls"}'), piece(0, None, "list_tabs", "")],
        None,
    ),
    "one index, and arguments of its own": (
        [
            piece(0, None, None, '{"command":"ls"}'),
            piece(0, None, "bash", ""),
            piece(0, None, None, '{"command":"rm"}'),
        ],
        None,
    ),
    "one index, and a beginning that was lost": (
        [piece(0, None, None, '"ls"}'), piece(0, None, "bash", "")],
        None,
    ),
    "neither an index nor an id": (
        [piece(None, None, None, '{"command":"ls"}'), piece(None, None, "bash", "")],
        None,
    ),
}


@pytest.mark.parametrize("case", LATE)
def test_a_name_after_all_of_the_arguments_is_theirs_if_its_tool_can_take_them(case: str) -> None:
    deltas, meant = LATE[case]
    assert chat(*deltas) == ([] if meant is None else [meant])
    assert chat(*deltas, finish="length") == []


READ = [piece(0, "c", "read", '{"file_path":"/a"}')]
AT_ITS_INDEX = {
    "all that it needs": ([piece(1, None, None, '{"command":"ls"}'), piece(1, None, "bash", "")], LS),
    "in pieces": (
        [piece(1, None, None, '{"comm'), piece(1, None, None, 'and":"ls"}'), piece(1, None, "bash")],
        LS,
    ),
    "a tool that cannot take them": ([piece(1, None, None, '{"command":"ls"}'), piece(1, None, "read", "")], None),
    "broken arguments": ([piece(1, None, None, "{'command': 'ls'}"), piece(1, None, "bash", "")], None),
    "arguments of its own": (
        [piece(1, None, None, '{"command":"ls"}'), piece(1, None, "bash", '{"command":"rm"}')],
        None,
    ),
    "more arguments behind it": (
        [piece(1, None, None, '{"command":"ls"}'), piece(1, None, "bash"), piece(1, None, None, '{"command":"rm"}')],
        None,
    ),
    "a beginning that was lost": ([piece(1, None, None, '"ls"}'), piece(1, None, "bash", "")], None),
}


@pytest.mark.parametrize("case", AT_ITS_INDEX)
def test_a_late_name_is_that_of_the_arguments_at_its_index_behind_other_calls_too(case: str) -> None:
    deltas, meant = AT_ITS_INDEX[case]
    assert chat(*READ, *deltas) == ([] if meant is None else [{"file_path": "/a"}, meant])
    assert chat(*deltas, *READ) == ([] if meant is None else [meant, {"file_path": "/a"}])
    assert chat(*READ, *deltas, finish="length") == []


ANONYMOUS = {
    "whole": ([piece(None, None, None, "{'command': 'ls'}")], LS),
    "whole, with an index": ([piece(0, None, None, '{"command":"ls"}')], LS),
    "in pieces, so that the beginning was lost": (
        [piece(0, None, None, '{"comm'), piece(0, None, None, 'and":"ls"}')],
        None,
    ),
    "the middle of a call": ([piece(None, None, None, 'ls"}')], None),
    "two of them": ([piece(None, None, None, '{"command":"ls"}'), piece(None, None, None, '{"command":"rm"}')], None),
    "no tool fits": ([piece(None, None, None, '{"commands":"ls"}')], None),
    "nothing in it": ([piece(None, None, None, "{}")], None),
    "only a bracket is missing, and the answer is complete": ([piece(None, None, None, '{"command":"ls"')], LS),
}
"""Fragments without an id and a name."""


@pytest.mark.parametrize("case", ANONYMOUS)
def test_a_call_in_one_piece_without_id_and_name_is_one_of_the_tool_that_it_fits(case: str) -> None:
    deltas, meant = ANONYMOUS[case]
    assert chat(*deltas) == ([] if meant is None else [meant])


def test_a_call_in_one_piece_that_fits_two_tools_is_none() -> None:
    tools = [tool | {"function": {**tool["function"], "name": name}} for name in ("a", "b") for tool in TOOLS[:1]]
    body = chunk(piece(None, None, None, '{"command":"ls"}')) + chunk({}, "stop") + DONE
    _, answer = mend(body, question=read_request({"tools": tools}))
    assert [outcome.status for outcome in answer.outcomes] == ["refused"]
