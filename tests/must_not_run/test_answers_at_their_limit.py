"""An answer whose usage reaches the limit of its request was cut off, whatever its finish reason says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.must_not_run.wires import TOOLS
from tests.protocols import messages_wire
from tests.protocols.responses_wire import Upstream
from tests.protocols.test_chat import DONE, chunk, line, piece
from tests.protocols.text_protocols import gemini_answer, gemini_event, ollama_line
from tests.splits import mend
from toolcalls import payload
from toolcalls.engine import Response, mend_whole
from toolcalls.policy import Policy
from toolcalls.request.request import Request, limit_of, read_request
from toolcalls.websocket import ResponsesSocket

Json = dict[str, Any]

OPEN = '{"command":"rm -rf out00","description":"x"'
"""Only a bracket is missing; mended if the answer is complete."""
CLOSED = '{"command":"rm -rf out00","timeout":3}'
PYTHON = "{'command': 'ls', 'timeout': 3}"
LIMIT = 19
ID = "call_1"


def asked(**limits: Any) -> Request:
    return read_request({"tools": TOOLS, "stream": True, **limits})


def chat(text: str, used: int, *, place: str = "after", reason: str = "tool_calls") -> str:
    """`place`: the usage is in the event with the reason, in every event, or in one of its own."""
    usage = {"usage": {"prompt_tokens": 5, "completion_tokens": used}}
    every = usage if place == "every" else {}
    said = line({"id": "c1", "choices": [], **usage}) if place == "before" else ""
    said += chunk(piece(0, ID, "Bash", text[:9]), **every) + chunk(piece(0, None, None, text[9:]), **every)
    said += chunk({}, reason, **(every or (usage if place == "with" else {})))
    return said + (line({"id": "c1", "choices": [], **usage}) if place == "after" else "") + DONE


def chat_document(text: str, used: int) -> bytes:
    call = {"id": ID, "type": "function", "function": {"name": "Bash", "arguments": text}}
    choice = {"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": [call]}}
    return json.dumps(
        {"choices": [{**choice, "finish_reason": "stop"}], "usage": {"completion_tokens": used}}
    ).encode()


def messages(text: str, used: int, reason: str = "tool_use") -> bytes:
    wire = messages_wire
    said = wire.begin() + wire.tool(0, text[:9], text[9:], name="Bash")
    ended = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": used}}
    return said + wire.event(ended) + wire.event({"type": "message_stop"})


def messages_document(text: str, used: int) -> bytes:
    block = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": payload.object_in(text) or text}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [block]}
    usage = {"input_tokens": 1, "output_tokens": used}
    return json.dumps({**message, "stop_reason": "tool_use", "stop_sequence": None, "usage": usage}).encode()


def responses(text: str, used: int | None, **more: Any) -> Upstream:
    usage = {} if used is None else {"usage": {"input_tokens": 5, "output_tokens": used}}
    return Upstream().call("Bash", text[:9], text[9:]).end("completed", **usage, **more)


def made(text: str, used: int, limits: Json | None = None, policy: Policy | None = None) -> dict[str, list[str]]:
    """The outcome of the call on every wire and in every form."""
    out: dict[str, list[str]] = {}

    def note(where: str, protocol: str, body: bytes | str, limit: Json, *, whole: bool = False) -> None:
        question = asked(**(limit if limits is None else limits))
        if whole:
            answer = Response(protocol, question, policy)
            mend_whole(answer, body if isinstance(body, bytes) else body.encode())
        else:
            answer = mend(body, protocol=protocol, question=question, policy=policy)[1]
        out[where] = [outcome.status for outcome in answer.outcomes]

    for place in ("after", "with", "every", "before"):
        note(f"chat {place}", "chat", chat(text, used, place=place), {"max_completion_tokens": LIMIT})
    note("chat stop", "chat", chat(text, used, reason="stop"), {"max_tokens": LIMIT})
    note("chat whole", "chat", chat_document(text, used), {"max_tokens": LIMIT}, whole=True)
    for reason in ("tool_use", "end_turn"):
        note(f"messages {reason}", "messages", messages(text, used, reason), {"max_tokens": LIMIT})
    note("messages whole", "messages", messages_document(text, used), {"max_tokens": LIMIT}, whole=True)
    upstream = responses(text, used)
    note("responses", "responses", upstream.bytes(), {"max_output_tokens": LIMIT})
    document = json.dumps(upstream.events[-1]["response"]).encode()
    note("responses whole", "responses", document, {"max_output_tokens": LIMIT}, whole=True)
    socket = ResponsesSocket(policy or Policy())
    limit = {"max_output_tokens": LIMIT} if limits is None else limits
    socket.client_message(json.dumps({"type": "response.create", "tools": [], **limit}))
    for event in upstream.events:
        socket.server_message(json.dumps(event))
    out["responses socket"] = [outcome.status for outcome in socket.outcomes]
    return out


@pytest.mark.parametrize("used", [LIMIT, LIMIT + 1])
def test_nothing_is_added_to_a_call_at_the_limit(used: int) -> None:
    for where, statuses in made(OPEN, used).items():
        assert statuses == ["refused"], where


def test_below_the_limit_and_without_one_a_forgotten_bracket_is_added() -> None:
    for where, statuses in [*made(OPEN, LIMIT - 1).items(), *made(OPEN, LIMIT, {}).items()]:
        assert statuses == ["repaired"], where


def test_a_call_that_lacks_nothing_is_complete_at_the_limit_too() -> None:
    for where, statuses in made(CLOSED, LIMIT).items():
        assert statuses == ["valid"], where
    for where, statuses in made(PYTHON, LIMIT).items():
        assert statuses == ["repaired"], where


def test_the_user_may_want_it_closed() -> None:
    for where, statuses in made(OPEN, LIMIT, policy=Policy(truncated="complete")).items():
        assert statuses == ["repaired"], where


@pytest.mark.parametrize("used", [LIMIT, LIMIT - 1])
def test_the_last_call_of_a_server_that_sends_them_whole_may_have_been_closed_by_it(used: int) -> None:
    """As with `length`: the server wrote the object, so its bracket proves nothing."""
    expected = ["valid", "refused" if used == LIMIT else "valid"]
    calls = [{"function": {"name": "Bash", "arguments": {"command": word}}} for word in ("ls", "rm -rf out00")]
    line = ollama_line({"tool_calls": calls}) + ollama_line({}, done_reason="stop", eval_count=used)
    question = read_request({"tools": TOOLS, "options": {"num_predict": LIMIT}}, "ollama")
    _, answer = mend(line, protocol="ollama", question=question)
    assert [outcome.status for outcome in answer.outcomes] == expected
    whole = Response("ollama", question)
    mend_whole(whole, ollama_line({"tool_calls": calls}, done_reason="stop", eval_count=used))
    assert [outcome.status for outcome in whole.outcomes] == expected
    parts = [{"functionCall": {"name": "Bash", "args": call["function"]["arguments"]}} for call in calls]
    usage = {"usageMetadata": {"candidatesTokenCount": used - 12, "thoughtsTokenCount": 12, "totalTokenCount": 99}}
    declared = [{"functionDeclarations": [tool["function"] for tool in TOOLS]}]
    for config in ({"maxOutputTokens": LIMIT}, {"max_output_tokens": LIMIT}):
        asking = read_request({"contents": [], "tools": declared, "generationConfig": config})
        ended = b"data: " + json.dumps({**gemini_answer(finish="STOP"), **usage}).encode() + b"\r\n\r\n"
        _, answer = mend(gemini_event(*parts) + ended, protocol="gemini", question=asking)
        assert [outcome.status for outcome in answer.outcomes] == expected
        whole = Response("gemini", asking)
        mend_whole(whole, json.dumps({**gemini_answer(*parts, finish="STOP"), **usage}).encode())
        assert [outcome.status for outcome in whole.outcomes] == expected


def test_of_several_calls_only_the_cut_one_is_refused() -> None:
    said = chunk(piece(0, "call_a", "Bash", '{"command":"ls"}')) + chunk(piece(1, "call_b", "Bash", OPEN))
    said += chunk({}, "stop") + line({"id": "c1", "choices": [], "usage": {"completion_tokens": LIMIT}}) + DONE
    _, answer = mend(said, question=asked(max_tokens=LIMIT))
    assert [outcome.status for outcome in answer.outcomes] == ["valid", "refused"]


def test_a_call_written_as_text_at_the_limit_stays_text() -> None:
    text = '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}}</tool_call>'
    for used, calls in ((LIMIT, 0), (LIMIT - 1, 1)):
        said = chunk({"content": text}) + chunk({}, "stop")
        said += line({"id": "c1", "choices": [], "usage": {"completion_tokens": used}}) + DONE
        _, answer = mend(said, question=asked(max_tokens=LIMIT))
        assert len(answer.outcomes) == calls


def test_the_tokens_of_several_choices_are_counted_together() -> None:
    def said(used: int) -> str:
        both = "".join(chunk(piece(0, f"call_{n}", "Bash", OPEN), index=n) + chunk({}, "stop", n) for n in (0, 1))
        return both + line({"id": "c1", "choices": [], "usage": {"completion_tokens": used}}) + DONE

    for used, status in ((LIMIT + 5, "repaired"), (2 * LIMIT, "refused")):
        _, answer = mend(said(used), question=asked(max_tokens=LIMIT, n=2))
        assert [outcome.status for outcome in answer.outcomes] == [status] * 2


@pytest.mark.parametrize(
    ("request_", "limit"),
    [
        ({"max_tokens": 5}, 5),
        ({"max_tokens": 5, "max_completion_tokens": 3}, 3),
        ({"max_output_tokens": 7, "max_tokens": None}, 7),
        ({"options": {"num_predict": 4}}, 4),
        ({"options": {"num_predict": -1}}, None),
        ({"generation_config": {"maxOutputTokens": 6}}, 6),
        ({"max_tokens": True}, None),
        ({"max_tokens": "5"}, None),
        ({"max_tokens": 0}, None),
        ({"options": [], "generationConfig": None}, None),
        ({}, None),
    ],
)
def test_the_limit_of_a_request(request_: Json, limit: int | None) -> None:
    assert limit_of(request_) == limit


def _usage(used: int, reasoning: int = 0, beside: int = 0) -> Json:
    """`beside`: how many of the reasoning tokens stand beside `completion_tokens`."""
    details = {"reasoning_tokens": reasoning}
    total = 5 + used + beside
    return {
        "prompt_tokens": 5,
        "completion_tokens": used,
        "total_tokens": total,
        "completion_tokens_details": details,
    }


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"usage": _usage(10, 9, 9)}, "refused"),
        ({"usage": _usage(10, 8, 8)}, "repaired"),
        ({"usage": _usage(10, 9)}, "repaired"),
        ({"x_groq": {"id": "r", "usage": _usage(LIMIT)}}, "refused"),
        ({"x_groq": {"id": "r", "usage": _usage(LIMIT - 1)}}, "repaired"),
        ({"x_groq": "r", "usage": []}, "repaired"),
    ],
    ids=["xAI", "xAI, below", "reasoning is counted already", "Groq", "Groq, below", "none"],
)
def test_where_servers_say_how_many_tokens_an_answer_has(said: Json, status: str) -> None:
    body = chunk(piece(0, ID, "Bash", OPEN)) + chunk({}, "stop", **said) + DONE
    assert [one.status for one in mend(body, question=asked(max_tokens=LIMIT))[1].outcomes] == [status]
    document = {**json.loads(chat_document(OPEN, 0)), "usage": None, **said}
    whole = Response("chat", asked(max_tokens=LIMIT))
    mend_whole(whole, json.dumps(document).encode())
    assert [one.status for one in whole.outcomes] == [status]


@pytest.mark.parametrize(("used", "status"), [(LIMIT, "refused"), (LIMIT - 1, "repaired")])
def test_moonshot_says_it_in_the_choice(used: int, status: str) -> None:
    choice = {"index": 0, "delta": {}, "finish_reason": "stop", "usage": _usage(used)}
    body = chunk(piece(0, ID, "Bash", OPEN)) + line({"id": "c1", "choices": [choice]}) + DONE
    assert [one.status for one in mend(body, question=asked(max_tokens=LIMIT))[1].outcomes] == [status]


def test_odd_usage_is_no_limit_reached() -> None:
    for usage in (
        None,
        [],
        "19",
        {"completion_tokens": "19"},
        {"completion_tokens": True},
        {"completion_tokens": None},
    ):
        said = chunk(piece(0, ID, "Bash", OPEN)) + chunk({}, "stop", usage=usage) + DONE
        _, answer = mend(said, question=asked(max_tokens=1))
        assert [outcome.status for outcome in answer.outcomes] == ["repaired"]


@pytest.mark.parametrize("text", [OPEN, '{"command":"rm -rf out00"', ""])
def test_an_answer_of_llama_cpp_does_not_say_that_it_was_cut(text: str) -> None:
    """Its `completed` is written whatever happened (`timings` shows that it is its own)."""
    timings = {"timings": {"predicted_n": 19, "predicted_ms": 1.5}}
    upstream = responses(text, None, **timings)
    _, answer = mend(upstream.bytes(), protocol="responses", question=asked())
    assert [outcome.status for outcome in answer.outcomes] == ["refused"]
    whole = Response("responses", asked())
    mend_whole(whole, json.dumps(upstream.events[-1]["response"]).encode())
    assert [outcome.status for outcome in whole.outcomes] == ["refused"]


def test_what_llama_cpp_closed_is_mended_and_its_written_calls_count() -> None:
    timings = {"timings": {"predicted_n": 19}}
    for text, status in ((CLOSED, "valid"), (PYTHON, "repaired")):
        _, answer = mend(responses(text, None, **timings).bytes(), protocol="responses", question=asked())
        assert [outcome.status for outcome in answer.outcomes] == [status]
    written = '<tool_call>{"name": "Bash", "arguments": {"command": "ls"}}</tool_call>'
    said = Upstream().message(written).end("completed", **timings).bytes()
    _, answer = mend(said, protocol="responses", question=asked())
    assert [outcome.status for outcome in answer.outcomes] == ["repaired"]
