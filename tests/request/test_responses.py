"""The history of a Responses request, over HTTP and as frames of a WebSocket."""

from __future__ import annotations

import json
from typing import Any

from toolcalls.ids import Ids, restore
from toolcalls.policy import Policy
from toolcalls.request.mend import Changed, mend_request
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode
from toolcalls.websocket import ResponsesSocket


def call(arguments: Any = "{}", identity: str = "call_1", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": identity, "name": "read", "arguments": arguments, **more}


def output(said: Any = "ok", identity: str = "call_1") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": identity, "output": said}


def body(*items: dict[str, Any]) -> bytes:
    return json.dumps({"model": "m", "input": [{"role": "user", "content": "Go."}, *items]}).encode()


def mend(sent: bytes, refusals: Refusals | None = None, **options: Any) -> Changed | None:
    return mend_request("responses", sent, decode(sent), Policy(**options), refusals or Refusals())


def mended(sent: bytes, refusals: Refusals | None = None, **options: Any) -> list[Any]:
    changed = mend(sent, refusals, **options)
    assert changed is not None
    items: list[Any] = json.loads(changed.body)["input"]
    return items[1:]


def test_poisoned_arguments_are_mended_or_emptied() -> None:
    sent = body(call("{'a': 1}"), call('{"a": "b', "call_2"), output(), output("no", "call_2"))
    assert mended(sent) == [call('{"a":1}'), call("{}", "call_2"), output(), output("no", "call_2")]


def test_an_object_in_the_place_of_a_string_is_written_as_one() -> None:
    assert mended(body(call({"a": [1]}), output())) == [call('{"a":[1]}'), output()]


def test_free_text_is_never_looked_at_but_its_id_is_given_back() -> None:
    new = Ids("seed", ["x:0"]).unique("x:0")
    custom = {"type": "custom_tool_call", "call_id": new, "name": "exec", "input": "{'a': 1,}"}
    answer = {"type": "custom_tool_call_output", "call_id": new, "output": "ok"}
    assert mended(body(custom, answer)) == [{**custom, "call_id": "x:0"}, {**answer, "call_id": "x:0"}]
    assert mend(body({**custom, "call_id": "x:0"}, {**answer, "call_id": "x:0"})) is None


def test_an_item_that_is_repeated_as_it_is_is_dropped_with_its_output() -> None:
    assert mended(body(call(), call(id="fc_2"), output(), output())) == [call(), output()]


def test_the_reason_of_a_refusal_is_appended_to_a_text_and_to_parts() -> None:
    identity = Ids("seed").new("x:0", "why")
    refusals = Refusals()
    refusals.add(identity, "it was cut off")
    line = "[toolfix] This call was refused: it was cut off; send the call again."
    for said, told in (("no", f"no\n\n{line}"), ([], [{"type": "input_text", "text": line}])):
        sent = body(call(identity=identity), output(said, identity))
        assert mended(sent, refusals) == [call(identity="x:0"), output(told, "x:0")]


def test_a_text_as_input_and_an_unknown_item_pass() -> None:
    for request in ({"input": "Go."}, {"input": [7, {"type": "item_reference", "id": "x"}, {"call_id": "a"}]}):
        sent = json.dumps(request).encode()
        assert mend(sent) is None


def test_a_frame_of_a_socket_is_mended_and_others_pass() -> None:
    item = json.dumps(call("{'a': 1}"))
    frame = f'{{"type": "response.create", "n": 1.50, "input": [{item}, {json.dumps(output())}]}}'
    after = ResponsesSocket().client_message(frame)
    assert '"n":1.50' in after
    assert json.loads(after) == json.loads(frame.replace(json.dumps("{'a': 1}"), json.dumps('{"a":1}')))
    nested = json.dumps({"type": "response.create", "response": {"input": [call("{'a': 1}")]}})
    assert '\\"a\\":1' in ResponsesSocket().client_message(nested)
    for other in ('{"type": "response.cancel"}', "{", "[]", frame.replace("'a': 1", '\\"a\\": 1')):
        assert ResponsesSocket().client_message(other) == other


def test_a_socket_gives_ids_back_and_tells_why_a_call_was_refused() -> None:
    socket = ResponsesSocket()
    socket.client_message(json.dumps({"type": "response.create", "model": "m", "input": "Go."}))
    item = {"id": "fc_1", "type": "function_call", "call_id": "x:0", "name": "read", "status": "completed"}
    response = {"id": "r", "status": "completed", "output": [{**item, "arguments": '{"a": "b'}]}
    frames = [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_1", "delta": '{"a": "b'},
        {"type": "response.output_item.done", "output_index": 0, "item": {**item, "arguments": '{"a": "b'}},
        {"type": "response.completed", "response": response},
    ]
    sent = [json.loads(text) for frame in frames for text in socket.server_message(json.dumps(frame))]
    [done] = [message["item"] for message in sent if message["type"] == "response.output_item.done"]
    assert restore(done["call_id"]) == "x:0"
    follow = {"type": "response.create", "previous_response_id": "r", "input": [output("no", done["call_id"])]}
    up = json.loads(socket.client_message(json.dumps(follow)))
    assert up["input"][0]["call_id"] == "x:0"
    assert "the arguments were cut off inside `a`" in up["input"][0]["output"]


def test_arguments_are_mended_in_a_call_without_an_id_and_in_one_with_an_output() -> None:
    alone = {key: value for key, value in call("{'a': 1}").items() if key != "call_id"}
    assert mended(body(alone)) == [{**alone, "arguments": '{"a":1}'}]
    assert mended(body(call("{'a': 1}", output=None), output())) == [call('{"a":1}', output=None), output()]
