"""No text stalls the loop: what would take long is not done, and the answer passes as it came.

The time is that of the processor, so that a busy machine changes little. Without the sizes of `toolcalls/sizes.py`
each of these took from half a second to minutes; the limit here is a generous one, docs/evidence.md has the figures.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.hard_work import OWN, RESPONSES, WIRES, answers, chat, chat_call, frames
from tests.pace import READ, check_quick, feed_timed, quick
from tests.splits import cut, cut_at_random, feed
from toolcalls import payload
from toolcalls.engine import Response
from toolcalls.mend.arguments import Finish, Mended, mend_arguments
from toolcalls.policy import Policy
from toolcalls.request.calls import Change
from toolcalls.request.mend import mend_request
from toolcalls.request.pairs import arrange
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode, read_request
from toolcalls.request.responses import ResponsesHistory
from toolcalls.tools.declared import Tools
from toolcalls.websocket import ResponsesSocket

Json = dict[str, Any]
LONGEST = 0.3
"""Seconds that one callback may take here; on a quiet machine none takes 0.05."""


def tool(name: str, **properties: Json) -> Json:
    schema = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


TOOLS = [tool("Bash", command={"type": "string"}), tool("Todo", todos={"type": "array", "items": {"type": "object"}})]


def asked(messages: list[Json] | None = None) -> Json:
    return {"model": "m", "stream": True, "tools": TOOLS, "messages": messages or []}


def event(delta: Json, finish: str | None = None) -> bytes:
    return b"data: %s\n\n" % json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}).encode()


def said(text: str) -> bytes:
    return b"".join(event({"content": text[at : at + 4000]}) for at in range(0, len(text), 4000)) + event({}, "stop")


def call(arguments: str, number: int = 0, name: str = "Bash") -> bytes:
    first = {"index": number, "id": f"call_{number}", "function": {"name": name, "arguments": ""}}
    pieces = (arguments[at : at + 4000] for at in range(0, len(arguments), 4000))
    rest = (event({"tool_calls": [{"index": number, "function": {"arguments": piece}}]}) for piece in pieces)
    return event({"tool_calls": [first]}) + b"".join(rest)


def text_of(body: bytes) -> str:
    """What the answer says. Where a call may stand in a text, its events are written anew, with the same words."""
    events = [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data: {")]
    return "".join(one["choices"][0]["delta"].get("content", "") for one in events if one["choices"])


END = event({}, "tool_calls")
HERMES = '<tool_call>\n{"name":"Bash","arguments":{"command":%s}}\n</tool_call>\n'

TOO_MUCH: dict[str, Callable[[], bytes]] = {
    "an f-string": lambda: said('<|python_start|>[Bash(command=f"' + "{x}" * 200_000 + '")]<|python_end|>'),
    "a list of Python": lambda: said("<|python_start|>[Bash(command=[" + "1," * 300_000 + "])]<|python_end|>"),
    "escapes of Python": lambda: said('<|python_start|>[Bash(command="' + "\\n" * 300_000 + '")]<|python_end|>'),
    "Gemma's format": lambda: said("<|tool_call>call:Bash{command:[" + "1," * 300_000 + "]}<tool_call|>"),
    "one event of many lines": lambda: b"data: x\r" * 125_000,
    "many tiny events": lambda: b"data: x\n\n" * 60_000,
    "many events of nothing": lambda: b"data: x\n\n" + b"\r" * 400_000,
    "900 broken calls": lambda: b"".join(call('{"command": [' + "'a'," * 3000 + "]}", n) for n in range(900)) + END,
    "one event of numbers": lambda: b'data: {"choices":[],"x":[' + b"1," * 2_000_000 + b"1]}\n\n",
    "a document of numbers": lambda: b'{"choices":[],"x":[' + b"1," * 2_000_000 + b"1]}",
    "a valid call of numbers": lambda: call('{"command": [' + "1," * 1_000_000 + "1]}") + END,
    "a valid call of objects": lambda: call('{"todos": [' + '{"id":1},' * 200_000 + "{}]}", name="Todo") + END,
    "a call in tags, of numbers": lambda: said(HERMES % ("[" + "1," * 300_000 + "1]")),
    "20,000 calls in tags": lambda: said(HERMES % '"ls"' * 20_000),
    "the parameters of a call": lambda: said(
        "<tool_call><function=Bash>" + "<parameter=a>\nx\n</parameter>" * 20_000
    ),
    "a message that is JSON": lambda: said('{"name":"Bash","arguments":{"command":[' + '"a",' * 150_000 + '"b"]}}'),
    "openers": lambda: said("<tool_call>" * 50_000),
    "brackets": lambda: said("<" * 500_000),
    "fences": lambda: said("```\n" * 150_000 + "<tool_call>"),
}


LIMITED = {
    "one event of many lines",
    "900 broken calls",
    "one event of numbers",
    "a document of numbers",
    "a valid call of numbers",
    "a valid call of objects",
}
"""Those that are more than is read of an event or of calls; of the others, some is text, and the rest takes little."""


@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_would_take_long_passes_as_it_came_and_is_counted(name: str) -> None:
    body = TOO_MUCH[name]()
    answer = Response("chat", read_request(asked()), Policy())
    sent, slowest = feed_timed(answer, body)
    check_quick(slowest, LONGEST)
    assert sent == body or (text_of(sent) == text_of(body) and b"tool_calls" not in sent)
    assert not answer.outcomes and answer.limited == (name in LIMITED)


def test_a_long_line_of_quotes_is_looked_at_once() -> None:
    body = said("a \"b' `c` " * 50_000 + "<tool_call>")
    answer = Response("chat", read_request(asked()), Policy())
    with quick(10 * LONGEST):
        assert text_of(feed(answer, [body])) == text_of(body)


@pytest.mark.parametrize("name", ["many tiny events", "fences", "openers", "a list of Python", "Gemma's format"])
def test_where_it_becomes_too_much_does_not_depend_on_how_the_stream_was_cut(name: str) -> None:
    """A call before the too much is mended in the same way, whatever follows."""
    body = call("{'command': 'ls'}") + END + TOO_MUCH[name]()
    expected = feed(Response("chat", read_request(asked()), Policy()), [body])
    for pieces in (cut(body, READ), cut(body, 1000), cut_at_random(body, 1)):
        assert feed(Response("chat", read_request(asked()), Policy()), pieces) == expected
    assert b'{\\"command\\":\\"ls\\"}' in expected


def test_a_long_call_and_a_long_text_are_no_work() -> None:
    """A megabyte of code in one string has few parts, as broken arguments and as a call in the text."""
    code = "def f(a, b):\n    return {'a': [a, b]}\n" * 25_000
    for body in (call("{'command': " + json.dumps(code) + "}") + END, said(HERMES % json.dumps(code))):
        answer = Response("chat", read_request(asked()), Policy())
        feed(answer, cut(body, READ))
        assert [outcome.status for outcome in answer.outcomes] == ["repaired"]
    prose = 'He said "yes", and `x < y`.\n\n- one\n- two\n\n```\ncode\n```\n' * 800
    answer = Response("chat", read_request(asked()), Policy())
    body = said(prose)
    assert feed(answer, cut(body, READ)) == body
    assert not answer.limited


LONG_CALLS = ("900 broken calls of 50 bytes", "a broken call of 200,000 objects", "a call of 1 MB, raw line ends")
LONG_TEXTS = ("a call in tags, a text of 4 MB", "a parameter in tags, a text of 4 MB")


@pytest.mark.parametrize("name", (*LONG_CALLS, *LONG_TEXTS))
def test_no_message_of_a_websocket_takes_long(name: str) -> None:
    socket = ResponsesSocket()
    socket.client_message(json.dumps({"type": "response.create", **RESPONSES.request}))
    slowest = 0.0
    for frame in frames(name):
        before = time.process_time()
        socket.server_message(frame)
        slowest = max(slowest, time.process_time() - before)
    assert socket.failure is None
    check_quick(slowest, LONGEST)


@pytest.mark.parametrize("name", LONG_CALLS)
def test_no_part_of_an_answer_of_z_ai_takes_long(name: str) -> None:
    answer = Response("zai", read_request(asked()), Policy())
    _, slowest = feed_timed(answer, answers("zai")[name]())
    check_quick(slowest, LONGEST)


HARD_FOR_ONE = [(protocol, name) for protocol, own in OWN.items() for name in own]


@pytest.mark.parametrize(("protocol", "name"), HARD_FOR_ONE)
def test_no_part_of_an_answer_of_many_places_takes_long(protocol: str, name: str) -> None:
    """Before their work was counted these took from 0.2 to a second in one callback."""
    answer = Response(protocol, read_request(WIRES[protocol].request, protocol), Policy())
    _, slowest = feed_timed(answer, answers(protocol)[name]())
    check_quick(slowest, LONGEST)


def test_a_call_that_goes_on_behind_each_of_many_reasons_is_put_together_once() -> None:
    """Each reason put all fragments together again: 2,000 took 3.5 s."""
    begin, more = chat_call('{"command": "'), chat({"tool_calls": [{"index": 0, "function": {"arguments": "ab"}}]})
    answer = Response("chat", read_request(asked()), Policy())
    with quick(10 * LONGEST):
        feed(answer, [begin.encode(), *[(more + chat({}, "tool_calls")).encode()] * 2000])
    assert len(answer.outcomes) == 1


def test_thousands_of_events_behind_a_stop_reason_take_little() -> None:
    """The reason was looked up in all that waits, with each of them: 4 s for 18 KB (found by the fuzzer)."""
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 1}}
    stop = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}
    start = {"type": "message_start", "message": message}
    events = [b"event: %s\ndata: %s\n\n" % (one["type"].encode(), json.dumps(one).encode()) for one in (start, stop)]
    body = b"".join([*events, b": wait\n\n" * 15_000, b'event: message_stop\ndata: {"type":"message_stop"}\n\n'])
    answer = Response("messages", read_request(WIRES["messages"].request, "messages"), Policy())
    before = time.process_time()
    assert feed(answer, [body]) == body
    check_quick(time.process_time() - before, 4 * LONGEST)


def test_a_call_behind_a_hundred_blocks_of_prose_is_still_found() -> None:
    """Whether the end of a block shows what stands in the next one is asked as long as that takes little."""
    sentence = "Now I look at the next file, since there is nothing in this one that has to be changed by me. "
    blocks = [*[sentence] * 100, HERMES % '"ls"']
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 1}}
    events: list[Json] = [{"type": "message_start", "message": message}]
    for index, text in enumerate(blocks):
        events += [
            {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}},
            {"type": "content_block_stop", "index": index},
        ]
    events += [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}]
    body = b"".join(b"event: %s\ndata: %s\n\n" % (one["type"].encode(), json.dumps(one).encode()) for one in events)
    answer = Response("messages", read_request(WIRES["messages"].request, "messages"), Policy())
    feed(answer, [body])
    assert [outcome.name for outcome in answer.outcomes] == ["Bash"]


@pytest.mark.parametrize("line", ["> a\n", '"a\n', "*a*\n", "| a |\n", "`a`\n"])
def test_a_broken_call_behind_hundreds_of_kilobytes_of_short_lines_is_mended(line: str) -> None:
    """What the lines quote is of no interest where nothing of the text may be a call."""
    said = [chat({"content": line * 1000}) for _ in range(300_000 // len(line) // 1000)]
    body = "".join([*said, chat_call("{'command': 'ls'}"), chat({}, "tool_calls"), "data: [DONE]\n\n"]).encode()
    for pieces in ([body], cut(body, 4000)):
        answer = Response("chat", read_request(WIRES["chat"].request), Policy())
        feed(answer, pieces)
        assert [outcome.status for outcome in answer.outcomes] == ["repaired"]


def history(broken: str, number: int) -> list[Json]:
    return [
        message
        for at in range(number)
        for message in (
            {
                "role": "assistant",
                "tool_calls": [{"id": f"c{at}", "function": {"name": "Bash", "arguments": broken % at}}],
            },
            {"role": "tool", "tool_call_id": f"c{at}", "content": "ok"},
        )
    ]


def mended(messages: list[Json]) -> tuple[bytes, Json, float]:
    body = json.dumps(asked(messages)).encode()
    before = time.process_time()
    request = decode(body)
    read_request(request)
    changed = mend_request("chat", body, request, Policy(), Refusals())
    took = time.process_time() - before
    return changed.body if changed else body, changed.steps if changed else {}, took


def test_a_history_of_more_broken_calls_than_can_be_mended_is_mended_from_its_beginning() -> None:
    """The next turn leaves the same calls as they are, so that prompt caches hold."""
    few, many = (history("{'command': [" + "'a%d', " * 1 + "'b', " * 700 + "]}", number) for number in (60, 90))
    body, steps, took = mended(many)
    check_quick(took, LONGEST)
    assert 0 < steps["arguments"] < 60 and steps["arguments left as they came"] == 90 - steps["arguments"]
    mended_first = json.loads(mended(few)[0])["messages"]
    assert json.loads(body)["messages"][: len(mended_first)] == mended_first


@pytest.mark.parametrize(
    "messages",
    [
        history("{'command': [" + "'a%d'," + "'b'," * 3000 + "]}", 800),
        [{"role": "user", "content": [1] * 3_000_000}],
    ],
    ids=["broken calls", "numbers"],
)
def test_a_request_of_far_too_many_values_goes_up_as_it_came(messages: list[Json]) -> None:
    body, steps, took = mended(messages)
    assert body == json.dumps(asked(messages)).encode() and not steps
    check_quick(took, LONGEST)


SOUND = '{"command": "ls %d"}'


def request_of(protocol: str, entries: list[Json]) -> bytes:
    """A request with these messages or items."""
    return json.dumps(
        {**WIRES[protocol].request, "input" if protocol == "responses" else "messages": entries}
    ).encode()


def time_of(protocol: str, body: bytes) -> float:
    before = time.process_time()
    request = decode(body)
    read_request(request, protocol)
    mend_request(protocol, body, request, Policy(), Refusals())
    return time.process_time() - before


def same_id(protocol: str) -> list[Json]:
    """A result of a megabyte, and 3,000 others of its call."""
    texts = ["x" * 1_000_000, *map(str, range(3000))]
    call = {"id": "c", "name": "Bash"}
    if protocol == "chat":
        calls: Json = {
            "role": "assistant",
            "tool_calls": [{"id": "c", "function": {"name": "Bash", "arguments": "{}"}}],
        }
        return [calls, *({"role": "tool", "tool_call_id": "c", "content": text} for text in texts)]
    if protocol == "messages":
        results = [{"type": "tool_result", "tool_use_id": "c", "content": text} for text in texts]
        use = {**call, "type": "tool_use", "input": {}}
        return [{"role": "assistant", "content": [use]}, {"role": "user", "content": results}]
    made = {"type": "function_call", "call_id": "c", "name": "Bash", "arguments": "{}"}
    return [made, *({"type": "function_call_output", "call_id": "c", "output": text} for text in texts)]


@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
def test_thousands_of_results_of_one_call_are_not_compared_with_all_of_a_long_one(protocol: str) -> None:
    """Each comparison wrote the long one as JSON: 8 to 10 seconds."""
    check_quick(time_of(protocol, request_of(protocol, same_id(protocol))), 3 * LONGEST)


def test_results_without_calls_behind_much_reasoning_are_put_before_it_in_their_order() -> None:
    """Each was put there by going back over all of the reasoning: 3,000 took 1.8 seconds."""
    many = 4000
    reasoning = [{"type": "reasoning", "id": f"rs_{at}", "summary": []} for at in range(many)]
    outputs = [{"type": "function_call_output", "call_id": f"c{at}", "output": f"said {at}"} for at in range(many)]
    body = request_of("responses", [*reasoning, *outputs, {"type": "message", "role": "assistant", "content": "a"}])
    request = json.loads(body)
    with quick(2 * LONGEST):
        arrange(ResponsesHistory(request), Change(Policy(), Refusals(), Tools(), reading=False))
    items = request["input"]
    assert [item["type"] for item in items] == ["message"] + ["reasoning"] * many + ["message"]
    assert re.findall(r"said (\d+)", items[0]["content"][0]["text"]) == [str(at) for at in range(many)]


def test_a_history_that_is_far_too_long_goes_up_as_it_came_and_is_counted() -> None:
    body, steps, took = mended(history("{'command': '%d'}", 12_000))
    assert steps == {"history left as it came": 1}
    assert body == json.dumps(asked(history("{'command': '%d'}", 12_000))).encode()
    check_quick(took, LONGEST)


def test_a_long_session_is_mended_whole() -> None:
    """1,200 turns, of which ten are broken, one has no name and one has no result."""
    messages = history(SOUND, 1200)
    for at in range(0, 1000, 100):
        messages[2 * at]["tool_calls"][0]["function"]["arguments"] = "{'command': 'ls'}"
    messages[11 * 2]["tool_calls"][0]["function"]["name"] = ""
    del messages[2 * 1100 + 1]
    _, steps, _ = mended(messages)
    assert steps == {"arguments": 10, "name": 1, "cancelled call": 1}


def test_tables_and_code_in_results_are_no_work() -> None:
    """360,000 commas in the results of 100 calls, of which one is broken and one has no result."""
    messages = history(SOUND, 100)
    for message in messages[1::2]:
        message["content"] = "1,2,3,4,5,6,7,8,9\n" * 400
    messages[20]["tool_calls"][0]["function"]["arguments"] = "{'command': 'ls'}"
    del messages[61]
    _, steps, _ = mended(messages)
    assert steps == {"arguments": 1, "cancelled call": 1}


def test_a_call_without_a_name_is_not_compared_with_thousands_of_tools_for_ever() -> None:
    """2,000 tools and 3,000 such calls: five seconds."""
    messages = history(SOUND, 1500)
    for message in messages[::2]:
        message["tool_calls"][0]["function"]["name"] = ""
    tools = [tool(f"t{number}", command={"type": "string"}) for number in range(2000)]
    body = json.dumps({**asked(messages), "tools": tools}).encode()
    with quick(2 * LONGEST):
        changed = mend_request("chat", body, decode(body), Policy(), Refusals())
    assert changed is not None
    assert 0 < changed.steps["name"] < 100 and changed.steps["name left as it came"] == 1500 - changed.steps["name"]


@pytest.mark.parametrize("first", [True, False], ids=["its type first", "its type last"])
def test_a_request_of_a_websocket_is_read_within_the_same_limits(first: bool) -> None:
    kind, numbers = {"type": "response.create"}, {"x": [1] * 2_000_000}
    text = json.dumps({**kind, **RESPONSES.request, **numbers} if first else {**RESPONSES.request, **numbers, **kind})
    socket = ResponsesSocket()
    with quick(LONGEST):
        assert socket.client_message(text) == text
        assert socket.server_message(text) == [text]


def test_of_more_choices_items_or_calls_than_a_stream_may_have_a_document_passes_as_it_came() -> None:
    function = {"name": "Bash", "arguments": "{'command': 'ls'}"}
    calls = [{"id": f"c{at}", "type": "function", "function": function} for at in range(501)]
    item = {"type": "function_call", "name": "Bash", "arguments": "{'command': 'ls'}", "status": "completed"}
    items = [{**item, "id": f"fc_{at}", "call_id": f"c{at}"} for at in range(501)]
    uses = [{"type": "tool_use", "id": f"t{at}", "name": "Bash", "input": "{'command': 'ls'}"} for at in range(501)]
    bodies: dict[str, Json] = {
        "chat": {"choices": [{"index": 0, "message": {"tool_calls": calls}, "finish_reason": "tool_calls"}]},
        "messages": {"type": "message", "role": "assistant", "content": uses, "stop_reason": "tool_use", "usage": {}},
        "responses": {"id": "r", "object": "response", "status": "completed", "output": items},
    }
    choices = [{"index": at, "message": {"content": "Hi."}, "finish_reason": "stop"} for at in range(501)]
    for protocol, document in [*bodies.items(), ("chat", {"choices": choices})]:
        body = json.dumps(document).encode()
        answer = Response(protocol, read_request({**WIRES[protocol].request, "stream": False}, protocol), Policy())
        assert feed(answer, [body]) == body
        assert answer.limited and not answer.outcomes and answer.failure is None


def test_a_document_of_a_hundred_broken_calls_or_choices_is_mended() -> None:
    function = {"name": "Bash", "arguments": "{'command': 'ls'}"}
    calls = [{"id": f"c{at}", "type": "function", "function": function} for at in range(100)]
    one = {"index": 0, "message": {"tool_calls": calls}, "finish_reason": "tool_calls"}
    several = [{**one, "index": at, "message": {"tool_calls": [calls[at]]}} for at in range(100)]
    for choices in ([one], several):
        body = json.dumps({"choices": choices}).encode()
        answer = Response("chat", read_request({**asked(), "stream": False, "n": len(choices)}), Policy())
        feed(answer, [body])
        assert [outcome.status for outcome in answer.outcomes] == ["repaired"] * 100


def test_calls_in_the_text_are_compared_with_structured_ones_that_are_read_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """60 of each: every pair of them was read anew, 3,600 times."""
    read: list[str] = []

    def mend_and_count(arguments: str, finish: Finish) -> Mended:
        read.append(arguments)
        return mend_arguments(arguments, finish)

    monkeypatch.setattr(payload, "mend_arguments", mend_and_count)
    text = "".join(HERMES % f'"{at}"' for at in range(60))
    body = b"".join(call(json.dumps({"command": f"a{at}"}), at) for at in range(60)) + said(text)
    answer = Response("chat", read_request(asked()), Policy())
    feed(answer, cut(body, READ))
    assert len(answer.outcomes) == 120
    assert len(read) == 120
