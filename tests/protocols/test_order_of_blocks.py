"""A call followed by something else is complete: it is decided then, so everything keeps the order the model made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.protocols import messages_wire as wire
from tests.protocols.messages_wire import LIST, READ, A
from tests.protocols.text_protocols import GEMINI, gemini_answer, gemini_event
from tests.splits import mend
from tests.validators import messages as strict
from toolcalls.policy import Policy
from toolcalls.request.request import read_request

Json = dict[str, Any]

INVALID = {"name": "invalid", "input_schema": {"type": "object", "properties": {}}}
QUESTION = read_request({"model": "m", "stream": True, "tools": [READ, LIST, INVALID], "messages": []})
THINKING = wire.thinking(1, "Now the next step.")
TEXT = wire.text(1, "Done.")


def message(body: bytes, **policy: Any) -> strict.Message:
    """What a client holds, the same for every split."""
    out, _ = mend(body, protocol="messages", question=QUESTION, policy=Policy(**policy))
    return strict.read(out, fragments=not policy.get("aggregate", True))


def shape(body: bytes, **policy: Any) -> list[str]:
    """The blocks of the message in their order: calls by name, all others by type."""
    return [
        block["name"] if block["type"] == "tool_use" else block["type"] for block in message(body, **policy).content
    ]


EMPTY = [[], [""], ["", ""], ["{}"], [" "]]
COMPLETE = [
    *[wire.tool(0, *pieces, name="TaskList") for pieces in EMPTY],
    wire.tool_start(0, name="TaskList", input=[]) + wire.stop(0),
    wire.start(0, type="tool_use", id="toolu_01", name="TaskList") + wire.stop(0),
    wire.tool(0, A),
    wire.tool(0, *A),
    wire.tool(0, "{'file_path': '/src/a.py'}"),
    wire.tool(0, '{"file_path": "/src/a.py",}'),
    wire.tool(0, '{"path": "/src/a.py"}'),
    wire.tool_start(0, input={"file_path": "/src/a.py"}) + wire.stop(0),
    # Servers that never end a block.
    wire.tool_start(0) + wire.fragment(0, A),
    wire.tool_start(0) + wire.fragment(0, A[:9]) + wire.fragment(0, A[9:]),
]
BEHIND = {
    "thinking": wire.thinking(1, "Now the next step."),
    "redacted_thinking": wire.start(1, type="redacted_thinking", data="x") + wire.stop(1),
    "text": wire.text(1, "Done."),
    "server_tool_use": wire.start(1, type="server_tool_use", id="srvtoolu_1", name="web_search", input={})
    + wire.fragment(1, '{"query":"x"}')
    + wire.stop(1),
    "web_search_tool_result": wire.start(1, type="web_search_tool_result", tool_use_id="srvtoolu_1", content=[])
    + wire.stop(1),
    "unknown": wire.start(1, type="unknown", data="x") + wire.stop(1),
}


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("call", COMPLETE, ids=range(len(COMPLETE)))
def test_a_complete_call_goes_out_before_the_block_behind_it(call: bytes, behind: str) -> None:
    made = message(wire.begin() + call + BEHIND[behind] + wire.end())
    assert [block["type"] for block in made.content] == ["tool_use", behind]
    assert made.calls in ([("TaskList", {})], [wire.CALL_A])
    assert made.stop_reason == "tool_use"


@pytest.mark.parametrize("reason", ["tool_use", "end_turn", "max_tokens", None])
@pytest.mark.parametrize("pieces", EMPTY)
def test_signed_thinking_keeps_its_place_among_calls(pieces: list[str], reason: str | None) -> None:
    blocks = (
        wire.thinking(0, "First."), wire.tool(1, *pieces, name="TaskList"), wire.thinking(2, "Second."),
        wire.tool(3, A, identity="toolu_02"), wire.text(4, "Done."), wire.tool(5, *pieces, name="TaskList", identity="toolu_03"),
    )  # fmt: skip
    made = shape(wire.begin() + b"".join(blocks) + wire.end(reason))
    assert made[:5] == ["thinking", "TaskList", "thinking", "Read", "text"]


def test_several_calls_go_out_before_the_block_behind_them() -> None:
    calls = wire.tool(0, "", name="TaskList") + wire.tool(1, "{'file_path': '/src/a.py'}", identity="t2")
    body = wire.begin() + calls + wire.tool(2, A, identity="t3") + wire.text(3, "Done.") + wire.end()
    assert shape(body) == ["TaskList", "Read", "Read", "text"]


@pytest.mark.parametrize("reason", ["tool_use", "end_turn", "max_tokens", None])
@pytest.mark.parametrize(
    "cut", ['{"file_path": "/src', '{"file_path"', "{", '{"file_path": "/src/a.py"', '{"file_path": /src', "/src/a"]
)
def test_a_cut_call_is_refused_in_its_place(cut: str, reason: str | None) -> None:
    body = wire.begin() + wire.tool(0, cut) + THINKING + wire.end(reason)
    made = message(body)
    assert [block["type"] for block in made.content] == ["tool_use", "thinking"]
    assert [name for name, _ in made.calls] == ["invalid"]


@pytest.mark.parametrize("first", [(), (A[:9],), ("{",), ("{}"[:1],)])
def test_a_call_whose_block_is_still_open_waits_for_its_fragments(first: tuple[str, ...]) -> None:
    """Servers that interleave: what has arrived so far is not decided."""
    opened = wire.tool_start(0) + b"".join(wire.fragment(0, piece) for piece in first)
    rest = wire.fragment(0, A[len("".join(first)) :]) + wire.stop(0)
    body = wire.begin() + opened + wire.text_start(1) + wire.say(1, "Done.") + rest + wire.stop(1) + wire.end()
    assert message(body).calls == [wire.CALL_A]


@pytest.mark.parametrize("given", [{}, None, []])
def test_an_open_call_without_arguments_waits_for_them(given: Any) -> None:
    body = (
        wire.begin() + wire.tool_start(0, name="TaskList", input=given) + wire.text(1, "Done.")
        + wire.fragment(0, '{"all":') + wire.fragment(0, "true}") + wire.stop(0) + wire.end()
    )  # fmt: skip
    assert message(body).calls == [("TaskList", {"all": True})]


def test_an_open_call_with_an_empty_object_waits_for_the_real_one() -> None:
    body = (
        wire.begin() + wire.tool_start(0, name="TaskList") + wire.fragment(0, "{}") + wire.text(1, "Done.")
        + wire.fragment(0, '{"all":true}') + wire.stop(0) + wire.end()
    )  # fmt: skip
    assert message(body).calls == [("TaskList", {"all": True})]


def test_calls_that_only_their_order_tells_apart_wait_for_the_end() -> None:
    """Two calls at one index: a fragment may belong to either, so neither is decided before the answer ends."""
    begun = wire.tool_start(0, "t1") + wire.tool_start(0, "t2", name="TaskList") + wire.fragment(0, '{"file_path":')
    body = wire.begin() + begun + wire.stop(0) + wire.text(1, "Done.") + wire.fragment(0, '"/a"}') + wire.end()
    assert all(name == "invalid" for name, _ in message(body).calls)


def test_a_fragment_behind_a_call_that_went_out_is_not_added_to_another_one() -> None:
    body = (
        wire.begin() + wire.tool(0, A) + wire.text(1, "Done.") + wire.fragment(0, '{"file_path":"/etc/passwd"}')
        + wire.tool(2, "", name="TaskList", identity="t2") + wire.end()
    )  # fmt: skip
    assert message(body).calls == [wire.CALL_A, ("TaskList", {})]


def test_a_call_behind_the_stop_reason_goes_out_before_the_text_behind_it() -> None:
    calls = (
        wire.tool(0, "", name="TaskList") + wire.reason("tool_use") + wire.tool(1, "", name="TaskList", identity="t2")
    )
    assert shape(wire.begin() + calls + wire.text(2, "Done.") + wire.end()) == ["TaskList", "TaskList", "text"]


@pytest.mark.parametrize("pieces", EMPTY[:2])
def test_with_aggregation_off_the_order_is_kept_too(pieces: list[str]) -> None:
    body = wire.begin() + wire.tool(0, *pieces, name="TaskList") + THINKING + wire.end()
    assert shape(body, aggregate=False) == ["TaskList", "thinking"]


# Gemini: `thoughtSignature` in the event behind its call

SIGNATURE = {"text": "", "thoughtSignature": "c2lnbmVk"}
GEMINI_QUESTION = read_request(
    {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "tools": [{"functionDeclarations": [{"name": "Read", "parameters": READ["input_schema"]}]}],
    },
    "gemini",
)


def call(**args: Any) -> Json:
    return {"functionCall": {"name": "Read", "args": args}}


def gemini_parts(*events: bytes) -> list[str]:
    """The parts that a client holds, in order; of calls the path."""
    out, _ = mend(b"".join(events), protocol="gemini", question=GEMINI_QUESTION)
    GEMINI.read(out)
    parts = [
        part
        for event in out.decode().split("\r\n\r\n")[:-1]
        for candidate in json.loads(event.removeprefix("data: "))["candidates"]
        for part in candidate["content"]["parts"]
    ]
    named = [
        (part["functionCall"]["args"] or {}).get("file_path", "refused") if "functionCall" in part
        else "signature" if "thoughtSignature" in part else part["text"]
        for part in parts
    ]  # fmt: skip
    return [name for name in named if name]


A_CALL = call(file_path="/a")
END = gemini_event({"text": ""}, finish="STOP")
CUT = gemini_event({"text": ""}, finish="MAX_TOKENS")


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([gemini_event(A_CALL), gemini_event(SIGNATURE), END], ["/a", "signature"]),
        ([gemini_event(call(path="/a")), gemini_event(SIGNATURE), END], ["/a", "signature"]),
        ([gemini_event(A_CALL), gemini_event(SIGNATURE, finish="STOP")], ["/a", "signature"]),
        ([gemini_event(A_CALL), gemini_event(SIGNATURE)], ["/a", "signature"]),
        ([gemini_event(A_CALL), gemini_event(SIGNATURE), gemini_event({"text": "Done."}), END], ["/a", "signature", "Done."]),
        ([gemini_event(A_CALL), gemini_event(SIGNATURE), gemini_event(call(file_path="/b")), END], ["/a", "signature", "/b"]),
        ([gemini_event({"text": "I"}), gemini_event(SIGNATURE), gemini_event(A_CALL), END], ["I", "signature", "/a"]),
        ([gemini_event(A_CALL, SIGNATURE), END], ["/a", "signature"]),
        ([gemini_event(A_CALL), gemini_event(SIGNATURE), gemini_event(SIGNATURE), END], ["/a", "signature", "signature"]),
        # What the server may have closed is refused as before, wherever the signature is.
        ([gemini_event(A_CALL), gemini_event(SIGNATURE), CUT], ["refused", "signature"]),
        ([gemini_event(A_CALL), gemini_event(SIGNATURE, finish="MAX_TOKENS")], ["refused", "signature"]),
        ([gemini_event(A_CALL, SIGNATURE), CUT], ["refused", "signature"]),
    ],
)  # fmt: skip
def test_a_signature_stays_behind_its_call(events: list[bytes], expected: list[str]) -> None:
    assert gemini_parts(*events) == expected


@pytest.mark.parametrize("end", [b"", wire.end()])
def test_an_event_that_nobody_knows_does_not_overtake_a_call(end: bytes) -> None:
    unknown = wire.event({"type": "x_future_event", "index": 1})
    body = wire.begin() + wire.tool(0, A) + unknown + wire.PING + end
    out, _ = mend(body, protocol="messages", question=QUESTION)
    assert out.index(b"content_block_stop") < out.index(b"x_future_event")


IMAGE = {"inlineData": {"mimeType": "image/png", "data": "AA=="}}


@pytest.mark.parametrize("between", [IMAGE, {"text": "Hm.", "thought": True}, {"executableCode": {"code": "1"}}])
@pytest.mark.parametrize("end", ["<", "arr[0]", "<tool_c", '<tool_call>{"name": "Read"'])
@pytest.mark.parametrize("form", ["events", "one event", "document"])
def test_gemini_the_end_of_a_text_stays_before_the_part_behind_it(
    form: str, end: str, between: dict[str, Any]
) -> None:
    """It may have been the beginning of a call; a part of another kind shows that it is none."""
    parts = [{"text": f"a {end}"}, between, {"text": "b"}]
    answers = [gemini_answer(*parts, finish="STOP")] if form != "events" else [gemini_answer(part) for part in parts]
    if form == "events":
        answers.append(gemini_answer({"text": ""}, finish="STOP"))
    body = (
        "".join(f"data: {json.dumps(one)}\r\n\r\n" for one in answers)
        if form != "document"
        else json.dumps(answers[0])
    )
    out, _ = mend(body, protocol="gemini", question=GEMINI_QUESTION)
    if form != "events":
        assert out == body.encode()
    said = [out] if form == "document" else [one.removeprefix(b"data: ") for one in out.split(b"\r\n\r\n") if one]
    listed = [part for one in said for part in json.loads(one)["candidates"][0]["content"]["parts"]]
    at = listed.index(between)
    assert "".join(part["text"] for part in listed[:at]) == f"a {end}"
    assert "".join(part["text"] for part in listed[at + 1 :]) == "b"
