"""Past a size, text is not searched: no event stalls the other streams, whatever its text is made of.

The time is that of the processor, in any one callback. A call behind text that was not searched is text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests import hard_work
from tests.hard_work import HERMES, WIRES, compact
from tests.pace import check_quick, feed_timed
from toolcalls.engine import Response
from toolcalls.policy import Policy
from toolcalls.request.request import read_request
from toolcalls.sizes import MOST_SEARCHED

Json = dict[str, Any]
LONGEST = 0.1
"""Seconds of processor time that one callback may take."""
SIZE = 4_000_000
CALL = HERMES % '"ls"'

REPEATED = {
    "words": "one two three ",
    "invented turns": "\nHuman: a\n\nAssistant: b",
    "Kimi's openers": "<|tool_call_begin|>",
    "round brackets": "(",
    "brackets of all kinds": "[{(<",
    "openers": "<tool_call>",
    "calls": CALL,
    "parameters": "<parameter=command>",
    "Mistral's openers": "[TOOL_CALLS]",
    "Granite's openers": "<|tool_call|>[",
    "ReAct": "\nAction: Bash\nAction Input: ",
    "closers": "</tool_call>",
    "reasoning tags": "<think>a</think>",
    "apostrophes": "'a ",
    "quotes": 'a "b" “c” ',
    "backticks": "`",
    "fences": "```\n",
    "quoted lines": "\n> ",
    "tags": "<a>\n",
    "colons": "a: ",
    "keys": "<arg_key>a</arg_key><arg_value>",
    "line ends": " \n",
    "backslashes": "\\",
    "lists": "\n- `a`: ",
    "calls of a language": "Bash(",
    "ends of reasoning": "</think>",
    "blocks": '\n<glm_block >{"a":1}</glm_block>',
}


def repeated(text: str, size: int = SIZE) -> str:
    return (text * (size // len(text) + 1))[:size]


def _chat(texts: list[str]) -> Json:
    choices = (
        {"index": at, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        for at, text in enumerate(texts)
    )
    return {"id": "x", "object": "chat.completion", "choices": list(choices)}


def _messages(texts: list[str]) -> Json:
    content = [{"type": "text", "text": text} for text in texts]
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": "end_turn",
        "usage": {},
    }


def _responses(texts: list[str]) -> Json:
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
    return {"id": "resp_1", "object": "response", "status": "completed", "output": [item]}


def _ollama(texts: list[str]) -> Json:
    return {
        "model": "m",
        "message": {"role": "assistant", "content": "".join(texts)},
        "done": True,
        "done_reason": "stop",
    }


def _gemini(texts: list[str]) -> Json:
    content = {"parts": [{"text": text} for text in texts], "role": "model"}
    return {"candidates": [{"content": content, "index": 0, "finishReason": "STOP"}]}


DOCUMENTS: dict[str, Callable[[list[str]], Json]] = {
    "chat": _chat,
    "messages": _messages,
    "responses": _responses,
    "ollama": _ollama,
    "gemini": _gemini,
}


@pytest.fixture(autouse=True)
def _one_event_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hard_work, "PIECE", 10**9)


def answer_of(protocol: str, body: bytes, **asked: Any) -> tuple[Response, bytes, float]:
    """The answer to a body that arrives in reads, what the client gets, and the longest callback in seconds."""
    answer = Response(protocol, read_request({**WIRES[protocol].request, **asked}), Policy())
    return answer, *feed_timed(answer, body)


@pytest.mark.parametrize("name", REPEATED)
@pytest.mark.parametrize("protocol", WIRES)
def test_one_event_of_4_mb_of_text_stalls_nothing(protocol: str, name: str) -> None:
    answer, sent, slowest = answer_of(protocol, WIRES[protocol].said(text := repeated(REPEATED[name])))
    assert not answer.outcomes and (protocol == "zai" or json.dumps(text).encode() in sent)
    check_quick(slowest, LONGEST)


@pytest.mark.parametrize("name", REPEATED)
@pytest.mark.parametrize("protocol", DOCUMENTS)
def test_a_document_with_4_mb_of_text_stalls_nothing(protocol: str, name: str) -> None:
    answer, sent, slowest = answer_of(
        protocol, body := compact(DOCUMENTS[protocol]([repeated(REPEATED[name])])).encode()
    )
    assert not answer.outcomes and sent == body
    check_quick(slowest, LONGEST)


@pytest.mark.parametrize("name", REPEATED)
def test_as_much_text_as_is_searched_stalls_nothing(name: str) -> None:
    """The limit is low enough for the slowest text."""
    for text in (repeated(REPEATED[name], MOST_SEARCHED), repeated(REPEATED[name], MOST_SEARCHED - len(CALL)) + CALL):
        _, _, slowest = answer_of("chat", WIRES["chat"].said(text))
        check_quick(slowest, LONGEST)


@pytest.mark.parametrize("name", ["invented turns", "round brackets", "parameters", "Granite's openers"])
@pytest.mark.parametrize("protocol", DOCUMENTS)
def test_many_texts_of_one_document_count_together(protocol: str, name: str) -> None:
    texts = [repeated(REPEATED[name], 100_000)] * 40
    answer, sent, slowest = answer_of(protocol, body := compact(DOCUMENTS[protocol](texts)).encode())
    assert not answer.outcomes and sent == body
    check_quick(slowest, LONGEST)


def _texts(protocol: str, texts: list[str]) -> bytes:
    """A stream with these texts, one event each."""
    whole = WIRES[protocol].said("".join(texts)).decode()
    mark = json.dumps("".join(texts))
    for line in whole.split("\n\n"):
        if mark in line and '"delta"' in line:
            head, tail = line.split(mark)[0], line.split(mark, 1)[1]
            return whole.replace(line, "\n\n".join(head + json.dumps(text) + tail for text in texts), 1).encode()
    raise AssertionError


@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
def test_a_call_behind_text_that_was_not_searched_is_text(protocol: str) -> None:
    """The text before it may quote it, in the same text and in the next one."""
    long = repeated("one two. ", MOST_SEARCHED + 1) + "\n"
    for texts in ([long + CALL], [long, CALL], [long, "More.\n", CALL]):
        answer, sent, _ = answer_of(protocol, _texts(protocol, texts))
        assert not answer.outcomes and all(json.dumps(text).encode() in sent for text in texts)
    short = "One two.\n" * (MOST_SEARCHED // 10) + "Let me look:\n"
    for texts in ([short + CALL], [short, CALL], [short, short, CALL]):
        answer, _, _ = answer_of(protocol, _texts(protocol, texts))
        assert [outcome.name for outcome in answer.outcomes] == ["Bash"]


@pytest.mark.parametrize("protocol", ["chat", "messages", "responses", "ollama", "gemini"])
def test_in_a_document_too(protocol: str) -> None:
    long, short = ("One two.\n" * (MOST_SEARCHED // size) + "Let me look:\n" for size in (9, 10))
    answer, sent, _ = answer_of(protocol, body := compact(DOCUMENTS[protocol]([long + CALL])).encode())
    assert not answer.outcomes and sent == body
    answer, _, _ = answer_of(protocol, compact(DOCUMENTS[protocol]([short + CALL])).encode())
    assert [outcome.name for outcome in answer.outcomes] == ["Bash"]


def test_in_the_next_block_of_messages_too() -> None:
    long = repeated("one two. ", MOST_SEARCHED + 1)
    for texts in ([long, CALL], [long, "More.", CALL], ["a", long, CALL]):
        answer, sent, _ = answer_of("messages", body := compact(_messages(texts)).encode())
        assert not answer.outcomes and sent == body
    answer, _, _ = answer_of("messages", compact(_messages(["Let me look:\n", CALL])).encode())
    assert [outcome.name for outcome in answer.outcomes] == ["Bash"]


def test_a_structured_call_behind_it_is_mended_as_ever() -> None:
    long = hard_work.chat({"content": repeated("one two. ", MOST_SEARCHED + 1)})
    call = hard_work.chat_call("{'command': 'ls'}") + hard_work.chat({}, "tool_calls") + "data: [DONE]\n\n"
    answer, _, _ = answer_of("chat", (long + call).encode())
    assert [outcome.status for outcome in answer.outcomes] == ["repaired"]


@pytest.mark.parametrize("name", ["words", "invented turns", "round brackets", "parameters", "openers"])
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "refusal"])
def test_reasoning_stalls_nothing(field: str, name: str) -> None:
    said = hard_work.chat({field: repeated(REPEATED[name])}) + hard_work.chat({}, "stop") + "data: [DONE]\n\n"
    answer, sent, slowest = answer_of("chat", said.encode())
    assert not answer.outcomes and sent == said.encode()
    check_quick(slowest, LONGEST)


@pytest.mark.parametrize("name", ["words", "invented turns", "brackets of all kinds", "fences"])
def test_an_answer_in_json_stalls_nothing(name: str) -> None:
    for text in (repeated(REPEATED[name]), json.dumps({"a": repeated(REPEATED[name])})):
        for body in (WIRES["chat"].said(text), compact(_chat([text])).encode()):
            _, sent, slowest = answer_of("chat", body, response_format={"type": "json_object"})
            assert sent == body
            check_quick(slowest, LONGEST)


@pytest.mark.parametrize("name", ["words", "openers", "brackets of all kinds", "quotes"])
def test_an_error_that_quotes_4_mb_stalls_nothing(name: str) -> None:
    message = "Failed to parse input at pos 0: " + repeated(REPEATED[name])
    for body in (f"data: {compact({'error': {'message': message}})}\n\n", compact({"error": {"message": message}})):
        _, _, slowest = answer_of("chat", body.encode())
        check_quick(slowest, LONGEST)
