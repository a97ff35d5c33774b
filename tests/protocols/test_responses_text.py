"""Responses: tool calls written as text become function_call items, on the wire and in whole bodies."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.protocols.responses_wire import REQUEST, Upstream, answer, written
from tests.protocols.text_protocols import deltas
from tests.splits import mend
from tests.validators.responses import Final, validate
from toolcalls.engine import Response, mend_whole
from toolcalls.request.request import read_request

CALL = '<tool_call>{"name": "shell", "arguments": {"command": "ls"}}</tool_call>'
OTHER = '<tool_call>{"name": "now", "arguments": {}}</tool_call>'
QUESTION = read_request(REQUEST)
LS = ("function_call", "shell", {"command": "ls"})


def client(body: bytes) -> Final:
    return validate(mend(body, protocol="responses", question=QUESTION)[0])


def calls(final: Final) -> list[tuple[str, str, Any]]:
    return [(kind, name, json.loads(arguments)) for kind, name, arguments in final.calls()]


def stated(final: Final) -> list[str]:
    """The text of each message in the output of the terminal event."""
    messages = [item for item in final.response["output"] if item["type"] == "message"]
    return ["".join(part["text"] for part in item["content"]) for item in messages]


def test_the_message_ends_without_the_text_of_the_call_which_is_an_item_of_its_own() -> None:
    final = client(Upstream().message(*deltas(f"I look: {CALL}\n", 6)).end().bytes())
    assert calls(final) == [LS]
    assert final.texts() == stated(final) == ["I look: \n"]
    assert [item["type"] for item in final.response["output"]] == ["message", "function_call"]
    assert [item["status"] for item in final.response["output"]] == ["completed", "completed"]


def test_several_calls() -> None:
    final = client(Upstream().message(f"{CALL}\n{OTHER}\n").end().bytes())
    assert calls(final) == [LS, ("function_call", "now", {})]


def test_text_is_never_late_and_what_was_untouched_keeps_its_bytes() -> None:
    upstream = Upstream().message("Let me look. ", "a\nb", "c\n", "<tool", "box> it").end()
    subject = answer()
    events = [written([event]) for event in upstream.events]
    held = next(number for number, event in enumerate(events) if b'"<tool"' in event)
    for event in events[:held]:
        assert subject.feed(event) == [event]
    assert subject.feed(events[held]) == [] and subject.holding
    assert subject.feed(events[held + 1]) == events[held : held + 2]
    for event in events[held + 2 :]:
        assert subject.feed(event) == [event]
    assert subject.close() == []


def test_the_end_of_a_text_that_is_not_decided_waits_and_keeps_its_bytes() -> None:
    body = Upstream().message(*deltas('I look: <tool_call>{"name": "sh', 1)).end().bytes()
    assert mend(body, protocol="responses", question=QUESTION)[0] == body


def test_a_call_that_something_follows_is_text_and_keeps_its_bytes() -> None:
    for upstream in (
        Upstream().message(*deltas(f"I look: {CALL}\nAnd on it goes.", 1)),
        Upstream().message("I look: ", CALL).message("And on it goes."),
        Upstream().message("I look: ", CALL).reasoning("Hm."),
    ):
        body = upstream.end().bytes()
        assert mend(body, protocol="responses", question=QUESTION)[0] == body


def test_a_structured_call_waits_behind_text_that_may_be_a_call() -> None:
    bare = '{"name": "shell", "arguments": {"command": "ls"}}'
    final = client(Upstream().message(bare).call("now", "{}").end().bytes())
    assert sorted(calls(final)) == sorted([LS, ("function_call", "now", {})])
    subject, upstream = answer(), Upstream().message(bare).call("now", "{}")
    added = next(number for number, event in enumerate(upstream.events) if "call_1" in json.dumps(event))
    subject.feed(written(upstream.events[:added]))
    assert subject.feed(written(upstream.events[added:])) == []
    final = client(Upstream().message(bare).call("now", "{}").message("Or not.").end().bytes())
    assert calls(final) == [("function_call", "now", {})] and stated(final) == [bare, "Or not."]


def test_a_structured_call_that_repeats_the_text_wins() -> None:
    final = client(Upstream().message(f"I look:\n{CALL}\n").call("shell", '{"command":"ls"}').end().bytes())
    assert calls(final) == [LS] and final.texts() == ["I look:\n\n"]
    assert final.response["output"][1]["call_id"] == "call_1"


def test_reasoning_is_never_searched() -> None:
    body = Upstream().reasoning(CALL).message("Done.").end().bytes()
    assert mend(body, protocol="responses", question=QUESTION)[0] == body


def test_without_declared_tools_nothing_is_searched() -> None:
    body = Upstream().message(*deltas(CALL, 5)).end().bytes()
    assert mend(body, protocol="responses")[0] == body


def test_a_freeform_tool_is_not_looked_for() -> None:
    text = '<tool_call>{"name": "apply_patch", "arguments": {"input": "x"}}</tool_call>'
    body = Upstream().message(*deltas(text, 1)).end().bytes()
    assert mend(body, protocol="responses", question=QUESTION)[0] == body


def test_a_tool_of_a_namespace_keeps_it() -> None:
    text = '<tool_call>{"name": "js", "arguments": {"code": "1"}}</tool_call>'
    final = client(Upstream().message(text).end().bytes())
    assert final.response["output"][1]["namespace"] == "mcp__node_repl"


@pytest.mark.parametrize("status", ["completed", "incomplete"])
def test_a_text_that_is_cut_in_a_value_stays_text(status: str) -> None:
    text = 'I look: <tool_call>{"name": "shell", "arguments": {"command": "rm -rf /tm'
    upstream = Upstream().message(*deltas(text, 9))
    upstream.events[-1]["item"]["status"] = status
    final = client(upstream.end("incomplete").bytes())
    assert final.texts() == [text] and not final.calls() and final.terminal == "response.incomplete"


def test_an_answer_that_was_cut_off_is_not_taken_for_a_whole_message() -> None:
    bare = '{"name": "shell", "arguments": {"command": "ls"}}'
    final = client(Upstream().message(bare).end("incomplete").bytes())
    assert final.texts() == [bare] and not final.calls()


def test_an_error_gives_held_text_back_before_it() -> None:
    upstream = Upstream().message("a ", "<tool_ca")
    body = written(upstream.events[:6]) + b'event: error\ndata: {"type":"error","message":"x"}\n\n'
    out, _ = mend(body, protocol="responses", question=QUESTION)
    assert out == body


def test_events_that_are_equal_are_all_given_back() -> None:
    body = re.sub(
        rb'"sequence_number": ?\d+, ?', b"", written(Upstream().message("a\n", "<tool_call>", "a", "a").events[:8])
    )
    answer = Response("responses", QUESTION)
    out = b"".join([*answer.feed(body), *answer.stop_holding()])
    assert out.count(b'"delta":"a"') == 2


def test_a_call_in_the_text_before_an_error_is_text() -> None:
    upstream = Upstream().message("a\n", CALL)
    body = written(upstream.events[:6]) + b'event: error\ndata: {"type":"error","message":"x"}\n\n'
    assert mend(body, protocol="responses", question=QUESTION)[0] == body


def test_a_stream_that_breaks_off_in_a_region_gives_it_back() -> None:
    upstream = Upstream().message("a ", '<tool_call>{"na')
    out, _ = mend(written(upstream.events[:6]), protocol="responses", question=QUESTION)
    assert out.startswith(written(upstream.events[:6])) and b"response.failed" in out


@pytest.mark.parametrize(
    "missing",
    [("text.delta",), ("output_text", "content_part"), ("output_text", "content_part", "item")],
    ids=["the ends of texts", "the ends of items", "the list"],
)
@pytest.mark.parametrize("annotations", [[], [{"type": "url_citation", "url": "https://example.com"}]])
def test_text_that_came_only_in_the_ends_is_searched(missing: tuple[str, ...], annotations: list[Any]) -> None:
    upstream = Upstream().message(f"I look:\n{CALL}").end()
    upstream.output[0]["content"][0]["annotations"] = annotations
    events = [event for event in upstream.events if not any(kind in event["type"] for kind in missing)]
    out = mend(written(events), protocol="responses", question=QUESTION)[0]
    told = [json.loads(line[6:]) for line in out.decode().splitlines() if line.startswith("data: ")]
    message, call = told[-1]["response"]["output"]
    assert message["content"][0]["text"] == "I look:\n"
    assert (call["type"], call["name"], json.loads(call["arguments"])) == LS
    assert [event["item"] for event in told if event["type"].endswith("item.done")][-1] == call


def test_a_call_in_one_part_that_another_part_follows_is_text() -> None:
    upstream = Upstream()
    item = {"id": "msg_0", "type": "message", "status": "in_progress", "role": "assistant", "content": []}
    upstream.say("response.output_item.added", output_index=0, item=item)
    parts = []
    for place, text in enumerate((f"One:\n{CALL}", "Two.")):
        where = {"item_id": "msg_0", "output_index": 0, "content_index": place}
        part = {"type": "output_text", "text": "", "annotations": []}
        upstream.say("response.content_part.added", **where, part=part)
        for delta in deltas(text, 4):
            upstream.say("response.output_text.delta", **where, delta=delta)
        upstream.say("response.output_text.done", **where, text=text)
        parts.append({**part, "text": text})
        upstream.say("response.content_part.done", **where, part=parts[-1])
    upstream.finish(0, {**item, "status": "completed", "content": parts})
    final = client(upstream.end().bytes())
    assert not calls(final) and stated(final) == [f"One:\n{CALL}Two."]


def test_a_body_gets_the_call_as_an_item() -> None:
    response = Upstream().message(f"I look: {CALL}\n").end().events[-1]["response"]
    out = json.loads(mend_whole(answer(), json.dumps(response).encode()))
    message, call = out["output"]
    assert message["content"][0]["text"] == "I look: \n"
    assert (call["type"], call["name"], json.loads(call["arguments"])) == LS and call["status"] == "completed"


def test_in_a_body_a_call_that_something_follows_is_text() -> None:
    for upstream in (
        Upstream().message(f"I look: {CALL}\nAnd on."),
        Upstream().message(CALL).message("And on."),
        Upstream().message(CALL).reasoning("Hm."),
        Upstream().message(CALL).call("now", "{}").message("And on."),
    ):
        body = json.dumps(upstream.end().events[-1]["response"]).encode()
        assert mend_whole(answer(), body) == body


def test_in_a_body_too_a_structured_call_wins() -> None:
    made = Upstream().message(f"I look:\n{CALL}").call("shell", '{"command":"ls"}').end()
    out = json.loads(mend_whole(answer(), json.dumps(made.events[-1]["response"]).encode()))
    assert [item.get("call_id") for item in out["output"]] == [None, "call_1"]


@pytest.mark.parametrize("stream", [True, False])
def test_where_no_call_is_wanted_an_answer_asked_for_as_json_is_not_searched(stream: bool) -> None:
    asked = {**REQUEST, "tool_choice": "none", "text": {"format": {"type": "json_object"}}}
    upstream = Upstream().message(CALL).end()
    body = upstream.bytes() if stream else json.dumps(upstream.events[-1]["response"]).encode()
    assert mend(body, protocol="responses", question=read_request(asked))[0] == body


@pytest.mark.parametrize("held", ["see [", "a <"])
def test_a_citation_does_not_go_before_text_that_is_held(held: str) -> None:
    upstream = Upstream().message("I look: ", held, "b").end()
    at = next(number for number, event in enumerate(upstream.events) if event.get("delta") == "b")
    where = {"item_id": "msg_0", "output_index": 0, "content_index": 0, "annotation_index": 0}
    cited = {"type": "response.output_text.annotation.added", **where, "annotation": {"type": "url_citation"}}
    upstream.events.insert(at, cited)
    upstream.events = [{**event, "sequence_number": number} for number, event in enumerate(upstream.events)]
    out, _ = mend(upstream.bytes(), protocol="responses", question=QUESTION)
    kinds = [json.loads(line[6:])["type"] for line in out.decode().splitlines() if line.startswith("data: ")]
    said = "".join(
        json.loads(line[6:]).get("delta", "|")
        for line in out.decode().splitlines()
        if '"delta"' in line or "url_cit" in line
    )
    assert said.startswith(f"I look: {held}|b") and kinds[-1] == "response.completed"
