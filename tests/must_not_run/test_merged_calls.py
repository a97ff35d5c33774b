"""Fragments of several calls never become a call that nobody wrote: they find their own call, or none of them runs."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.chat_client import read
from tests.must_not_run import interleaved
from tests.must_not_run.interleaved import QUESTION, WIRES, Call
from tests.pace import quick
from tests.protocols import messages_wire as wire
from tests.protocols.responses_wire import Upstream
from tests.protocols.test_chat import DONE, chunk, piece
from tests.protocols.zai_streams import Backend
from tests.splits import mend
from tests.validators import messages as strict_messages
from tests.validators import responses as strict_responses
from toolcalls.fragments import mixed
from toolcalls.policy import Policy
from toolcalls.sizes import LimitReached

Json = dict[str, Any]


def _key(call: Call) -> tuple[str, str]:
    return call[0], json.dumps(call[1], sort_keys=True)


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("wire", WIRES)
def test_what_runs_of_calls_told_at_once_is_what_was_meant_or_less(wire: str, part: int) -> None:
    for seed in range(part * 100, part * 100 + 100):
        said = interleaved.told(random.Random(seed))
        policy = {"aggregate": False} if seed % 5 == 0 else {}
        made = interleaved.runnable(wire, WIRES[wire][1](said), seed, **policy)
        accepted = {_key(call) for call in interleaved.accepted_anyway(said)}
        others = Counter(map(_key, made)) - Counter(map(_key, said.meant))
        assert not set(others) - accepted, f"seed {seed}: {others}"


@pytest.mark.parametrize("wire", ["chat", "messages", "responses"])
def test_where_index_or_ids_are_right_every_call_told_at_once_comes_out(wire: str) -> None:
    """The near miss: nothing is refused that can be told apart."""
    ids = {"chat": ("each", "first", "none"), "messages": ("each",), "responses": ("each", "first")}[wire]
    for seed in range(300):
        said = interleaved.told(random.Random(seed))
        if said.cut or said.ids not in ids or said.index != "right" or said.style == "without its last bracket":
            continue
        made = interleaved.runnable(wire, WIRES[wire][1](said), seed)
        assert Counter(map(_key, made)) == Counter(map(_key, said.meant)), f"seed {seed}"


# Chat

RM, BUILD = '{"command":"rm -rf ', 'build"}'
LS, HOME = '{"command":"ls', ' /home"}'
RM_BUILD, LS_HOME = {"command": "rm -rf build"}, {"command": "ls /home"}


SINK = "invalid"
"""Refused calls of tools without required fields go to this name, which no client runs."""


def chat(*deltas: Json, finish: str = "tool_calls", **policy: Any) -> list[Json]:
    """The arguments of the calls that would run."""
    body = "".join(chunk(delta) for delta in deltas) + chunk({}, finish) + DONE
    out, _ = mend(body, question=QUESTION, policy=Policy(**policy))
    values = [json.loads(text) for name, text in read(out).call_list() if name != SINK and _is_json(text)]
    return [value for value in values if value]


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


MIXTURES = {
    "ids on the first fragments only, one index": [
        piece(0, "a", "Bash", RM), piece(0, "b", "Bash", LS), piece(0, None, None, BUILD), piece(0, None, None, HOME),
    ],
    "the same, and every fragment is named": [
        piece(0, "a", "Bash", RM), piece(0, "b", "Bash", LS), piece(0, None, "Bash", BUILD),
        piece(0, None, "Bash", HOME),
    ],
    "no index at all": [
        piece(None, "a", "Bash", RM), piece(None, "b", "Bash", LS), piece(None, None, None, BUILD),
        piece(None, None, None, HOME),
    ],
    "no ids at all": [
        piece(0, None, "Bash", RM), piece(0, None, "Bash", LS), piece(0, None, None, BUILD),
        piece(0, None, None, HOME),
    ],
    "no ids, and two tools": [
        piece(0, None, "Bash", RM), piece(0, None, "Read", '{"file_path":"/x'), piece(0, None, None, BUILD),
        piece(0, None, None, '"}'),
    ],
    "the second begins with its bracket alone": [
        piece(0, None, "Bash", RM), piece(0, None, None, "{"), piece(0, None, None, '"command":"ls'),
        piece(0, None, None, BUILD), piece(0, None, None, HOME),
    ],
    "an id that comes back where ids seemed to change": [
        piece(0, "a", "Bash", RM), piece(0, "b", None, "-v "), piece(0, "a", None, BUILD), piece(0, "b", None, HOME),
    ],
    "ids that change, two calls": [
        piece(0, "a", "Bash", RM), piece(0, "b", "Bash", LS), piece(0, "c", None, BUILD), piece(0, "d", None, HOME),
    ],
    "index 1 and true": [
        piece(1, "a", "Bash", RM), piece(True, "b", "Bash", LS), piece(True, None, None, HOME),
        piece(1, None, None, BUILD),
    ],
    "an id and an index that name two calls": [
        piece(0, "a", "Bash", RM), piece(1, "b", "Bash", LS), piece(0, "b", None, BUILD), piece(1, "a", None, HOME),
    ],
    "one id for both, one index": [
        piece(0, "a", "Bash", RM), piece(0, "a", "Read", '{"file_path":"/x'), piece(0, "a", None, BUILD),
        piece(0, "a", None, '"}'),
    ],
    "a part at an index without a call": [
        piece(0, "a", "Bash", '{"command":"ls"'), piece(1, "b", "Bash", '{"command":"pwd"'),
        piece(7, None, None, ',"timeout":5}'),
    ],
    "a name said again where a call may begin, and then none": [
        piece(None, None, "Bash", ""), piece(None, None, "Bash", RM), piece(None, None, None, BUILD),
        piece(None, None, None, LS + HOME),
    ],
    "the middle of one of them has no index": [
        piece(0, "a", "Bash", RM), piece(1, "b", "Bash", LS), piece(None, None, None, "/srv/"),
        piece(0, None, None, BUILD), piece(1, None, None, HOME),
    ],
    "words that may take the first one back": [
        piece(0, "a", "Bash", RM + BUILD), piece(0, "b", "Bash", ""), piece(0, None, None, " (do not run)"),
        piece(0, None, None, LS + HOME),
    ],
    "the end of a thought in the key of another call": [
        piece(True, "a", "Bash", "<think>maybe " + RM + BUILD + "</thin"), piece("1", "b", "Bash", '{"co'),
        piece(True, None, None, "k>"), piece("1", None, None, 'mmand":"ls"}'),
    ],
    "broken ones, one after the other, only the order tells": [
        piece(0, "a", "Bash", "{'command': 'rm -rf "), piece(0, None, None, "build'}"),
        piece(0, "b", "Bash", "{'command': 'ls"), piece(0, None, None, " /home'}"),
    ],
    "two objects under one id, in fragments": [
        piece(0, "a", "Bash", RM + BUILD), piece(0, "a", "Bash", LS), piece(0, "a", "Bash", HOME),
    ],
    "ids that differ in case only": [
        piece(0, "A", "Bash", '{"command":'), piece(0, "a", "Read", '{"file_path":"/x'), piece(0, "a", None, '"ls"}'),
        piece(0, "a", None, ',"limit":3,}'),
    ],
    "in single quotes": [
        piece(0, None, "Bash", "{'command': 'rm -rf a, "), piece(0, None, None, "{'command': 'ls"),
        piece(0, None, None, "build'}"), piece(0, None, None, " /home'}"),
    ],
    "an index here and there, ids that change": [
        piece(0, "a", "Bash", ""), piece(None, "b", "Bash", '{"'), piece(0, "c", "Bash", 'command":"echo'),
        piece(None, "d", "Bash", ' {\\"a\\":1},'), piece(0, "e", "Bash", ' x",}'),
    ],
    "an index here and there, the end is at the index": [
        piece(1, "a", "Bash", ""), piece(None, "b", "Bash", '{"command":"ls"'), piece(1, "c", "Bash", ',"timeout":5}'),
    ],
    "an index here and there, the middle is at the index": [
        piece(None, "a", "Bash", '{"comm'), piece(0, None, "Bash", 'and":"ls","time'), piece(None, "a", None, 'out":1,}'),
    ],
    "the middle of one under the id of the other": [
        piece(0, "a", "Bash", RM), piece(0, "b", "Bash", ""), piece(0, "b", None, "-v "), piece(0, "a", None, 'build",}'),
    ],
    "one id at two indices, one begins with a label": [
        piece(0, "a", "list_tabs", "{"), piece(1, "a", "list_tabs", "arguments: "), piece(1, "a", "list_tabs", "{}"),
        piece(None, "a", "list_tabs", "}"),
    ],
    "a list of one object in the string of another call": [
        piece(1, None, "Bash", "{“command”: “rm -rf "), piece(True, None, "Bash", '[{"command":"ls"}]'),
        piece(1, None, None, "build”}"),
    ],
    "the arguments of a call that has none inside a string": [
        piece(0, "x", "list_tabs", ""), piece(0, "y", "list_tabs", ""), piece(0, None, None, "{}"),
        piece(0, "a", "Bash", RM), piece(0, None, None, "{}"), piece(0, "a", None, BUILD),
    ],
    "one id for both, in quotes of two kinds": [
        piece(None, "a", "Bash", "{'command': 'rm -rf "), piece(None, "a", "Bash", "{“command”: “ls”}"),
        piece(None, "a", "Bash", "build'}"),
    ],
    "a name that comes back": [
        piece(None, "a", "Bash", ""), piece(0, "b", "list_tabs", "{"), piece(None, None, "Bash", "{'command': 'ls'}"),
        piece(None, "a", "Bash", "{'command': 'ls'}"),
    ],
    "encoded twice": [
        piece(0, None, "Bash", '"{\\"command\\": \\"rm -rf '), piece(0, None, None, '"{\\"command\\": \\"ls'),
        piece(0, None, None, 'build\\"}"'), piece(0, None, None, ' /home\\"}"'),
    ],
}  # fmt: skip


@pytest.mark.parametrize("finish", ["tool_calls", "stop", "length"])
@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize("deltas", MIXTURES.values(), ids=MIXTURES.keys())
def test_fragments_that_cannot_be_told_apart_run_nothing(deltas: list[Json], aggregate: bool, finish: str) -> None:
    assert chat(*deltas, finish=finish, aggregate=aggregate) == []


TOLD_APART = {
    "ids on each fragment, one index": [
        piece(0, "a", "Bash", RM), piece(0, "b", "Bash", LS), piece(0, "a", None, BUILD), piece(0, "b", None, HOME),
    ],
    "ids on each fragment, no index": [
        piece(None, "a", "Bash", RM), piece(None, "b", "Bash", LS), piece(None, "a", None, BUILD),
        piece(None, "b", None, HOME),
    ],
    "one id for both, and indices": [
        piece(0, "a", "Bash", RM), piece(1, "a", "Bash", LS), piece(0, "a", None, BUILD), piece(1, "a", None, HOME),
    ],
    "ids that change with every delta, and indices": [
        piece(0, "a", "Bash", RM), piece(1, "b", "Bash", LS), piece(0, "c", None, BUILD), piece(1, "d", None, HOME),
    ],
    "one after the other, one index": [
        piece(0, "a", "Bash", RM), piece(0, None, None, BUILD), piece(0, "b", "Bash", LS), piece(0, None, None, HOME),
    ],
    "one after the other, without an index or an id": [
        piece(None, None, "Bash", RM), piece(None, None, None, BUILD), piece(None, None, "Bash", LS),
        piece(None, None, None, HOME),
    ],
    "one after the other, ids that change with every delta": [
        piece(0, "a", "Bash", RM), piece(0, "b", None, BUILD), piece(0, "c", "Bash", LS), piece(0, "d", None, HOME),
    ],
    "broken ones, whole in one fragment each": [
        piece(0, "a", "Bash", "{'command': 'rm -rf build'}"), piece(0, "b", "Bash", "{'command': 'ls /home'}"),
    ],
    "one id for both, whole in one fragment each": [
        piece(0, "a", "Bash", RM + BUILD), piece(0, "a", "Bash", LS + HOME),
    ],
    "broken ones, ids on each fragment": [
        piece(0, "a", "Bash", "{'command': 'rm -rf "), piece(0, "b", "Bash", "{'command': 'ls"),
        piece(0, "a", None, "build'}"), piece(0, "b", None, " /home'}"),
    ],
    "ids and names that change nothing": [
        piece(0, "a", "Bash", RM), piece(1, "b", "Bash", LS), piece(0, "a", "Bash", BUILD),
        piece(1, "b", "Bash", HOME),
    ],
}  # fmt: skip


@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize("deltas", TOLD_APART.values(), ids=TOLD_APART.keys())
def test_fragments_that_can_be_told_apart_are_two_calls(deltas: list[Json], aggregate: bool) -> None:
    assert chat(*deltas, aggregate=aggregate) == [RM_BUILD, LS_HOME]


ONE_CALL = {
    "an object in an array begins a fragment": ['{"edits": [', '{"old": "a"}', ", ", '{"old": "b"}', "]}"],
    "an escaped object begins a fragment": ['{"command": "echo ', '{\\"a\\": \\"b\\"}', '"}'],
    "a bracket begins a fragment": ['{"command": "if x; then ', "{", " y; ", "}", '"}'],
    "an object in double quotes inside single ones": ["{'command': 'echo ", '{"a": 1}', "'}"],
    "raw line ends around a bracket": ['{"command": "f() ', "{", "\n  x\n", "}", '\n"}'],
    "growing snapshots": ['{"comm', '{"command": "ls', '{"command": "ls -la"}'],
    "an object in a list begins a fragment": ['{"edits": ', '[{"old": "a"}]', "}"],
    "an escaped list begins a fragment": ['{"command": "echo ', '[{\\"a\\": 1}]', '"}'],
    "pieces, and then the whole": ['{"command": ', '"ls', '{"command": "ls -la"}'],
}


NAMED_AGAIN = {
    "first without an index, then with one": [piece(None, "a", "Bash", ""), piece(0, None, "Bash", LS + HOME)],
    "and sent again without one": [
        piece(None, "a", "Bash", ""), piece(0, None, "Bash", "{'command': 'ls /home'}"),
        piece(None, "a", "Bash", "{'command': 'ls /home'}"),
    ],
    "first without an index, the rest in pieces": [
        piece(None, "a", "Bash", ""), piece(0, None, None, ""), piece(0, None, "Bash", LS), piece(0, None, None, HOME),
    ],
    "ids that change, and the first of them say nothing": [
        piece(None, "a", "Bash", ""), piece(None, "b", "Bash", LS + HOME), piece(None, "c", "Bash", ""),
    ],
}  # fmt: skip


@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize("deltas", NAMED_AGAIN.values(), ids=NAMED_AGAIN.keys())
def test_a_name_that_is_said_again_is_no_call_of_its_own(deltas: list[Json], aggregate: bool) -> None:
    body = "".join(chunk(delta) for delta in deltas) + chunk({}, "tool_calls") + DONE
    out, _ = mend(body, question=QUESTION, policy=Policy(aggregate=aggregate))
    assert [(name, json.loads(text)) for name, text in read(out).call_list()] == [("Bash", LS_HOME)]


@pytest.mark.parametrize("fragments", ONE_CALL.values(), ids=ONE_CALL.keys())
def test_one_call_whose_fragments_begin_like_another_still_runs(fragments: list[str]) -> None:
    first, *rest = fragments
    assert len(chat(piece(0, "a", "Bash", first), *(piece(0, None, None, text) for text in rest))) == 1


@pytest.mark.parametrize(
    "fragments",
    [
        ['{"command":"rm -rf ', '{"command":"ls', 'build"}', ' /home"}'],
        ['{"command":"rm -rf ', '{"', "command", '":"ls', 'build"}', ' /home"}'],
        ['{"comm', "{", 'and":"ls"}', '"command":"pwd"}'],
        ['{"items":[{"a":1}', '{"b":2}', "]}"],
        ['{"items":', '{"items":["x"', "[1]}", "]}"],
        ["{'items': [1", '{"command": "ls"}'],
        ["{'com", '{"path": "/home"}', "mand': 'ls'}"],
        ["{'com", '"', '{\\"path\\": \\"/home\\"}"', "mand': 'ls'}"],
        ["{'command': 'rm -rf ", "{'path': 'a'}", " /home'}"],
    ],
)
def test_an_object_that_begins_where_no_value_can_stand_is_another_call(fragments: list[str]) -> None:
    assert mixed(fragments)


@pytest.mark.parametrize(
    "fragments",
    [
        ["{'content': '", '{"a": 1}', "'}"],
        ["{'content': 'x = ", '{"a": [', "{", '"b": 1}]}', "'}"],
    ],
)
def test_an_object_in_a_string_with_quotes_of_the_other_kind_is_text(fragments: list[str]) -> None:
    assert not mixed(fragments)


def test_the_work_for_fragments_that_all_look_like_beginnings_is_linear() -> None:
    """A refusal must not cost more than a call."""
    beginnings = ['{"a":"', *["{" for _ in range(50_000)], '"b": 1']
    with quick(0.3):
        assert mixed(beginnings) in (True, False)
    items = ['{"a":[', *['{"b":1},' for _ in range(5_000)], "1]"]
    with quick(0.3):
        assert not mixed(items)
    with pytest.raises(LimitReached):
        mixed(items * 10)


# The other protocols


def messages(blocks: bytes, **policy: Any) -> list[Json]:
    out, _ = mend(wire.begin() + blocks + wire.end(), protocol="messages", question=QUESTION, policy=Policy(**policy))
    message = strict_messages.read(out, fragments=True, unfinished_calls=True)
    return [given for name, given in message.calls if given and name != SINK]


START_RM, START_LS = wire.tool_start(0, "a", "Bash"), wire.tool_start(0, "b", "Bash")


@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize(
    "blocks",
    [
        START_RM + wire.fragment(0, RM) + START_LS + wire.fragment(0, LS) + wire.fragment(0, BUILD)
        + wire.fragment(0, HOME) + wire.stop(0),
        wire.tool_start(1, "a", "Bash") + wire.fragment(1, RM) + wire.tool_start(True, "b", "Bash")
        + wire.fragment(True, LS) + wire.fragment(1, BUILD) + wire.fragment(True, HOME),
        wire.tool_start(None, "a", "Bash") + wire.fragment(None, RM) + wire.tool_start(None, "b", "Bash")
        + wire.fragment(None, LS) + wire.fragment(None, BUILD) + wire.fragment(None, HOME),
        wire.tool_start(0, "a", "Bash") + wire.tool_start(1, "b", "Bash") + wire.fragment(None, RM)
        + wire.fragment(None, LS) + wire.fragment(None, BUILD) + wire.fragment(None, HOME),
        wire.tool_start(0, "a", "Bash") + wire.tool_start(0, "b", "Read") + wire.fragment(0, RM + BUILD)
        + wire.stop(0) + wire.fragment(0, '{"file_path":"/x"}') + wire.stop(0),
        wire.tool_start(0, "a", "Bash") + wire.fragment(0, '{"command":"ls"') + wire.fragment(7, ',"timeout":5}')
        + wire.stop(0),
        START_RM + START_LS + wire.fragment(0, LS + HOME) + wire.stop(0) + wire.fragment(0, RM + BUILD) + wire.stop(0),
        START_RM + wire.fragment(0, "{'c") + START_RM + wire.fragment(0, 'arguments: {"a": 1}')
        + wire.fragment(0, "ommand': 'ls'}") + wire.stop(0),
        START_RM + wire.fragment(0, RM + BUILD) + START_LS + wire.fragment(0, " (do not run)")
        + wire.fragment(0, LS + HOME) + wire.stop(0),
        START_RM + wire.fragment(0, RM + BUILD) + wire.tool_start(0, "x", "list_tabs")
        + wire.fragment(0, RM + BUILD) + wire.fragment(0, "{}") + wire.stop(0),
        wire.tool_start(0, "x", "list_tabs") + wire.fragment(0, "{}") + wire.tool_start(0, "a", "Bash")
        + wire.fragment(0, '{"command":"ls"') + wire.stop(0) + wire.tool_start(0, "b", "Bash") + wire.fragment(0, RM)
        + wire.fragment(0, ',"timeout":5}') + wire.fragment(0, BUILD) + wire.stop(0),
        wire.tool_start(1, "a", "Bash") + wire.fragment(1, RM) + wire.tool_start(0, "b", "Bash")
        + wire.fragment(0, LS + HOME) + wire.stop(0) + wire.fragment(None, "-v ") + wire.fragment(1, BUILD)
        + wire.stop(1),
    ],
    ids=["one index", "1 and true", "no index", "an index in the starts only", "two starts and two inputs", "a stray",
         "two starts and two inputs of one tool", "one id for both", "words that may take the first one back",
         "the first one sent twice", "a stop that may be another's", "a middle without an index"],
)  # fmt: skip
def test_blocks_that_cannot_be_told_apart_run_nothing(blocks: bytes, aggregate: bool) -> None:
    flowed = [] if aggregate or not blocks.startswith(START_RM + wire.fragment(0, RM + BUILD)) else [RM_BUILD]
    # Without aggregation a whole call is out before anything can take it back.
    assert messages(blocks, aggregate=aggregate) == flowed


@pytest.mark.parametrize(
    "blocks",
    [
        wire.tool_start(0, "a", "Bash") + wire.tool_start(1, "b", "Bash") + wire.fragment(0, RM) + wire.fragment(1, LS)
        + wire.fragment(0, BUILD) + wire.fragment(1, HOME) + wire.stop(0) + wire.stop(1),
        START_RM + wire.fragment(0, RM) + wire.fragment(0, BUILD) + START_LS + wire.fragment(0, LS)
        + wire.fragment(0, HOME) + wire.stop(0),
        START_RM + wire.fragment(0, "{'command': 'rm -rf build'}") + wire.stop(0) + START_LS
        + wire.fragment(0, "{'command': 'ls ") + wire.fragment(0, "/home'}") + wire.stop(0),
    ],
    ids=["right indices", "one after the other", "broken ones, each stopped before the next"],
)  # fmt: skip
def test_blocks_that_can_be_told_apart_are_two_calls(blocks: bytes) -> None:
    assert sorted(messages(blocks), key=str) == sorted([RM_BUILD, LS_HOME], key=str)


def responses(upstream: Upstream, **policy: Any) -> list[Json]:
    out, _ = mend(upstream.bytes(), protocol="responses", question=QUESTION, policy=Policy(**policy))
    final = strict_responses.validate(out, one_delta=policy.get("aggregate", True))
    values = [json.loads(text) for _, name, text in final.calls() if name != SINK and _is_json(text)]
    return [value for value in values if value]


def _at_once(name: Callable[[int, int], Json], *, whole: bool = False) -> Upstream:
    """Two calls at once; `name` gives what an event of a call says about whose it is."""
    upstream = Upstream()
    calls = [("a", (RM, BUILD)), ("b", (LS, HOME))]
    for number, (letter, _) in enumerate(calls):
        item = {"id": f"fc_{letter}", "type": "function_call", "call_id": letter, "name": "Bash", "arguments": ""}
        upstream.say(
            "response.output_item.added", output_index=name(number, 0).get("output_index", number), item=item
        )
    for part in range(2):
        for number, (_, fragments) in enumerate(calls):
            where = name(number, part)
            upstream.say("response.function_call_arguments.delta", **where, delta=fragments[part])
    for number, (letter, fragments) in enumerate(calls):
        item = {"id": f"fc_{letter}", "type": "function_call", "call_id": letter, "name": "Bash",
                "arguments": "".join(fragments) if whole else ""}  # fmt: skip
        place = name(number, 0).get("output_index", number)
        upstream.say("response.output_item.done", output_index=place, item=item)
    return upstream.end()


@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize(
    "name",
    [
        lambda call, part: {"output_index": 0},
        lambda call, part: {},
        lambda call, part: {"item_id": f"x{call}{part}", "output_index": 0},
        lambda call, part: {"item_id": "fc_ab"[: 3 + 1] if part else "fc_b", "output_index": call},
        lambda call, part: {"item_id": f"x{call}{part}"},
    ],
    ids=[
        "one index",
        "nothing",
        "ids that change, one index",
        "an id and an index that contradict",
        "ids that change",
    ],
)
def test_deltas_that_cannot_be_told_apart_run_nothing(name: Callable[[int, int], Json], aggregate: bool) -> None:
    assert responses(_at_once(name), aggregate=aggregate) == []


@pytest.mark.parametrize(
    "name",
    [
        lambda call, part: {"item_id": ("fc_a", "fc_b")[call], "output_index": 0},
        lambda call, part: {"item_id": ("fc_a", "fc_b")[call]},
        lambda call, part: {"output_index": call},
        lambda call, part: {"item_id": f"x{call}{part}", "output_index": call},
    ],
    ids=["ids, one index", "ids", "indices", "ids that change, and indices"],
)
def test_deltas_that_can_be_told_apart_are_two_calls(name: Callable[[int, int], Json]) -> None:
    assert responses(_at_once(name)) == [RM_BUILD, LS_HOME]


def _item(letter: str, arguments: str = "", name: str = "Bash", **fields: Any) -> Json:
    return {"id": f"fc_{letter}", "type": "function_call", "name": name, "arguments": arguments, **fields}


def _events(*told: tuple[str, Json], output: list[Json] | None = None) -> Upstream:
    upstream = Upstream()
    for kind, fields in told:
        upstream.say(f"response.{kind}", **fields)
    upstream.output += output or []
    return upstream.end()


ADDED, DELTA, ENDED = "output_item.added", "function_call_arguments.delta", "output_item.done"
READ = '{"file_path":"/x"}'
STRAYS = {
    "an id that nobody announced, two calls, no index": (
        [(ADDED, {"item": _item("a", name="list_tabs")}), (DELTA, {"item_id": "x", "delta": "{}"}),
         (ADDED, {"item": _item("b")}), (DELTA, {"item_id": "x", "delta": LS + HOME})], [],
    ),
    "an id that nobody announced, two calls at one index": (
        [(ADDED, {"output_index": 0, "item": _item("a")}), (DELTA, {"output_index": 0, "item_id": "x", "delta": RM}),
         (ADDED, {"output_index": 0, "item": _item("b", name="list_tabs")}),
         (DELTA, {"output_index": 0, "item_id": "x", "delta": "{}"}),
         (DELTA, {"output_index": 0, "item_id": "x", "delta": BUILD})], [],
    ),
    "a middle under an id that nobody knows": (
        [(ADDED, {"item": _item("a")}), (DELTA, {"item_id": "x", "delta": "{'command': 'a"}), (ADDED, {"item": _item("b")}),
         (DELTA, {"item_id": "fc_b", "delta": '{"comm'}), (DELTA, {"item_id": "y", "delta": 'and":"ls","time'}),
         (DELTA, {"item_id": "fc_b", "delta": 'out":1}'})], [],
    ),
    "a middle at an index where nobody is": (
        [(ADDED, {"item": _item("a")}), (DELTA, {"delta": '{"command":"ls","'}),
         (DELTA, {"output_index": 0, "delta": 'timeout":5}'}), (ENDED, {"output_index": 0, "item": _item("a")})], [],
    ),
    "the list has the arguments of the other tool at its place": (
        [(ADDED, {"item": {**_item(""), "id": None}}), (DELTA, {"delta": RM + BUILD}),
         (ADDED, {"output_index": 1, "item": {**_item("", name="Read"), "id": None}}),
         (DELTA, {"output_index": 1, "delta": "{'file_path': '/x'}"})],
        [{**_item("", READ, "Read"), "id": None}, {**_item("", RM + BUILD), "id": None}],
    ),
    "the list has one call id for all, and one item twice": (
        [(ADDED, {"output_index": 0, "item": _item("a", call_id="x")}),
         (ADDED, {"output_index": 1, "item": _item("b", name="Read", call_id="x")})],
        [_item("a", LS + HOME, call_id="x"), _item("a", LS + HOME, call_id="x"),
         _item("b", READ, "Read", call_id="x")],
    ),
    "an announcement at the index of another": (
        [(ADDED, {"output_index": 0, "item": _item("a", name="Read")}), (ADDED, {"output_index": 0, "item": _item("b")}),
         (DELTA, {"output_index": 0, "item_id": "fc_b", "delta": LS + HOME}),
         (ENDED, {"output_index": 0, "item": _item("b", LS + HOME)}),
         (DELTA, {"output_index": 0, "item_id": "fc_a", "delta": READ}),
         (ENDED, {"output_index": 0, "item": _item("a", READ, "Read")})], [],
    ),
}  # fmt: skip
MEANT = (("Bash", RM_BUILD), ("Bash", LS_HOME), ("Read", {"file_path": "/x"}), ("list_tabs", {}))


@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize("name", STRAYS)
def test_items_and_deltas_that_do_not_say_whose_they_are_never_change_owners(name: str, aggregate: bool) -> None:
    told, output = STRAYS[name]
    out, _ = mend(
        _events(*told, output=output).bytes(),
        protocol="responses",
        question=QUESTION,
        policy=Policy(aggregate=aggregate),
    )
    final = strict_responses.validate(out, one_delta=aggregate)
    made = [(name, json.loads(text)) for _, name, text in final.calls() if _is_json(text)]
    made = [call for call in made if call[0] != SINK and (call[1] or call[0] == "list_tabs")]
    assert not [call for call in made if call not in MEANT or made.count(call) > 1]


def test_two_calls_announced_at_one_index_are_two() -> None:
    told, output = STRAYS["an announcement at the index of another"]
    assert sorted(responses(_events(*told, output=output)), key=str) == [LS_HOME, {"file_path": "/x"}]
    told, output = STRAYS["the list has one call id for all, and one item twice"]
    assert sorted(responses(_events(*told, output=output)), key=str) == [LS_HOME, {"file_path": "/x"}]


def test_what_an_item_says_as_a_whole_counts_where_its_deltas_do_not() -> None:
    assert responses(_at_once(lambda call, part: {"output_index": 0}, whole=True)) == [RM_BUILD, LS_HOME]


def zai(*deltas: tuple[str, str, str]) -> list[Json]:
    backend = Backend(compact=True)
    for identity, name, arguments in deltas:
        metadata = {"type": "function", **({"tool_call_id": identity} if identity else {})}
        named = {"delta_name": name} if name else {}
        backend.say(phase="tool_call", **named, delta_arguments=arguments, metadata=metadata)
    out, _ = mend(backend.done().stream, protocol="zai", question=QUESTION)
    values = [json.loads(text) for name, text in read(out).call_list() if name != SINK and _is_json(text)]
    return [value for value in values if value]


def test_delta_calls_of_z_ai_go_where_their_id_says_or_nowhere() -> None:
    assert zai(("a", "Bash", RM), ("b", "Bash", LS), ("", "", BUILD), ("", "", HOME)) == []
    assert zai(("a", "Bash", RM), ("b", "Bash", LS), ("a", "", BUILD), ("b", "", HOME)) == [RM_BUILD, LS_HOME]
    assert zai(("a", "Bash", RM), ("", "", BUILD), ("b", "Bash", LS), ("", "", HOME)) == [RM_BUILD, LS_HOME]
