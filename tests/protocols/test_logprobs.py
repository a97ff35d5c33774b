"""Every entry of `logprobs` reaches the client exactly once and in order, wherever text is held, split or moved."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.must_not_run.wires import Said
from tests.protocols.responses_wire import Upstream
from tests.protocols.test_chat import DONE
from tests.protocols.text_protocols import CHAT, OLLAMA, RESPONSES, ollama_line
from tests.splits import mend
from toolcalls.engine import Response, mend_whole
from toolcalls.policy import Policy

Json = dict[str, Any]
QUESTION = Said().question

TEXTS = {
    "plain": ["Just", " some", " words", "."],
    "held": ["if a", " <", " b", ":", " x", "[", "0]", " = {", "1", "}"],
    "held to the end": ["a", " <"],
    "split": ["a <", "b", " and [", " c", "{"],
    "several tokens": ["x <", "tool", "_", "x>", " y"],
    "head": ["It is ", "<tool_call>", " in the", " text."],
    "no call": ["<tool_call>\n", '{"name": "Bash", ', "oops", "</tool_call>", " and more"],
    "split head": ["See:\n<tool", '_call>\n{"name": ', '"Nope"}\n</tool_call>\n', "end <"],
}


def entries(token: str, number: int) -> list[Json]:
    """The entries of a delta: two, so that a delta may be split between them."""
    half = len(token) // 2
    return [
        {"token": part, "logprob": -0.5, "bytes": list(part.encode()), "top_logprobs": [], "number": [number, place]}
        for place, part in enumerate((token[:half], token[half:]))
    ]


def chat_chunk(delta: Json, entry: list[Json] | None = None, reason: str | None = None, **more: Any) -> str:
    choice = {"index": 0, "delta": delta, "logprobs": {"content": entry} if entry else None, "finish_reason": reason}
    said = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **more}
    return f"data: {json.dumps(said)}\n\n"


def chat_entries(out: bytes) -> list[Json]:
    found: list[Json] = []
    for line in out.decode().splitlines():
        if line.startswith("data: {"):
            for choice in json.loads(line[6:])["choices"]:
                found += (choice.get("logprobs") or {}).get("content") or []
    return found


@pytest.mark.parametrize("last", [True, False], ids=["a text beside the reason", "the reason alone"])
@pytest.mark.parametrize("usage", [{}, {"usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}}])
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("reason", ["stop", "length"])
def test_chat(name: str, last: bool, usage: Json, reason: str) -> None:
    texts = TEXTS[name]
    expected = [entry for number, text in enumerate(texts) for entry in entries(text, number)]
    body = chat_chunk({"role": "assistant", "content": ""})
    for number, text in enumerate(texts):
        ends = last and number == len(texts) - 1
        body += chat_chunk({"content": text}, entries(text, number), reason if ends else None, **usage)
    body += DONE if last else chat_chunk({}, None, reason) + DONE
    for policy in (Policy(), Policy(text_calls="")):
        out, _ = mend(body, question=QUESTION, policy=policy)
        assert CHAT.read(out).text == "".join(texts)
        assert chat_entries(out) == expected


def test_chat_beside_calls_and_reasoning() -> None:
    call = {
        "index": 0,
        "id": "call_1",
        "type": "function",
        "function": {"name": "Read", "arguments": '{"file_path":"/a"}'},
    }
    deltas = [
        {"role": "assistant", "reasoning_content": "Hm"}, {"reasoning_content": "m", "content": "a <"}, {"content": "b"},
        {"content": " c [", "tool_calls": [call]}, {"tool_calls": [{"index": 0, "function": {"arguments": " "}}]},
    ]  # fmt: skip
    expected = [entry for number in range(len(deltas)) for entry in entries("xy", number)]
    body = "".join(chat_chunk(delta, entries("xy", number)) for number, delta in enumerate(deltas))
    for aggregate in (True, False):
        out, _ = mend(
            body + chat_chunk({}, None, "tool_calls") + DONE, question=QUESTION, policy=Policy(aggregate=aggregate)
        )
        assert CHAT.read(out).calls == [{"name": "Read", "arguments": {"file_path": "/a"}}]
        assert chat_entries(out) == expected


def test_chat_whole() -> None:
    written = 'Let me look.\n<tool_call>\n{"name": "Read", "arguments": {"file_path": "/a"}}\n</tool_call>'
    choice = {"index": 0, "message": {"role": "assistant", "content": written}, "finish_reason": "stop"}
    body = json.dumps({"choices": [{**choice, "logprobs": {"content": entries(written, 0)}}]}).encode()
    out = mend_whole(Response("chat", QUESTION), body)
    assert CHAT.read_document(out).calls
    assert json.loads(out)["choices"][0]["logprobs"] == {"content": entries(written, 0)}


def responses_body(texts: list[str]) -> bytes:
    upstream = Upstream().message(*texts).end("completed")
    number = 0
    for event in upstream.events:
        if event["type"] == "response.output_text.delta":
            event["logprobs"] = entries(event["delta"], number)
            number += 1
    return upstream.bytes()


@pytest.mark.parametrize("name", TEXTS)
def test_responses(name: str) -> None:
    texts = TEXTS[name]
    out, _ = mend(responses_body(texts), protocol="responses", question=QUESTION)
    assert RESPONSES.read(out).text == "".join(texts)
    events = [json.loads(line[6:]) for line in out.decode().splitlines() if line.startswith("data: ")]
    deltas = [event for event in events if event["type"] == "response.output_text.delta"]
    assert [entry for event in deltas for entry in event.get("logprobs", [])] == [
        entry for number, text in enumerate(texts) for entry in entries(text, number)
    ]
    assert all("logprobs" in event for event in deltas)


def test_responses_without_logprobs_gets_none() -> None:
    out, _ = mend(Upstream().message("a <", "b").end("completed").bytes(), protocol="responses", question=QUESTION)
    assert b"logprobs" not in out


@pytest.mark.parametrize("name", TEXTS)
def test_ollama(name: str) -> None:
    texts = TEXTS[name]
    body = b""
    for number, text in enumerate(texts):
        line = json.loads(ollama_line({"content": text}))
        body += json.dumps({**line, "logprobs": entries(text, number)}).encode() + b"\n"
    out, _ = mend(body + ollama_line({}, done_reason="stop"), protocol="ollama", question=QUESTION)
    assert OLLAMA.read(out).text == "".join(texts)
    found = [entry for line in out.splitlines() for entry in json.loads(line).get("logprobs", [])]
    assert found == [entry for number, text in enumerate(texts) for entry in entries(text, number)]
