"""What the fuzzer has found, each as the smallest input that showed it."""

from __future__ import annotations

import json

import pytest

from tests.pace import quick
from tests.protocols.responses_wire import REQUEST, Upstream
from tests.protocols.test_chat import chunk, piece, question
from tests.protocols.zai_streams import Backend
from tests.protocols.zai_streams import question as question_of_zai
from tests.splits import cut, feed
from tests.textcalls.declared import TWENTY
from tests.validators.responses import Illegal, events_of, validate
from toolcalls.engine import Response
from toolcalls.ids import Ids
from toolcalls.mend.arguments import mend_arguments
from toolcalls.policy import Policy
from toolcalls.request.mend import mend_request
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import Request, decode, read_request

DELTA = "response.function_call_arguments.delta"


def same_for_every_cut(protocol: str, body: bytes, asked: Request | None = None) -> bytes:
    whole = feed(Response(protocol, asked, seed="s"), [body])
    for at in range(1, len(body)):
        answer = Response(protocol, asked, seed="s")
        assert feed(answer, [body[:at], body[at:]]) == whole, f"cut at {at}"
        assert answer.failure is None
    assert feed(Response(protocol, asked, seed="s"), cut(body, 1)) == whole
    return whole


def test_a_cut_between_the_cr_and_the_lf_of_an_event_that_is_kept_back_changes_nothing() -> None:
    """The finish reason waits for the end; its last LF came later and was lost, or the event itself was dropped."""
    lines = [chunk({"content": "x"}), chunk(piece(0, "a", "Bash", "{'command': 'ls'}")), chunk({}, "tool_calls")]
    body = "".join([*lines, "data: [D"]).replace("\n", "\r\n").encode()
    same_for_every_cut("chat", body, question("Bash"))
    start = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}'
    same_for_every_cut("messages", f'data:{start}\n\nen\ndata:{{"m\r\n\r\n:'.encode())


def test_fragments_behind_the_end_of_a_response_are_dropped_whatever_block_they_come_in() -> None:
    """Where a chunk held nothing else they were held as if the call still waited."""
    one = {"type": DELTA, "sequence_number": 1, "item_id": "fc", "output_index": 0, "delta": "{"}
    end = {"type": "response.completed", "sequence_number": 2, "response": {"id": "r", "output": []}}
    late = {**one, "sequence_number": 3}
    body = b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in (one, end, late))
    assert json.dumps(late).encode() not in same_for_every_cut("responses", body)


def test_an_event_line_that_is_a_comment_is_none_whatever_block_it_comes_in() -> None:
    said = {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": "x"}
    lines = [f"event: {said['type']}\ndata: {json.dumps({**said, 'sequence_number': n})}\n\n" for n in range(5)]
    lines[3] = f":{lines[3]}"
    body = "".join(lines).encode()
    whole = feed(Response("responses"), [body])
    assert feed(Response("responses"), [line.encode() for line in lines]) == whole
    assert b":event" not in whole


def test_an_item_id_that_is_half_a_character_is_an_id() -> None:
    event = {"type": DELTA, "sequence_number": 1, "item_id": "\ud800", "output_index": 0, "delta": "{}"}
    body = f"event: {DELTA}\ndata: {json.dumps(event)}\n\n".encode()
    same_for_every_cut("responses", body * 2)


@pytest.mark.parametrize("odd", [["c"], {}, 1, None])
def test_a_call_id_that_is_no_text_is_no_call_id(odd: object) -> None:
    call = {"type": "function_call", "status": "completed", "call_id": "c", "name": "Bash", "arguments": "{}"}
    start = {
        "type": "response.output_item.added",
        "sequence_number": 1,
        "output_index": 0,
        "item": {"id": "f", **call},
    }
    response = {"id": "r", "status": "completed", "output": [{**call, "call_id": odd}]}
    end = {"type": "response.completed", "sequence_number": 2, "response": response}
    body = b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in (start, end))
    answer = Response("responses")
    feed(answer, [body])
    assert answer.failure is None


@pytest.mark.parametrize("place", [10**20, 10**7, -1])
def test_a_number_of_the_upstream_is_not_the_length_of_a_list_of_ours(place: int) -> None:
    """One event with a content_index of 10**20 took all the memory of the machine."""
    message = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": []}
    said = {"item_id": "m", "output_index": 0, "content_index": place, "delta": "x"}
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": message},
        {"type": "response.output_text.delta", **said},
        {"type": "response.output_item.done", "output_index": 0, "item": message},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [message]}},
    ]
    answer = Response("responses", Request(tools=TWENTY))
    lines = (json.dumps({**event, "sequence_number": number}) for number, event in enumerate(events))
    out = feed(answer, [f"data: {line}\n\n".encode() for line in lines])
    assert answer.failure is None
    assert len(out) < 10_000


def test_a_part_whose_type_is_no_text_and_a_number_that_python_cannot_write() -> None:
    content = [{"type": [], "text": "Done."}]
    call = {"id": "f", "type": "function_call", "call_id": "c", "name": "Bash", "arguments": "{'a': 1}"}
    output = [{"id": "m", "type": "message", "role": "assistant", "content": content}, call]
    answer = Response("responses", Request(tools=TWENTY))
    feed(answer, [json.dumps({"object": "response", "status": "completed", "output": output}).encode()])
    assert answer.failure is None
    body = b"data: {'id': 'c', 'created': " + b"7" * 5_000 + b", 'choices': []}\n\n"
    answer = Response("chat")
    assert feed(answer, [body]) == b'data: {"id":"c","created":' + b"7" * 5_000 + b',"choices":[]}\n\n'
    assert answer.failure is None


def test_a_text_that_was_searched_in_an_event_that_cannot_be_read_does_not_fail_the_answer() -> None:
    broken = b'x\ndata:"glm-4{"index":0,"delta":{"content":" file.<to"fin\n'
    good = chunk({"content": "ad_key"}).encode()
    first = chunk({"content": "Well, "}).encode()
    asked = Request(tools=TWENTY)
    for body in (first + broken + good, first + broken + b"\n"):
        assert b"ad_key" in same_for_every_cut("chat", body, asked) or body.endswith(b"\n\n")


def test_nothing_is_held_when_an_answer_is_over() -> None:
    """A call without name and arguments is none: it was dropped, but counted as held for ever."""
    answer = Response("chat", question("Bash"))
    feed(answer, [chunk({"tool_calls": [{"x": {"y": ""}}]}).encode()])
    assert not answer.holding
    assert answer.held_bytes == 0


@pytest.mark.parametrize("reason", [1.5, -1, [], {}, True])
def test_a_finish_reason_that_is_no_word_says_nothing(reason: object) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "Bash", "arguments": "{'command': 'ls'}"}}
    choice = {"index": 0, "message": {"tool_calls": [call]}, "finish_reason": reason}
    answer = Response("chat", question("Bash"))
    out = feed(answer, [json.dumps({"choices": [choice]}).encode()])
    assert answer.failure is None
    assert json.loads(json.loads(out)["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"])


def test_a_second_proxy_does_not_tell_the_model_another_reason() -> None:
    identity = Ids("seed").new("x:0", "why")
    refusals = Refusals()
    refusals.add(identity, "the arguments were cut off")
    call = {"id": identity, "type": "function", "function": {"name": "Bash", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": identity, "content": "Error: no command"}
    tool = {"type": "function", "function": {"name": "Bash", "parameters": {"required": ["command"]}}}
    body = json.dumps({"messages": [{"role": "assistant", "tool_calls": [call]}, result], "tools": [tool]}).encode()
    policy = Policy(retry_guidance=True)
    first = mend_request("chat", body, decode(body), policy, refusals)
    assert first is not None
    assert mend_request("chat", first.body, decode(first.body), policy, Refusals()) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1,], "b": [' + '"x", ' * 40_000 + '"y"]}',
        " " * 200_000 + "x {'a': 1}",
        "Here: {" + ":x" * 100_000 + " {'a': 1}",
        '{"a": ' + "0" * 200_000 + "!e",
    ],
    ids=["strings behind a trailing comma", "spaces before", "colons before", "a long number"],
)
def test_patterns_that_were_quadratic_are_linear(text: str) -> None:
    with quick(3):
        mend_arguments(text)


@pytest.mark.parametrize("place", ["x", None, 1, 10, [0]])
def test_a_text_of_another_part_is_read_whatever_block_it_comes_in(place: object) -> None:
    """With one in the same block that named its item twice it passed as if it were like those before it."""
    kind = "response.output_text.delta"

    def said(number: int, text: str, part: object, space: str = "") -> str:
        event = {"type": kind, "sequence_number": number, "item_id": "m", "output_index": 0, "content_index": part}
        data = json.dumps({**event, "delta": text, "logprobs": []}, separators=(f",{space}", f":{space}"))
        return f"event: {kind}\ndata: {data}\n\n"

    twice = said(9, "d", 0)
    twice = twice.replace('"logprobs":[]', twice[twice.index('"item_id"') : twice.index("}")])
    for odd in (said(8, "c", place), said(8, "c", place, " ")):
        lines = [said(6, "a", 0), said(7, "b", 0), odd, twice, said(10, "e", 0)]
        same_for_every_cut("responses", "".join(lines).encode())


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("before", ["Q", '"delta'], ids=["in a text", "between two keys"])
def test_a_fragment_with_bare_crs_is_read_alike_whatever_block_it_comes_in(before: str, line_end: str) -> None:
    """Two of them end an event. Gathered unread it was held as a whole, read it was two halves that passed."""
    events = (
        {"type": DELTA, "sequence_number": n, "item_id": "f", "output_index": 0, "delta": "Q"} for n in range(4)
    )
    lines = [f"event: {DELTA}\ndata: {json.dumps(event)}\n\n".replace("\n", line_end) for event in events]
    for odd in (1, 2):
        body = [*lines[:odd], lines[odd].replace(before, f"\r\r{before}"), *lines[odd + 1 :]]
        same_for_every_cut("responses", "".join(body).encode())


@pytest.mark.parametrize("named", [{"item_id": "m"}, {}], ids=["its item is named", "no item is named"])
def test_a_text_that_is_stated_otherwise_than_it_was_said_is_passed_on_as_it_is(named: dict[str, str]) -> None:
    """Nobody knows which of the two is meant, and text is never rewritten. Where no item is named only that is added:
    clients that look for the item by its place see the same with and without it."""
    message = {"id": "m", "type": "message", "role": "assistant", "status": "completed"}
    part = {"type": "output_text", "text": "", "annotations": []}
    place = {"output_index": 0, "content_index": 0}
    done = [{**part, "text": "said"}]
    events = [
        {
            "type": "response.created",
            "response": {"id": "r", "status": "in_progress", "output": [], "created_at": 0, "model": "m"},
        },
        {"type": "response.output_item.added", "output_index": 0, "item": {**message, "content": []}},
        {"type": "response.content_part.added", "item_id": "m", **place, "part": part},
        {"type": "response.output_text.delta", "item_id": "m", **place, "delta": "said"},
        {"type": "response.output_text.done", **place, "text": "stated", **named},
        {"type": "response.content_part.done", "item_id": "m", **place, "part": done[0]},
        {"type": "response.output_item.done", "output_index": 0, "item": {**message, "content": done}},
    ]
    end = {"id": "r", "status": "completed", "output": [{**message, "content": done}]}
    events.append({"type": "response.completed", "response": end})
    for number, event in enumerate(events):
        event["sequence_number"] = number
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
    with pytest.raises(Illegal):
        validate(body)
    out = [json.loads(data) for _, data in events_of(same_for_every_cut("responses", body))]
    assert out == [{**event, "item_id": "m"} if "text" in event else event for event in events]


def test_a_text_beside_a_held_call_reaches_the_limit_whatever_block_it_comes_in() -> None:
    """In a chunk of its own it passed, with other events or cut in two it made us let go of the call."""

    def said(number: int) -> dict[str, object]:
        place = {"item_id": "m", "output_index": 0, "content_index": 0}
        return {"type": "response.output_text.delta", "sequence_number": number, **place, "delta": "Well. "}

    call = {"id": "f", "type": "function_call", "call_id": "c", "name": "Bash", "arguments": ""}
    held = {"type": "response.output_item.added", "sequence_number": 13, "output_index": 1, "item": call}
    events = [f"data: {json.dumps(event)}\n\n" for event in (said(11), said(12), held, said(14), said(15))]
    events = [f"event: {json.loads(event[6:])['type']}\n{event}" for event in events]
    for limit in (len(events[3]), len(events[2]) + len(events[3]) - 1, len(events[2]) + len(events[3])):
        outs = set()
        for size in (1, 100, 10_000, 0):
            pieces = [event.encode() for event in events] if not size else cut("".join(events).encode(), size)
            answer = Response("responses", policy=Policy(max_held_bytes=limit), seed="s")
            outs.add((feed(answer, pieces), answer.limited))
        assert len(outs) == 1, limit


def entry(arguments: str, **head: str) -> dict[str, object]:
    """A delta with a fragment at index 0; `head`: its id and name, if it has some."""
    function = {"arguments": arguments, **({"name": head["name"]} if "name" in head else {})}
    call = {"index": 0, **({"id": head["id"]} if "id" in head else {}), "function": function}
    return {"tool_calls": [call]}


@pytest.mark.parametrize("head", [{"id": "call_0", "name": "Bash"}, {"name": "Bash"}], ids=["with its id", "without"])
@pytest.mark.parametrize("first", ["", " "])
def test_a_name_that_comes_twice_is_that_of_two_calls_where_the_arguments_are_broken(
    head: dict[str, str], first: str
) -> None:
    """Two woven calls under one id: `{`, `arguments: {…}` and `"command": "echo 1"}` were mended to one object."""
    parts = ["argu", 'ments: {"command": "rm', ' -rf /", "description": "Run 2"}', '"command"', ': "echo 1', '"}']
    deltas = [entry(first, id="call_0", name="Bash"), entry("{", **head), *map(entry, parts)]
    body = "".join([*map(chunk, deltas), chunk({}, "tool_calls"), "data: [DONE]\n\n"]).encode()
    out = same_for_every_cut("chat", body, question("Bash"))
    assert b"echo 1" not in out
    assert b"rm" not in out


def test_a_name_that_comes_twice_is_that_of_one_call_where_the_arguments_are_valid() -> None:
    head = {"id": "call_0", "name": "Bash"}
    deltas = [entry("", **head), entry('{"command"', **head), entry(': "ls'), entry('"}')]
    body = "".join([*map(chunk, deltas), chunk({}, "tool_calls"), "data: [DONE]\n\n"]).encode()
    assert b'{\\"command\\": \\"ls\\"}' in same_for_every_cut("chat", body, question("Bash"))


@pytest.mark.parametrize("finish", ["length", "tool_calls"])
def test_a_call_without_an_id_that_begins_inside_one_with_an_id_may_be_what_that_id_goes_on_with(finish: str) -> None:
    """Two woven calls under one id that is missing once: the end of the second became that of the first."""
    head = {"id": "call_0", "name": "Read"}
    deltas = [entry('{"file_path": "pri', **head), entry("ntf ", id="call_0"), entry('{"command": "e', name="Bash")]
    deltas += [entry(text, id="call_0") for text in ("c", "ho 1", '"}')]
    body = "".join([*map(chunk, deltas), chunk({}, finish), "data: [DONE]\n\n"]).encode()
    assert b"ho 1" not in same_for_every_cut("chat", body, question("Bash", "Read"))


LS, PWD = '{"command":"ls"}', '{"command":"pwd"}'


def ran(upstream: Upstream) -> list[tuple[str, str]]:
    """The ids and the arguments of the calls that run."""
    answer = Response("responses", read_request(REQUEST), seed="s")
    feed(answer, cut(upstream.bytes(), 7))
    return [(call.id, call.arguments) for call in answer.outcomes if call.status != "refused"]


def item(number: int, call: int, arguments: str = "", status: str = "completed") -> dict[str, object]:
    own = {"id": f"fc_{number}", "type": "function_call", "call_id": f"call_{call}", "name": "shell"}
    return {**own, "status": status, "arguments": arguments}


def test_a_call_whose_id_changes_at_its_end_is_not_that_of_the_list_which_has_the_first_id() -> None:
    """Two equal items under one id: the second entry of the list ran as a call of its own."""
    upstream = Upstream().call("shell", LS, call_id="call_0").call("shell", LS, call_id="call_0")
    for event in upstream.of("item.done"):
        event["item"] = {**event["item"], "id": event["item"]["id"] + "_d", "call_id": "call_0_d"}
    assert ran(upstream.end()) == [("call_0_d", LS)]


def test_the_end_of_a_call_is_known_by_its_id_whatever_its_place_is() -> None:
    """The ids of items change with each event. With another index the end was a call of its own: two values ran."""
    upstream = Upstream()
    upstream.say("response.output_item.added", output_index=1, item=item(1, 1, status="in_progress"))
    upstream.say(DELTA, output_index=1, item_id="fc_2", delta=PWD)
    upstream.finish(0, item(3, 1, LS))
    assert ran(upstream.end("incomplete")) == []


def test_two_calls_at_one_place_under_one_id_of_an_item_are_two() -> None:
    """The second beginning was taken for the first, sent again: `a` became a character of the other call."""
    upstream = Upstream()
    for call in (0, 1):
        upstream.say("response.output_item.added", output_index=0, item=item(0, call, status="in_progress"))
    for text in ('{"command":"l', "a", 's"}'):
        upstream.say(DELTA, output_index=0, item_id="fc_0", delta=text)
    assert ran(upstream.end()) == []


def test_arguments_that_are_stated_at_another_place_are_no_call_of_their_own() -> None:
    """With the ids of its end, and another index, the call ran twice."""
    upstream = Upstream()
    upstream.say("response.output_item.added", output_index=0, item=item(0, 0, status="in_progress"))
    upstream.say(DELTA, output_index=0, item_id="fc_0", delta=LS)
    upstream.say("response.function_call_arguments.done", output_index=1, item_id="fc_9", arguments=LS)
    upstream.finish(0, item(9, 9, LS))
    assert ran(upstream.end("incomplete")) == [("call_9", LS)]


def test_a_call_that_is_stated_twice_and_otherwise_does_not_run() -> None:
    """The last statement counted."""
    upstream = Upstream()
    upstream.say("response.output_item.added", output_index=0, item=item(0, 0, status="in_progress"))
    for text in (PWD, LS):
        upstream.say("response.function_call_arguments.done", output_index=0, item_id="fc_0", arguments=text)
    assert ran(upstream.end()) == []


def test_the_end_of_another_call_does_not_end_one() -> None:
    """A call without a beginning ended, and what was stated of the open one ran before its own end said otherwise."""
    upstream = Upstream()
    upstream.say("response.output_item.added", output_index=0, item=item(0, 0, status="in_progress"))
    upstream.say("response.function_call_arguments.done", output_index=0, item_id="fc_0", arguments=PWD)
    upstream.finish(1, {**item(1, 1, PWD), "name": "read_file"})
    upstream.finish(0, item(0, 0, LS))
    assert not {("call_0", PWD), ("call_0", LS)} & set(ran(upstream.end()))


def test_the_list_names_calls_by_both_of_their_ids() -> None:
    """Two items under one id, whose list has another order: the second call got the arguments of the first."""
    upstream = Upstream()
    for number, text in ((0, LS[:-1]), (1, PWD)):
        upstream.say("response.output_item.added", output_index=number, item=item(number, 0, status="in_progress"))
        upstream.say(DELTA, output_index=number, item_id=f"fc_{number}", delta=text)
    upstream.output = [item(1, 0, PWD), item(0, 0, LS)]
    assert {arguments for _, arguments in ran(upstream.end())} == {LS, PWD}


@pytest.mark.parametrize("done", [True, False])
def test_a_call_that_was_announced_may_go_on_in_fragments_without_an_id(done: bool) -> None:
    """Three woven calls of one tool: the first had only its id and its name, and was left out; its `a` became a
    character of the last one."""
    calls = [("call_2", ""), ("call_0", LS), ("call_1", '{"comm'), ("", 'and": "l'), ("", "a"), ("", 's"}')]
    backend = Backend()
    for identity, text in calls:
        named = {"delta_name": "Bash"} if identity else {}
        metadata = {"type": "function", **({"tool_call_id": identity} if identity else {})}
        backend.say(phase="tool_call", **named, delta_arguments=text, metadata=metadata)
    body = (backend.usage().done() if done else backend.usage()).stream
    answer = Response("zai", question_of_zai(), seed="s")
    feed(answer, [body])
    assert [call.arguments for call in answer.outcomes if call.status != "refused"] == []
