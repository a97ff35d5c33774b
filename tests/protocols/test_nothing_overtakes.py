"""What says nothing by itself (empty text, usage, log probabilities) does not overtake what waits."""

from __future__ import annotations

import json
from typing import Any

from tests.protocols import messages_wire as messages
from tests.splits import mend
from toolcalls.request.request import read_request

Json = dict[str, Any]
TOOLS = {
    "tools": [{"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}],
    "stream": True,
}


QUESTION_OF_MESSAGES = {"tools": [{"name": "read", "input_schema": {"type": "object"}}], "stream": True}


def chat(delta: Json, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None, **more}
    return f"data: {json.dumps({'id': 'c', 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n".encode()


def call(arguments: str) -> bytes:
    function = {"name": "read", "arguments": arguments}
    return chat({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})


def probability(token: str) -> Json:
    return {"content": [{"token": token, "logprob": -0.1, "bytes": None, "top_logprobs": []}]}


def choices(body: bytes) -> list[Json]:
    lines = [line[6:] for line in body.decode().split("\n\n") if line.startswith("data: {")]
    return [choice for line in lines for choice in json.loads(line)["choices"]]


def test_log_probabilities_go_with_their_text_while_a_call_is_held() -> None:
    tokens = ["One ", "is <", " two", "."]
    texts = b"".join(chat({"content": token}, logprobs=probability(token)) for token in tokens)
    body = call('{"path": "a"}') + texts + chat({}, finish_reason="tool_calls") + b"data: [DONE]\n\n"
    out = choices(mend(body, question=read_request(TOOLS))[0])
    seen = [entry["token"] for one in out for entry in (one.get("logprobs") or {}).get("content", [])]
    assert seen == tokens
    assert "".join(one["delta"].get("content") or "" for one in out) == "".join(tokens)


def test_what_a_chunk_says_beside_its_reason_stays_in_it() -> None:
    last = chat({"content": "", "images": [{"type": "image_url"}]}, finish_reason="tool_calls")
    out = mend(call('{"path": "a"}') + last + b"data: [DONE]\n\n", question=read_request(TOOLS))[0]
    assert last in out


def gemini(candidate: Json, tokens: int) -> bytes:
    answer = {"candidates": [{**candidate, "index": 0}], "usageMetadata": {"candidatesTokenCount": tokens}}
    return f"data: {json.dumps(answer)}\n\n".encode()


def parts(*listed: Json) -> Json:
    return {"content": {"parts": [*listed], "role": "model"}}


QUESTION = {"tools": [{"functionDeclarations": [{"name": "read", "parameters": {"type": "object"}}]}]}


def test_usage_of_gemini_does_not_go_before_the_text_or_the_call_that_waits() -> None:
    held = [
        gemini(parts({"text": "<"}), 1),
        gemini(parts({"functionCall": {"name": "read", "args": {"path": "a"}}}), 4),
    ]
    for first in held:
        for empty in (parts({"text": ""}), parts()):
            body = first + gemini(empty, 2) + gemini({**parts({"text": "."}), "finishReason": "STOP"}, 3)
            assert mend(body, protocol="gemini", question=read_request(QUESTION, "gemini"))[0] == body


def test_a_candidate_of_gemini_without_content_gets_none() -> None:
    two = {
        "candidates": [
            {"finishReason": "STOP", "index": 0},
            {
                **parts({"functionCall": {"name": "read", "args": "{'path': 'a'}"}}),
                "index": 1,
                "finishReason": "STOP",
            },
        ]
    }
    out = mend(f"data: {json.dumps(two)}\n\n".encode(), protocol="gemini", question=read_request(QUESTION, "gemini"))[
        0
    ]
    first = json.loads(out.decode().split("\n\n")[0].removeprefix("data: "))["candidates"][0]
    assert first == {"finishReason": "STOP", "index": 0}


def test_an_empty_delta_of_messages_stays_behind_the_text_before_it() -> None:
    body = messages.begin() + messages.text(0, "a ", "<", "", " b") + messages.end("end_turn")
    assert mend(body, protocol="messages", question=read_request(QUESTION_OF_MESSAGES, "messages"))[0] == body
