"""The history of a Messages request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcalls.ids import Ids
from toolcalls.policy import Policy
from toolcalls.request.mend import Changed, mend_request
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode, read_request

READ = {
    "name": "read",
    "input_schema": {"type": "object", "properties": {"filePath": {"type": "string"}}, "required": ["filePath"]},
}


def use(given: Any = None, identity: str = "toolu_1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": "read", "input": given or {}, **more}


def result(content: Any = "ok", identity: str = "toolu_1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": content, **more}


def body(uses: list[Any], results: list[Any], **more: Any) -> bytes:
    turn = [{"role": "assistant", "content": uses}, {"role": "user", "content": results}]
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": "Go."}, *turn], **more}).encode()


def mend(sent: bytes, refusals: Refusals | None = None, **options: Any) -> Changed | None:
    return mend_request("messages", sent, decode(sent), Policy(**options), refusals or Refusals())


def mended(sent: bytes, refusals: Refusals | None = None, **options: Any) -> tuple[list[Any], list[Any]]:
    changed = mend(sent, refusals, **options)
    assert changed is not None
    messages = json.loads(changed.body)["messages"]
    return messages[1]["content"], messages[2]["content"]


@pytest.mark.parametrize(
    ("poisoned", "good"),
    [
        ("{'filePath': '/a'}", {"filePath": "/a"}),
        ('{"filePath": "/a', {}),
        ("", {}),
        ([{"filePath": "/a"}], {"filePath": "/a"}),
        ([1, 2], {}),
        (7, {}),
    ],
)
def test_an_input_that_is_no_object_becomes_one(poisoned: Any, good: dict[str, Any]) -> None:
    sent = body([{**use(), "input": poisoned}], [result()])
    assert mended(sent)[0] == [use(good)]


def test_an_input_that_is_missing_is_added() -> None:
    bare = {"type": "tool_use", "id": "toolu_1", "name": "read"}
    assert mended(body([bare], [result()]))[0] == [use()]


def test_an_empty_text_block_beside_a_call_is_dropped() -> None:
    """What is left of a text that was nothing but a call; the API refuses it."""
    empty, said = {"type": "text", "text": ""}, {"type": "text", "text": "x"}
    sent = body([empty, use({"filePath": "/a"}), said], [result()])
    assert mended(sent) == ([use({"filePath": "/a"}), said], [result()])
    assert mend(sent, request=False) is None


def test_an_empty_text_block_without_a_call_is_the_clients_own() -> None:
    assert mend(body([{"type": "text", "text": ""}], [{"type": "text", "text": ""}])) is None


def test_blocks_that_are_repeated_as_they_are_are_dropped() -> None:
    text = {"type": "text", "text": "x"}
    sent = body([text, use({"filePath": "/a"}), use({"filePath": "/a"})], [result(), text, result()])
    assert mended(sent) == ([text, use({"filePath": "/a"})], [result(), text])


def test_a_repetition_keeps_the_mark_of_the_cache() -> None:
    marked = result(cache_control={"type": "ephemeral"})
    assert mended(body([use(), use()], [result(), marked])) == ([use()], [marked])


@pytest.mark.parametrize(
    ("uses", "results"),
    [
        ([use({"filePath": "/a"}), use({"filePath": "/b"})], [result()]),
        ([use({"n": 1}), use({"n": True})], [result()]),
    ],
)
def test_blocks_that_differ_both_stay_and_their_ids_are_unique(uses: list[Any], results: list[Any]) -> None:
    first, second = uses
    made, told = mended(body(uses, results))
    assert made == [first, {**second, "id": "toolu_1_2"}]
    assert told[0] == results[0]
    assert told[1]["tool_use_id"] == "toolu_1_2"
    assert told[1]["is_error"] is True


def test_of_two_results_of_one_call_the_first_stays() -> None:
    """Every host rejects the second: `each tool_use must have a single result`."""
    assert mended(body([use()], [result("a"), result("b")])) == ([use()], [result("a")])


def test_ids_are_given_back() -> None:
    new = Ids("seed", safe=True).unique("functions.read:0")
    sent = body([use(identity=new)], [result(identity=new)])
    assert mended(sent) == ([use(identity="functions.read:0")], [result(identity="functions.read:0")])
    assert read_request(decode(sent)).used_ids == {new}


def test_what_the_host_runs_itself_stays() -> None:
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": "x"}
    assert mend(body([search], [{"type": "text", "text": "x"}])) is None


def test_the_reason_of_a_refusal_is_appended_to_a_text_and_to_parts() -> None:
    identity = Ids("seed", safe=True).new("functions.read:0", "why")
    refusals = Refusals()
    refusals.add(identity, "it was cut off")
    line = "[toolfix] This call was refused: it was cut off; send the call again."
    picture = {"type": "image", "source": {}}
    for content, told in (
        ("no", f"no\n\n{line}"),
        ([picture], [picture, {"type": "text", "text": line}]),
    ):
        sent = body([use(identity=identity)], [result(content, identity, is_error=True)])
        assert mended(sent, refusals)[1] == [result(told, "functions.read:0", is_error=True)]


def test_guidance_speaks_to_what_the_client_marks_as_an_error() -> None:
    sent = body([use({"filePath": "/a"})], [result("boom", is_error=True)], tools=[READ], system="You are.")
    assert mend(sent) is None
    [told] = mended(sent, retry_guidance=True)[1]
    assert told["content"].startswith("boom\n\n[toolfix] This call failed. Correct")
    changed = mend(sent, retry_guidance=True)
    assert changed is not None
    assert json.loads(changed.body)["system"] == "You are."
    fine = body([use({"filePath": "/a"})], [result("boom", is_error=False)], tools=[READ])
    assert mend(fine, retry_guidance=True) is None
