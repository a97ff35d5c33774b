"""Chat, streamed: what the client holds in the end, for every way in which a server misbehaves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.chat_client import events, read
from tests.splits import mend
from toolcalls.policy import Policy
from toolcalls.request.request import Request, read_request

ARGUMENTS = '{"command": "ls -la"}'


def chunk(delta: Any, finish: str | None = None, index: int = 0, **more: Any) -> str:
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    return line({"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **more})


def line(payload: Any) -> str:
    return f"data: {json.dumps(payload, ensure_ascii=False)}\n\n"


def piece(index: int | None = 0, identity: str | None = None, name: str | None = None, arguments: Any = None) -> Any:
    entry: dict[str, Any] = {} if index is None else {"index": index}
    if identity is not None:
        entry |= {"id": identity, "type": "function"}
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {"tool_calls": [{**entry, "function": function}]}


DONE = "data: [DONE]\n\n"


def question(*names: str, **more: Any) -> Request:
    tools = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object", "required": ["command"]}}}
        for name in names
    ]
    return read_request({"tools": tools, "stream": True, **more})


BASH = question("Bash", "Read", "read_file")


def test_a_stream_of_text_passes_byte_for_byte() -> None:
    body = "".join(chunk({"content": f"word {n} "}) for n in range(2000)) + chunk({}, "stop") + DONE
    assert mend(body)[0] == body.encode()


def test_text_passes_in_the_callback_in_which_it_arrived() -> None:
    from toolcalls.engine import Response

    answer = Response("chat")
    answer.feed(chunk(piece(0, "a", "Bash", '{"comm')).encode())
    for word in ("first", "second"):
        event = chunk({"content": word}).encode()
        assert answer.feed(event) == [event]


def test_fragments_become_one_delta_with_everything_in_it() -> None:
    body = (
        chunk({"role": "assistant", "content": None, **piece(0, "call_1", "Bash", "")})
        + "".join(chunk(piece(0, arguments=part)) for part in ('{"comm', 'and": ', '"ls -la"}'))
        + chunk({}, "tool_calls")
        + DONE
    )
    out, answer = mend(body, question=BASH)
    held = read(out)
    assert held.calls == {0: {"id": "call_1", "type": "function", "name": "Bash", "arguments": ARGUMENTS}}
    assert held.deltas_per_call == {0: 1}
    assert held.finishes == ["tool_calls"]
    assert held.done
    assert json.loads(events(out)[0])["choices"][0]["delta"]["role"] == "assistant"
    assert "content" not in json.loads(events(out)[0])["choices"][0]["delta"]
    assert [outcome.status for outcome in answer.outcomes] == ["valid"]


@pytest.mark.parametrize("finish", ["stop", "end_turn", "function_call", "tool_calls", "other"])
def test_with_calls_the_finish_reason_says_so(finish: str) -> None:
    held = read(mend(chunk(piece(0, "a", "Bash", ARGUMENTS)) + chunk({}, finish) + DONE)[0])
    assert held.finishes == ["tool_calls"]
    assert held.call_list() == [("Bash", ARGUMENTS)]


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_a_limit_is_never_rewritten_and_the_call_comes_out(finish: str) -> None:
    held = read(mend(chunk(piece(0, "a", "Bash", ARGUMENTS)) + chunk({}, finish) + DONE)[0])
    assert held.finishes == [finish]
    assert held.call_list() == [("Bash", ARGUMENTS)]


def test_a_second_finish_reason_is_dropped() -> None:
    body = chunk(piece(0, "a", "Bash", ARGUMENTS)) + chunk({}, "tool_calls") + chunk({}, "stop") + DONE
    assert read(mend(body)[0]).finishes == ["tool_calls"]


def test_a_call_after_the_finish_reason_is_not_lost() -> None:
    body = (
        chunk(piece(0, "a", "Bash", ARGUMENTS))
        + chunk({}, "tool_calls")
        + chunk(piece(1, "b", "Read", ARGUMENTS))
        + chunk({}, "tool_calls")
        + DONE
    )
    held = read(mend(body)[0])
    assert held.call_list() == [("Bash", ARGUMENTS), ("Read", ARGUMENTS)]
    assert held.finishes == ["tool_calls"]


@pytest.mark.parametrize("reason", ["tool_calls", "function_call", "tool_use"])
def test_a_finish_reason_that_needs_a_call_becomes_stop_without_one(reason: str) -> None:
    held = read(mend(chunk({"content": "done"}) + chunk({}, reason) + DONE)[0])
    assert held.finishes == ["stop"]
    assert held.text == "done"


def test_a_missing_finish_reason_is_added_before_done() -> None:
    held = read(mend(chunk(piece(0, "a", "Bash", ARGUMENTS)) + DONE)[0])
    assert held.finishes == ["tool_calls"] and held.done


def test_at_the_end_of_the_stream_a_complete_call_gets_finish_and_terminator() -> None:
    held = read(mend(chunk(piece(0, "a", "Bash", ARGUMENTS)))[0])
    assert held.call_list() == [("Bash", ARGUMENTS)]
    assert held.finishes == ["tool_calls"] and held.done


def test_at_the_end_of_the_stream_a_cut_call_is_refused_and_nothing_is_synthesised() -> None:
    out, answer = mend(chunk(piece(0, "a", "Bash", '{"command": "rm -rf /tmp')), question=BASH)
    held = read(out)
    assert held.call_list() == [("Bash", "{}")]
    assert not held.finishes and not held.done
    assert answer.outcomes[0].status == "refused"
    assert b"rm -rf" not in out


def test_before_an_error_complete_calls_come_out_and_unfinished_ones_do_not() -> None:
    error = line({"error": {"message": "overloaded"}})
    body = chunk(piece(0, "a", "Bash", ARGUMENTS)) + chunk(piece(1, "b", "Bash", '{"command": "rm')) + error + DONE
    out, answer = mend(body)
    held = read(out)
    assert held.call_list() == [("Bash", ARGUMENTS)]
    assert held.errors and not held.finishes
    assert out.endswith(error.encode() + DONE.encode())
    assert [outcome.dropped for outcome in answer.outcomes] == [False, True]


SLOTS = {
    "index missing": [piece(None, "a", "Bash", '{"command"'), piece(None, None, None, ': "ls -la"}')],
    "index missing, two calls": [
        piece(None, "a", "Bash", ARGUMENTS),
        piece(None, "b", "Read", '{"command"'),
        piece(None, None, None, ': "ls -la"}'),
    ],
    "every index 0": [piece(0, "a", "Bash", ARGUMENTS), piece(0, "b", "Read", ARGUMENTS)],
    "every index 0, the second in pieces": [
        piece(0, "a", "Bash", ARGUMENTS),
        piece(0, "b", "Read", '{"command"'),
        piece(0, None, None, ': "ls -la"}'),
    ],
    "index starts at 1": [piece(1, "a", "Bash", ARGUMENTS)],
    "index jumps": [piece(3, "a", "Bash", ARGUMENTS), piece(7, "b", "Read", ARGUMENTS)],
    "interleaved": [
        piece(0, "a", "Bash", '{"command"'),
        piece(1, "b", "Read", '{"comm'),
        piece(0, None, None, ': "ls -la"}'),
        piece(1, None, None, 'and": "ls -la"}'),
    ],
    "two calls in one delta": [
        {
            "tool_calls": [
                *piece(0, "a", "Bash", ARGUMENTS)["tool_calls"],
                *piece(1, "b", "Read", ARGUMENTS)["tool_calls"],
            ]
        }
    ],
    "id repeated in every delta": [piece(0, "a", "Bash", '{"command"'), piece(0, "a", None, ': "ls -la"}')],
    "id changes in mid-call": [piece(0, "a", "Bash", '{"command"'), piece(0, "zzz", None, ': "ls -la"}')],
    "late id": [piece(0, None, "Bash", '{"command"'), piece(0, "a", None, ': "ls -la"}')],
    "name repeated in every delta": [piece(0, "a", "Bash", '{"command"'), piece(0, None, "Bash", ': "ls -la"}')],
    "late name": [piece(0, "a", None, '{"command"'), piece(0, None, "Bash", ': "ls -la"}')],
    "name in pieces": [piece(0, "a", "Ba", ""), piece(0, None, "sh", ARGUMENTS)],
    "cumulative snapshots": [
        piece(0, "a", "Bash", '{"com'),
        piece(0, None, None, '{"command": "ls'),
        piece(0, None, None, ARGUMENTS),
    ],
    "phantom slot": [piece(0, "a", "Bash", ARGUMENTS), piece(1, "", "", "")],
    "trailing empty arguments": [piece(0, "a", "Bash", ARGUMENTS), piece(0, None, None, "")],
    "a single call instead of a list": [{"tool_calls": piece(0, "a", "Bash", ARGUMENTS)["tool_calls"][0]}],
    "arguments as an object": [piece(0, "a", "Bash", {"command": "ls -la"})],
    "index continues elsewhere": [piece(0, "a", "Bash", '{"command"'), piece(1, None, None, ': "ls -la"}')],
}


@pytest.mark.parametrize("deltas", SLOTS.values(), ids=SLOTS.keys())
def test_fragments_find_their_call(deltas: list[Any]) -> None:
    body = "".join(chunk(delta) for delta in deltas) + chunk({}, "tool_calls") + DONE
    held = read(mend(body, question=BASH)[0])
    names = ["Bash", "Read"][: len(held.calls)]
    two = sum(call.get("id") == "b" for delta in deltas for call in _entries(delta))
    assert [(name, json.loads(text)) for name, text in held.call_list()] == [
        (name, {"command": "ls -la"}) for name in names
    ]
    assert len(held.calls) == (2 if two else 1)
    assert sorted(held.calls) == list(range(len(held.calls))), "indices are dense"
    identities = [call["id"] for call in held.calls.values()]
    assert all(identities) and len(set(identities)) == len(identities)
    assert set(held.deltas_per_call.values()) == {1}


def _entries(delta: Any) -> list[Any]:
    calls = delta["tool_calls"]
    return calls if isinstance(calls, list) else [calls]


def test_missing_and_duplicate_ids_are_replaced_by_unique_ones() -> None:
    body = (
        chunk(piece(0, "", "Bash", ARGUMENTS))
        + chunk(piece(1, "same", "Bash", ARGUMENTS))
        + chunk(piece(2, "same", "Read", ARGUMENTS))
        + chunk({}, "tool_calls")
        + DONE
    )
    held = read(mend(body)[0])
    identities = [call["id"] for call in held.calls.values()]
    assert len(identities) == len(set(identities)) == 3
    assert "same" in identities


def test_only_phantom_slots_are_no_calls() -> None:
    held = read(mend(chunk(piece(0, "", "", "")) + chunk({}, "tool_calls") + DONE)[0])
    assert not held.calls
    assert held.finishes == ["stop"]


def test_a_call_without_a_name_goes_out_with_mended_arguments() -> None:
    out, _ = mend(chunk(piece(0, "a", None, "{'command': 'ls'}")) + chunk({}, "tool_calls") + DONE)
    assert read(out).call_list() == [("", '{"command":"ls"}')]


def test_text_reasoning_usage_and_unknown_fields_beside_a_fragment_are_kept_in_order() -> None:
    body = (
        chunk({"content": "one ", **piece(0, "a", "Bash", '{"command"')}, usage={"n": 1}, custom="x")
        + chunk({"reasoning_content": "why", **piece(0, arguments=': "ls -la"}')})
        + chunk({"content": "two", **piece(0, arguments="")}, "stop", usage={"n": 2})
        + DONE
    )
    out, _ = mend(body)
    held = read(out)
    assert (held.text, held.reasoning, held.usage) == ("one two", "why", {"n": 2})
    assert held.call_list() == [("Bash", ARGUMENTS)]
    assert held.finishes == ["tool_calls"]
    assert json.loads(events(out)[0])["custom"] == "x"


@pytest.mark.parametrize("beside", [piece(0, "a", "Bash", "{'command': 'ls'}"), {"content": "a <"}])
def test_false_and_zero_are_kept_where_an_event_is_written_anew(beside: dict[str, Any]) -> None:
    told = {"foo": True, "bar": False, "n": 0}
    nothing: dict[str, Any] = {"null": None, "text": "", "list": [], "object": {}}
    out, _ = mend(
        chunk({**beside, **told, **nothing}) + chunk({"content": "b"}) + chunk({}, "stop") + DONE,
        question=question("Bash"),
    )
    deltas = [choice["delta"] for one in events(out)[:-1] for choice in json.loads(one)["choices"]]
    assert [{key: delta.get(key) for key in told} for delta in deltas if "foo" in delta] == [told]


def test_false_beside_the_delta_is_kept_where_an_event_is_written_anew() -> None:
    first = json.loads(chunk({"content": "a <"}).removeprefix("data: "))
    first["choices"][0] |= {"flag": False, "none": None}
    out, _ = mend(
        f"data: {json.dumps(first)}\n\n" + chunk({"content": "b"}) + chunk({}, "stop") + DONE,
        question=question("Bash"),
    )
    told = [choice["flag"] for one in events(out)[:-1] for choice in json.loads(one)["choices"] if "flag" in choice]
    assert (read(out).text, told) == ("a <b", [False])


def test_what_a_chunk_without_choices_says_is_not_said_again() -> None:
    """Azure's filter results come before the answer, and are no part of what all chunks have in common."""
    first = line({"id": "c1", "model": "m", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]})
    out, _ = mend(first + chunk(piece(0, "a", "Bash", ARGUMENTS)) + chunk({}, "tool_calls") + DONE)
    assert out.count(b"prompt_filter_results") == 1


def test_a_choice_without_an_index_gets_it_where_there_is_a_call() -> None:
    end = {"id": "c1", "model": "m", "choices": [{"index": None, "delta": {}, "finish_reason": "tool_calls"}]}
    out, _ = mend(chunk(piece(0, "a", "Bash", ARGUMENTS)) + line(end) + DONE)
    assert read(out).finishes == ["tool_calls"]
    assert b'"index":null' not in out.replace(b" ", b"")


def test_a_signature_beside_the_call_is_kept() -> None:
    delta = piece(0, "a", "Bash", ARGUMENTS)
    delta["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": "abc"}}
    out, _ = mend(chunk(delta) + chunk({}, "tool_calls") + DONE)
    call = json.loads(events(out)[0])["choices"][0]["delta"]["tool_calls"][0]
    assert call["extra_content"] == {"google": {"thought_signature": "abc"}}


def test_every_choice_has_its_own_calls() -> None:
    body = (
        chunk(piece(0, "a", "Bash", '{"command"'), index=0)
        + chunk(piece(0, "b", "Read", '{"command"'), index=1)
        + chunk(piece(0, None, None, ': "ls -la"}'), index=1)
        + chunk(piece(0, None, None, ': "ls -la"}'), index=0)
        + chunk({}, "tool_calls", index=1)
        + chunk({}, "stop", index=0)
        + DONE
    )
    out, _ = mend(body, question=question("Bash", "Read", n=2))
    assert read(out, 0).call_list() == [("Bash", ARGUMENTS)]
    assert read(out, 1).call_list() == [("Read", ARGUMENTS)]
    assert read(out, 0).finishes == read(out, 1).finishes == ["tool_calls"]


def test_several_choices_in_one_event_are_each_heard() -> None:
    both = {
        "id": "c",
        "choices": [
            {"index": 0, "delta": {"content": "text"}},
            {"index": 1, "delta": piece(0, "b", "Read", ARGUMENTS)},
        ],
        "usage": {"n": 1},
    }
    ends = {"id": "c", "choices": [{"index": n, "delta": {}, "finish_reason": "stop"} for n in (0, 1)]}
    out, _ = mend(line(both) + line(ends) + DONE, question=question("Read", n=2))
    assert read(out, 0).text == "text" and read(out, 0).finishes == ["stop"]
    assert read(out, 1).call_list() == [("Read", ARGUMENTS)] and read(out, 1).finishes == ["tool_calls"]
    assert read(out).usage == {"n": 1}


def test_calls_in_a_second_choice_that_nobody_asked_for_belong_to_the_first() -> None:
    body = (
        chunk({"content": "ok"}, index=0)
        + chunk(piece(0, "a", "Bash", ARGUMENTS), index=1)
        + chunk({}, "stop")
        + DONE
    )
    held = read(mend(body, question=question("Bash"))[0])
    assert held.call_list() == [("Bash", ARGUMENTS)]
    assert held.finishes == ["tool_calls"]


def test_an_old_function_call_becomes_a_tool_call() -> None:
    old = {"function_call": {"name": "Bash", "arguments": ""}}
    more = {"function_call": {"arguments": "{'command': 'ls'}"}}
    held = read(mend(chunk(old) + chunk(more) + chunk({}, "function_call") + DONE, question=question("Bash"))[0])
    assert held.call_list() == [("Bash", '{"command":"ls"}')]
    assert held.finishes == ["tool_calls"]


def test_a_client_that_declared_functions_gets_its_function_call() -> None:
    asked = read_request({"functions": [{"name": "Bash"}], "stream": True})
    old = {"function_call": {"name": "Bash", "arguments": "{'command': 'ls'}"}}
    out, _ = mend(chunk(old) + chunk({}, "stop") + DONE, question=asked)
    first, last = (json.loads(data) for data in events(out)[:2])
    assert first["choices"][0]["delta"]["function_call"] == {"name": "Bash", "arguments": '{"command":"ls"}'}
    assert last["choices"][0]["finish_reason"] == "function_call"


def test_a_usage_event_without_choices_gets_an_empty_list() -> None:
    body = chunk({"content": "hi"}, "stop") + line({"id": "c", "usage": {"total_tokens": 9}}) + DONE
    out, _ = mend(body)
    assert json.loads(events(out)[1]) == {"id": "c", "usage": {"total_tokens": 9}, "choices": []}


def test_null_and_empty_choices_pass() -> None:
    body = line({"id": "c", "choices": []}) + line({"id": "c", "choices": None}) + line([1, 2]) + line("text") + DONE
    assert mend(body)[0] == body.encode()


@pytest.mark.parametrize(
    "junk", ["data: not json\n\n", "data: {broken\n\n", 'data: {"choices": [1, null]}\n\n', "data:\n\n"]
)
def test_what_cannot_be_read_passes_as_it_came_also_in_mid_call(junk: str) -> None:
    body = chunk(piece(0, "a", "Bash", '{"command"')) + junk + chunk(piece(0, arguments=': "ls -la"}'), "stop") + DONE
    out, _ = mend(body)
    assert junk.encode() in out
    assert read(out.replace(junk.encode(), b"")).call_list() == [("Bash", ARGUMENTS)]


def test_a_frame_glued_behind_a_lost_one_is_recovered() -> None:
    glued = 'data: {"id":"c","object":"chat.c' + chunk(piece(0, "a", "Bash", ARGUMENTS)) + chunk({}, "stop") + DONE
    assert read(mend(glued)[0]).call_list() == [("Bash", ARGUMENTS)]


def test_null_content_drops_text_beside_calls() -> None:
    body = (
        chunk({"content": "noise", **piece(0, "a", "Bash", ARGUMENTS)})
        + chunk({"content": "more"})
        + chunk({}, "stop")
    )
    assert read(mend(body + DONE, policy=Policy(null_content=True))[0]).text == ""
    assert read(mend(body + DONE)[0]).text == "noisemore"


def test_tools_that_the_user_did_not_name_are_gathered_but_not_mended() -> None:
    import re

    broken = "{'command': 'ls'}"
    body = chunk(piece(0, "a", "Bash", broken)) + chunk({}, "stop") + DONE
    assert read(mend(body, policy=Policy(tools=(re.compile("^Read$"),)))[0]).call_list() == [("Bash", broken)]


def test_arguments_off_gathers_only() -> None:
    broken = "{'command': 'ls'}"
    body = chunk(piece(0, "a", "Bash", broken[:5])) + chunk(piece(0, arguments=broken[5:])) + chunk({}, "stop") + DONE
    assert read(mend(body, policy=Policy(arguments=False))[0]).call_list() == [("Bash", broken)]


CUT = chunk(piece(0, "a", "Bash", '{"command": "rm -rf /')) + chunk({}, "length") + DONE


def test_refused_arguments_become_empty_where_the_client_will_reject_them() -> None:
    held = read(mend(CUT, question=BASH)[0])
    assert held.call_list() == [("Bash", "{}")]
    assert held.finishes == ["length"]


def test_refused_arguments_go_to_the_invalid_tool_where_there_is_one() -> None:
    held = read(mend(CUT, question=question("Bash", "invalid"))[0])
    assert held.call_list()[0][0] == "invalid"
    payload = json.loads(held.call_list()[0][1])
    assert payload["tool"] == "Bash"
    assert payload["receivedArgs"] == '{"command": "rm -rf /'
    assert "cut off" in payload["error"]
    held = read(mend(CUT, question=BASH, policy=Policy(invalid_tool="oops"))[0])
    assert held.call_list()[0][0] == "oops"


def test_a_refused_call_that_would_run_on_nothing_goes_to_the_invalid_tool_declared_or_not() -> None:
    free = read_request({"tools": [{"type": "function", "function": {"name": "Bash", "parameters": {}}}]})
    held = read(mend(CUT.replace('"length"', '"tool_calls"'), question=free)[0])
    [(name, given)] = held.call_list()
    sent = json.loads(given)
    assert (name, sent["tool"], sent["receivedArgs"]) == ("invalid", "Bash", '{"command": "rm -rf /')
    assert "cut off" in sent["error"]
    assert (held.text, held.finishes) == ("", ["tool_calls"])


def test_the_other_fallbacks_do_what_they_say() -> None:
    free = read_request({"tools": [{"type": "function", "function": {"name": "Bash", "parameters": {}}}]})
    assert read(mend(CUT, question=free, policy=Policy(fallback="empty"))[0]).call_list() == [("Bash", "{}")]
    original = read(mend(CUT, question=free, policy=Policy(fallback="original"))[0])
    assert original.call_list() == [("Bash", '{"command": "rm -rf /')]


def test_past_the_limit_of_held_bytes_everything_passes_as_it_came() -> None:
    body = "".join(chunk(piece(0, "a" if n == 0 else None, "Bash" if n == 0 else None, "x" * 50)) for n in range(100))
    out, answer = mend(body + DONE, policy=Policy(max_held_bytes=3000))
    assert out == (body + DONE).encode()
    assert answer.limited and not answer.outcomes


def test_choices_begin_in_their_order_though_the_call_of_the_first_waits() -> None:
    """The SDK of OpenAI puts a choice where its first chunk arrives; a held one would be inserted at the wrong place."""
    body = (
        chunk({"role": "assistant", **piece(0, "a", "Bash", '{"command"')}, index=0)
        + chunk({"role": "assistant", "content": "<"}, index=1)
        + chunk({"role": "assistant", "content": "z"}, index=2)
        + chunk(piece(0, arguments=': "ls"}'), index=0)
        + "".join(chunk({}, reason, index=n) for n, reason in enumerate(("tool_calls", "stop", "stop")))
        + DONE
    )
    out, _ = mend(body, question=question("Bash", n=3))
    choices = [json.loads(data)["choices"][0] for data in events(out)[:-1]]
    begun = list(dict.fromkeys(choice["index"] for choice in choices))
    assert begun == [0, 1, 2]
    assert [choice["index"] for choice in choices if choice["delta"].get("role")] == [0, 1, 2]
    assert read(out).call_list() == [("Bash", '{"command": "ls"}')]


def test_what_a_choice_says_beside_a_fragment_is_not_lost() -> None:
    filters = {"hate": {"filtered": False, "severity": "safe"}}
    half = {
        "index": 0,
        "delta": piece(0, arguments='"ls"}'),
        "finish_reason": None,
        "content_filter_results": filters,
    }
    body = (
        chunk(piece(0, "a", "Bash", '{"command":'))
        + line({"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [half]})
        + chunk({}, "tool_calls")
        + DONE
    )
    out, _ = mend(body, question=BASH)
    choices = [json.loads(data)["choices"][0] for data in events(out)[:-1]]
    assert [choice.get("content_filter_results") for choice in choices].count(filters) == 1
    assert read(out).call_list() == [("Bash", '{"command":"ls"}')]
