"""A call whose beginning is missing runs only where nothing else can have stood there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.must_not_run.interleaved import QUESTION
from tests.must_not_run.test_merged_calls import chat
from tests.must_not_run.wires import TOOLS, Said, call, runnable
from tests.protocols import messages_wire as wire
from tests.protocols.test_chat import piece as part
from tests.protocols.text_protocols import GEMINI, gemini_event
from tests.splits import mend
from tests.validators import messages as strict_messages
from toolcalls.request.request import read_request

BASH = TOOLS[0]["function"]["parameters"]
DRY_RUN = {"dry_run": {"type": "boolean"}, **BASH["properties"]}
SAFE = {"type": "function", "function": {"name": "Bash", "parameters": {**BASH, "properties": DRY_RUN}}}
"""Models write `dry_run` before `command` here: it may have been lost with the bracket."""
REST = {
    "without its bracket and quote": 'command": "rm -rf build"}',
    "without its bracket": '"command": "rm -rf build"}',
    "without both brackets": '"command": "rm -rf build"',
}


def values(arguments: str, *tools: Any) -> list[Any]:
    said = Said(calls=(call("Bash", arguments[:9], arguments[9:]),), finish="calls", request={"tools": list(tools)})
    return [each["arguments"] for _, calls in runnable(said) for each in calls]


@pytest.mark.parametrize("rest", REST.values(), ids=REST)
def test_a_key_that_the_tool_declares_before_the_first_one_may_be_lost(rest: str) -> None:
    assert values(rest, SAFE) == []


@pytest.mark.parametrize("rest", REST.values(), ids=REST)
def test_before_the_first_key_that_the_tool_declares_only_the_bracket_can_be_lost(rest: str) -> None:
    """The near miss. Without its end too, it is refused."""
    assert values(rest, TOOLS[0]) == [{"command": "rm -rf build"}] * (6 if rest.endswith("}") else 0)


def test_whole_arguments_may_begin_with_any_key() -> None:
    assert values('{"command": "ls", "dry_run": true}', SAFE) == [{"command": "ls", "dry_run": True}] * 6


# Messages: a block whose start was lost may be of any kind, and of any tool

LS = '{"command":"ls"}'


def messages(*events: bytes) -> list[tuple[str, Any]]:
    out, _ = mend(wire.begin() + b"".join(events) + wire.end("tool_use"), protocol="messages", question=QUESTION)
    return [(name, value) for name, value in strict_messages.read(out).calls if value and name != "invalid"]


def block(index: int, *, started: bool = True, identity: str = "toolu_0") -> bytes:
    begin = wire.tool_start(index, identity, "Bash") if started else b""
    return begin + wire.fragment(index, LS[:5]) + wire.fragment(index, LS[5:]) + wire.stop(index)


def test_a_block_that_never_began_is_no_call_of_the_tool_that_its_arguments_fit() -> None:
    assert messages(block(0, started=False)) == []


def test_a_block_that_never_began_and_is_sent_again_with_its_beginning_runs_once_at_most() -> None:
    assert messages(block(0, started=False), block(1)).count(("Bash", {"command": "ls"})) <= 1


@pytest.mark.parametrize("more", [(), ("{}",), ("{", "}")])
@pytest.mark.parametrize("index", [0, None])
def test_the_next_call_does_not_get_the_arguments_of_a_block_that_never_began(
    index: int | None, more: tuple[str, ...]
) -> None:
    """Its stop was lost too."""
    lost = wire.fragment(index, LS[:5]) + wire.fragment(index, LS[5:])
    own = b"".join(wire.fragment(index, text) for text in more)
    assert messages(lost, wire.tool_start(index, "toolu_1", "list_tabs"), own, wire.stop(index)) == []


def test_a_block_whose_beginning_comes_late_is_a_call() -> None:
    """The near miss."""
    late = wire.fragment(0, LS[:5]) + wire.tool_start(0, "toolu_0", "Bash") + wire.fragment(0, LS[5:]) + wire.stop(0)
    assert messages(late) == [("Bash", {"command": "ls"})]


# Chat: fragments without an id and a name are those of a call whose beginning was lost


@pytest.mark.parametrize("index", [0, 1, None])
def test_a_call_whose_first_chunk_was_lost_may_be_one_of_any_tool(index: int | None) -> None:
    assert chat(part(index, None, None, LS[:5]), part(index, None, None, LS[5:])) == []


def test_a_call_that_has_an_id_and_no_name_is_one_of_the_tool_that_its_arguments_fit() -> None:
    """The near miss: its beginning came."""
    assert chat(part(0, "call_0", None, LS[:5]), part(0, None, None, LS[5:])) == [{"command": "ls"}]
    assert chat(part(0, "call_0", "", ""), part(0, None, None, LS)) == [{"command": "ls"}]


# Gemini: pieces of a value behind its end


def gemini(*pieces: dict[str, Any]) -> list[Any]:
    parts = [{"functionCall": {"name": "Bash", "id": "c", "willContinue": True}}]
    parts += [{"functionCall": {"partialArgs": [one], "willContinue": True}} for one in pieces]
    body = b"".join(gemini_event(part) for part in (*parts, {"functionCall": {}})) + gemini_event(finish="STOP")
    out, _ = mend(body, protocol="gemini", question=read_request({"tools": TOOLS, "stream": True}))
    return [value for each in GEMINI.read(out).calls if (value := each["arguments"]) and each["name"] == "Bash"]


def piece(text: str, *, more: bool) -> dict[str, Any]:
    return {"jsonPath": "$.command", "stringValue": text, "willContinue": more}


FIRST, LAST = piece("rm -rf ", more=True), piece("build", more=False)


@pytest.mark.parametrize(
    "pieces", [(FIRST, LAST, LAST), (LAST, FIRST, LAST), (FIRST, LAST, FIRST), (LAST, FIRST, piece("", more=False))]
)
def test_a_piece_behind_the_end_of_its_value_says_that_the_pieces_are_in_disorder(pieces: Any) -> None:
    assert gemini(*pieces) == []


@pytest.mark.parametrize("pieces", [(FIRST, LAST), (FIRST, LAST, piece("", more=False))])
def test_pieces_in_their_order_are_a_call(pieces: Any) -> None:
    """The near miss."""
    assert gemini(*pieces) == [{"command": "rm -rf build"}]
