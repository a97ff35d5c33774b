"""With `toolfix_aggregate=false` a call is the one that its whole name says, and one that is sent again runs once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.chat_client import read
from tests.must_not_run.wires import TOOLS
from tests.protocols.responses_wire import Upstream
from tests.protocols.test_chat import DONE, chunk, piece
from tests.splits import mend
from tests.validators import responses as strict_responses
from toolcalls.policy import Policy
from toolcalls.request.request import read_request

LIVE = Policy(aggregate=False)
ARGUMENTS = '{"command":"rm -rf build"}'


def asked(*names: str) -> Any:
    more = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in names]
    return read_request({"tools": [*TOOLS, *more], "stream": True})


def chat(*deltas: Any, names: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """The names and the argument texts that the client ends with."""
    body = "".join(map(chunk, deltas)) + chunk({}, "tool_calls") + DONE
    out, _ = mend(body, question=asked(*names), policy=LIVE)
    return read(out).call_list()


def run(calls: list[tuple[str, str]]) -> list[tuple[str, Any]]:
    """Those that are JSON and no empty fallback."""
    made: list[tuple[str, Any]] = []
    for name, text in calls:
        try:
            made.append((name, json.loads(text)))
        except ValueError:
            continue
    return [(name, value) for name, value in made if value]


@pytest.mark.parametrize("pieces", [("sandbox.", "Bash"), ("mcp__", "dry__", "Bash"), ("Ba", "sh"), ("B", "a", "sh")])
def test_the_name_is_all_of_its_pieces(pieces: tuple[str, ...]) -> None:
    deltas = [piece(0, "a", pieces[0], ""), *(piece(0, None, name, "") for name in pieces[1:])]
    assert run(chat(*deltas, piece(0, None, None, ARGUMENTS))) == [("".join(pieces), json.loads(ARGUMENTS))]
    last = piece(0, None, pieces[-1], ARGUMENTS)
    assert run(chat(*deltas[:-1], last)) == [("".join(pieces), json.loads(ARGUMENTS))]


@pytest.mark.parametrize("more", ["_dry_run", "Bash_dry_run"])
@pytest.mark.parametrize("cut", [9, len(ARGUMENTS)])
def test_a_name_that_goes_on_behind_the_arguments_is_another_tools(more: str, cut: int) -> None:
    deltas = [piece(0, "a", "Bash", ARGUMENTS[:cut]), piece(0, None, more, ARGUMENTS[cut:])]
    assert ("Bash", json.loads(ARGUMENTS)) not in run(chat(*deltas, names=("Bash_dry_run",)))


def test_a_name_that_is_said_again_is_the_same() -> None:
    """The near miss."""
    deltas = [piece(0, "a", "Bash", ARGUMENTS[:9]), piece(0, "a", "Bash", ARGUMENTS[9:])]
    assert run(chat(*deltas)) == [("Bash", json.loads(ARGUMENTS))]


BROKEN = '{"command": "rm -rf build"'
"""Its bracket is missing: it waits for the end of the answer."""


def test_chat_a_call_that_waits_and_is_sent_again_under_its_id_runs_once() -> None:
    deltas = [
        piece(0, "a", "Bash", BROKEN),
        piece(1, "a", "Read", '{"file_path": "/x"}'),
        piece(2, "a", "Bash", BROKEN),
    ]
    assert run(chat(*deltas)) == [("Bash", json.loads(ARGUMENTS)), ("Read", {"file_path": "/x"})]


@pytest.mark.parametrize(("identity", "times"), [("call_0", 1), ("call_1", 2)])
def test_responses_a_call_that_waits_and_is_sent_again_under_its_id_runs_once(identity: str, times: int) -> None:
    broken = repr(json.loads(ARGUMENTS))
    upstream = Upstream().call("Bash", broken, call_id="call_0").call("Bash", broken, call_id=identity)
    out, _ = mend(upstream.end("completed").bytes(), protocol="responses", question=asked(), policy=LIVE)
    made = [(name, json.loads(text)) for _, name, text in strict_responses.validate(out, one_delta=False).calls()]
    assert made == [("Bash", json.loads(ARGUMENTS))] * times
