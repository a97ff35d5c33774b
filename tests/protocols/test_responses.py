"""The Responses protocol, streamed. Every case runs whole, byte by byte and at random cuts."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from tests.protocols.responses_wire import REQUEST, Json, Upstream, answer, run, written
from tests.sampling import WHOLE
from tests.validators.responses import Final, Illegal, events_of, validate


def mended(body: bytes, **policy: Any) -> bytes:
    """What the client gets; the same however the bytes were cut."""
    whole, subject = run(body, **policy)
    assert subject.failure is None, subject.failure
    assert run(body, range(len(body)), **policy)[0] == whole
    dice = random.Random(len(body))
    for _ in range(4):
        cuts = dice.sample(range(1, len(body)), min(len(body) - 1, 12))
        assert run(body, cuts, **policy)[0] == whole
    return whole


def read(body: bytes, **policy: Any) -> Final:
    out = mended(body, **policy)
    try:
        return validate(out)
    except Illegal as illegal:
        raise AssertionError(f"{illegal}\n{out.decode()}") from None


def outcomes(body: bytes, **policy: Any) -> list[Json]:
    return [outcome.as_json() for outcome in run(body, **policy)[1].outcomes]


SHELL = '{"command":"ls"}'


# Nothing to do


def test_a_healthy_text_answer_is_byte_identical() -> None:
    body = Upstream(echo=True).reasoning("hm").message("Hel", "lo ", "world").search().end().bytes()
    assert mended(body) == body
    validate(body)


def test_a_healthy_answer_with_crlf_is_byte_identical() -> None:
    body = Upstream().message("Hel", "lo", "!").end().bytes().replace(b"\n", b"\r\n")
    assert mended(body) == body


def test_each_text_delta_leaves_in_the_callback_in_which_it_came() -> None:

    events = [
        written([event]) for event in Upstream().call("shell", "{'command': 'ls'}").message("One", "b").end().events
    ]
    subject = answer()
    for raw in events:
        out = b"".join(subject.feed(raw))
        if b"output_text.delta" in raw:
            assert out == raw


def test_a_valid_call_in_one_delta_is_byte_identical() -> None:
    body = Upstream(echo=True).message("ok").call("shell", SHELL).end().bytes()
    assert mended(body) == body
    assert outcomes(body) == [{"status": "valid", "name": "shell", "arguments": SHELL}]


def test_a_valid_call_in_pieces_keeps_everything_but_gets_one_delta() -> None:
    upstream = Upstream().call("shell", '{"comm', 'and":', '"ls"}').call("now", "{}").end()
    final = read(upstream.bytes())
    assert final.calls() == [("function_call", "shell", SHELL), ("function_call", "now", "{}")]
    untouched = [written([event]) for event in upstream.events if not event["type"].endswith("arguments.delta")]
    out = mended(upstream.bytes())
    assert all(raw in out for raw in untouched)


def test_a_valid_call_leaves_with_its_own_end_and_does_not_wait_for_the_response() -> None:

    events = Upstream().call("shell", '{"command":', '"ls"}').end().events
    subject = answer()
    out = [b"".join(subject.feed(written([event]))) for event in events]
    assert out[2:6] == [b"", b"", b"", b""]
    assert out[6].count(b"event: ") == 4


def test_freeform_calls_and_server_side_tools_keep_their_bytes() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n-x\n+{'y': 1,}\n*** End Patch"
    body = Upstream(echo=True).search().custom("apply_patch", patch).reasoning().end().bytes()
    assert mended(body) == body
    assert outcomes(body) == [{"status": "valid", "name": "apply_patch", "arguments": patch}]
    pieces = Upstream(echo=True).search().custom("apply_patch", patch[:20], patch[20:]).reasoning().end().bytes()
    final = read(pieces)
    assert final.calls() == [("custom_tool_call", "apply_patch", patch)]
    assert [item.deltas for item in final.items if item.body["type"] == "custom_tool_call"] == [[patch]]


@pytest.mark.parametrize("policy", [{"arguments": False}, {"tools": (re.compile("shell"),)}])
def test_a_freeform_call_that_is_left_alone_or_that_nobody_declared_passes_while_it_comes(policy: Any) -> None:
    body = Upstream().custom("apply_patch", "*** Begin", " Patch").end().bytes()
    assert mended(body, **policy) == body
    body = Upstream().custom("of_nobody", "*** Begin", " Patch").end().bytes()
    assert mended(body) == body


def test_a_freeform_call_that_breaks_off_never_runs() -> None:
    upstream = Upstream().custom("apply_patch", "*** Begin Patch", "\n*** Delete File: a").end()
    for count in range(3, 6):
        final = read(written(upstream.events[:count]))
        assert (final.terminal, final.calls()) == ("response.failed", [])
    ended = upstream.of("item.done")[0]
    ended["item"] = {**ended["item"], "status": "incomplete"}
    assert read(upstream.bytes()).calls() == []
    for kind in ("incomplete", "failed"):
        cut = [*upstream.events[:4], {**upstream.events[-1], "type": f"response.{kind}"}]
        cut[-1]["response"] = {**cut[-1]["response"], "status": kind, "output": []}
        assert read(written(cut)).calls() == []


@pytest.mark.parametrize("body", [b"", b"<html>502</html>", b": ping\n\n", b"data: [DONE]\n\n", b"upstream error\n"])
def test_what_is_no_answer_passes(body: bytes) -> None:
    assert run(body)[0] == body


# Arguments


def test_broken_arguments_are_mended_in_all_four_carriers() -> None:
    body = Upstream().call("shell", "{'command': ", "'ls'}").end().bytes()
    final = read(body)
    assert final.calls() == [("function_call", "shell", SHELL)]
    assert final.response["output"][0]["arguments"] == SHELL
    assert outcomes(body)[0]["status"] == "repaired"


def drop(upstream: Upstream, *kinds: str) -> Upstream:
    upstream.events = [event for event in upstream.events if not event["type"].endswith(kinds)]
    return upstream


def test_arguments_only_in_done() -> None:
    upstream = drop(Upstream().call("shell", SHELL).end(), "arguments.delta")
    upstream.of("item.done")[0]["item"]["arguments"] = ""
    assert read(upstream.bytes()).calls() == [("function_call", "shell", SHELL)]
    assert outcomes(upstream.bytes())[0]["steps"] == ["arguments only in done"]


def test_arguments_only_in_the_item() -> None:
    upstream = drop(Upstream().call("shell", SHELL).end(), "arguments.delta", "arguments.done")
    assert read(upstream.bytes()).calls() == [("function_call", "shell", SHELL)]
    assert outcomes(upstream.bytes())[0]["steps"] == ["arguments only in the item"]


def test_arguments_only_in_the_announced_item() -> None:
    upstream = drop(Upstream().call("shell", "").end(), "arguments.delta", "arguments.done")
    upstream.of("item.added")[0]["item"]["arguments"] = SHELL
    assert read(upstream.bytes()).calls() == [("function_call", "shell", SHELL)]


def test_a_call_only_in_the_terminal_event() -> None:
    upstream = drop(Upstream().message("x").call("shell", SHELL).end(), "arguments.delta", "arguments.done")
    upstream.events = [event for event in upstream.events if event.get("output_index") != 1]
    final = read(upstream.bytes())
    assert final.calls() == [("function_call", "shell", SHELL)]
    assert final.texts() == ["x"]


def test_done_wins_where_the_deltas_are_no_object_and_it_is_one() -> None:
    upstream = Upstream().call("shell", '{"command":"l').end()
    upstream.of("arguments.done")[0]["arguments"] = SHELL
    upstream.of("item.done")[0]["item"]["arguments"] = SHELL
    assert read(upstream.bytes()).calls() == [("function_call", "shell", SHELL)]
    assert outcomes(upstream.bytes())[0]["steps"] == ["arguments taken from done"]


def test_deltas_and_a_statement_that_are_two_different_objects_are_refused() -> None:
    upstream = Upstream().call("shell", SHELL).end()
    upstream.of("arguments.done")[0]["arguments"] = '{"command":"rm"}'
    assert read(upstream.bytes()).calls() == [("function_call", "shell", "{}")]
    assert outcomes(upstream.bytes())[0]["reason"] == "the call's events disagree about its arguments"


@pytest.mark.parametrize("stated", ["", "{}", '{ "command" : "ls" }', SHELL[:-3], json.dumps(SHELL)])
def test_the_deltas_win_where_a_statement_says_nothing_else(stated: str) -> None:
    upstream = Upstream().call("shell", SHELL).end()
    upstream.of("arguments.done")[0]["arguments"] = stated
    assert read(upstream.bytes()).calls() == [("function_call", "shell", SHELL)]
    assert outcomes(upstream.bytes())[0]["steps"] == ["carriers made to agree"]


def test_an_empty_object_in_the_deltas_gives_way_to_the_real_one() -> None:
    upstream = Upstream().call("shell", "{}").end()
    upstream.of("arguments.done")[0]["arguments"] = SHELL
    upstream.of("item.done")[0]["item"]["arguments"] = SHELL
    assert read(upstream.bytes()).calls() == [("function_call", "shell", SHELL)]


def test_arguments_that_are_an_object_become_their_text() -> None:
    upstream = drop(Upstream().call("shell", "").end(), "arguments.delta", "arguments.done")
    upstream.of("item.done")[0]["item"]["arguments"] = {"command": "ls"}
    assert read(upstream.bytes()).calls() == [("function_call", "shell", SHELL)]


def test_no_arguments_become_an_empty_object() -> None:
    final = read(Upstream().call("now", "").end().bytes())
    assert final.calls() == [("function_call", "now", "{}")]


# Events and fields that are missing


def test_a_call_that_was_never_announced() -> None:
    upstream = drop(Upstream().call("shell", '{"command":', '"ls"}').end(), "item.added")
    assert read(upstream.bytes()).calls() == [("function_call", "shell", SHELL)]


def test_text_that_was_never_announced() -> None:
    upstream = drop(Upstream().message("Hel", "lo").end(), "item.added", "part.added")
    final = read(upstream.bytes())
    assert final.texts() == ["Hello"]


def test_numbers_indices_and_event_lines_are_filled_in() -> None:
    upstream = Upstream().reasoning("hm").message("Hel", "lo").call("shell", "{'command': 'ls'}").end()
    for event in upstream.events:
        for key in ("sequence_number", "output_index", "content_index", "summary_index"):
            event.pop(key, None)
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in upstream.events).encode()
    final = read(body)
    assert final.texts() == ["Hello"]
    assert final.calls() == [("function_call", "shell", SHELL)]


def test_numbers_that_do_not_increase_are_set_right() -> None:
    upstream = Upstream().message("a", "b").call("shell", SHELL).end()
    for event in upstream.events:
        event["sequence_number"] = 0
    assert read(upstream.bytes()).texts() == ["ab"]


def test_an_output_index_that_is_always_zero() -> None:
    upstream = Upstream().message("a").call("shell", SHELL).call("now", "{}").end()
    for event in upstream.events:
        if "output_index" in event:
            event["output_index"] = 0
    final = read(upstream.bytes())
    assert final.texts() == ["a"]
    assert final.calls() == [("function_call", "shell", SHELL), ("function_call", "now", "{}")]


def test_item_ids_that_change_with_every_event() -> None:
    upstream = Upstream().message("a", "b").call("shell", '{"command":', '"ls"}').end()
    for number, event in enumerate(upstream.events):
        if "item_id" in event:
            event["item_id"] = f"x{number}"
    final = read(upstream.bytes())
    assert final.texts() == ["ab"]
    assert final.calls() == [("function_call", "shell", SHELL)]


@pytest.mark.parametrize("key", ["content", "role", "id"])
def test_a_message_without_its_fields(key: str) -> None:
    upstream = Upstream().message("a").end()
    for event in upstream.of("item.added", "item.done"):
        event["item"] = {name: value for name, value in event["item"].items() if name != key}
    for event in upstream.events:
        if key == "id":
            event.pop("item_id", None)
    final = read(upstream.bytes())
    assert final.texts() == ["a"]


def test_a_reasoning_item_without_summary() -> None:
    upstream = Upstream().reasoning().message("a").end()
    for event in upstream.of("item.added", "item.done"):
        event["item"] = {name: value for name, value in event["item"].items() if name != "summary"}
    read(upstream.bytes())


@pytest.mark.parametrize("key", ["call_id", "id", "arguments", "status"])
def test_a_call_without_its_fields(key: str) -> None:
    upstream = Upstream().call("shell", SHELL).end()
    for event in upstream.of("item.added", "item.done"):
        event["item"] = {name: value for name, value in event["item"].items() if name != key}
    upstream.events[-1]["response"]["output"] = [upstream.of("item.done")[0]["item"]]
    final = read(upstream.bytes())
    assert final.calls() == [("function_call", "shell", SHELL)]


def test_call_ids_that_repeat_become_unique() -> None:
    upstream = Upstream().call("shell", SHELL).call("now", "{}").end()
    for event in upstream.of("item.added", "item.done"):
        event["item"] = {**event["item"], "call_id": "call_x"}
    for item in upstream.events[-1]["response"]["output"]:
        item["call_id"] = "call_x"
    final = read(upstream.bytes())
    assert [call[1] for call in final.calls()] == ["shell", "now"]


def test_an_empty_output_is_filled() -> None:
    upstream = Upstream().message("a").call("shell", SHELL).end(output=[])
    final = read(upstream.bytes())
    assert len(final.response["output"]) == 2


def test_a_text_that_only_the_list_has_is_no_failure() -> None:
    upstream = Upstream().message().end()
    said = upstream.of("part.added", "text.done", "part.done")
    upstream.events = [event for event in upstream.events if event not in said]
    [done] = upstream.of("item.done")
    done["item"] = {**done["item"], "content": []}
    upstream.output[0]["content"] = [{"type": "output_text", "text": "a"}]
    mended(upstream.bytes())


def test_a_stale_output_is_brought_up_to_date() -> None:
    upstream = Upstream().message("a").call("shell", "{'command': 'ls'}").end()
    stale = [dict(item) for item in upstream.output]
    stale[0]["content"] = []
    stale[1]["arguments"] = ""
    upstream.events[-1]["response"]["output"] = stale
    read(upstream.bytes())


def test_a_repeated_end_of_item_does_not_run_the_call_twice() -> None:
    upstream = Upstream().call("shell", SHELL).end()
    upstream.events.insert(-1, {**upstream.of("item.done")[0], "sequence_number": 5})
    upstream.events[-1]["sequence_number"] = 7
    assert read(upstream.bytes()).calls() == [("function_call", "shell", SHELL)]


# The end


def test_completed_is_written_where_every_item_is_done() -> None:
    upstream = drop(Upstream().message("a").call("shell", SHELL).end(), "response.completed")
    final = read(upstream.bytes())
    assert final.terminal == "response.completed"
    assert final.response["id"] == "resp_1"
    assert len(final.response["output"]) == 2
    assert read(upstream.bytes() + b"data: [DONE]\n\n").terminal == "response.completed"


@pytest.mark.parametrize(
    "kinds", [("part.done", "text.done", "item.done"), ("item.added", "item.done", "part.added")]
)
def test_an_answer_that_breaks_off_in_a_text_has_failed(kinds: tuple[str, ...]) -> None:
    upstream = drop(
        Upstream().call("shell", SHELL).message("a").end(), "response.completed", "part.done", "text.done"
    )
    upstream.events = [e for e in upstream.events if not (e.get("output_index") == 1 and e["type"].endswith(kinds))]
    final = read(upstream.bytes())
    assert final.terminal == "response.failed"
    assert final.calls() == [("function_call", "shell", SHELL)]


def test_a_call_that_breaks_off_never_runs() -> None:
    upstream = Upstream().call("shell", '{"command":"rm -rf /tmp/a').end()
    upstream.events = upstream.events[:4]
    final = read(upstream.bytes())
    assert final.terminal == "response.failed"
    assert final.calls() == []


def test_a_cut_call_is_refused_and_the_response_stays_incomplete() -> None:
    body = Upstream().message("a").call("shell", '{"command":"rm -rf /tmp/a').end("incomplete").bytes()
    final = read(body)
    assert final.terminal == "response.incomplete"
    assert final.calls() == [("function_call", "shell", "{}")]
    assert final.response["output"][1]["arguments"] == "{}"
    assert outcomes(body)[0]["status"] == "refused"


@pytest.mark.parametrize("kind", ["failed", "error"])
def test_before_an_error_whole_calls_come_out_and_unfinished_ones_do_not(kind: str) -> None:
    upstream = Upstream().call("shell", SHELL).call("shell", '{"command":"rm -rf /tmp/a')
    upstream.events = upstream.events[:-2]
    if kind == "failed":
        upstream.end("failed", output=[], error={"code": "server_error", "message": "x"})
    else:
        upstream.say("error", code="server_error", message="x", param=None)
    body = upstream.bytes()
    final = read(body)
    assert final.terminal == ("error" if kind == "error" else "response.failed")
    assert final.calls() == [("function_call", "shell", SHELL)]
    assert mended(body).endswith(written([upstream.events[-1]]))


def test_an_error_that_is_no_event_of_the_protocol_goes_on_and_the_response_has_failed() -> None:
    upstream = Upstream().call("shell", SHELL)
    error = b'data: {"error":{"code":502,"message":"upstream gone"}}\n\n'
    out = mended(upstream.bytes() + error)
    assert error in out
    final = validate(out.replace(error, b""))
    assert final.terminal == "response.failed"
    assert final.response["error"] == {"code": "502", "message": "upstream gone"}


def test_a_refused_call_that_would_run_on_nothing_goes_to_the_invalid_tool_declared_or_not() -> None:
    final = read(Upstream().call("now", "{broken").call("shell", SHELL).end().bytes())
    (_, name, given), other = final.calls()
    assert (name, json.loads(given)["tool"], other) == ("invalid", "now", ("function_call", "shell", SHELL))
    assert final.texts() == []


def test_calls_keep_the_order_in_which_they_were_done() -> None:
    out = mended(Upstream().call("shell", "{'command': 'ls'}").call("now", "{}").message("a").end().bytes())
    names = [json.loads(data)["item"]["name"] for kind, data in events_of(out) if b"call_id" in data.encode()
             and kind == "response.output_item.done"]  # fmt: skip
    assert names == ["shell", "now"]
    assert validate(out).texts() == ["a"]


def test_a_call_released_after_later_text_keeps_its_index() -> None:
    final = read(Upstream().call("shell", "{'command': 'ls'}").message("a", "b").end().bytes())
    assert [item.body["type"] for item in final.items] == ["function_call", "message"]


def test_wherever_the_stream_breaks_off_the_client_gets_a_legal_end() -> None:
    upstream = Upstream().message("a", "b").call("shell", '{"command":', '"ls"}').call("shell", "{'command': 'rm'}")
    body = upstream.reasoning("hm").message("c").end().bytes()
    first = body.index(b"\n\n") + 2
    # At every byte of the events around the calls, at some elsewhere.
    step = 3 if WHOLE else 11
    calls = range(body.index(b"response.output_item.added", first), body.rindex(b"function_call_arguments.done"))
    for size in range(first, len(body)):
        if size % step and size not in calls:
            continue
        out, subject = run(body[:size])
        assert subject.failure is None
        final = validate(out)
        assert final.terminal in ("response.completed", "response.failed")
        assert all(arguments in (SHELL, '{"command":"rm"}') for _, _, arguments in final.calls()), body[:size]


def test_a_keep_alive_wrapped_as_data_becomes_a_comment() -> None:
    events = [written([event]) for event in Upstream().message("One").end().events]
    out = mended(b"data: : OPENROUTER PROCESSING\n\n".join(events))
    assert out == b": OPENROUTER PROCESSING\n\n".join(events)


# Freeform tools and namespaces


PATCH = '*** Begin Patch\n*** Update File: a.py\n@@\n-print("x")\n+print("\\ty")\n*** End Patch\n'


@pytest.mark.parametrize(
    "arguments",
    [
        json.dumps({"input": PATCH}),
        json.dumps({"patch": PATCH}),
        json.dumps({"command": ["apply_patch", PATCH]}),
        PATCH,
    ],
)
def test_a_freeform_tool_answered_as_a_function_is_retyped_with_its_patch_as_it_is(arguments: str) -> None:
    half = len(arguments) // 2
    body = Upstream().call("apply_patch", arguments[:half], arguments[half:]).end().bytes()
    assert read(body).calls() == [("custom_tool_call", "apply_patch", PATCH)]
    assert outcomes(body)[0]["steps"] == ["retyped as a freeform call"]


def test_a_freeform_call_that_is_only_listed_is_not_taken_for_one_that_was_retyped() -> None:
    upstream = Upstream().call("apply_patch", json.dumps({"patch": PATCH})).custom("apply_patch", "*** Begin Patch")
    upstream.end()
    upstream.events = [event for event in upstream.events if event.get("output_index") != 1]
    calls = read(upstream.bytes()).calls()
    assert [given for _, _, given in calls] == [PATCH, "*** Begin Patch"]


def test_a_cut_patch_is_never_sent() -> None:
    for arguments in (PATCH[:40], json.dumps({"input": PATCH})[:40]):
        final = read(Upstream().call("apply_patch", arguments).end("incomplete").bytes())
        assert final.calls() == []


@pytest.mark.parametrize("name", ["mcp__node_repl.js", "mcp__node_repl__js", "js", "mcp__node_repl/js"])
def test_a_lost_namespace_is_restored(name: str) -> None:
    out = mended(Upstream().call(name, '{"code":"1+1"}').end().bytes())
    final = validate(out)
    assert final.calls() == [("function_call", "js", '{"code":"1+1"}')]
    assert final.response["output"][0]["namespace"] == "mcp__node_repl"
    assert final.items[0].body["namespace"] == "mcp__node_repl"


def test_a_namespace_that_is_there_stays() -> None:
    body = Upstream().call("js", '{"code":"1+1"}', namespace="mcp__node_repl").end().bytes()
    assert mended(body) == body


# Whatever happens


@pytest.mark.parametrize("fails_at", [1, 2, 3])
def test_an_exception_in_mending_gives_everything_back(fails_at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from toolcalls.mend.mender import Mender

    upstream = Upstream().message("one").call("shell", "{'command': 'a'}").message("two").call("now", "{}")
    body = upstream.call("shell", '{"command":', '"c"}').message("three").end().bytes()
    real, count = Mender.decide, 0

    def decide(self: Mender, *args: Any, **kwargs: Any) -> Any:
        nonlocal count
        count += 1
        if count == fails_at:
            raise RuntimeError("boom")
        return real(self, *args, **kwargs)

    monkeypatch.setattr(Mender, "decide", decide)
    out, subject = run(body)
    assert isinstance(subject.failure, RuntimeError)
    before, after = events_of(body), events_of(out)
    if fails_at > 1:
        # The first call is decided when the next item begins.
        before, after = ([event for event in events if "fc_1" not in event[1]] for events in (before, after))
    assert sorted(after) == sorted(before)
    texts = [event for event in before if "output_text" in event[0]]
    assert [event for event in after if "output_text" in event[0]] == texts


def test_an_unread_request_still_lets_calls_be_mended() -> None:
    out, _ = run(Upstream().call("shell", "{'command': 'ls'}").end().bytes(), request=None)
    assert validate(out).calls() == [("function_call", "shell", SHELL)]


def test_the_request_is_not_needed_to_tell_a_freeform_tool_in_additional_tools() -> None:
    request = {**REQUEST, "tools": [], "input": [{"type": "additional_tools", "tools": REQUEST["tools"]}]}
    out, _ = run(Upstream().call("apply_patch", json.dumps({"input": PATCH})).end().bytes(), request=request)
    assert validate(out).calls() == [("custom_tool_call", "apply_patch", PATCH)]


def test_arguments_that_are_stated_twice_are_one_call() -> None:
    events = Upstream().call("shell", "{'command': 'ls'}").end().events
    stated = next(number for number, event in enumerate(events) if event["type"].endswith("arguments.done"))
    twice = [*events[: stated + 1], {**events[stated], "sequence_number": 99}, *events[stated + 1 :]]
    assert read(written(twice)).calls() == [("function_call", "shell", SHELL)]


# What llama.cpp leaves out


@pytest.mark.parametrize("lacks", [("created_at",), ("model",), ("created_at", "model")])
@pytest.mark.parametrize("numbered", [True, False])
def test_the_announcement_of_a_response_says_when_and_by_which_model(lacks: tuple[str, ...], numbered: bool) -> None:
    upstream = Upstream().message("Hi").call("shell", "{'command': 'ls'}").end()
    for event in upstream.events:
        if event["type"] in ("response.created", "response.in_progress"):
            event["response"] = {key: value for key, value in event["response"].items() if key not in lacks}
        if not numbered:
            del event["sequence_number"]
    final = read(written(upstream.events))
    assert final.calls() == [("function_call", "shell", SHELL)]
    announced = [json.loads(data) for _, data in events_of(mended(written(upstream.events)))]
    told = [event["response"] for event in announced if event["type"] in ("response.created", "response.in_progress")]
    assert len(told) == 2 and all(entry["model"] and type(entry["created_at"]) is int for entry in told)


BARE = {
    "llama.cpp": b'data: {"error":{"code":500,"message":"no memory","type":"server_error"}}',
    "a text": b'data: {"error":"no memory"}',
    "an event": b'event: error\ndata: {"error":{"message":"no memory"}}',
    "a list": b'data: [{"error":{"code":500,"message":"no memory","status":"INTERNAL"}}]',
    "a line": b"data: error: no memory",
    "vLLM": b'data: {"object":"error","message":"no memory","code":500}',
}


@pytest.mark.parametrize("end", [b"\n\n", b"\n\ndata: [DONE]\n\n", b"\n", b""], ids=["event", "done", "line", "cut"])
@pytest.mark.parametrize("form", BARE)
def test_a_stream_that_begins_with_a_bare_error_is_the_error_of_the_protocol(form: str, end: bytes) -> None:
    body = b": hello\n\n" + BARE[form] + end
    final = read(body)
    assert final.terminal == "error"
    [told] = [json.loads(data) for kind, data in events_of(mended(body)) if kind == "error"]
    assert "no memory" in told["message"] and isinstance(told["code"], str)
    assert told["error"]["message"] == told["message"], "the SDK of OpenAI raises what stands there"


def test_an_error_of_the_protocol_that_begins_a_stream_keeps_its_bytes() -> None:
    body = written([{"type": "error", "code": "x", "message": "no memory", "param": None, "sequence_number": 0}])
    assert mended(body) == body
