"""A call that an answer tells twice runs once; two calls with ids of their own run twice, however alike they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.chat_client import read
from tests.must_not_run.interleaved import QUESTION
from tests.must_not_run.wires import TOOLS
from tests.protocols import messages_wire as wire
from tests.protocols.responses_wire import Upstream
from tests.protocols.test_chat import DONE, chunk, line, piece
from tests.protocols.zai_streams import Backend, block
from tests.splits import mend
from tests.validators import messages as strict_messages
from tests.validators import responses as strict_responses
from toolcalls.call import Call
from toolcalls.engine import Response, mend_whole
from toolcalls.parts import Fragment
from toolcalls.policy import Policy
from toolcalls.request.request import read_request
from toolcalls.sent import Sent
from toolcalls.websocket import ResponsesSocket

Json = dict[str, Any]
Called = tuple[str, str, Any]
"""Id, name and arguments."""

LS = '{"command":"ls"}'
SPACED = '{ "command" : "ls" }'
PWD = '{"command":"pwd"}'
TWICE = json.dumps(LS)


# Each protocol: what a client holds in the end


def chat_calls(body: str, **policy: Any) -> list[Called]:
    out, _ = mend(body, question=QUESTION, policy=Policy(**policy))
    calls = [call for _, call in sorted(read(out).calls.items())]
    return [(call["id"], call["name"], json.loads(call["arguments"])) for call in calls]


def chat(*deltas: Json, last: Json | None = None, **policy: Any) -> list[Called]:
    body = "".join(chunk(delta) for delta in deltas) + chunk(last or {}, "tool_calls") + DONE
    return chat_calls(body, **policy)


def chat_document(*calls: Json, **message: Any) -> list[Called]:
    said = {"role": "assistant", "content": None, "tool_calls": list(calls), **message}
    body = {"choices": [{"index": 0, "message": said, "finish_reason": "tool_calls"}]}
    answer = json.loads(mend_whole(Response("chat", QUESTION), json.dumps(body).encode()))
    made = answer["choices"][0]["message"].get("tool_calls") or []
    return [(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])) for call in made]


def entry(identity: str, name: str, arguments: Any) -> Json:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def messages(*blocks: bytes, why: str = "tool_use", **policy: Any) -> list[Called]:
    body = wire.begin() + b"".join(blocks) + wire.end(why)
    out, _ = mend(body, protocol="messages", question=QUESTION, policy=Policy(**policy))
    message = strict_messages.read(out, fragments=True)
    calls = [block for block in message.content if block["type"] == "tool_use"]
    return [(call["id"], call["name"], call["input"]) for call in calls]


def messages_document(*blocks: Json) -> list[Called]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    body = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": list(blocks),
            "stop_reason": "tool_use", "stop_sequence": None, "usage": usage}  # fmt: skip
    answer = json.loads(mend_whole(Response("messages", QUESTION), json.dumps(body).encode()))
    return [(block["id"], block["name"], block["input"]) for block in answer["content"]]


def tool(identity: str, name: str, given: Any) -> Json:
    return {"type": "tool_use", "id": identity, "name": name, "input": given}


def responses(upstream: Upstream, **policy: Any) -> list[Called]:
    out, _ = mend(upstream.bytes(), protocol="responses", question=QUESTION, policy=Policy(**policy))
    final = strict_responses.validate(out, one_delta=policy.get("aggregate", True))
    return _items(final.response["output"])


def _items(output: list[Json]) -> list[Called]:
    calls = [item for item in output if item["type"] == "function_call"]
    return [(item["call_id"], item["name"], json.loads(item["arguments"])) for item in calls]


def responses_document(upstream: Upstream) -> list[Called]:
    body = json.dumps(upstream.events[-1]["response"]).encode()
    return _items(json.loads(mend_whole(Response("responses", QUESTION), body))["output"])


def responses_socket(upstream: Upstream) -> list[Called]:
    socket = ResponsesSocket(Policy())
    socket.client_message(json.dumps({"type": "response.create", "tools": TOOLS, "input": "hi"}))
    frames = [json.loads(text) for event in upstream.events for text in socket.server_message(json.dumps(event))]
    done = [frame["item"] for frame in frames if frame["type"] == "response.output_item.done"]
    assert _items(frames[-1]["response"]["output"]) == _items(done)
    return _items(done)


def zai(backend: Backend) -> list[Called]:
    out, _ = mend(backend.done().stream, protocol="zai", question=QUESTION)
    calls = [call for _, call in sorted(read(out).calls.items())]
    return [(call["id"], call["name"], json.loads(call["arguments"])) for call in calls]


def zai_delta(identity: str, name: str, arguments: str) -> Json:
    metadata = {"type": "function", **({"tool_call_id": identity} if identity else {})}
    named = {"delta_name": name} if name else {}
    return {"phase": "tool_call", **named, "delta_arguments": arguments, "metadata": metadata}


# The rule, the same on every protocol: (id, name, arguments) twice


def everywhere(*calls: tuple[str, str, str]) -> Iterator[tuple[str, list[Called]]]:
    """The same calls, one after the other and each at a place of its own, in every form of every protocol."""
    for aggregate in (True, False):
        flow = "" if aggregate else ", flowing"
        pieces = [piece(number, *call) for number, call in enumerate(calls)]
        yield f"chat{flow}", chat(*pieces, aggregate=aggregate)
        in_parts = [
            delta
            for number, (identity, name, text) in enumerate(calls)
            for delta in (piece(number, identity, name, ""), piece(number, None, None, text[:5]),
                          piece(number, None, None, text[5:]))
        ]  # fmt: skip
        yield f"chat in fragments{flow}", chat(*in_parts, aggregate=aggregate)
        blocks = [
            wire.tool(number, text, identity=identity, name=name)
            for number, (identity, name, text) in enumerate(calls)
        ]
        yield f"messages{flow}", messages(*blocks, aggregate=aggregate)
        yield f"responses{flow}", responses(_responses(calls), aggregate=aggregate)
    yield "chat whole", chat_document(*(entry(*call) for call in calls))
    yield "messages whole", messages_document(*(tool(*call) for call in calls))
    yield "responses whole", responses_document(_responses(calls))
    yield "responses over a WebSocket", responses_socket(_responses(calls))
    yield (
        "zai blocks",
        zai(Backend().become("\n\n".join(block(name, text, identity) for identity, name, text in calls))),
    )
    backend = Backend(compact=True)
    for call in calls:
        backend.say(**zai_delta(*call))
    yield "zai deltas", zai(backend)


def _responses(calls: tuple[tuple[str, str, str], ...]) -> Upstream:
    upstream = Upstream()
    for identity, name, text in calls:
        upstream.call(name, text, call_id=identity)
    return upstream.end()


@pytest.mark.parametrize(
    "again",
    [LS, SPACED, TWICE, "{'command': 'ls'}", ""],
    ids=["the same", "other spaces", "encoded twice", "Python", "nothing"],
)
def test_the_same_id_and_arguments_that_mean_the_same_are_one_call(again: str) -> None:
    for where, calls in everywhere(("call_x", "Bash", LS), ("call_x", "Bash", again)):
        assert calls == [("call_x", "Bash", {"command": "ls"})], where


def test_the_order_of_keys_and_the_form_of_numbers_do_not_count() -> None:
    first, again = '{"command":"ls","timeout":5}', '{"timeout": 5.0, "command": "ls"}'
    for where, calls in everywhere(("call_x", "Bash", first), ("call_x", "Bash", again)):
        assert calls == [("call_x", "Bash", {"command": "ls", "timeout": 5})], where


def test_three_times_is_once_too() -> None:
    for where, calls in everywhere(*[("call_x", "Bash", LS)] * 3):
        assert calls == [("call_x", "Bash", {"command": "ls"})], where


def test_the_same_id_and_other_arguments_are_two_calls_and_the_second_gets_a_new_id() -> None:
    for where, calls in everywhere(("call_x", "Bash", LS), ("call_x", "Bash", PWD)):
        assert [call[1:] for call in calls] == [("Bash", {"command": "ls"}), ("Bash", {"command": "pwd"})], where
        assert calls[0][0] == "call_x" != calls[1][0], where


def test_the_same_id_and_another_name_are_two_calls() -> None:
    for where, calls in everywhere(("call_x", "Bash", LS), ("call_x", "list_tabs", "{}")):
        assert [call[1] for call in calls] == ["Bash", "list_tabs"], where
        assert len({call[0] for call in calls}) == 2, where


def test_one_and_true_are_not_the_same() -> None:
    first, again = '{"command":"ls","timeout":1}', '{"command":"ls","timeout":true}'
    for where, calls in everywhere(("call_x", "Bash", first), ("call_x", "Bash", again)):
        assert len(calls) == 2, where


def test_twins_with_ids_of_their_own_stay_two() -> None:
    for where, calls in everywhere(("call_x", "Bash", LS), ("call_y", "Bash", LS)):
        assert calls == [("call_x", "Bash", {"command": "ls"}), ("call_y", "Bash", {"command": "ls"})], where


def test_twins_without_arguments_and_with_ids_of_their_own_stay_two() -> None:
    for where, calls in everywhere(("call_x", "list_tabs", "{}"), ("call_y", "list_tabs", "{}")):
        assert [call[0] for call in calls] == ["call_x", "call_y"], where


# Chat: where servers repeat


REPEATS = {
    "id and name in every delta, the last one empty": [
        piece(0, "a", "Bash", '{"comm'), piece(0, "a", "Bash", 'and":"ls"}'), piece(0, "a", "Bash", ""),
    ],
    "the same without an index": [
        piece(None, "a", "Bash", '{"comm'), piece(None, "a", "Bash", 'and":"ls"}'), piece(None, "a", "Bash", ""),
    ],
    "the same without an id": [
        piece(0, None, "Bash", '{"comm'), piece(0, None, "Bash", 'and":"ls"}'), piece(0, None, "Bash", ""),
    ],
    "empty deltas after the call": [piece(0, "a", "Bash", LS), *[piece(0, "a", "Bash", "")] * 5],
    "growing snapshots with id and name": [
        piece(0, "a", "Bash", '{"comm'), piece(0, "a", "Bash", '{"command":"l'), piece(0, "a", "Bash", LS),
    ],
    "the whole call again": [piece(0, "a", "Bash", LS), piece(0, "a", "Bash", SPACED)],
    "the whole call again, in fragments": [
        piece(0, "a", "Bash", LS), piece(0, "a", "Bash", ""), piece(0, None, None, '{"command"'),
        piece(0, None, None, ':"ls"}'),
    ],
    "the whole call again at the next index": [piece(0, "a", "Bash", LS), piece(1, "a", "Bash", LS)],
    "the whole call again, without id and name": [piece(0, "a", "Bash", LS), piece(0, None, None, LS)],
    "the whole call again, encoded twice, without id and name": [
        piece(0, "a", "Bash", '{"comm'), piece(0, None, None, 'and":"ls"}'), piece(0, None, None, TWICE),
    ],
    "the whole call again, encoded twice": [piece(0, "a", "Bash", LS), piece(0, "a", "Bash", TWICE)],
    "half of the call, and then the whole": [piece(0, "a", "Bash", '{"command":"l'), piece(1, "a", "Bash", LS)],
    "the opening without arguments, and then the whole elsewhere": [
        piece(0, "a", "Bash", ""), piece(1, "a", "Bash", LS),
    ],
    "ids that change, the last delta names it again": [
        piece(0, "a", "Bash", '{"comm'), piece(0, "b", None, 'and":"ls"}'), piece(0, "c", "Bash", ""),
    ],
}  # fmt: skip


@pytest.mark.parametrize("in_the_finish", [False, True])
@pytest.mark.parametrize("deltas", REPEATS.values(), ids=REPEATS.keys())
def test_what_a_server_repeats_runs_once(deltas: list[Json], in_the_finish: bool) -> None:
    *first, last = deltas
    calls = chat(*first, last=last) if in_the_finish else chat(*deltas)
    assert [call[1:] for call in calls] == [("Bash", {"command": "ls"})]


FIRST, SECOND = piece(0, "a", "Bash", LS), piece(1, "b", "Bash", PWD)
OTHER, HEADERS = piece(1, "r", "Read", '{"file_path":"/x"}'), piece(2, "h", "Bash", "")
WITHOUT_A_REASON = {
    "one after the other, twice": ([FIRST, SECOND, FIRST, SECOND], ["a", "b"]),
    "each twice": ([FIRST, FIRST, SECOND, SECOND], ["a", "b"]),
    "the first again": ([FIRST, SECOND, FIRST], ["a", "b"]),
    "in fragments, and then whole": (
        [piece(0, "a", "Bash", LS[:5]), piece(0, None, None, LS[5:]), SECOND, FIRST, SECOND], ["a", "b"],
    ),
    "and then with an empty object": ([FIRST, piece(0, "a", "Bash", "{}")], ["a"]),
    "and then with an empty object, beside another": ([FIRST, SECOND, piece(0, "a", "Bash", "{}")], ["a", "b"]),
    "and then its beginning": ([FIRST, SECOND, piece(0, "a", "Bash", LS[:6])], ["a", "b"]),
    "the other is cut, and then whole": ([FIRST, piece(1, "b", "Bash", PWD[:6]), FIRST, SECOND], ["a", "b"]),
    "beside headers, three times": ([OTHER, HEADERS] * 3, ["r"]),
}  # fmt: skip


@pytest.mark.parametrize("reason", [None, "length", "content_filter", "tool_calls"])
@pytest.mark.parametrize(("deltas", "ids"), WITHOUT_A_REASON.values(), ids=WITHOUT_A_REASON.keys())
def test_complete_calls_that_are_sent_again_need_no_reason(deltas: list[Json], ids: list[str], reason: str) -> None:
    given = {"a": LS, "b": PWD, "r": '{"file_path":"/x"}'}
    calls = chat_calls("".join(map(chunk, deltas)) + (chunk({}, reason) if reason else "") + DONE)
    assert [(call[0], call[2]) for call in calls if call[2]] == [(one, json.loads(given[one])) for one in ids]


@pytest.mark.parametrize("reason", [None, "length", "content_filter"])
def test_the_same_id_with_other_arguments_is_another_call_without_a_reason_too(reason: str | None) -> None:
    deltas = [FIRST, piece(0, "a", "Bash", PWD)]
    calls = chat_calls("".join(map(chunk, deltas)) + (chunk({}, reason) if reason else "") + DONE)
    assert [call[2] for call in calls] == [{"command": "ls"}, {"command": "pwd"}]
    assert calls[1][0] != "a"


@pytest.mark.parametrize("deltas", list(REPEATS.values())[:7], ids=list(REPEATS)[:7])
def test_what_a_server_repeats_flows_once(deltas: list[Json]) -> None:
    """Growing snapshots are no strict prefix: there the call is refused, and does not run at all."""
    body = "".join(chunk(delta) for delta in deltas) + chunk({}, "tool_calls") + DONE
    out, _ = mend(body, question=QUESTION, policy=Policy(aggregate=False))
    assert len(read(out).calls) == 1


def test_a_call_that_is_told_again_behind_the_finish_runs_once() -> None:
    told = chunk(piece(0, "a", "Bash", LS))
    calls = chat_calls(told + chunk({}, "tool_calls") + told + chunk({}, "tool_calls") + DONE)
    assert calls == [("a", "Bash", {"command": "ls"})]


MESSAGES = {
    "with the same id": [entry("a", "Bash", LS)],
    "with another id": [entry("z", "Bash", LS)],
    "without an id": [{"function": {"name": "Bash", "arguments": LS}}],
    "as an object": [entry("a", "Bash", {"command": "ls"})],
    "encoded twice": [entry("a", "Bash", TWICE)],
}


@pytest.mark.parametrize("beside", [{}, {"delta": {}}, {"delta": {"content": ""}}])
@pytest.mark.parametrize("calls", MESSAGES.values(), ids=MESSAGES.keys())
def test_a_message_that_repeats_the_answer_in_the_last_chunk_adds_nothing(calls: list[Json], beside: Json) -> None:
    message = {"role": "assistant", "content": "Let me look.", "tool_calls": calls}
    last = line({"id": "c", "choices": [{"index": 0, **beside, "message": message, "finish_reason": "tool_calls"}]})
    said = chunk({"content": "Let me "}) + chunk({"content": "look."})
    out, _ = mend(said + chunk(piece(0, "a", "Bash", LS)) + last + DONE, question=QUESTION)
    held = read(out)
    assert held.call_list() == [("Bash", LS)]
    assert held.text == "Let me look."


def test_a_message_in_the_last_chunk_tells_what_nothing_else_told() -> None:
    message = {"role": "assistant", "content": "", "tool_calls": [entry("a", "Bash", LS), entry("b", "Bash", LS)]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    assert [call[0] for call in chat_calls(line({"id": "c", "choices": [choice]}) + DONE)] == ["a", "b"]
    told = chunk(piece(0, "a", "Bash", LS)) + line({"id": "c", "choices": [choice]}) + DONE
    assert [call[0] for call in chat_calls(told)] == ["a", "b"]


def test_a_call_written_as_text_does_not_run_again_where_a_message_repeats_the_text() -> None:
    text = '<tool_call>\n{"name": "Bash", "arguments": {"command": "ls"}}\n</tool_call>'
    message = {"role": "assistant", "content": text}
    last = line({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    body = "".join(chunk({"content": part}) for part in ("", text[:20], text[20:])) + last + DONE
    assert len(chat_calls(body)) <= 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_function_call_beside_tool_calls_is_the_same_call(order: tuple[int, int]) -> None:
    old = {"function_call": {"name": "Bash", "arguments": LS}}
    new = piece(0, "a", "Bash", LS)
    assert [call[1:] for call in chat({**old, **new})] == [("Bash", {"command": "ls"})]
    forms = [old, new]
    assert [call[1:] for call in chat(*(forms[which] for which in order))] == [("Bash", {"command": "ls"})]
    first, second = (chunk(forms[which]) + chunk({}, "tool_calls") for which in order)
    assert [call[1:] for call in chat_calls(first + second + DONE)] == [("Bash", {"command": "ls"})]
    assert len(chat_document(entry("a", "Bash", LS), **old)) == 1


def test_a_function_call_that_is_told_again_is_one_call() -> None:
    old = {"function_call": {"name": "Bash", "arguments": LS}}
    assert [call[1:] for call in chat(old, old)] == [("Bash", {"command": "ls"})]
    assert [call[1:] for call in chat(old, last=old)] == [("Bash", {"command": "ls"})]
    asked = read_request({"functions": [{"name": "Bash"}], "stream": True})
    out, _ = mend(chunk(old) + chunk(old, "function_call") + DONE, question=asked)
    assert out.count(b'"function_call":{') == 1


# Messages


A = wire.tool(0, LS, identity="a", name="Bash")


@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize(
    "again",
    [
        A,
        wire.tool(1, LS, identity="a", name="Bash"),
        wire.tool_start(1, "a", "Bash", {"command": "ls"}) + wire.stop(1),
        wire.tool_start(1, "a", "Bash") + wire.stop(1),
        wire.tool_start(0, "a", "Bash") + wire.fragment(0, LS),
    ],
    ids=["the block", "at the next index", "with its input in the start", "without input", "without its stop"],
)
def test_a_block_that_comes_again_runs_once(again: bytes, aggregate: bool) -> None:
    assert messages(A, again, aggregate=aggregate) == [("a", "Bash", {"command": "ls"})]


def test_a_start_without_input_and_then_the_block_is_one_call() -> None:
    assert messages(wire.tool_start(0, "a", "Bash") + wire.stop(0), A) == [("a", "Bash", {"command": "ls"})]


def test_growing_snapshots_are_one_call_in_messages_too() -> None:
    assert messages(wire.tool(0, '{"comm', '{"command":"l', LS, identity="a", name="Bash")) == [
        ("a", "Bash", {"command": "ls"})
    ]


# Responses


def test_an_item_listed_twice_is_one_call() -> None:
    upstream = Upstream().call("Bash", LS, call_id="a")
    upstream.output.append(dict(upstream.output[0]))
    upstream.end()
    for calls in (responses(upstream), responses_document(upstream), responses_socket(upstream)):
        assert calls == [("a", "Bash", {"command": "ls"})]


def test_an_item_listed_twice_with_other_arguments_is_two_calls() -> None:
    upstream = Upstream().call("Bash", LS, call_id="a")
    upstream.output.append({**upstream.output[0], "arguments": PWD})
    upstream.end()
    for calls in (responses(upstream), responses_document(upstream)):
        assert [call[2]["command"] for call in calls] == ["ls", "pwd"]


def test_an_item_in_the_place_of_another_in_the_list_does_not_give_it_its_arguments() -> None:
    upstream = Upstream().call("Bash", LS, call_id="a").call("Read", '{"file_path": "/x', call_id="b")
    upstream.output[1] = dict(upstream.output[0])
    assert responses(upstream.end()) == [("a", "Bash", {"command": "ls"}), (responses(upstream)[1][0], "Read", {})]


@pytest.mark.parametrize("aggregate", [True, False])
def test_all_the_events_of_an_item_again_are_one_call(aggregate: bool) -> None:
    upstream = Upstream().call("Bash", '{"command":', '"ls"}', call_id="a")
    for event in upstream.events[2:]:
        upstream.say(
            event["type"], **{key: value for key, value in event.items() if key not in ("type", "sequence_number")}
        )
    assert responses(upstream.end(), aggregate=aggregate) == [("a", "Bash", {"command": "ls"})]


def test_an_announcement_again_is_no_call() -> None:
    upstream = Upstream().call("list_tabs", "{}", call_id="a")
    added = upstream.of("item.added")[0]
    upstream.say("response.output_item.added", output_index=1, item=added["item"])
    assert responses(upstream.end()) == [("a", "list_tabs", {})]


PATCH = "*** Begin Patch\n*** End Patch"
FREEFORM = {"type": "custom", "name": "apply_patch", "format": {"type": "grammar"}}


def freeform(upstream: Upstream) -> list[tuple[str, str]]:
    asked = read_request({"tools": [FREEFORM], "stream": True})
    out, _ = mend(upstream.bytes(), protocol="responses", question=asked)
    final = strict_responses.validate(out)
    return [(item["call_id"], item["input"]) for item in final.response["output"]]


def test_a_freeform_call_that_is_told_again_is_one_call() -> None:
    upstream = Upstream().custom("apply_patch", PATCH)
    for event in upstream.events[2:]:
        upstream.say(
            event["type"], **{key: value for key, value in event.items() if key not in ("type", "sequence_number")}
        )
    assert freeform(upstream.end()) == [("call_0", PATCH)]
    listed = Upstream().custom("apply_patch", PATCH)
    listed.output.append(dict(listed.output[0]))
    assert freeform(listed.end()) == [("call_0", PATCH)]


@pytest.mark.parametrize(("second", "count"), [(PATCH, 1), ("*** Begin Patch\n+x\n*** End Patch", 2)])
def test_a_freeform_call_with_the_id_of_another_is_that_one_or_gets_an_id_of_its_own(second: str, count: int) -> None:
    upstream = Upstream().custom("apply_patch", PATCH).custom("apply_patch", second)
    for event in upstream.of("item.added", "item.done"):
        event["item"] = {**event["item"], "call_id": "call_x"}
    upstream.output = [event["item"] for event in upstream.of("item.done")]
    calls = freeform(upstream.end())
    assert [text for _, text in calls] == [PATCH, second][:count]
    assert len({identity for identity, _ in calls}) == count
    assert len(freeform(Upstream().custom("apply_patch", PATCH).custom("apply_patch", PATCH).end())) == 2


# Z.AI


def test_a_block_and_the_deltas_of_one_call_are_one_call() -> None:
    backend = Backend().become(block("Bash", LS, "a"))
    backend.say(**zai_delta("a", "Bash", LS))
    backend.say(phase="tool_call", tool_calls=[{"index": 0, **entry("a", "Bash", LS)}])
    assert zai(backend) == [("a", "Bash", {"command": "ls"})]


def test_id_and_name_in_every_delta_of_z_ai_are_one_call() -> None:
    backend = Backend(compact=True)
    for arguments in ('{"comm', 'and":"ls"}', ""):
        backend.say(**zai_delta("a", "Bash", arguments))
    assert zai(backend) == [("a", "Bash", {"command": "ls"})]


# The rule alone


def kept(sent: Sent, *calls: Call) -> list[bool]:
    new = sent.new(list(calls))
    return [call in new for call in calls]


def told(identity: str, name: str, arguments: str) -> Call:
    return Call(fragments=[Fragment()], id=identity, name=name, arguments=arguments)


def test_calls_without_an_id_are_calls_of_their_own() -> None:
    assert kept(Sent(QUESTION.tools), told("", "Bash", LS), told("", "Bash", LS)) == [
        True,
        True,
    ]


def test_a_name_in_another_spelling_is_the_same_name() -> None:
    assert kept(Sent(QUESTION.tools), told("a", "Bash", LS), told("a", "bash", LS)) == [
        True,
        False,
    ]


def test_what_went_out_is_remembered() -> None:
    resent = Sent(QUESTION.tools)
    assert kept(resent, told("a", "Bash", LS)) == [True]
    assert kept(resent, told("a", "Bash", SPACED), told("b", "Bash", LS)) == [False, True]


def test_a_beginning_gives_way_to_the_whole_and_the_whole_stays_before_a_beginning() -> None:
    half = '{"command":"l'
    assert kept(Sent(QUESTION.tools), told("a", "Bash", half), told("a", "Bash", LS)) == [
        False,
        True,
    ]
    assert kept(Sent(QUESTION.tools), told("a", "Bash", LS), told("a", "Bash", half)) == [
        True,
        False,
    ]
    assert kept(Sent(QUESTION.tools), told("a", "Bash", ""), told("a", "Bash", LS)) == [
        False,
        True,
    ]
    assert kept(Sent(QUESTION.tools), told("a", "Bash", PWD), told("a", "Bash", half)) == [
        True,
        True,
    ]
