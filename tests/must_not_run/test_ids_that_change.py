"""Responses: a server whose ids change from event to event tells one call, and it runs once."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from scripts.fuzzing.clients import CALLS, payloads
from tests.must_not_run.interleaved import QUESTION
from tests.must_not_run.test_resent_calls import responses, responses_socket
from tests.protocols.responses_wire import Upstream, written
from tests.splits import mend
from toolcalls.policy import Policy
from toolcalls.request.request import read_request

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


# Announcements that were lost


def ran(made: Upstream) -> list[str]:
    """The commands that run, the same for clients that read the events and those that read the list at the end."""
    out, _ = mend(written(made.events), protocol="responses", question=QUESTION)
    told = CALLS["responses"](out)
    listed = [(item["name"], item["arguments"]) for item in items(payloads(out)[-1], "completed")]
    assert sorted(told) == sorted(listed)
    return sorted(json.loads(arguments).get("command", "") for name, arguments in told if name == "Bash")


def without_announcements(made: Upstream, *numbers: int) -> Upstream:
    """The answer without the announcements of these calls."""
    announced = [event for event in made.events if items(event, "item.added")]
    lost = [announced[number] for number in numbers]
    made.events = [event for event in made.events if not any(event is one for one in lost)]
    return made


@pytest.mark.parametrize("lost", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("another", [None, *CHANGES])
def test_a_call_that_was_never_announced_and_whose_ids_change_runs_at_most_once(
    another: str | None, change: str, lost: tuple[int, ...]
) -> None:
    made = without_announcements(upstream(), *lost)
    for event in made.events:
        for each in filter(None, (change, another)):
            CHANGES[each](event)
    commands = list(filter(None, ran(made)))
    assert commands in (["ls", "rm -rf build"], ["ls"], ["rm -rf build"], []), commands


@pytest.mark.parametrize("change", ["the end", "the list", "the end and the list"])
def test_calls_that_were_never_announced_run(change: str) -> None:
    made = without_announcements(upstream(), 0, 1)
    for event in made.events:
        CHANGES[change](event)
    assert ran(made) == ["ls", "rm -rf build"]


@pytest.mark.parametrize(
    "kinds", [("item.added",), ("item.added", "arguments.delta"), ("arguments.done", "item.done")]
)
def test_twins_of_which_the_same_events_are_missing_stay_two(kinds: tuple[str, ...]) -> None:
    made = Upstream()
    for number in range(2):
        made.call("Bash", '{"command":"ls"}', call_id=f"call_{number}")
    made.end()
    made.events = [event for event in made.events if not event["type"].endswith(kinds)]
    assert ran(made) == ["ls", "ls"]


@pytest.mark.parametrize("listed_only", [0, 1])
def test_twins_of_which_only_the_list_tells_one_stay_two(listed_only: int) -> None:
    made = Upstream()
    for number in range(2):
        made.call("Bash", '{"command":"ls"}', call_id=f"call_{number}")
    made.end()
    made.events = [
        event
        for event in made.events
        if "output_index" not in event
        or (event["output_index"] != listed_only and event["type"].endswith("item.done"))
    ]
    assert ran(made) == ["ls", "ls"]


# Events of another call


def test_arguments_under_the_id_of_a_call_that_ends_elsewhere_are_not_those_of_the_call_at_the_index() -> None:
    """The announcement of the second call was lost, and it came at the index of the first."""
    made = Upstream()
    item = {"id": "fc_0", "type": "function_call", "call_id": "call_0", "name": "list_tabs", "arguments": ""}
    made.say("response.output_item.added", output_index=0, item=item)
    made.say("response.function_call_arguments.delta", output_index=0, item_id="fc_0", delta='{"all":')
    where = {"output_index": 0, "item_id": "fc_y"}
    made.say("response.function_call_arguments.delta", **where, delta='{"command":"ls"}')
    made.say("response.function_call_arguments.done", **where, arguments='{"command":"ls"}')
    made.finish(0, {**item, "id": "fc_y", "call_id": "call_y", "name": "Bash", "arguments": '{"command":"ls"}'})
    assert [(name, given) for _, name, given in responses(made.end()) if name != "invalid"] == [
        ("Bash", {"command": "ls"})
    ]


def test_arguments_under_an_id_that_two_calls_share_belong_to_neither() -> None:
    made = Upstream()
    for name in ("Read", "Write"):
        item = {"id": "fc", "type": "function_call", "call_id": f"call_{name}", "name": name, "arguments": ""}
        made.say("response.output_item.added", output_index=0, item=item)
    for arguments in ('{"file_path":"a","content":"b"}', '{"file_path":"c"}'):
        made.say("response.function_call_arguments.done", output_index=0, item_id="fc", arguments=arguments)
    assert [(name, given) for _, name, given in responses(made.end()) if given and name != "invalid"] == []


@pytest.mark.parametrize("listed", [True, False])
def test_a_call_without_arguments_runs_only_if_it_ended(listed: bool) -> None:
    made = Upstream()
    item = {"id": "fc", "type": "function_call", "call_id": "call", "name": "list_tabs", "arguments": ""}
    made.say("response.output_item.added", output_index=0, item=item)
    if listed:
        made.output.append({**item, "status": "completed"})
    made.call("Bash", '{"command":"ls"}').end()
    names = {name for _, name, _ in responses(made)}
    assert names == {"Bash", "list_tabs" if listed else "invalid"}


@pytest.mark.parametrize("aggregate", [True, False])
def test_nothing_is_added_to_a_call_that_never_ended(aggregate: bool) -> None:
    """Its number may have been cut, although the response is completed."""
    made = Upstream()
    item = {"id": "fc", "type": "function_call", "call_id": "call", "name": "Bash", "arguments": ""}
    made.say("response.output_item.added", output_index=0, item=item)
    where = {"output_index": 0, "item_id": "fc"}
    made.say("response.function_call_arguments.delta", **where, delta='{"command":"sleep 9","timeout":2')
    out, answer = mend(
        written(made.end().events), protocol="responses", question=QUESTION, policy=Policy(aggregate=aggregate)
    )
    assert [outcome.status for outcome in answer.outcomes] == ["refused"]
    assert '"timeout":2}' not in out.decode().replace("\\", "")


def test_a_refused_call_of_a_namespace_is_refused_as_its_own_tool() -> None:
    """Two namespaces have a tool of this name without required fields: `{}` would run."""
    schema = {"type": "object", "properties": {"code": {"type": "string"}}}
    tools = [
        {"type": "namespace", "name": name, "tools": [{"type": "function", "name": "js", "parameters": schema}]}
        for name in ("mcp__a", "mcp__b")
    ]
    made = Upstream().call("js", '{"code":"1"}', namespace="mcp__a")
    made.events[-1]["item"] = {**made.events[-1]["item"], "arguments": '{"code":"2"}'}
    _, answer = mend(written(made.end().events), protocol="responses", question=read_request({"tools": tools}))
    assert [(outcome.status, outcome.name) for outcome in answer.outcomes] == [("refused", "invalid")]
