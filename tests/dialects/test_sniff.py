"""Which protocol an answer speaks, told by its first event."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.dialects.zai_streams import Backend, question
from toolcalls.dialects.chat.dialect import Chat
from toolcalls.dialects.sniff import AnyProtocol, ChatOrZai
from toolcalls.dialects.zai.dialect import Zai
from toolcalls.engine import PROTOCOLS, Response, mend_whole, protocol_of
from toolcalls.wire.events import Event, Replace
from toolcalls.wire.events import Verdict as Said

CHAT = b'data: {"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'
ZAI = Backend().delta("hi").stream


class Named:
    """A dialect that says its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def read(self, event: Event) -> Said:
        return Replace((self.name.encode(),))

    def close(self) -> Replace | None:
        return None

    def body(self, body: bytes) -> bytes:
        return self.name.encode()


def any_protocol() -> AnyProtocol:
    return AnyProtocol(Named, ("chat", "messages", "responses", "zai"))


def said_by(dialect: AnyProtocol, payload: str) -> bytes:
    answer = dialect.read(Event(b"", payload))
    assert isinstance(answer, Replace)
    return answer.out[0]


@pytest.mark.parametrize(
    ("event", "name"),
    [
        ({"type": "chat:completion", "data": {"phase": "answer"}}, b"zai"),
        ({"data": {"error": {"detail": "x"}, "done": True}}, b"zai"),
        ({"type": "message_start", "message": {}}, b"messages"),
        ({"type": "response.created", "response": {}}, b"responses"),
        ({"object": "chat.completion.chunk", "choices": []}, b"chat"),
        ({"error": {"message": "x"}}, b"chat"),
        ({"choices": [], "data": {"phase": "x"}}, b"chat"),
    ],
)
def test_the_first_event_tells(event: dict[str, Any], name: bytes):
    dialect = any_protocol()
    assert said_by(dialect, json.dumps(event)) == name
    # It stays so, whatever comes.
    assert said_by(dialect, '{"type":"message_start"}') == name


@pytest.mark.parametrize(
    ("body", "name"),
    [({"type": "message"}, b"messages"), ({"object": "response"}, b"responses"), ({"choices": []}, b"chat")],
)
def test_the_body_tells(body: dict[str, Any], name: bytes):
    assert any_protocol().body(json.dumps(body).encode()) == name


def test_comments_and_text_decide_nothing():
    dialect = any_protocol()
    assert said_by(dialect, "ping") == b"chat"
    assert said_by(dialect, '{"type":"message_start"}') == b"messages"


def test_a_protocol_that_is_not_known_is_read_as_chat():
    dialect = AnyProtocol(Named, ("chat",))
    assert said_by(dialect, '{"type":"message_start"}') == b"chat"


def test_ordinary_streams_are_chat_s_own_business_after_one_look():
    answer = Response("chat", question())
    assert isinstance(answer._stream.events.dialect, ChatOrZai)
    assert answer.feed(CHAT) == [CHAT]
    assert isinstance(answer._stream.events.dialect, Chat)
    assert answer.feed(ZAI) == [ZAI]


def test_a_z_ai_stream_at_the_same_path_is_converted_from_its_first_event():
    answer = Response("chat", question())
    answer.feed(b": connected\n\n")
    assert b"chat.completion.chunk" in b"".join(answer.feed(ZAI))
    assert isinstance(answer._stream.events.dialect, Zai)
    assert answer._stream.events.dialect.converting


def test_the_paths_of_chat_z_ai_are_known():
    assert protocol_of("/api/chat/completions") == protocol_of("/api/v2/chat/completions?timestamp=1") == "chat"
    assert {"auto", "chat", "zai"} <= set(PROTOCOLS)


def test_a_chat_error_body_and_a_plain_answer_pass_auto_untouched():
    for body in (b'{"error": {"message": "x"}}', b'{"choices": [{"message": {"content": "x"}}]}', CHAT):
        assert mend_whole(Response("auto", question()), body) == body
