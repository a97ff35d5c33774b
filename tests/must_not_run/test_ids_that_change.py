"""Responses: a server whose ids change from event to event tells one call, and it runs once."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.dialects.responses_wire import Upstream
from tests.must_not_run.test_resent_calls import responses, responses_socket

Json = dict[str, Any]
COMMANDS = (('{"command":', '"rm -rf build"}'), ('{"command":"ls"}',))


def upstream() -> Upstream:
    """A message and two calls; no event shares an object with another."""
    made = Upstream().message("So.")
    for number, fragments in enumerate(COMMANDS):
        made.call("Bash", *fragments, call_id=f"call_{number}")
    made.end()
    made.events = [copy.deepcopy(event) for event in made.events]
    return made


def items(event: Json, *kinds: str) -> list[Json]:
    """The calls that an event tells as items."""
    if not event["type"].endswith(kinds):
        return []
    found = [event["item"]] if "item" in event else event.get("response", {}).get("output", [])
    return [item for item in found if item.get("type") == "function_call"]


def renamed(*kinds: str, keys: tuple[str, ...] = ("id", "call_id")) -> Callable[[Json], None]:
    def change(event: Json) -> None:
        for item in items(event, *kinds):
            item.update({key: f"{item[key]}_{kinds[0]}" for key in keys})

    return change


def moved(by: Callable[[int], int], **ids: str | None) -> Callable[[Json], None]:
    """Arguments come under another index, and under another item's id or none."""

    def change(event: Json) -> None:
        if "function_call_arguments" in event["type"]:
            event["output_index"] = by(event["output_index"])
            event.update(ids)
            if event["item_id"] is None:
                del event["item_id"]

    return change


def done_elsewhere(event: Json) -> None:
    for item in items(event, "item.done"):
        item.update(id=f"{item['id']}_d", call_id=f"{item['call_id']}_d")
        event["output_index"] += 5


CHANGES: dict[str, Callable[[Json], None]] = {
    "the announcement": renamed("item.added"),
    "the call id of the announcement": renamed("item.added", keys=("call_id",)),
    "the end": renamed("item.done"),
    "the end, at another index": done_elsewhere,
    "the end and the list": renamed("item.done", "completed"),
    "the list": renamed("completed"),
    "arguments of an item that nobody announced": moved(lambda at: at + 1, item_id="fc_x"),
    "arguments without an item": moved(lambda at: at - 1, item_id=None),
    "arguments without an item, all at one index": moved(lambda at: 0, item_id=None),
    "arguments of no item, far away": moved(lambda at: 99, item_id="x"),
}


@pytest.mark.parametrize("run", [responses, responses_socket])
@pytest.mark.parametrize("change", CHANGES)
def test_a_call_whose_ids_change_runs_once(change: str, run: Callable[[Upstream], list[Any]]) -> None:
    made = upstream()
    for event in made.events:
        CHANGES[change](event)
    assert sorted(given["command"] for _, _, given in run(made) if given) == ["ls", "rm -rf build"]


@pytest.mark.parametrize("run", [responses, responses_socket])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("size", [4_000, 4_200, 100_000])
def test_a_long_call_whose_ids_change_runs_once(size: int, change: str, run: Callable[[Upstream], list[Any]]) -> None:
    """Long arguments are compared as text, not by what they mean: reading them takes long."""
    command = f"echo {'x' * size}"
    made = Upstream().message("So.")
    made.call("Bash", '{"command":', f'"{command}"}}', call_id="call_0").call(
        "Bash", '{"command":"ls"}', call_id="call_1"
    )
    made.end()
    made.events = [copy.deepcopy(event) for event in made.events]
    for event in made.events:
        CHANGES[change](event)
    assert sorted(given["command"] for _, _, given in run(made) if given) == [command, "ls"]


@pytest.mark.parametrize("run", [responses, responses_socket])
def test_many_calls_whose_ids_change_run_once_each(run: Callable[[Upstream], list[Any]]) -> None:
    made = Upstream()
    for number in range(40):
        made.call("Bash", f'{{"command":"echo {number}"}}', call_id=f"call_{number}")
    made.end()
    made.events = [copy.deepcopy(event) for event in made.events]
    for event in made.events:
        CHANGES["the end"](event)
    assert [given["command"] for _, _, given in run(made) if given] == [f"echo {number}" for number in range(40)]


@pytest.mark.parametrize("run", [responses, responses_socket])
def test_twins_that_are_announced_stay_two(run: Callable[[Upstream], list[Any]]) -> None:
    made = Upstream()
    for number in range(2):
        made.call("Bash", '{"command":"ls"}', call_id=f"call_{number}")
    assert [given for _, _, given in run(made.end())] == [{"command": "ls"}] * 2
