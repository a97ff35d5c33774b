"""Calls written as text and structured calls reach the client in the order in which the model made them."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.must_not_run.wires import Said, call, document
from tests.protocols import messages_wire
from tests.protocols.responses_wire import Upstream
from tests.protocols.test_chat import DONE, chunk, piece
from tests.protocols.text_protocols import (
    CHAT,
    GEMINI,
    MESSAGES,
    OLLAMA,
    RESPONSES,
    Protocol,
    deltas,
    gemini_event,
    ollama_line,
)
from tests.splits import mend
from toolcalls.engine import Response, mend_whole

Answer = list[str]
"""What the model said, in order: a text with a call in it, or the path that a structured call of `Read` has."""

QUESTION = Said().question


def written(command: str, before: str = "Let me look.") -> str:
    return f'{before}\n<tool_call>\n{{"name": "Bash", "arguments": {{"command": "{command}"}}}}\n</tool_call>'


def chat(answer: Answer) -> bytes:
    body, number = "", 0
    for said in answer:
        if said.startswith("/"):
            body += chunk(piece(number, f"call_{number}", "Read", json.dumps({"file_path": said})))
            number += 1
        else:
            body += "".join(chunk({"content": text}) for text in deltas(said, 9))
    return (body + chunk({}, "tool_calls") + DONE).encode()


def messages(answer: Answer) -> bytes:
    body = messages_wire.begin()
    for number, said in enumerate(answer):
        if said.startswith("/"):
            body += messages_wire.tool(number, json.dumps({"file_path": said}), identity=f"t{number}", name="Read")
        else:
            body += messages_wire.text(number, *deltas(said, 9))
    return body + messages_wire.end("tool_use")


def responses(answer: Answer) -> bytes:
    upstream = Upstream()
    for number, said in enumerate(answer):
        if said.startswith("/"):
            upstream.call("Read", json.dumps({"file_path": said}), call_id=f"call_{number}")
        else:
            upstream.message(*deltas(said, 9))
    return upstream.end("completed").bytes()


def ollama(answer: Answer) -> bytes:
    body = b""
    for said in answer:
        if said.startswith("/"):
            body += ollama_line({"tool_calls": [{"function": {"name": "Read", "arguments": {"file_path": said}}}]})
        else:
            body += b"".join(ollama_line({"content": text}) for text in deltas(said, 9))
    return body + ollama_line({}, done_reason="stop")


def gemini(answer: Answer) -> bytes:
    body = b""
    for said in answer:
        if said.startswith("/"):
            body += gemini_event({"functionCall": {"name": "Read", "args": {"file_path": said}}})
        else:
            body += b"".join(gemini_event({"text": text}) for text in deltas(said, 9))
    return body + gemini_event({"text": ""}, finish="STOP")


WIRES: list[tuple[Protocol, Callable[[Answer], bytes]]] = [
    (CHAT, chat),
    (MESSAGES, messages),
    (RESPONSES, responses),
    (OLLAMA, ollama),
    (GEMINI, gemini),
]


@pytest.mark.parametrize(("protocol", "stream"), WIRES, ids=[protocol.name for protocol, _ in WIRES])
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ([written("a"), "/b"], ["a", "/b"]),
        ([written("a") + written("b", ""), "/c"], ["a", "b", "/c"]),
        (["/a", written("b", "")], ["/a", "b"]),
        (["/a", written("b", ""), "/c"], ["/a", "b", "/c"]),
    ],
    ids=["text, call", "two in a text, call", "call, text", "call, text, call"],
)
def test_calls_arrive_in_the_order_in_which_they_were_made(
    protocol: Protocol, stream: Callable[[Answer], bytes], answer: Answer, expected: list[str]
) -> None:
    held = protocol.read(mend(stream(answer), protocol=protocol.name, question=QUESTION)[0])
    assert [value for call in held.calls for value in call["arguments"].values()] == expected
    assert held.finish == protocol.finishes[1]


@pytest.mark.parametrize("space", ["", "\n", "\n\n"])
def test_white_space_before_a_structured_call_does_not_move_the_written_call_behind_it(space: str) -> None:
    body = chat([written("a") + space, "/b", written("c", "").lstrip()])
    held = CHAT.read(mend(body, question=QUESTION)[0])
    assert [value for call in held.calls for value in call["arguments"].values()] == ["a", "/b", "c"]


@pytest.mark.parametrize(("protocol", "stream"), WIRES[:3], ids=[protocol.name for protocol, _ in WIRES[:3]])
@pytest.mark.parametrize("broken", range(3))
def test_calls_that_have_to_be_mended_keep_their_places(
    protocol: Protocol, stream: Callable[[Answer], bytes], broken: int
) -> None:
    body = stream([written("a"), "/b", "/c"])
    quoted = json.dumps(json.dumps({"file_path": f"/{'abc'[broken]}"}))[1:-1].encode()
    body = body.replace(quoted, quoted.replace(rb"\"", b"'"))
    held = protocol.read(mend(body, protocol=protocol.name, question=QUESTION)[0])
    assert [value for call in held.calls for value in call["arguments"].values()] == ["a", "/b", "/c"]


def test_a_structured_call_that_repeats_a_text_takes_the_place_of_the_text() -> None:
    for protocol, stream in WIRES[:3]:
        for repeated in "ab":
            body = stream([written("a") + written("b", ""), "/c"])
            body = body.replace(b"Read", b"Bash").replace(b"file_path", b"command").replace(b"/c", repeated.encode())
            held = protocol.read(mend(body, protocol=protocol.name, question=QUESTION)[0])
            assert [call["arguments"]["command"] for call in held.calls] == ["a", "b"]


@pytest.mark.parametrize("protocol", [CHAT, MESSAGES, RESPONSES], ids=lambda protocol: protocol.name)
def test_the_same_holds_for_an_answer_that_is_not_streamed(protocol: Protocol) -> None:
    said = Said((written("a"),), (call("Read", '{"file_path": "/b"}'),), "calls")
    held = protocol.read_document(mend_whole(Response(protocol.name, QUESTION), document(protocol, said)))
    assert [value for call in held.calls for value in call["arguments"].values()] == ["a", "/b"]
