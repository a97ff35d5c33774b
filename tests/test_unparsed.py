"""Events that pass unparsed: the client gets what it would get if each of them were parsed."""

from __future__ import annotations

import json
import random

import pytest

from tests.protocols.test_chat import line
from tests.protocols.text_protocols import CHAT, GEMINI, MESSAGES, OLLAMA, RESPONSES, Protocol
from toolcalls.alike import Alike
from toolcalls.engine import Response
from toolcalls.protocols.chat import Chat
from toolcalls.request.request import read_request

CALL = '<tool_call>{"name": "Read", "arguments": {"file_path": "/a.py"}}</tool_call>'
QUESTION = read_request({"tools": [{"name": "Read", "input_schema": {"type": "object"}}], "stream": True})
PIECES = (
    *("The ", "parser", " reads it.", ".", "\n", "\n\n", "Words", " \n", "- a list\n", "\n> quoted", "\n>", "\n>>", ">> "),
    *("Act", "Action", "Action: ", "\nAct", "ion: x\n", "to", "to=", "functions.Read", "\nto", "a", "\na", "assistant"),
    *("[", "[TOOL", "_CALLS]", "[/THINK]", "]", "]<]", "<", "<tool", "_call>", "</think>", "◁", "◁/think▷", "`", "```"),
    *('"', 'say "x"', "\\", "\\\"", "\\u003c", "C:\\new", "\t", "é", "日本語", "👩‍👩‍👧", "\u2028", "{", "}", '{"a": 1}', ""),
    *(CALL[:9], CALL[9:40], CALL[40:], CALL, f"\n{CALL}"),
)  # fmt: skip
every_protocol = pytest.mark.parametrize(
    "protocol", (CHAT, MESSAGES, RESPONSES, GEMINI, OLLAMA), ids=lambda protocol: protocol.name
)


def answer(protocol: Protocol, chunks: list[bytes]) -> tuple[bytes, list[str]]:
    response = Response(protocol.name, QUESTION, seed="s")
    out = b"".join(piece for chunk in chunks for piece in response.feed(chunk)) + b"".join(response.close())
    assert response.failure is None
    return out, [outcome.arguments for outcome in response.outcomes]


@every_protocol
def test_the_answer_is_the_same_as_if_every_event_were_parsed(
    protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(7)
    streams = []
    for _ in range(300):
        texts = [chance.choice(PIECES) for _ in range(chance.randint(1, 14))]
        body = protocol.stream(["Well, ", *(texts if chance.random() < 0.7 else [*texts, f"\n{CALL}"])], False)
        streams.append(body.replace(b"\\u003c", b"<") if chance.random() < 0.5 else body)
    quick = [answer(protocol, [body]) for body in streams]
    some = [answer(protocol, [body[at : at + 90] for at in range(0, len(body), 90)]) for body in streams]
    monkeypatch.setattr(Alike, "learn", lambda *_: None)
    parsed = [answer(protocol, [body]) for body in streams]
    assert sum(bool(calls) for _, calls in parsed) > 30
    assert quick == parsed
    assert some == parsed


@pytest.mark.parametrize("place", [{"index": 1}, {}], ids=["another index", "no index"])
def test_text_in_a_choice_that_gets_another_index_is_the_same_as_if_it_were_parsed(
    place: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def chunk(delta: object) -> bytes:
        return b"data: %s\n\n" % json.dumps({"id": "c", "choices": [{**place, "delta": delta}]}).encode()

    def part(arguments: str, **more: object) -> dict[str, object]:
        return {"tool_calls": [{"index": 0, **more, "function": {"name": "Read", "arguments": arguments}}]}

    chance = random.Random(3)
    streams = []
    for _ in range(300):
        said = [chunk({"content": chance.choice(PIECES)}) for _ in range(chance.randint(1, 14))]
        calls = [chunk(part("", id="a")), *(chunk(part(text)) for text in ('{"file', "_path", '":"/a"}'))]
        at = chance.randint(0, len(said))
        streams.append(b"".join([*said[:at], *calls, *said[at:]] if chance.random() < 0.5 else said))
    quick = [answer(CHAT, [body]) for body in streams]
    monkeypatch.setattr(Alike, "learn", lambda *_: None)
    assert quick == [answer(CHAT, [body]) for body in streams]


def event(text: str, **more: str) -> bytes:
    return f"data: {json.dumps({'delta': text, **more}, ensure_ascii=False)}\n\n".encode()


def alike(**more: str) -> Alike:
    made = Alike()
    made.learn(event("some words", **more), "some words")
    return made


@pytest.mark.parametrize("text", ["more words", 'say "x"', "two\nlines", "line\n", "\\", '\\"', "a tab\t", "é 日本"])
def test_any_text_that_begins_no_call_passes(text: str) -> None:
    raw = event(text)
    assert alike().texts(raw * 3, True)[1] == len(raw) * 3
    assert alike().piece(raw) == text


@pytest.mark.parametrize(
    "text",
    ["a <", "x[", "[TOOL", "one.", ".assistant", "Action:", "words\nAct", "words\n>", "to=", "]", "\\u003c"],
)
def test_text_that_may_begin_a_call_is_parsed_if_it_is_searched(text: str) -> None:
    raw = event(text).replace(b"\\\\u003c", b"\\u003c")  # An escaped `<`.
    assert alike().texts(event("words") + raw, True)[1] == len(event("words"))
    assert alike().texts(raw, None)[1] == len(raw)


@pytest.mark.parametrize(
    ("text", "passes"), [("Act", False), (" to", False), ("Acts", True), ("\n", True), ("to b", True)]
)
def test_a_word_may_begin_a_call_at_the_beginning_of_a_line(text: str, passes: bool) -> None:
    raw = event(text)
    assert alike().texts(raw, True)[1] == len(raw)
    assert alike().texts(event("Words\n") + raw, True)[1] == len(event("Words\n")) + passes * len(raw)


@pytest.mark.parametrize(
    "raw",
    [
        event("words", name="x"),
        event("words").replace(b'"}', b'","more":"}'),
        event("words")[:-1],
        event("words").replace(b"words", b"wor\nds"),
        event("words").replace(b"words", b'wor\\"ds\\'),
        event("words").replace(b"data: ", b"data:"),
    ],
)
def test_an_event_with_anything_else_in_it_is_parsed(raw: bytes) -> None:
    assert alike().texts(raw, None) == ([], 0, None)
    assert alike().piece(raw) == ""


@pytest.mark.parametrize("text", [b"caf\xe9", b"a\xffb", b"a\tb", b"a\x01", b"it\\'s", b'a"b'])
@pytest.mark.parametrize("searched", [True, None])
def test_what_is_no_json_string_is_parsed(text: bytes, searched: bool | None) -> None:
    raw = event("words").replace(b"words", text)
    assert alike().texts(event("words") + raw, searched)[:2] == (["words"], len(event("words")))
    assert alike().piece(raw) == ""


def test_text_that_is_too_long_to_be_searched_is_parsed_wherever_it_is_cut() -> None:
    body = CHAT.stream(["One ", "two ", "word " * 14_000, " so.\n", CALL], False)
    whole = answer(CHAT, [body])
    assert whole[1] == []
    for size in (1023, 1024, 4096, 16384):
        assert answer(CHAT, [body[at : at + size] for at in range(0, len(body), size)]) == whole


@pytest.mark.parametrize(("more", "calls"), [("", 1), (" ", 1), ("x", 0)])
def test_empty_text_that_passes_unparsed_is_no_text(more: str, calls: int) -> None:
    """A call at the end of the reasoning counts if the answer has no other text."""
    asked = {
        "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
        "response_format": {"type": "json_object"},
    }
    thought = json.dumps({"choices": [{"index": 0, "delta": {"reasoning_content": f"I read it.\n{CALL}"}}]})
    body = f"data: {thought}\n\n".encode() + CHAT.stream([" ", " ", more, " "], False)
    for chunks in ([body], [body[at : at + 1] for at in range(len(body))]):
        response = Response("chat", read_request(asked), seed="s")
        for chunk in chunks:
            response.feed(chunk)
        response.close()
        assert len(response.outcomes) == calls


def test_a_value_that_varies_may_stand_on_either_side() -> None:
    made = Alike()
    made.learn(b'data: {"sequence_number":1,"delta":"a","obfuscation":"xx"}\n\n', "a")
    raw = b'data: {"sequence_number":22,"delta":"more","obfuscation":""}\n\n'
    assert made.texts(raw, True) == (["more"], len(raw), True)
    assert made.texts(raw.replace(b"22", b'{"a":1}'), True) == ([], 0, True)


def test_what_says_nothing_beside_a_text_does_not_make_events_be_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, read = [], Chat.read
    monkeypatch.setattr(Chat, "read", lambda self, event: seen.append(event) or read(self, event))
    delta = {"role": None, "content": "some words", "odd": None, "more": [], "name": "", "meta": {}}
    body = line({"choices": [{"index": 0, "delta": delta, "finish_reason": None, "matched": None}]}).encode()
    response = Response("chat", QUESTION, seed="s")
    assert b"".join(piece for _ in range(20) for piece in response.feed(body)) == body * 20
    assert len(seen) < 5
