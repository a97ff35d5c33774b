"""Which protocol an answer speaks, told by its first event."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.protocols.zai_streams import Backend, question
from toolcalls.engine import PROTOCOLS, Response, mend_whole, protocol_of
from toolcalls.sniff import by_event, by_rest
from toolcalls.wire import sse

KNOWN = ("chat", "messages", "responses", "zai", "gemini", "ollama")
CHAT = b'data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'
ZAI = Backend().delta("hi").stream


@pytest.mark.parametrize(
    ("event", "name"),
    [
        ({"type": "chat:completion", "data": {"phase": "answer"}}, "zai"),
        ({"data": {"phase": "answer", "delta_content": "x"}}, "chat"),
        ({"type": "message_start", "message": {}}, "messages"),
        ({"type": "response.created", "response": {}}, "responses"),
        ({"object": "chat.completion.chunk", "choices": []}, "chat"),
        ({"error": {"message": "x"}}, "chat"),
        ({"choices": [], "data": {"phase": "x"}}, "chat"),
    ],
)
def test_the_first_event_tells(event: dict[str, Any], name: str):
    assert by_event(sse.write(json.dumps(event)), KNOWN) == name


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"type": "message"}, "messages"),
        ({"object": "response"}, "responses"),
        ({"choices": []}, "chat"),
        ([{"candidates": []}], "gemini"),
        ({"message": {"role": "assistant"}, "done": True}, "ollama"),
    ],
)
def test_the_body_tells(body: Any, name: str):
    assert by_rest(json.dumps(body).encode(), KNOWN) == name


def test_a_protocol_that_is_not_known_is_read_as_chat():
    assert by_event(b'data: {"type": "message_start"}\n\n', ("chat",)) == "chat"


def test_comments_and_text_decide_nothing_and_the_first_object_decides_for_good():
    answer = Response("auto", question())
    assert b"".join(answer.feed(b": connected\n\ndata: ping\n\n")) == b": connected\n\ndata: ping\n\n"
    begins = b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
    assert answer.feed(begins) == [begins]
    assert answer.feed(CHAT) == [CHAT]


def test_ordinary_streams_are_chat_s_own_business_after_one_look():
    answer = Response("chat", question())
    assert answer.feed(CHAT) == [CHAT]
    assert answer.feed(ZAI) == [ZAI]


def test_a_z_ai_stream_at_the_same_path_is_converted_from_its_first_event():
    answer = Response("chat", question())
    answer.feed(b": connected\n\n")
    assert b"chat.completion.chunk" in b"".join(answer.feed(ZAI))


def test_the_paths_of_chat_z_ai_are_known():
    assert protocol_of("/api/chat/completions") == protocol_of("/api/v2/chat/completions?timestamp=1") == "chat"
    assert {"auto", "chat", "zai"} <= set(PROTOCOLS)


def test_a_chat_error_body_and_a_plain_answer_pass_auto_untouched():
    for body in (b'{"error": {"message": "x"}}', b'{"choices": [{"message": {"content": "x"}}]}', CHAT):
        assert mend_whole(Response("auto", question()), body) == body
