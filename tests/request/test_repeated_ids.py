"""Results are told apart by their calls, not by their ids and words alone: Kimi's ids repeat, and most results are "ok"."""

from __future__ import annotations

import json
from typing import Any

from toolcalls.ids import Ids
from toolcalls.policy import Policy
from toolcalls.request.history import CANCELLED
from toolcalls.request.mend import mend_request
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode

Json = dict[str, Any]
KIMIS = "functions.Bash:0"


def up(protocol: str, key: str, entries: list[Json]) -> list[Json]:
    body = json.dumps({"model": "m", key: entries}).encode()
    changed = mend_request(protocol, body, decode(body), Policy(), Refusals())
    found: list[Json] = json.loads(changed.body if changed is not None else body)[key]
    return found


def turn(command: str) -> Json:
    function = {"name": "Bash", "arguments": json.dumps({"command": command})}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": KIMIS, "type": "function", "function": function}],
    }


def test_a_result_behind_words_is_not_taken_for_that_of_a_later_call_with_its_id() -> None:
    ok = {"role": "tool", "tool_call_id": KIMIS, "content": "ok"}
    sent = up("chat", "messages", [turn("ls"), {"role": "user", "content": "hm"}, ok, turn("pwd"), ok])
    kept = [message for message in sent if message["role"] != "assistant"]
    assert sum("ok" in str(message["content"]).split() for message in kept) == 2, sent


def test_a_doubled_turn_whose_id_was_used_before_keeps_its_call_and_its_result() -> None:
    call = {"type": "function_call", "call_id": KIMIS, "name": "Bash", "arguments": '{"command":"ls"}'}
    first, second = ({"type": "function_call_output", "call_id": KIMIS, "output": text} for text in ("o1", "o2"))
    sent = up("responses", "input", [call, first, call, call, second])
    assert [item["type"] for item in sent] == ["function_call", "function_call_output"] * 2
    assert [item["output"] for item in sent[1::2]] == ["o1", "o2"]


def test_a_result_too_many_of_an_id_that_two_calls_share_is_dropped_or_kept_as_words() -> None:
    """Each call has one, in their order; hosts that take such ids reject the third."""
    calls = {**turn("ls"), "tool_calls": [*turn("ls")["tool_calls"], *turn("pwd")["tool_calls"]]}
    results = [{"role": "tool", "tool_call_id": KIMIS, "content": text} for text in ("one", "two", "two", "three")]
    sent = up("chat", "messages", [{"role": "user", "content": "Go."}, calls, *results])
    assert [message["content"].split("\n")[0] for message in sent[2:]] == ["one", "two"]
    assert sent[-1]["content"].endswith(":\nthree")


def test_of_a_doubled_call_and_its_two_outputs_one_of_each_stays() -> None:
    call = {"type": "function_call", "call_id": KIMIS, "name": "Bash", "arguments": '{"command":"ls"}'}
    outputs = [{"type": "function_call_output", "call_id": KIMIS, "output": text} for text in ("o1", "o2")]
    for history in ([call, call, *outputs], [call, *outputs, call], [call, outputs[0], call, outputs[0]]):
        sent = up("responses", "input", history)
        kept = [item for item in sent if item["type"] != "message"]
        assert [item["type"] for item in kept] == ["function_call", "function_call_output"] * (len(kept) // 2)
        assert all(item["output"] in json.dumps(sent) for item in history[1:] if "output" in item)


def test_a_lost_result_is_made_up_for_although_a_later_call_has_the_host_s_id_too() -> None:
    """The client knows the later call by an id of ours, so its result is not that of the first."""
    first, later = KIMIS, Ids("seed", [KIMIS]).unique(KIMIS)
    lost, answered = (
        {"type": "function_call", "call_id": identity, "name": "Bash", "arguments": json.dumps({"command": command})}
        for identity, command in ((first, "ls"), (later, "pwd"))
    )
    words = {"type": "message", "role": "user", "content": "Go on."}
    result = {"type": "function_call_output", "call_id": later, "output": "ok"}
    sent = up("responses", "input", [lost, words, answered, result])
    assert [item.get("call_id") for item in sent] == [KIMIS, KIMIS, None, KIMIS, KIMIS]
    assert [item["output"] for item in sent if "output" in item] == [CANCELLED, "ok"]


def test_a_result_that_moves_behind_its_call_gets_its_sentence_at_once() -> None:
    """If it got that one request later, the history would change and the prompt cache would be lost."""
    function = {"name": "Bash", "arguments": "{}"}
    call = {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "type": "function", "function": function}]}
    result = {"role": "tool", "tool_call_id": "a", "content": "failed to parse function arguments: x"}
    schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    tools = [{"type": "function", "function": {"name": "Bash", "parameters": schema}}]
    body = json.dumps({"messages": [{"role": "user", "content": "Go."}, result, call], "tools": tools}).encode()
    changed = mend_request("chat", body, decode(body), Policy(), Refusals())
    assert changed is not None and changed.steps == {"result moved": 1, "reason in a result": 1}
    assert "command" in json.loads(changed.body)["messages"][-1]["content"]
    assert mend_request("chat", changed.body, decode(changed.body), Policy(), Refusals()) is None
