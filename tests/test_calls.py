"""From fragments to calls, without a stream: one table, a row for each way in which servers tell their calls."""

from __future__ import annotations

from typing import Any

import pytest

from toolcalls.call import Call
from toolcalls.calls import assemble
from toolcalls.mend.finish import Finish
from toolcalls.parts import Fragment
from toolcalls.request.request import read_request
from toolcalls.tools.declared import Tools

TOOLS: Tools = read_request(
    {
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": name,
                    "parameters": {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]},
                },
            }
            for name, key in (("Bash", "command"), ("Read", "path"))
        ]
    }
).tools

RM, BUILD, LS, HOME = '{"command":"rm -rf ', 'build"}', '{"command":"ls', ' /home"}'
MIXED = None


def say(slot: Any = None, id: str = "", name: str = "", arguments: str = "", **more: Any) -> Fragment:
    return Fragment(slot, id, name, arguments, **more)


def held(calls: list[Call]) -> list[tuple[str, str] | None]:
    """Name and arguments of each call; None for one that must not run."""
    return [MIXED if call.refusal else (call.name, call.arguments) for call in calls]


RM_BUILD, LS_HOME = ("Bash", RM + BUILD), ("Bash", LS + HOME)

TABLE: dict[str, tuple[list[Fragment], list[tuple[str, str] | None]]] = {
    "indices": (
        [say(0, "a", "Bash", RM), say(1, "b", "Bash", LS), say(0, "", "", BUILD), say(1, "", "", HOME)],
        [RM_BUILD, LS_HOME],
    ),
    "sent again under its id, and then another": (
        [say(0, "a", "Bash", LS + HOME), say(0, "a", "Bash", LS + HOME), say(1, "b", "Bash", RM + BUILD)],
        [LS_HOME, RM_BUILD],
    ),
    "sent again under its id, and then another that is cut": (
        [say(0, "a", "Bash", LS + HOME), say(0, "a", "Bash", LS + HOME), say(1, "b", "Bash", RM)],
        [LS_HOME, ("Bash", RM)],
    ),
    "two calls in fragments, and both again as a whole": (
        [
            say(0, "a", "Bash", RM), say(0, "", "", BUILD), say(1, "b", "Bash", LS), say(1, "", "", HOME),
            say(0, "a", "Bash", RM + BUILD), say(1, "b", "Bash", LS + HOME),
        ],
        [RM_BUILD, LS_HOME],
    ),
    "ids in every fragment, one index": (
        [say(0, "a", "Bash", RM), say(0, "b", "Bash", LS), say(0, "a", "", BUILD), say(0, "b", "", HOME)],
        [RM_BUILD, LS_HOME],
    ),
    "one after the other at one index, strict": (
        [say(0, "a", "Bash", RM), say(0, "", "", BUILD), say(0, "b", "Bash", LS), say(0, "", "", HOME)],
        [RM_BUILD, LS_HOME],
    ),
    "one after the other at one index, the first cut": (
        [say(0, "a", "Bash", RM), say(0, "b", "Bash", LS), say(0, "", "", HOME)],
        [MIXED, MIXED],
    ),
    "ids in the first fragments only, interleaved at one index": (
        [say(0, "a", "Bash", RM), say(0, "b", "Bash", LS), say(0, "", "", BUILD), say(0, "", "", HOME)],
        [MIXED, MIXED],
    ),
    "blocks, one after the other": (
        [
            say(1, "a", "Bash", begins=True), say(1, "", "", RM), say(1, "", "", BUILD), say(1, ends=True),
            say(2, "b", "Bash", begins=True), say(2, "", "", LS + HOME), say(2, ends=True),
        ],
        [RM_BUILD, LS_HOME],
    ),
    "blocks, the index used again": (
        [
            say(0, "a", "Bash", begins=True), say(0, "", "", RM + BUILD), say(0, ends=True),
            say(0, "b", "Bash", begins=True), say(0, "", "", LS + HOME), say(0, ends=True),
        ],
        [RM_BUILD, LS_HOME],
    ),
    "two blocks at one index at the same time": (
        [
            say(0, "a", "Bash", begins=True), say(0, "", "", RM), say(0, "b", "Bash", begins=True),
            say(0, "", "", LS), say(0, "", "", BUILD), say(0, "", "", HOME), say(0, ends=True),
        ],
        [MIXED, MIXED],
    ),
    "the arguments in the event for the beginning": (
        [say(0, "a", "Bash", begins=True, given={"command": "ls"}), say(0, ends=True)],
        [("Bash", '{"command":"ls"}')],
    ),
    "the event for the end repeats the arguments": (
        [
            say(0, "a", "Bash", begins=True, item="fc"), say(0, "", "", LS, item="fc"),
            say(0, "", "", HOME, item="fc"), say(0, ends=True, given=LS + HOME, item="fc"),
        ],
        [LS_HOME],
    ),
    "the event for the end has the pieces that were lost": (
        [
            say(0, "a", "Bash", begins=True, item="fc"), say(0, "", "", LS, item="fc"),
            say(0, ends=True, given=LS + HOME, item="fc"),
        ],
        [LS_HOME],
    ),
    "the event for the end tells other arguments": (
        [
            say(0, "a", "Bash", begins=True, item="fc"), say(0, "", "", RM + BUILD, item="fc"),
            say(0, ends=True, given=LS + HOME, item="fc"),
        ],
        [MIXED],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLE)
def test_fragments_become_the_calls_that_were_meant(case: str) -> None:
    fragments, calls = TABLE[case]
    assert held(assemble(fragments, TOOLS, Finish.COMPLETE)) == calls


def test_what_only_the_order_tells_runs_in_no_answer_that_was_cut_off() -> None:
    fragments, _ = TABLE["one after the other at one index, strict"]
    assert held(assemble(fragments, TOOLS, Finish.CUT)) == [MIXED, MIXED]
