"""Calls and results in pairs: what strict hosts reject is mended, what they take goes up as it came."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import groupby
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.validators import strict_hosts
from tests.validators.history import VALIDATORS
from tests.validators.strict_hosts import Rejected
from toolcalls.ids import Ids
from toolcalls.policy import Policy, make_policy, read_options
from toolcalls.request.history import CANCELLED, LATE
from toolcalls.request.mend import Changed, mend_request
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode
from toolcalls.websocket import ResponsesSocket

Json = dict[str, Any]
POLICY = Policy()


def mend(protocol: str, sent: bytes, policy: Policy = POLICY) -> Changed | None:
    return mend_request(protocol, sent, decode(sent), policy, Refusals())


def up(protocol: str, request: Json) -> tuple[Json, dict[str, int]]:
    """What goes up, and the steps."""
    sent = json.dumps(request).encode()
    changed = mend(protocol, sent)
    if changed is None:
        return request, {}
    assert mend(protocol, changed.body) is None, "what was mended is mended again"
    after: Json = json.loads(changed.body)
    return after, changed.steps


# Chat


def user(text: str = "Go.") -> Json:
    return {"role": "user", "content": text}


def says(text: str = "Done.") -> Json:
    return {"role": "assistant", "content": text}


def calls(*ids: str) -> Json:
    entries = [
        {"id": identity, "type": "function", "function": {"name": "read", "arguments": "{}"}} for identity in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": entries}


NOTHING: Any = object()


def tool(identity: str, text: Any = "") -> Json:
    content = None if text is NOTHING else text or f"result of {identity}"
    return {"role": "tool", "tool_call_id": identity, "content": content}


LOST = "[toolfix] The result of a call that is no longer part of this conversation"
SECOND = "[toolfix] Another result of a call that has one already"


@pytest.mark.parametrize(
    ("came", "goes", "steps"),
    [
        pytest.param(
            [user(), calls("a", "b"), tool("a"), user("No, stop.")],
            [user(), calls("a", "b"), tool("a"), tool("b", CANCELLED), user("No, stop.")],
            {"cancelled call": 1},
            id="partly answered, then cancelled (qwen-code 2435)",
        ),
        pytest.param(
            [user(), calls("a")],
            [user(), calls("a"), tool("a", CANCELLED)],
            {"cancelled call": 1},
            id="cancelled at the end",
        ),
        pytest.param(
            [user(), calls("a"), user("And?"), tool("a")],
            [user(), calls("a"), tool("a"), user("And?")],
            {"result moved": 1},
            id="a result behind a message of the user (pi 707)",
        ),
        pytest.param(
            [user(), calls("a"), calls("b"), tool("b"), tool("a")],
            [user(), calls("a"), tool("a"), calls("b"), tool("b")],
            {"result moved": 1},
            id="results of two messages behind the second",
        ),
        pytest.param(
            [user(), calls("a"), says(), tool("a")],
            [user(), calls("a"), tool("a"), says(), user(LATE)],
            {"result moved": 1},
            id="no host wants a history that ends with the assistant",
        ),
        pytest.param(
            [user("Summary."), tool("gone", "42"), says()],
            [user(f"Summary.\n\n{LOST}:\n42"), says()],
            {"result without a call": 1},
            id="compacted: the call is in the summary (letta 3308)",
        ),
        pytest.param(
            [says("Hi."), tool("gone", "42"), says()],
            [says("Hi."), user(f"{LOST}:\n42"), says()],
            {"result without a call": 1},
            id="between two messages of the assistant",
        ),
        pytest.param(
            [user(), calls("a"), tool("a"), tool("gone", "42"), says()],
            [user(), calls("a"), tool("a", f"result of a\n\n{LOST}:\n42"), says()],
            {"result without a call": 1},
            id="no user behind a result: its words go to the last one",
        ),
        pytest.param(
            [user(), calls("a", "b"), tool("gone", "42"), tool("a"), tool("lost", "43"), says()],
            [user(), calls("a", "b"), tool("a"), tool("b", f"{CANCELLED}\n\n{LOST}:\n42\n\n{LOST}:\n43"), says()],
            {"result without a call": 2, "cancelled call": 1},
            id="words of lost results behind a cancelled call",
        ),
        pytest.param(
            [user("Summary."), tool("gone", "42"), tool("gone", "42"), says()],
            [user(f"Summary.\n\n{LOST}:\n42"), says()],
            {"result without a call": 1, "repeated result": 1},
            id="compacted, and the result is there twice",
        ),
        pytest.param(
            [user(), calls("a"), tool("a"), tool("a"), says()],
            [user(), calls("a"), tool("a"), says()],
            {"repeated result": 1},
            id="of two results the first",
        ),
        pytest.param(
            [user(), calls("a"), tool("a", "interrupted"), tool("a", "deleted"), tool("a", "deleted"), says()],
            [user(), calls("a"), tool("a", f"interrupted\n\n{SECOND}:\ndeleted"), says()],
            {"repeated result": 1, "another result": 1},
            id="of two results that differ both",
        ),
        pytest.param(
            [user(), calls("a"), tool("a", NOTHING), tool("gone", "42"), says()],
            [user(), calls("a"), tool("a", f"{LOST}:\n42"), says()],
            {"result without a call": 1},
            id="a lost result behind one without content",
        ),
        pytest.param(
            [user(), calls("a"), tool("a", {"n": 1}), tool("gone", {"n": 2}), says()],
            [user(), calls("a"), tool("a", f'{{"n": 1}}\n\n{LOST}:\n{{"n": 2}}'), says()],
            {"result without a call": 1},
            id="results that are no texts",
        ),
        pytest.param(
            [user(), calls("a"), calls("a"), tool("a"), says()],
            [user(), calls("a"), tool("a"), says()],
            {"repeated call": 1},
            id="a message twice",
        ),
        pytest.param(
            [user(), calls("a"), calls("a"), calls("b")],
            [user(), calls("a"), tool("a", CANCELLED), calls("b"), tool("b", CANCELLED)],
            {"repeated call": 1, "cancelled call": 2},
            id="a message twice, before another one: no result stood there",
        ),
        pytest.param(
            [user(), {**says(), "tool_calls": []}],
            [user(), says()],
            {"empty list of calls": 1},
            id="an empty list of calls",
        ),
    ],
)
def test_chat_histories_that_hosts_reject(came: list[Json], goes: list[Json], steps: dict[str, int]) -> None:
    with pytest.raises(Rejected):
        strict_hosts.openai_chat({"messages": came})
    after, done = up("chat", {"messages": came})
    assert after["messages"] == goes
    assert done == steps
    strict_hosts.openai_chat(after)


@pytest.mark.parametrize(
    "messages",
    [
        [user(), calls("a"), tool("a"), user()],
        [user(), {**says(), "tool_calls": None}],
        [user(), {"role": "assistant", "content": None, "tool_calls": []}],
        [user(), calls("a", ""), tool("a")],
        [user(), calls("a", "a"), tool("a"), user()],
        [user(), calls("a"), {"role": "tool", "content": "no id"}, user()],
        [user(), {"role": "function", "name": "read", "content": "the old form"}],
        [user(), calls("a"), 7],
        [user(), calls("a"), {"role": "assistant", "tool_calls": 7}],
        [user(), calls("a"), {"role": "assistant", "tool_calls": {"0": "x"}}],
        [user(), calls("srvtoolu_1"), user()],
        [user(), calls("srvtoolu_1", "a"), tool("a"), says(), user()],
        [user(), calls("srvtoolu_1", "a"), tool("srvtoolu_1"), tool("a"), says()],
    ],
    ids=str,
)
def test_what_hosts_take_and_what_nobody_can_know_stays(messages: list[Any]) -> None:
    different = copy.deepcopy(messages)
    for message in different:
        made = message.get("tool_calls") if isinstance(message, dict) else None
        for number, entry in enumerate(made if isinstance(made, list) else ()):
            entry["function"]["arguments"] = json.dumps({"n": number})
    assert mend("chat", json.dumps({"messages": different}).encode()) is None


def test_an_id_that_stands_in_every_turn_is_paired_by_its_place() -> None:
    """Kimi counts from 0 in each session; a late result of such an id may be anybody's."""
    rounds = [calls("x:0"), tool("x:0", "one"), calls("x:0"), user(), tool("x:0", "two")]
    after, steps = up("chat", {"messages": [user(), *rounds]})
    assert after["messages"][1:5] == [calls("x:0"), tool("x:0", "one"), calls("x:0"), tool("x:0", CANCELLED)]
    assert after["messages"][5]["content"].endswith(":\ntwo"), "its text is kept"
    assert steps == {"cancelled call": 1, "result without a call": 1}


def test_the_values_of_what_stays_stay() -> None:
    raw = (
        b'{ "temperature":1.0, "messages" : [ {"role":"user","content":"\\u00e9"},\n {"role":"assistant" , "tool_calls":[ '
        b'{"id":"a","type":"function","function":{"name":"read","arguments":"{}"}}]},{"role":"user", "content":"\\u0041"},'
        b' {"role":"tool", "tool_call_id":"a","content":"\\/" } ],"x":1e3}'
    )
    changed = mend("chat", raw)
    assert changed is not None
    expected = json.loads(raw)
    expected["messages"][2:] = expected["messages"][:1:-1]
    assert json.dumps(json.loads(changed.body)) == json.dumps(expected), "the same values in the same order"
    assert b'"temperature":1.0,' in changed.body and b'"x":1e3' in changed.body, "numbers are spelled as they came"


def test_with_the_option_off_nothing_is_paired() -> None:
    sent = json.dumps({"messages": [user(), calls("a")]}).encode()
    assert mend("chat", sent, Policy(request=False)) is None
    others = make_policy(read_options({"toolfix_tools": "^bash$"}))
    assert mend("chat", sent, others) is None, "a tool that the user left out"


OLD_FORM = {"role": "assistant", "content": None, "function_call": {"name": "read", "arguments": "{}"}}
OLD_RESULT = {"role": "function", "name": "read", "content": "the old form"}


@pytest.mark.parametrize(
    ("came", "goes", "steps"),
    [
        pytest.param(
            [user(), calls("a"), OLD_FORM, tool("a"), OLD_RESULT, user()],
            [user(), calls("a"), tool("a"), OLD_FORM, OLD_RESULT, user()],
            {"result moved": 1},
            id="behind a call of the old form",
        ),
        pytest.param(
            [user(), calls("a"), tool("a"), OLD_FORM, OLD_RESULT, tool("a"), user()],
            [user(), calls("a"), tool("a"), OLD_FORM, OLD_RESULT, user()],
            {"repeated result": 1},
            id="a second one behind a call of the old form",
        ),
        pytest.param(
            [user(), calls("a"), calls("srvtoolu_1"), tool("srvtoolu_1"), tool("a"), user()],
            [user(), calls("a"), tool("a"), calls("srvtoolu_1"), tool("srvtoolu_1"), user()],
            {"result moved": 1},
            id="behind a call of the host",
        ),
    ],
)
def test_the_result_of_a_call_is_found_in_a_turn_that_is_left_alone(
    came: list[Json], goes: list[Json], steps: dict[str, int]
) -> None:
    with pytest.raises(Rejected):
        strict_hosts.openai_chat({"messages": came})
    after, done = up("chat", {"messages": came})
    assert (after["messages"], done) == (goes, steps)
    strict_hosts.openai_chat(after)


def test_a_call_whose_result_may_be_that_of_another_is_not_cancelled() -> None:
    came = [user(), calls("a"), user(), calls("srvtoolu_1", "a"), tool("srvtoolu_1"), user(), tool("a"), user()]
    assert mend("chat", json.dumps({"messages": came}).encode()) is None


def test_words_of_a_lost_result_wait_until_results_that_stay_have_passed() -> None:
    others = make_policy(read_options({"toolfix_tools": "^bash$"}))
    came = [user(), calls("a"), user(), tool("gone", "42"), tool("a"), says()]
    changed = mend("chat", json.dumps({"messages": came}).encode(), others)
    assert changed is not None
    kept = tool("a", f"result of a\n\n{LOST}:\n42")
    assert json.loads(changed.body)["messages"] == [user(), calls("a"), user(), kept, says()]


@pytest.mark.parametrize("nothing", [NOTHING, " "])
def test_a_lost_result_without_words_goes_silently(nothing: Any) -> None:
    empty = tool("gone", nothing)
    for before in ([user()], [user(), calls("a"), tool("a")]):
        after, steps = up("chat", {"messages": [*before, empty, says()]})
        assert after["messages"] == [*before, says()]
        assert steps == {"result without a call": 1}
    after, _ = up("chat", {"messages": [says("Hi."), empty, says()]})
    assert after["messages"] == [says("Hi."), user(LATE), says()], "something has to stand there"
    lost = {**result("gone"), "content": None if nothing is NOTHING else nothing}
    after, _ = up("messages", {"messages": [user(), uses("a"), turn(result("a"), lost), says(), user()]})
    assert after["messages"] == [user(), uses("a"), turn(result("a")), says(), user()]
    item_of = {**output("gone"), "output": "" if nothing is NOTHING else nothing}
    after, _ = up("responses", {"input": [user(), item_of, says()]})
    assert after["input"] == [user(), says()]


# Messages


def uses(*ids: str, thinking: bool = False) -> Json:
    thought = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}] if thinking else []
    blocks = [{"type": "tool_use", "id": identity, "name": "read", "input": {}} for identity in ids]
    return {"role": "assistant", "content": [*thought, *blocks]}


def reads(identity: str, *inputs: int) -> Json:
    blocks = [{"type": "tool_use", "id": identity, "name": "read", "input": {"n": number}} for number in inputs]
    return {"role": "assistant", "content": blocks}


def renamed(*ids: str) -> Json:
    message = reads("", *range(1, len(ids) + 1))
    return {**message, "content": [{**block, "id": one} for block, one in zip(message["content"], ids, strict=True)]}


def result(identity: str, text: str = "") -> Json:
    return {"type": "tool_result", "tool_use_id": identity, "content": text or f"result of {identity}"}


def cancelled(identity: str) -> Json:
    return {**result(identity, CANCELLED), "is_error": True}


def text(said: str = "Go.") -> Json:
    return {"type": "text", "text": said}


def turn(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


@pytest.mark.parametrize(
    ("came", "goes", "steps"),
    [
        pytest.param(
            [user(), uses("a", "b"), turn(result("a"))],
            [user(), uses("a", "b"), turn(result("a"), cancelled("b"))],
            {"cancelled call": 1},
            id="partly answered",
        ),
        pytest.param(
            [user(), uses("a", "b", "c"), turn(result("a")), turn(result("b"), text())],
            [user(), uses("a", "b", "c"), turn(result("a")), turn(result("b"), cancelled("c"), text())],
            {"cancelled call": 1},
            id="partly answered, in two messages: behind the last result",
        ),
        pytest.param(
            [user(), uses("a", thinking=True), user("No.")],
            [user(), uses("a", thinking=True), turn(cancelled("a")), user("No.")],
            {"cancelled call": 1},
            id="cancelled by a text (copilot-sdk 1540)",
        ),
        pytest.param(
            [user(), uses("a")],
            [user(), uses("a"), turn(cancelled("a"))],
            {"cancelled call": 1},
            id="cancelled at the end",
        ),
        pytest.param(
            [user(), uses("a", "b"), turn(result("a"), text(), result("b"))],
            [user(), uses("a", "b"), turn(result("a"), result("b"), text())],
            {"result moved": 1},
            id="behind a text",
        ),
        pytest.param(
            [user(), uses("a"), turn(text(), result("a"))],
            [user(), uses("a"), turn(result("a")), turn(text())],
            {"result moved": 1},
            id="behind a text: two messages, for MiniMax",
        ),
        pytest.param(
            [user(), uses("a"), user("And?"), says(), turn(result("a"))],
            [user(), uses("a"), turn(result("a")), user("And?"), says(), turn(text(LATE))],
            {"result moved": 1},
            id="a turn too late",
        ),
        pytest.param(
            [turn(result("gone", "42")), says(), user()],
            [turn(text(f"{LOST}:\n42")), says(), user()],
            {"result without a call": 1},
            id="compacted",
        ),
        pytest.param(
            [user(), uses("a"), turn(result("gone", "42"), result("a"))],
            [user(), uses("a"), turn(result("a")), turn(text(f"{LOST}:\n42"))],
            {"result without a call": 1},
            id="an orphan before a result",
        ),
        pytest.param(
            [user(), uses("a"), turn(result("a"), result("a"))],
            [user(), uses("a"), turn(result("a"))],
            {"repeated result": 1},
            id="of two results the first",
        ),
        pytest.param(
            [user(), uses("a"), turn(result("a"), result("a", "again"))],
            [user(), uses("a"), turn(result("a")), turn(text(f"{SECOND}:\nagain"))],
            {"another result": 1},
            id="of two results that differ both",
        ),
        pytest.param(
            [user(), uses("a", thinking=True), uses("a", thinking=True), turn(result("a"))],
            [user(), uses("a", thinking=True), turn(result("a"))],
            {"repeated call": 1},
            id="a message twice",
        ),
        pytest.param(
            [user(), uses("a"), uses("a")],
            [user(), uses("a"), turn(cancelled("a"))],
            {"repeated call": 1, "cancelled call": 1},
            id="a message twice at the end: no result stood there",
        ),
        pytest.param(
            [
                user(),
                uses("a", thinking=True),
                turn(result("a")),
                says(),
                user(),
                uses("a", thinking=True),
                user("On."),
            ],
            [user(), uses("a", thinking=True), turn(result("a")), says(), user(), user("On.")],
            {"repeated call": 1},
            id="a message once more further down, without a result",
        ),
        pytest.param(
            [user(), uses("a"), user("Hm."), says(), user(), uses("a"), turn(result("a"))],
            [user(), user("Hm."), says(), user(), uses("a"), turn(result("a"))],
            {"repeated call": 1},
            id="the copy with the result stays",
        ),
        pytest.param(
            [user(), uses("a"), turn(result("a")), uses("a", "b"), turn(result("b"))],
            [user(), uses("a"), turn(result("a")), uses("b"), turn(result("b"))],
            {"repeated call": 1},
            id="a call once more beside another",
        ),
        pytest.param(
            [user(), uses("a"), turn(result("a", "one")), uses("a"), turn(result("a", "two")), user()],
            [user(), uses("a"), turn(result("a", "one")), uses("a_2"), turn(result("a_2", "two")), user()],
            {"repeated id": 1},
            id="an id in two turns",
        ),
        pytest.param(
            [user(), uses("a", "a_2"), turn(result("a"), result("a_2")), reads("a", 1), turn(result("a", "two"))],
            [user(), uses("a", "a_2"), turn(result("a"), result("a_2")), reads("a_3", 1), turn(result("a_3", "two"))],
            {"repeated id": 1},
            id="the new id is nobody's",
        ),
        pytest.param(
            [user(), reads("a", 1, 2), turn(result("a", "one"), result("a", "two")), user()],
            [user(), renamed("a", "a_2"), turn(result("a", "one"), result("a_2", "two")), user()],
            {"repeated id": 1},
            id="two calls of a turn",
        ),
        pytest.param(
            [user(), reads("a", 1, 2), turn(result("a", "one"))],
            [user(), renamed("a", "a_2"), turn(result("a", "one"), cancelled("a_2"))],
            {"repeated id": 1, "cancelled call": 1},
            id="two calls of a turn and one result",
        ),
        pytest.param(
            [user(), reads("a", 1, 2), reads("a", 2), turn(result("a", "one"))],
            [user(), renamed("a", "a_2"), turn(result("a", "one"), cancelled("a_2"))],
            {"repeated call": 1, "repeated id": 1, "cancelled call": 1},
            id="two calls of a turn, and a copy of the second in a message of its own",
        ),
        pytest.param(
            [
                user(),
                reads("a", 1),
                turn(result("a", "one")),
                reads("a", 2),
                turn(result("a", "two"), result("a", "3")),
            ],
            [
                user(),
                reads("a", 1),
                turn(result("a", "one")),
                reads("a_2", 2),
                turn(result("a_2", "two")),
                turn(text(f"{SECOND}:\n3")),
            ],
            {"repeated id": 1, "another result": 1},
            id="an id in two turns, with two results in the second",
        ),
        pytest.param(
            [user(), reads("a", 1), user(), reads("a", 2), user(), says(), turn(result("a", "whose?"))],
            [
                user(),
                reads("a", 1),
                turn(cancelled("a")),
                user(),
                reads("a_2", 2),
                turn(cancelled("a_2")),
                user(),
                says(),
                turn(text(f"{LOST}:\nwhose?")),
            ],
            {"repeated id": 1, "cancelled call": 2, "result without a call": 1},
            id="nobody knows whose result it is",
        ),
        pytest.param(
            [user(), {"role": "assistant", "content": [text(""), text("Hi.")]}, user()],
            [user(), {"role": "assistant", "content": [text("Hi.")]}, user()],
            {"empty text": 1},
            id="an empty text beside another",
        ),
    ],
)
def test_messages_histories_that_hosts_reject(came: list[Json], goes: list[Json], steps: dict[str, int]) -> None:
    with pytest.raises(Rejected):
        strict_hosts.anthropic({"messages": came})
    after, done = up("messages", {"messages": came})
    assert after["messages"] == goes
    assert done == steps
    strict_hosts.anthropic(after)


def test_reasoning_in_front_of_what_nobody_knows_stays() -> None:
    items = [user(), thought("rs_1"), [item("a")], user()]
    assert up("responses", {"input": items}) == ({"input": items}, {})


def test_an_empty_text_goes_from_a_history_in_which_nothing_can_be_moved() -> None:
    """A gateway's message of the system is none of the protocol."""
    system = {"role": "system", "content": "Be brief."}
    model = {"role": "assistant", "content": [text(""), text("Hi."), 7]}
    after, done = up("messages", {"messages": [user(), system, model, user()]})
    assert after["messages"] == [user(), system, {**model, "content": [text("Hi."), 7]}, user()]
    assert done == {"empty text": 1}


@pytest.mark.parametrize(
    "messages",
    [
        [user(), uses("a", "b"), turn(result("a")), turn(result("b"))],
        [user(), uses("x.0"), turn(result("x.0", "one")), uses("x.0"), turn(result("x.0", "two"))],
        [user(), uses("a"), uses("b"), turn(result("a"), result("b"), text())],
        [user(), uses("a"), turn(result("a"), text())],
        [user(), uses("a"), turn(result("a")), user("And?")],
        [user(), {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}, text("")]}, user()],
        [user(), {"role": "system", "content": "x"}, uses("a")],
        [user(), turn(result("srvtoolu_1"))],
    ],
    ids=str,
)
def test_messages_histories_that_stay(messages: list[Json]) -> None:
    assert mend("messages", json.dumps({"messages": messages}).encode()) is None


def test_a_repeated_id_that_toolfix_restores_is_no_sign_of_a_copy() -> None:
    """The host gave one id to the calls of two turns; the second was cancelled, and the model learns that."""
    ours = Ids("seed", safe=True).new("x0", "why")
    messages = [user(), uses("x0"), turn(result("x0")), uses(ours), user("Stop.")]
    changed = mend("messages", json.dumps({"messages": messages}).encode())
    assert changed is not None
    assert json.loads(changed.body)["messages"][3:] == [uses("x0"), turn(cancelled("x0")), user("Stop.")]
    assert changed.steps["cancelled call"] == 1
    assert not changed.steps.keys() & {"repeated call", "repeated id"}, "the host repeats ids, and takes them"


def test_repeated_ids_of_a_tool_that_the_user_left_out_stay() -> None:
    messages = [user(), uses("a"), turn(result("a", "one")), uses("a"), turn(result("a", "two")), user()]
    others = make_policy(read_options({"toolfix_tools": "^bash$"}))
    assert mend("messages", json.dumps({"messages": messages}).encode(), others) is None


@pytest.mark.parametrize(
    ("protocol", "messages"),
    [
        ("chat", [user(), calls("a"), {**tool("a"), "role": "developer"}]),
        ("messages", [user(), uses("a"), {**turn(result("a")), "role": "assistant"}]),
    ],
)
def test_only_a_message_of_the_right_role_answers_a_call(protocol: str, messages: list[Json]) -> None:
    assert up(protocol, {"messages": messages})[1] == {"cancelled call": 1}


# Responses


def item(identity: str, **more: Any) -> Json:
    return {"type": "function_call", "call_id": identity, "name": "read", "arguments": "{}", **more}


def output(identity: str, said: str = "") -> Json:
    return {"type": "function_call_output", "call_id": identity, "output": said or f"result of {identity}"}


def thought(identity: str) -> Json:
    return {"type": "reasoning", "id": identity, "summary": [], "encrypted_content": "gAAA"}


def said(number: str) -> list[Json]:
    return [thought(f"rs_{number}"), {**says(), "id": f"msg_{number}"}]


def lost_output(words: str) -> Json:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"{LOST}:\n{words}"}]}


@pytest.mark.parametrize(
    ("came", "goes", "steps"),
    [
        pytest.param(
            [user(), thought("rs_1"), item("a"), item("b"), output("a"), thought("rs_2"), says()],
            [
                user(),
                thought("rs_1"),
                item("a"),
                item("b"),
                output("a"),
                output("b", CANCELLED),
                thought("rs_2"),
                says(),
            ],
            {"cancelled call": 1},
            id="partly answered",
        ),
        pytest.param(
            [user(), output("gone", "42"), says()],
            [
                user(),
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"{LOST}:\n42"}]},
                says(),
            ],
            {"result without a call": 1},
            id="an orphan",
        ),
        pytest.param(
            [user(), output("a"), thought("rs_1"), item("a"), says()],
            [user(), thought("rs_1"), item("a"), output("a"), says()],
            {"result moved": 1},
            id="an output before its call",
        ),
        pytest.param(
            [user(), thought("rs_1"), user()],
            [user(), user()],
            {"reasoning without its item": 1},
            id="reasoning whose call is gone",
        ),
        pytest.param(
            [user(), thought("rs_1"), output("gone", "42"), thought("rs_2"), item("a"), output("a")],
            [user(), lost_output("42"), thought("rs_2"), item("a"), output("a")],
            {"result without a call": 1},
            id="reasoning whose call is gone, before other reasoning",
        ),
        pytest.param(
            [user(), *said("1"), user(), thought("rs_2"), {**says(), "id": "msg_1"}, *said("3")],
            [user(), *said("1"), user(), *said("3")],
            {"repeated message": 1},
            id="reasoning before a message that is there already",
        ),
        pytest.param(
            [user(), item("a"), output("a"), output("a")],
            [user(), item("a"), output("a")],
            {"repeated result": 1},
            id="of two outputs the first",
        ),
        pytest.param(
            [user(), item("a"), output("a"), output("a", "again")],
            [
                user(),
                item("a"),
                output("a"),
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"{SECOND}:\nagain"}]},
            ],
            {"another result": 1},
            id="of two outputs that differ both",
        ),
        pytest.param(
            [user(), thought("rs_1"), thought("rs_1"), item("a"), output("a")],
            [user(), thought("rs_1"), item("a"), output("a")],
            {"repeated message": 1},
            id="an item twice",
        ),
        pytest.param(
            [user(), thought("rs_1"), {**says(), "id": "msg_1"}, user(), thought("rs_1"), {**says(), "id": "msg_1"}],
            [user(), thought("rs_1"), {**says(), "id": "msg_1"}, user()],
            {"repeated message": 2},
            id="items twice, with others between",
        ),
        pytest.param(
            [item("a"), user(), thought("rs_1"), item("a"), item("b"), output("b"), user("On.")],
            [user(), thought("rs_1"), item("a"), item("b"), output("b"), output("a", CANCELLED), user("On.")],
            {"repeated call": 1, "cancelled call": 1},
            id="of two copies of a call the one behind its reasoning",
        ),
        pytest.param(
            [user(), item("a"), says(), user(), item("a", id="fc_2", status="completed")],
            [user(), item("a"), output("a", CANCELLED), says(), user()],
            {"repeated call": 1, "cancelled call": 1},
            id="of two copies of a call without reasoning the first",
        ),
        pytest.param(
            [user(), output("a"), output("a"), thought("rs_1"), item("a"), says(), item("a")],
            [user(), thought("rs_1"), item("a"), output("a"), says()],
            {"repeated result": 1, "result moved": 1, "repeated call": 1},
            id="copies behind their outputs",
        ),
    ],
)
def test_responses_histories_that_hosts_reject(came: list[Json], goes: list[Json], steps: dict[str, int]) -> None:
    with pytest.raises(Rejected):
        strict_hosts.openai_responses({"input": came})
    after, done = up("responses", {"input": came})
    assert after["input"] == goes
    assert done == steps
    strict_hosts.openai_responses(after)


def other_kind(kind: str) -> tuple[Json, Json]:
    """A call of a kind for which no output can be made up, and its output."""
    answer = "tool_search_output" if kind == "tool_search_call" else f"{kind}_output"
    return {"type": kind, "call_id": "s", "id": "x_1"}, {"type": answer, "call_id": "s", "output": []}


OTHER_KINDS = ("local_shell_call", "shell_call", "tool_search_call", "computer_call", "apply_patch_call")
READ_ONLY = make_policy(read_options({"toolfix_tools": "^read$"}))


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_outputs_behind_calls_of_another_kind_are_found(kind: str) -> None:
    call, answer = other_kind(kind)
    for items in (
        [user(), item("a"), user(), call, answer, output("a")],
        [user(), item("a"), item("b"), output("b"), call, answer, output("a"), user()],
    ):
        strict_hosts.openai_responses({"input": items})
        assert mend("responses", json.dumps({"input": items}).encode()) is None


def second_output(words: str) -> Json:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"{SECOND}:\n{words}"}]}


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_calls_of_another_kind_hinder_no_mend(kind: str) -> None:
    call, answer = other_kind(kind)
    shell = [call, answer]
    for came, goes, steps in (
        ([call, item("b"), answer], [call, item("b"), answer, output("b", CANCELLED)], {"cancelled call": 1}),
        ([*shell, output("z")], [*shell, lost_output("result of z")], {"result without a call": 1}),
        (
            [call, item("b"), answer, output("b"), output("b", "2")],
            [call, item("b"), answer, output("b"), second_output("2")],
            {"another result": 1},
        ),
        ([*shell, *shell], [*shell, answer], {"repeated message": 1}),
    ):
        with pytest.raises(Rejected):
            strict_hosts.openai_responses({"input": [user(), *came, user()]})
        after, done = up("responses", {"input": [user(), *came, user()]})
        assert after["input"] == [user(), *goes, user()]
        assert done == steps


def test_calls_that_share_an_id_hinder_no_other_mend() -> None:
    both = [item("a"), item("a", arguments='{"n": 1}'), output("a")]
    after, steps = up("responses", {"input": [user(), *both, output("b"), user()]})
    assert after["input"] == [user(), *both, lost_output("result of b"), user()]
    assert steps == {"result without a call": 1}


def test_a_tool_that_the_user_left_out_hinders_no_mend_of_another() -> None:
    other = item("b", name="bash")
    healthy = [user(), item("a"), user(), other, output("b"), output("a")]
    assert mend("responses", json.dumps({"input": healthy}).encode(), READ_ONLY) is None
    changed = mend("responses", json.dumps({"input": [user(), item("a"), other, output("b")]}).encode(), READ_ONLY)
    assert changed is not None
    assert json.loads(changed.body)["input"] == [user(), item("a"), other, output("b"), output("a", CANCELLED)]


def test_a_repeated_item_goes_though_its_tool_is_left_out() -> None:
    """Its id is the server's, so this is no second call."""
    call = item("b", name="bash", id="fc_1")
    changed = mend("responses", json.dumps({"input": [user(), call, call, output("b")]}).encode(), READ_ONLY)
    assert changed is not None
    assert json.loads(changed.body)["input"] == [user(), call, output("b")]


def test_a_result_behind_the_calls_of_a_tool_that_the_user_left_out_is_found() -> None:
    bash = uses("b")
    bash["content"][0]["name"] = "bash"
    came = [user(), uses("a"), user("And?"), bash, turn(result("b"), result("a")), says(), user()]
    changed = mend("messages", json.dumps({"messages": came}).encode(), READ_ONLY)
    assert changed is not None
    assert changed.steps == {"result moved": 1}
    goes = [user(), uses("a"), turn(result("a")), user("And?"), bash, turn(result("b")), says(), user()]
    assert json.loads(changed.body)["messages"] == goes

    def part(kind: str, identity: str, name: str, **more: Any) -> Json:
        return {kind: {"id": identity, "name": name, **more}}

    def content(role: str, *parts: Json) -> Json:
        return {"role": role, "parts": [*parts]}

    read, ran = (part("functionCall", *one, args={}) for one in (("a", "read"), ("b", "bash")))
    of_read, of_ran = (part("functionResponse", *one, response={}) for one in (("a", "read"), ("b", "bash")))
    asked = content("user", {"text": "And?"})
    contents = [asked, content("model", read), asked, content("model", ran), content("user", of_ran, of_read)]
    changed = mend("gemini", json.dumps({"contents": contents}).encode(), READ_ONLY)
    assert changed is not None
    assert changed.steps == {"result moved": 1}
    goes = [asked, content("model", read), content("user", of_read), asked, content("model", ran)]
    assert json.loads(changed.body)["contents"] == [*goes, content("user", of_ran)]


@pytest.mark.parametrize(
    "between",
    [said("1"), [{"type": "web_search_call", "id": "ws_1", "status": "completed"}]],
    ids=["said", "searched"],
)
def test_an_output_is_put_behind_its_call_and_not_behind_what_the_model_did_next(between: list[Json]) -> None:
    later = [*between, item("c"), output("c"), user()]
    after, steps = up("responses", {"input": [user(), item("a"), *later]})
    assert after["input"] == [user(), item("a"), output("a", CANCELLED), *later]
    assert steps == {"cancelled call": 1}
    after, steps = up("responses", {"input": [user(), output("a"), item("a"), *later]})
    assert after["input"] == [user(), item("a"), output("a"), *later]
    assert steps == {"result moved": 1}


@pytest.mark.parametrize(
    "items",
    [
        pytest.param([item("a"), output("a"), user(), item("a"), output("a", "2")], id="each with its output"),
        pytest.param([item("a"), output("a"), user(), item("a", arguments='{"n": 1}')], id="other arguments"),
        pytest.param([item("a"), output("a"), user(), item("a", name="list")], id="another tool"),
        pytest.param([item("a", type=["function_call"])] * 2, id="items of no type"),
    ],
)
def test_calls_that_share_an_id_and_are_no_copies_stay(items: list[Json]) -> None:
    """Hosts that repeat ids take them; nobody knows which of two different calls an output answers."""
    assert mend("responses", json.dumps({"input": [user(), *items]}).encode()) is None


@pytest.mark.parametrize(
    "more", [{"previous_response_id": "resp_1"}, {"conversation": "conv_1"}, {"conversation": {"id": "conv_1"}}]
)
def test_where_the_server_keeps_the_history_an_output_without_its_call_is_right(more: Json) -> None:
    sent = json.dumps({"input": [output("a"), item("b")], **more}).encode()
    assert mend("responses", sent) is None
    frame = json.dumps({"type": "response.create", "input": [output("a")], **more})
    assert ResponsesSocket().client_message(frame) == frame


@pytest.mark.parametrize("kind", [{"type": "item_reference"}, {"type": None}, {}], ids=str)
def test_a_reference_to_an_item_needs_no_type(kind: Json) -> None:
    referred = [{"id": "rs_1", **kind}, {"id": "fc_1", **kind}, output("a")]
    assert mend("responses", json.dumps({"input": referred}).encode()) is None


def test_the_reasoning_of_a_copy_goes_with_it() -> None:
    copy_of_a = [thought("rs_2"), item("a")]
    after, steps = up(
        "responses", {"input": [user(), *said("1"), item("a"), output("a"), *copy_of_a, *said("3"), user()]}
    )
    assert after["input"] == [user(), *said("1"), *copy_of_a, output("a"), *said("3"), user()]
    assert steps == {"repeated call": 1, "result moved": 1}
    with_id = item("a", id="fc_1")
    after, _ = up(
        "responses", {"input": [with_id, user(), thought("rs_2"), with_id, output("a"), *said("3"), user()]}
    )
    assert after["input"] == [user(), thought("rs_2"), with_id, output("a"), *said("3"), user()]
    both = [thought("rs_0"), item("a"), output("a"), *copy_of_a, *said("3")]
    after, steps = up("responses", {"input": [user(), *both]})
    assert after["input"] == [user(), *both[:3], *said("3")]
    assert steps == {"repeated call": 1}


@pytest.mark.parametrize("more", [{"previous_response_id": "resp_1"}, {}])
def test_reasoning_without_its_item_goes_whoever_keeps_the_history(more: Json) -> None:
    refers = {"type": "item_reference", "id": "fc_1"}
    request = {**more, "input": [refers, output("a"), thought("rs_2"), user(), thought("rs_3"), refers]}
    after, steps = up("responses", request)
    assert after["input"] == [refers, output("a"), user(), thought("rs_3"), refers]
    assert steps == {"reasoning without its item": 1}


@pytest.mark.parametrize(
    "behind",
    [
        {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "x"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "local_shell_call", "call_id": "c", "action": {}, "status": "completed"},
        {"type": "item_reference", "id": "fc_1"},
        {"id": "fc_1"},
    ],
    ids=str,
)
def test_reasoning_before_any_item_of_the_model_stays(behind: Json) -> None:
    answered = [{"type": f"{behind['type']}_output", "call_id": "c", "output": "x"}] if "call_id" in behind else []
    sent = json.dumps({"input": [user(), thought("rs_1"), behind, *answered, user()]}).encode()
    assert mend("responses", sent) is None


def test_a_shell_call_is_answered_by_nobody_but_the_client() -> None:
    shell = {"type": "local_shell_call", "call_id": "a", "action": {}, "status": "completed"}
    for items in ([shell], [shell, output("a")]):
        assert mend("responses", json.dumps({"input": items}).encode()) is None


# Any history

ROUNDS = st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), min_size=1, max_size=4)
"""Of each round: its calls, whether the assistant says something at the end, whether the user asks on."""


def chat_history(rounds: list[tuple[int, bool, bool]]) -> list[Json]:
    made = [user()]
    for number, (count, said, asked) in enumerate(rounds):
        ids = [f"call_{number}_{one}" for one in range(count)]
        made += [calls(*ids), *map(tool, ids)] if ids else []
        made += [says(f"Said {number}.")] if said else []
        made += [user(f"Asked {number}.")] if asked else []
    return made


def messages_history(rounds: list[tuple[int, bool, bool]]) -> list[Json]:
    made = [user()]
    for number, (count, said, asked) in enumerate(rounds):
        ids = [f"toolu_{number}_{one}" for one in range(count)]
        more = [text(f"Asked {number}.")] if asked else []
        made += [uses(*ids, thinking=said), turn(*map(result, ids), *more)] if ids else []
        made += [says(f"Said {number}."), user(f"Asked on {number}.")] if said else []
    return made


def responses_history(rounds: list[tuple[int, bool, bool]]) -> list[Json]:
    made: list[Json] = [user()]
    for number, (count, said, asked) in enumerate(rounds):
        ids = [f"call_{number}_{one}" for one in range(count)]
        made += [thought(f"rs_{number}"), *map(item, ids), *map(output, ids)] if ids else []
        made += [{**says(f"Said {number}."), "id": f"msg_{number}"}] if said else []
        made += [user(f"Asked {number}.")] if asked else []
    return made


def gemini_history(rounds: list[tuple[int, bool, bool]], ids: bool = True) -> list[Json]:
    made: list[Json] = [{"role": "user", "parts": [{"text": "Go."}]}]
    for number, (count, said, asked) in enumerate(rounds):
        known = [
            {"name": name, **({"id": f"{name}_{number}"} if ids else {})} for name in ("read", "list", "grep")[:count]
        ]
        made_calls = [{"functionCall": {**one, "args": {"n": number}}} for one in known]
        results = [{"functionResponse": {**one, "response": {"output": str(number)}}} for one in known]
        more = [{"text": f"Asked {number}."}] if asked else []
        made += (
            [{"role": "model", "parts": made_calls}, {"role": "user", "parts": [*results, *more]}] if known else []
        )
        if said:
            made.append({"role": "model", "parts": [{"text": f"Said {number}."}]})
            made.append({"role": "user", "parts": [{"text": f"Asked on {number}."}]})
    return made


def blocks_of(entry: Json) -> list[Json]:
    blocks = entry.get("parts", entry.get("content"))
    return blocks if isinstance(blocks, list) else []


def can_move(entry: Json) -> bool:
    return entry.get("type") in ("function_call_output", None, "tool_result", "text") and "functionCall" not in entry


def damaged(entries: list[Json], data: st.DataObject) -> list[Json]:
    """Parts dropped, moved and doubled, near and far; a result also moves to another message of the user."""
    entries = copy.deepcopy(entries)
    for _ in range(data.draw(st.integers(1, 5))):
        places = [place for place in (entries, *map(blocks_of, entries)) if place]
        place = data.draw(st.sampled_from(places))
        at = data.draw(st.integers(0, len(place) - 1))
        part = place[at]
        what = data.draw(st.sampled_from(["drop", "move", "double"]))
        if part.get("type") == "reasoning" or (len(place) < 2 and what != "double"):
            continue
        if what == "double" and part.get("type") != "thinking":
            place.insert(data.draw(st.integers(0, len(place))), copy.deepcopy(part))
        elif what == "move" and can_move(part):
            del place[at]
            if "tool_use_id" in part or "functionResponse" in part:
                place = data.draw(
                    st.sampled_from([blocks for one in entries if is_of_user(one, blocks := blocks_of(one))])
                )
            place.insert(data.draw(st.integers(0, len(place))), part)
        elif what == "drop":
            del place[at]
    return entries


def with_other_results(entries: list[Json], data: st.DataObject) -> list[Json]:
    """Results whose calls are gone, and second results that say something else; some results have no content."""
    entries = copy.deepcopy(entries)
    for number in range(data.draw(st.integers(1, 4))):
        places = [place for place in (entries, *map(blocks_of, entries)) if any(map(result_key, place))]
        if not places:
            return entries
        place = data.draw(st.sampled_from(places))
        at = data.draw(st.sampled_from([at for at, one in enumerate(place) if result_key(one)]))
        other = copy.deepcopy(place[at])
        words = f"Words {number}."
        holder, key, identity = result_key(other) or (other, "", "")
        what = data.draw(st.sampled_from(["second", "lost", "object", "nothing", "refused"]))
        holder[key] = {"second": words, "lost": words, "object": {"said": words}, "refused": words}.get(what)
        if key == "response":
            holder[key] = {"output": words}
        elif key == "content" and what == "refused":
            holder[key] = [{"type": "text", "text": words}]
        if what != "second" and identity in holder:
            holder[identity] = f"gone_{number}"
        place.insert(data.draw(st.integers(0, len(place))), other)
    return entries


def result_key(entry: Json) -> tuple[Json, str, str] | None:
    """The result in an entry, the key of its content and that of its id."""
    if "functionResponse" in entry:
        return entry["functionResponse"], "response", "id"
    for identity, key in (("tool_call_id", "content"), ("tool_use_id", "content")):
        if identity in entry:
            return entry, key, identity
    return (entry, "output", "call_id") if entry.get("type") == "function_call_output" else None


def is_of_user(entry: Json, blocks: list[Json]) -> bool:
    return entry["role"] == "user" and bool(blocks)


# What stays as it came on purpose (docs/requests.md), so that no host has to take it after us


def calls_of_one_tool_have_no_ids(contents: list[Json]) -> bool:
    """Gemini: nobody knows which of the calls of one tool in a turn a result answers."""
    for _, run in groupby(contents, lambda content: content["role"]):
        found = [part["functionCall"] for content in run for part in content["parts"] if "functionCall" in part]
        if len({call["name"] for call in found}) < len(found) and not all("id" in call for call in found):
            return True
    return False


def each_copy_has_its_output(items: list[Json]) -> bool:
    """Responses: a call stands twice, with an output behind each. Hosts that repeat ids take that."""
    called = Counter(item["call_id"] for item in items if item.get("type") == "function_call")
    answered = Counter(item["call_id"] for item in items if item.get("type") == "function_call_output")
    return any(times > 1 and times == answered[identity] for identity, times in called.items())


LEFT: dict[str, Callable[[list[Json]], bool]] = {
    "gemini": calls_of_one_tool_have_no_ids,
    "responses": each_copy_has_its_output,
}


HOSTS: dict[str, tuple[str, Callable[[Any], list[Json]], Callable[[Json], None]]] = {
    "chat": ("messages", chat_history, strict_hosts.openai_chat),
    "messages": ("messages", messages_history, strict_hosts.anthropic),
    "responses": ("input", responses_history, strict_hosts.openai_responses),
    "gemini": ("contents", gemini_history, strict_hosts.gemini_pairs),
    "gemini without ids": (
        "contents",
        lambda rounds: gemini_history(rounds, ids=False),
        strict_hosts.gemini_pairs,
    ),
}


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(HOSTS)), ROUNDS, st.sampled_from([None, 1]))
def test_any_history_that_a_host_takes_goes_up_byte_for_byte(protocol: str, rounds: Any, indent: int | None) -> None:
    key, make, host = HOSTS[protocol]
    request = {key: make(rounds)}
    host(request)
    assert mend(protocol.split()[0], json.dumps(request, indent=indent).encode()) is None


@settings(max_examples=1000, deadline=None)
@given(st.sampled_from(sorted(HOSTS)), ROUNDS, st.data())
def test_any_damaged_history_is_taken_after_us(protocol: str, rounds: Any, data: st.DataObject) -> None:
    key, make, host = HOSTS[protocol]
    request = {key: damaged(make(rounds), data)}
    protocol = protocol.split()[0]
    assume(protocol not in LEFT or not LEFT[protocol](request[key]))
    after, _ = up(protocol, request)
    host(after)
    if protocol != "responses":  # its validator also wants outputs before any other item, which no host asks for
        VALIDATORS[protocol](after)


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(sorted(HOSTS)), ROUNDS, st.data())
def test_no_words_of_any_damaged_history_are_lost(protocol: str, rounds: Any, data: st.DataObject) -> None:
    key, make, host = HOSTS[protocol]
    request = {key: damaged(with_other_results(make(rounds), data), data)}
    protocol = protocol.split()[0]
    assume(protocol not in LEFT or not LEFT[protocol](request[key]))
    after, _ = up(protocol, request)
    host(after)
    goes_up = json.dumps(after)
    for words in re.findall(r"(?:result of|Words|Said|Asked|Asked on) [\w.]+", json.dumps(request)):
        assert words in goes_up


@settings(max_examples=200, deadline=None)
@given(ROUNDS, st.data())
def test_no_mend_makes_what_minimax_rejects_of_what_it_takes(rounds: Any, data: st.DataObject) -> None:
    """Messages of results alone, and texts in messages of their own: that is how MiniMax wants them."""
    whole = [(count, said, False) for count, said, _ in rounds]
    messages = damaged(messages_history(whole), data)
    after, _ = up("messages", {"messages": messages})
    strict_hosts.minimax(after)
