"""The history of a Chat request: what an upstream would refuse is mended, everything else keeps its bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcalls.ids import Ids, restore
from toolcalls.policy import Policy
from toolcalls.request.mend import Changed, mend_request
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode

READ = {
    "type": "function",
    "function": {
        "name": "read",
        "parameters": {"type": "object", "properties": {"filePath": {"type": "string"}}, "required": ["filePath"]},
    },
}
BASH = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a command.",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
    },
}


def call(arguments: Any = "{}", identity: str = "call_1", name: str = "read") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def turn(*calls: dict[str, Any], results: list[str] | None = None) -> list[dict[str, Any]]:
    answers = results if results is not None else ["ok"] * len(calls)
    return [
        {"role": "assistant", "content": None, "tool_calls": list(calls)},
        *(
            {"role": "tool", "tool_call_id": one["id"], "content": text}
            for one, text in zip(calls, answers, strict=True)
        ),
    ]


def body(*messages: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": "Go."}, *messages], **more}).encode()


def mend(sent: bytes, refusals: Refusals | None = None, **options: Any) -> Changed | None:
    return mend_request("chat", sent, decode(sent), Policy(**options), refusals or Refusals())


def mended(sent: bytes, refusals: Refusals | None = None, **options: Any) -> list[dict[str, Any]]:
    changed = mend(sent, refusals, **options)
    assert changed is not None
    again = mend(changed.body, refusals, **options)
    assert again is None, "what was mended is mended again"
    messages: list[dict[str, Any]] = json.loads(changed.body)["messages"]
    return messages[1:]


@pytest.mark.parametrize(
    ("poisoned", "good"),
    [
        ('{"filePath": "/a",}', '{"filePath":"/a"}'),
        ("{'filePath': '/a'}", '{"filePath":"/a"}'),
        ('{"command": "cd', "{}"),
        ("", "{}"),
        (" ", "{}"),
        ("null", "{}"),
        ("[1]", "{}"),
        ('"{\\"filePath\\": 1}"', '{"filePath": 1}'),
        ('{"a": NaN}', "{}"),
        (None, "{}"),
        ([], "{}"),
        (7, "{}"),
        ({"filePath": "/a"}, '{"filePath": "/a"}'),
    ],
)
def test_poisoned_arguments_are_mended_or_emptied(poisoned: Any, good: str) -> None:
    assistant, result = mended(body(*turn(call(poisoned))))
    assert json.loads(assistant["tool_calls"][0]["function"]["arguments"]) == json.loads(good)
    assert result == {"role": "tool", "tool_call_id": "call_1", "content": "ok"}


def test_missing_arguments_are_added() -> None:
    bare = {"id": "call_1", "type": "function", "function": {"name": "read"}}
    assistant, _ = mended(body(*turn(bare)))
    assert assistant["tool_calls"][0]["function"] == {"name": "read", "arguments": "{}"}


def test_an_object_in_the_place_of_a_string_keeps_its_numbers() -> None:
    raw = body(*turn(call("@"))).replace(b'"@"', b'{"a": 1.50, "b": 12345678901234567890123, "c": "\\u00e9"}')
    assistant, _ = mended(raw)
    text = assistant["tool_calls"][0]["function"]["arguments"]
    assert text == '{"a":1.50,"b":12345678901234567890123,"c":"é"}'


def test_the_old_function_call_is_mended() -> None:
    message = {"role": "assistant", "content": None, "function_call": {"name": "read", "arguments": "{"}}
    assert mended(body(message))[0]["function_call"]["arguments"] == "{}"


@pytest.mark.parametrize(
    "arguments", ["{}", ' {"a": 1}\n', '{"a": 1.50}', '{"content": "\\u0000 \\ud83d"}', '{"a": 1e400}']
)
def test_valid_arguments_are_left_alone(arguments: str) -> None:
    assert mend(body(*turn(call(arguments)))) is None


def test_nothing_else_of_the_request_changes() -> None:
    raw = (
        b'\n{ "model":"m" ,"temperature":1.0,"seed":1e3,"n":1, "x\\u0041":"\\u00e9\\/", "messages" :[\r\n'
        b'\t{"role":"assistant","tool_calls":[ {"id":"a","type":"function","function":'
        b'{"arguments":"{\'x\': 1}" , "name":"f"}} ],"n":0.10},'
        b'{"role":"tool","tool_call_id":"a","content":"\xc3\xa9"}\n] }'
    )
    changed = mend(raw)
    assert changed is not None
    expected = raw.replace(b"\"{'x': 1}\"", b'"{\\"x\\":1}"')
    assert json.dumps(json.loads(changed.body)) == json.dumps(json.loads(expected)), (
        "the same values in the same order"
    )
    for number in (b'"temperature":1.0,', b'"seed":1e3,', b'"n":0.10'):
        assert number in changed.body, "numbers are spelled as they came"
    assert changed.steps == {"arguments": 1}


def test_a_key_that_stands_twice_counts_as_readers_take_it() -> None:
    one = json.dumps(turn(call("{'a': 1}"))).encode()
    raw = b'{"messages":' + one + b',"temperature":0.50,"messages":' + one.replace(b"call_1", b"call_2") + b"}"
    changed = mend(raw)
    assert changed is not None
    assert changed.body.count(b'"{\\"a\\":1}"') == 1
    assert b"call_2" in changed.body
    assert b"0.50" in changed.body


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_the_encoding_of_the_body_stays(encoding: str) -> None:
    raw = body(*turn(call("{'a': 'é'}"))).decode().encode(encoding)
    changed = mend(raw)
    assert changed is not None
    messages = json.loads(changed.body.decode(encoding))["messages"]
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == '{"a":"é"}'


def test_a_tool_that_the_user_left_out_is_not_touched() -> None:
    from toolcalls.policy import make_policy, read_options

    policy = make_policy(read_options({"toolfix_tools": "^bash$"}))
    raw = body(*turn(call("{")))
    assert mend_request("chat", raw, decode(raw), policy, Refusals()) is None


# Repetitions


def test_a_call_that_is_repeated_as_it_is_and_its_repeated_result_are_dropped() -> None:
    one = call('{"filePath": "/a"}')
    assistant, result = mended(body(*turn(one, one)))
    assert assistant["tool_calls"] == [one]
    assert result["content"] == "ok"


def test_calls_that_share_an_id_but_differ_stay_and_so_do_their_results() -> None:
    calls = [call('{"filePath": "/a"}'), call('{"filePath": "/b"}')]
    assert mend(body(*turn(*calls))) is None


def test_the_same_call_in_two_turns_stays() -> None:
    one = call('{"filePath": "/a"}')
    assert mend(body(*turn(one), *turn(one))) is None


# Ids


def test_a_replaced_id_is_given_back_with_its_result() -> None:
    new = Ids("seed", ["functions.read:0"]).unique("functions.read:0")
    assistant, result = mended(body(*turn(call(identity=new))))
    assert assistant["tool_calls"][0]["id"] == "functions.read:0"
    assert result["tool_call_id"] == "functions.read:0"


def test_ids_are_given_back_even_with_the_option_off_and_nothing_else_is_done() -> None:
    new = Ids("seed", ["x:0"]).unique("x:0")
    assistant, result = mended(body(*turn(call("{", identity=new))), request=False)
    assert assistant["tool_calls"][0] == call("{", identity="x:0")
    assert result["tool_call_id"] == "x:0"


def test_an_id_that_the_upstream_gave_in_two_turns_is_given_back_in_both() -> None:
    new = Ids("seed", ["x:0"]).unique("x:0")
    raw = body(*turn(call(identity="x:0")), *turn(call(identity=new)))
    assert [one["tool_calls"][0]["id"] for one in mended(raw) if "tool_calls" in one] == ["x:0", "x:0"]


def test_an_id_that_the_upstream_gave_twice_in_one_turn_stays_apart() -> None:
    ids = Ids("seed")
    first, second = ids.unique("x:0"), ids.unique("x:0")
    assert first == "x:0"
    raw = body(*turn(call('{"filePath": "/a"}', first), call('{"filePath": "/b"}', second)))
    assert mend(raw) is None, "two calls and two results that nobody could tell apart"


def test_of_two_replaced_ids_of_one_turn_the_first_is_given_back() -> None:
    ids = Ids("seed", ["x:0"])
    first, second = ids.unique("x:0"), ids.unique("x:0")
    assistant, one, other = mended(body(*turn(call(identity=first), call('{"filePath": "/b"}', second))))
    assert [entry["id"] for entry in assistant["tool_calls"]] == ["x:0", second]
    assert [one["tool_call_id"], other["tool_call_id"]] == ["x:0", second]


def test_an_id_of_a_proxy_in_between_is_given_back_to_that_proxy() -> None:
    inner = Ids("inner", ["x:0"]).unique("x:0")
    outer = Ids("outer").unique(inner)
    assert outer != inner
    assert restore(outer) == inner
    changed = mend(body(*turn(call(identity=outer))))
    assert changed is not None
    assert json.loads(changed.body)["messages"][1]["tool_calls"][0]["id"] == inner


def test_a_result_without_its_call_gets_the_id_back_too() -> None:
    new = Ids("seed", safe=True).unique("x:0")
    raw = body({"role": "tool", "tool_call_id": new, "content": "ok"})
    assert mended(raw, request=False)[0]["tool_call_id"] == "x:0"


# Refusals

REASON = "the arguments were cut off inside `content` after 12,345 characters"
LINE = f"[toolfix] This call was refused: {REASON}; send the call again."


def refused(original: str = "call_1") -> tuple[Refusals, str]:
    refusals = Refusals()
    identity = Ids("seed").new(original, REASON)
    refusals.add(identity, REASON)
    return refusals, identity


def test_the_result_of_a_refused_call_says_why() -> None:
    refusals, identity = refused()
    _, result = mended(body(*turn(call(identity=identity), results=["Error: missing file_path"])), refusals)
    assert result == {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": f"Error: missing file_path\n\n{LINE}",
    }


def test_a_refused_call_that_never_had_an_id_says_so_once() -> None:
    refusals, identity = refused("")
    raw = body(*turn(call(identity=identity), results=["Error"]))
    _, result = mended(raw, refusals)
    assert result["content"].count(LINE) == 1
    assert result["tool_call_id"] == identity


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", LINE),
        (None, LINE),
        ([], [{"type": "text", "text": LINE}]),
        ([{"type": "text", "text": "no"}], [{"type": "text", "text": "no"}, {"type": "text", "text": LINE}]),
    ],
)
def test_every_form_of_content_can_say_it(content: Any, told: Any) -> None:
    refusals, identity = refused()
    assert mended(body(*turn(call(identity=identity), results=[content])), refusals)[1]["content"] == told


def test_a_result_without_content_gets_one() -> None:
    refusals, identity = refused()
    raw = body(turn(call(identity=identity))[0], {"role": "tool", "tool_call_id": identity})
    assert mended(raw, refusals)[1]["content"] == LINE


def test_a_result_that_says_the_reason_already_stays() -> None:
    refusals, identity = refused()
    text = f"The arguments provided to the tool are invalid: {REASON}."
    sent = body(*turn(call(identity=identity), results=[text]))
    assert mended(sent, refusals, retry_guidance=False)[1]["content"] == text
    assert mended(sent, refusals)[1]["content"].startswith(f"{text}\n\n[toolfix] This call failed. Rewrite")


def test_the_same_history_is_told_in_the_same_way_every_turn() -> None:
    refusals, identity = refused()
    first = turn(call(identity=identity), results=["Error"])
    one = mended(body(*first), refusals)
    two = mended(body(*first, *turn(call(identity="call_2"))), refusals)
    assert two[: len(one)] == one


def test_a_forgotten_refusal_leaves_the_result_as_the_client_wrote_it() -> None:
    _, identity = refused()
    assert mended(body(*turn(call(identity=identity), results=["Error"])))[1]["content"] == "Error"


def test_no_more_than_so_many_refusals_are_remembered_and_the_used_ones_stay() -> None:
    refusals = Refusals()
    for number in range(4096):
        refusals.add(f"call_{number}", "why")
    assert refusals.get("call_0") == "why"
    refusals.add("one more", "why")
    assert len(refusals) == 4096
    assert refusals.get("call_0") == "why"
    assert refusals.get("call_1") is None


# Hints and guidance


def test_guidance_names_what_was_missing_and_asks_for_a_retry() -> None:
    raw = body(*turn(call("{}"), results=["Error: bad call"]), tools=[READ])
    content = mended(raw, retry_guidance=True)[1]["content"]
    assert content.startswith("Error: bad call\n\n[toolfix] This call failed: ")
    assert "missing required field(s): filePath." in content
    assert "send the call again" in content


def test_guidance_survives_a_restart_because_the_history_itself_shows_what_was_missing() -> None:
    raw = body(*turn(call("{}"), results=["undefined"]), tools=[READ])
    assert "filePath" in mended(raw, Refusals(), retry_guidance=True)[1]["content"]


def test_guidance_reads_the_payload_of_the_invalid_tool() -> None:
    payload = {"tool": "read", "error": "Invalid arguments: missing required field(s): filePath.", "receivedArgs": {}}
    invalid = {"type": "function", "function": {"name": "invalid", "parameters": {"type": "object"}}}
    raw = body(*turn(call(json.dumps(payload), name="invalid"), results=["no"]), tools=[READ, invalid])
    assert "filePath. Rewrite" in mended(raw, retry_guidance=True)[1]["content"]


def test_hints_go_into_the_description_of_shell_like_tools_alone() -> None:
    raw = body({"role": "system", "content": "You are."}, tools=[READ, BASH])
    assert mend(raw) is None, "it is off by default"
    changed = mend(raw, hints=True)
    assert changed is not None
    sent, came = json.loads(changed.body), json.loads(raw)
    description = sent["tools"][1]["function"].pop("description")
    assert came["tools"][1]["function"].pop("description") + "\n" in description
    assert sent == came
    assert mend(changed.body, hints=True) is None


def test_hints_and_guidance_are_part_of_what_the_option_switches_off() -> None:
    raw = body(*turn(call("{}"), results=["Error"]), tools=[READ, BASH])
    assert mend(raw, request=False, hints=True, retry_guidance=True) is None


def test_the_old_function_call_is_mended_beside_new_ones_too() -> None:
    both = {**turn(call())[0], "function_call": {"name": "read", "arguments": "{'a': 1}"}}
    assert mended(body(both))[0]["function_call"]["arguments"] == '{"a":1}'


@pytest.mark.parametrize("number", ["NaN", "1e999"])
def test_a_request_that_cannot_be_rewritten_is_sent_unchanged(number: str) -> None:
    sent = body(*turn(call("{'filePath': 'a'}")), tools=[READ])
    assert mend(sent) is not None
    messages = json.dumps(json.loads(sent)["messages"]).encode()
    assert mend(sent[:-1] + b', "messages": ' + messages + f', "temperature": {number}}}'.encode()) is None
    assert mend(sent[:-1] + f', "temperature": {number}}}'.encode()) is None


@pytest.mark.parametrize("results", [["ok"], ["ok", "ok"]], ids=["one result", "two results"])
@pytest.mark.parametrize("written", [("{}", ""), ("", "{}"), ('{"filePath":"a"}', "{'filePath': 'a'}")])
def test_a_call_that_is_repeated_in_broken_arguments_is_removed_in_one_turn(
    written: tuple[str, str], results: list[str]
) -> None:
    answers = [{"role": "tool", "tool_call_id": "call_1", "content": text} for text in results]
    calls = {"role": "assistant", "content": None, "tool_calls": [call(one) for one in written]}
    changed = mend(body(calls, *answers, {"role": "user", "content": "On."}, tools=[READ]))
    assert changed is not None and mend(changed.body) is None
    messages = json.loads(changed.body)["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "user"]
    (kept,) = messages[1]["tool_calls"]
    assert json.loads(kept["function"]["arguments"]) == json.loads(written[0] or written[1])


def test_calls_with_one_id_and_other_arguments_stay_two() -> None:
    sent = body(*turn(call('{"filePath": "a"}'), call("{'filePath': 'b'}"), results=["a", "b"]), tools=[READ])
    changed = mend(sent)
    assert changed is not None and "repeated call" not in changed.steps
