"""Calls that came at one index are believed as the table below says, row by row, and end to end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.must_not_run.interleaved import QUESTION
from tests.must_not_run.test_merged_calls import (
    BUILD,
    HOME,
    LS,
    LS_HOME,
    RM,
    RM_BUILD,
    chat,
    messages,
    responses,
)
from tests.protocols import messages_wire as wire
from tests.protocols.responses_wire import Upstream
from tests.protocols.test_chat import piece
from tests.splits import mend
from tests.validators import messages as strict_messages

Json = dict[str, Any]


# On the wire of Chat

BROKEN_RM, BROKEN_LS = "{'command': 'rm -rf build'}", "{'command': 'ls /home'}"
ON_THE_WIRE: dict[str, tuple[list[Json], list[Json]]] = {
    "one call, broken": ([piece(0, "a", "Bash", "{'command': "), piece(0, None, None, "'ls /home'}")], [LS_HOME]),
    "several, each fragment with its id, broken": (
        [piece(0, "a", "Bash", BROKEN_RM[:9]), piece(0, "b", "Bash", BROKEN_LS[:9]),
         piece(0, "a", None, BROKEN_RM[9:]), piece(0, "b", None, BROKEN_LS[9:])],
        [RM_BUILD, LS_HOME],
    ),
    "several, one fragment without an id, all strict": (
        [piece(0, "a", "Bash", RM + BUILD), piece(0, "b", "Bash", LS), piece(0, None, None, HOME)],
        [RM_BUILD, LS_HOME],
    ),
    "several, one fragment without an id, the last one broken": (
        [piece(0, "a", "Bash", RM + BUILD), piece(0, "b", "Bash", BROKEN_LS[:9]), piece(0, None, None, BROKEN_LS[9:])],
        [],
    ),
    "several, one fragment without an id, the first one broken": (
        [piece(0, "a", "Bash", BROKEN_RM), piece(0, "b", "Bash", LS), piece(0, None, None, HOME)],
        [],
    ),
    "an id that changes, strict": ([piece(0, "a", "Bash", LS), piece(0, "b", None, HOME)], [LS_HOME]),
    "an id that changes, broken": ([piece(0, "a", "Bash", BROKEN_LS[:9]), piece(0, "b", None, BROKEN_LS[9:])], []),
    "an id and an index contradict each other": (
        [piece(0, "a", "Bash", RM), piece(1, "b", "Bash", LS), piece(1, "a", None, BUILD), piece(1, "b", None, HOME)],
        [],
    ),
    "an id comes back after another one": (
        [piece(0, "a", "Bash", RM), piece(0, "b", None, "-v "), piece(0, "a", None, BUILD)],
        [],
    ),
    # A name said again
    "a name with each fragment": (
        [piece(0, None, "Bash", LS), piece(0, None, "Bash", HOME)],
        [LS_HOME],
    ),
    "a name said again before any arguments": (
        [piece(0, "a", "Bash", ""), piece(0, "a", "Bash", LS), piece(0, "a", None, HOME)],
        [LS_HOME],
    ),
    "a name said again with an object inside a call, and then none": (
        [piece(0, "a", "Bash", RM), piece(0, "a", "Bash", LS), piece(0, "a", None, BUILD), piece(0, "a", None, HOME)],
        [],
    ),
    "the same without ids": (
        [piece(0, None, "Bash", RM), piece(0, None, "Bash", LS), piece(0, None, None, BUILD),
         piece(0, None, None, HOME)],
        [],
    ),
    # Ids that are written otherwise, or are missing
    "ids that differ in case only are one": ([piece(0, "call_A", "Bash", LS), piece(0, "CALL_a", None, HOME)], [LS_HOME]),
    "ids that differ in case only, broken": (
        [piece(0, "call_A", "Bash", BROKEN_LS[:9]), piece(0, "CALL_a", None, BROKEN_LS[9:])],
        [LS_HOME],
    ),
    "ids that differ in case only, woven": (
        [piece(0, "A", "Bash", RM), piece(0, "B", "Bash", LS), piece(0, "a", None, BUILD), piece(0, "b", None, HOME)],
        [RM_BUILD, LS_HOME],
    ),
    "an id that is null behind one": (
        [piece(0, "a", "Bash", LS), {"tool_calls": [{"index": 0, "id": None, "function": {"arguments": HOME}}]}],
        [LS_HOME],
    ),
    "ids that are null, woven": (
        [piece(0, "a", "Bash", RM), piece(0, "b", "Bash", LS),
         {"tool_calls": [{"index": 0, "id": None, "function": {"arguments": BUILD}}]},
         {"tool_calls": [{"index": 0, "id": None, "function": {"arguments": HOME}}]}],
        [],
    ),
    "an id that is null for one of two, woven": (
        [piece(0, "a", "Bash", RM), piece(0, "b", "Bash", LS),
         {"tool_calls": [{"index": 0, "id": None, "function": {"arguments": HOME}}]}, piece(0, "A", None, BUILD)],
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize("name", ON_THE_WIRE)
def test_what_chat_makes_of_calls_at_one_index(name: str, aggregate: bool) -> None:
    deltas, meant = ON_THE_WIRE[name]
    assert chat(*deltas, aggregate=aggregate) == meant


@pytest.mark.parametrize("name", [name for name, (_, meant) in ON_THE_WIRE.items() if not meant])
def test_what_is_refused_is_refused_with_every_end_of_the_answer(name: str) -> None:
    for finish in ("stop", "length", "content_filter"):
        assert chat(*ON_THE_WIRE[name][0], finish=finish) == []


def test_calls_that_only_the_order_tells_apart_are_refused_where_the_answer_was_cut_off() -> None:
    deltas, meant = ON_THE_WIRE["several, one fragment without an id, all strict"]
    assert chat(*deltas, finish="tool_calls") == meant
    assert chat(*deltas, finish="length") == []


# Messages: the input that a start has


def cut_off(blocks: bytes, end: bytes = b"") -> list[Json]:
    """What would run of an answer with these blocks and this end."""
    out, _ = mend(wire.begin() + blocks + end, protocol="messages", question=QUESTION)
    message = strict_messages.read(out, fragments=True, unfinished_calls=True)
    return [given for _, given in message.calls if given]


STARTED = wire.tool_start(0, "a", "Bash", LS_HOME)
ENDS = {
    "max_tokens": wire.end("max_tokens"),
    "refusal": wire.end("refusal"),
    "nothing": b"",
}


@pytest.mark.parametrize("end", ENDS)
def test_the_input_of_a_start_is_refused_where_the_answer_was_cut_before_its_stop(end: str) -> None:
    assert cut_off(STARTED, ENDS[end]) == []


@pytest.mark.parametrize("end", ENDS)
def test_the_input_of_a_start_runs_where_its_block_was_stopped(end: str) -> None:
    assert cut_off(STARTED + wire.stop(0), ENDS[end]) == [LS_HOME]
    assert messages(STARTED + wire.stop(0)) == [LS_HOME]


@pytest.mark.parametrize("end", ENDS)
def test_of_two_starts_with_input_only_the_one_that_was_stopped_runs(end: str) -> None:
    second = wire.tool_start(1, "b", "Bash", RM_BUILD)
    assert cut_off(STARTED + wire.stop(0) + second, ENDS[end]) == [LS_HOME]
    assert messages(STARTED + wire.stop(0) + second + wire.stop(1)) == [LS_HOME, RM_BUILD]


def test_the_input_of_a_start_and_fragments_that_tell_another_run_nothing() -> None:
    assert messages(STARTED + wire.fragment(0, RM + BUILD) + wire.stop(0)) == []
    assert messages(STARTED + wire.fragment(0, LS + HOME) + wire.stop(0)) == [LS_HOME]


@pytest.mark.parametrize(
    ("arguments", "runs"), [(LS + HOME, [LS_HOME]), ((LS + HOME).replace('"', "'"), [])], ids=["strict", "broken"]
)
def test_a_start_told_again_under_the_index_of_its_fragments_runs_only_if_they_are_strict(
    arguments: str, runs: list[Json]
) -> None:
    """What came before the second start may belong to a call whose beginning was lost."""
    first, rest = wire.fragment(7, arguments[:9]), wire.fragment(7, arguments[9:])
    starts = [wire.tool_start(index, "a", "Bash") for index in (5, 7)]
    assert messages(starts[0] + first + starts[1] + rest + wire.stop(7)) == runs


# Responses: an index that stands before the id of the item


def _deltas(*told: Json, stated: bool = False) -> Upstream:
    """Two calls that began at 0 and 1, and their deltas with these fields, in this order."""
    upstream = Upstream()
    calls = (("fc_a", RM + BUILD), ("fc_b", LS + HOME))
    kinds = [{"id": item, "type": "function_call", "call_id": item[-1], "name": "Bash"} for item, _ in calls]
    for index, kind in enumerate(kinds):
        upstream.say("response.output_item.added", output_index=index, item={**kind, "arguments": ""})
    for fields in told:
        upstream.say("response.function_call_arguments.delta", **fields)
    for index, kind in enumerate(kinds):
        arguments = calls[index][1] if stated else ""
        upstream.say("response.output_item.done", output_index=index, item={**kind, "arguments": arguments})
    return upstream.end()


def _first(field: str, index: int, item: str, delta: str) -> Json:
    """The fields of a delta, this one first."""
    fields: Json = {"output_index": index, "item_id": item}
    return {field: fields.pop(field), **fields, "delta": delta}


@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize("field", ["output_index", "item_id"])
def test_deltas_whose_index_disagrees_with_their_item_run_nothing(field: str, aggregate: bool) -> None:
    exchanged = [
        _first(field, 0, "fc_a", RM), _first(field, 1, "fc_b", LS),
        _first(field, 1, "fc_a", BUILD), _first(field, 0, "fc_b", HOME),
    ]  # fmt: skip
    assert responses(_deltas(*exchanged), aggregate=aggregate) == []


@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize("field", ["output_index", "item_id"])
def test_one_delta_whose_index_disagrees_with_its_item_spoils_both_calls(field: str, aggregate: bool) -> None:
    for wrong in range(4):
        told = [(0, "fc_a", RM), (1, "fc_b", LS), (0, "fc_a", BUILD), (1, "fc_b", HOME)]
        index, item, delta = told[wrong]
        told[wrong] = (1 - index, item, delta)
        assert responses(_deltas(*(_first(field, *each) for each in told)), aggregate=aggregate) == [], wrong


@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize("field", ["output_index", "item_id"])
def test_deltas_whose_index_agrees_with_their_item_run_whatever_stands_first(field: str, aggregate: bool) -> None:
    told = [(0, "fc_a", RM), (1, "fc_b", LS), (0, "fc_a", BUILD), (1, "fc_b", HOME)]
    assert responses(_deltas(*(_first(field, *each) for each in told)), aggregate=aggregate) == [RM_BUILD, LS_HOME]


@pytest.mark.parametrize("field", ["output_index", "item_id"])
def test_the_order_of_the_fields_stands_on_the_wire(field: str) -> None:
    """What is tried here is lost if a dictionary is written in another order."""
    body = _deltas(_first(field, 0, "fc_a", RM)).bytes().decode()
    line = next(line for line in body.splitlines() if line.startswith("data:") and "arguments.delta" in line)
    keys = [key for key in json.loads(line[5:]) if key in ("output_index", "item_id")]
    assert keys[0] == field
