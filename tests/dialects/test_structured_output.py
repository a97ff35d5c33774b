"""Answers that were asked for as JSON: mended where they have one reading, and nothing else is touched."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.dialects.test_chat import DONE, chunk, piece
from tests.dialects.text_protocols import CHAT, GEMINI, MESSAGES, OLLAMA, RESPONSES, ZAI, Protocol, deltas
from tests.must_not_run.wires import TOOLS
from tests.splits import mend
from toolcalls.engine import Response, mend_whole
from toolcalls.policy import Policy
from toolcalls.request.request import Request, read_request
from toolcalls.request.structured import structured_output_of

Json = dict[str, Any]

SCHEMA: Json = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "string"}}},
    "required": ["a"],
}
PROTOCOLS = (CHAT, MESSAGES, OLLAMA, GEMINI, RESPONSES, ZAI)
every_protocol = pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)


def asked(protocol: Protocol, schema: Json | None = SCHEMA, **more: Any) -> Request:
    if protocol is GEMINI:
        config = {"responseMimeType": "application/json", **({"responseSchema": schema} if schema else {})}
        return read_request({"contents": [], "generationConfig": config, **more}, "gemini")
    if protocol is OLLAMA:
        return read_request({"messages": [], "format": schema or "json", **more}, "ollama")
    if protocol is MESSAGES:
        output = {"format": {"type": "json_schema", **({"schema": schema} if schema else {})}}
        return read_request({"stream": True, "output_config": output, **more})
    if protocol is RESPONSES:
        format = {"type": "json_schema", "name": "x", "schema": schema} if schema else {"type": "json_object"}
        return read_request({"stream": True, "text": {"format": format}, **more})
    wanted: Json = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    # The stream of chat.z.ai is converted for clients that have tools.
    more = {"tools": TOOLS, **more} if protocol is ZAI else more
    return read_request({"stream": True, "response_format": wanted if schema else {"type": "json_object"}, **more})


MENDED: dict[str, tuple[str, Json]] = {
    "a fence": ('```json\n{"a": 1}\n```', {"a": 1}),
    "a fence without a language": ('```\n{"a": 1, "b": ["x"]}\n```\n', {"a": 1, "b": ["x"]}),
    "a fence between words": ('Here it is:\n\n```json\n{"a": 1}\n```\n\nAnything else?', {"a": 1}),
    "words before": ('Sure! Here you go: {"a": 1}', {"a": 1}),
    "words behind": ('{"a": 1}\n\nI hope that this helps.', {"a": 1}),
    "words on both sides": ('The answer is {"a": 1} as you asked.', {"a": 1}),
    "single quotes": ("{'a': 1, 'b': ['x']}", {"a": 1, "b": ["x"]}),
    "a comment": ('{"a": 1,\n  // the list\n  "b": ["x"]}', {"a": 1, "b": ["x"]}),
    "a missing bracket": ('{"a": 1, "b": ["x"]', {"a": 1, "b": ["x"]}),
    "the same twice": ('{"a": 1}{"a": 1}', {"a": 1}),
    "shapes in a fence": ('```json\n{"a": "1", "b": "x"}\n```', {"a": 1, "b": ["x"]}),
    "a tag of its own": ('<answer>{"a": 1}</answer>', {"a": 1}),
    "words and quotes": ("Sure: {'a': 1}", {"a": 1}),
}

STAYS = {
    "valid": '{"a": 1, "b": ["x"]}',
    "valid, over lines": '{\n  "a": 1,\n  "b": [\n    "x"\n  ]\n}\n',
    "valid, of another shape": '{"a": "1"}',
    "valid, a list": "[1, 2]",
    "valid, a text": '"a"',
    "prose": "I am sorry, I cannot do that.",
    "prose with a bracket": "I cannot fill in {name} for you.",
    "two objects": 'Either {"a": 1} or {"a": 2}.',
    "two fences": '```json\n{"a": 1}\n```\nor\n```json\n{"a": 2}\n```',
    "what the schema does not admit": '```json\n{"b": ["x"]}\n```',
    "a call that nobody wanted": '<tool_call>{"a": 1, "name": "x"}</tool_call>',
    "such a call in brackets": '[TOOL_CALLS] {"a": 1, "name": "x"}',
    "two readings": '{"a": 1, "b": ["say "hi", "x"]}',
    "a value that was cut off": '{"a": 1, "b": ["x',
    "nothing": " \n",
}


def is_untouched(protocol: Protocol, out: bytes, raw: bytes, text: str) -> bool:
    """Does the client get what came? Where another protocol is made of it: the same text."""
    return out == raw or (protocol.converts and protocol.read(out).text == text)


@every_protocol
@pytest.mark.parametrize("name", MENDED)
def test_what_has_one_reading_is_mended(protocol: Protocol, name: str) -> None:
    text, value = MENDED[name]
    for size in (1000, 17, 4, 1):
        out, answer = mend(
            protocol.stream(deltas(text, size), False), protocol=protocol.name, question=asked(protocol)
        )
        client = protocol.read(out)
        assert json.loads(client.text) == value
        assert (client.calls, client.finish) == ([], protocol.finishes[0])
        assert [outcome.name for outcome in answer.outcomes] == ["structured output"]
    if not protocol.converts:
        document = mend_whole(Response(protocol.name, asked(protocol)), protocol.document(text, False))
        assert json.loads(protocol.read_document(document).text) == value


@every_protocol
def test_a_trailing_comma_is_mended_unless_it_is_out_before_anybody_can_know(protocol: Protocol) -> None:
    first, second = '{"a": 1, "b": ["x"', ", ]}"
    for texts, mended in (([first + second], True), ([first, second], True), ([first + ",", " ]}"], False)):
        raw = protocol.stream(texts, False)
        out, _ = mend(raw, protocol=protocol.name, question=asked(protocol))
        if mended:
            assert json.loads(protocol.read(out).text) == {"a": 1, "b": ["x"]}
        else:
            assert is_untouched(protocol, out, raw, "".join(texts))


@every_protocol
@pytest.mark.parametrize("name", STAYS)
def test_everything_else_passes_as_it_came(protocol: Protocol, name: str) -> None:
    for size in (1000, 17, 4, 1):
        raw = protocol.stream(deltas(STAYS[name], size), False)
        out, answer = mend(raw, protocol=protocol.name, question=asked(protocol))
        assert is_untouched(protocol, out, raw, STAYS[name])
        assert answer.outcomes == []
    if not protocol.converts:
        whole = protocol.document(STAYS[name], False)
        assert mend_whole(Response(protocol.name, asked(protocol)), whole) == whole


@every_protocol
@pytest.mark.parametrize("name", [*MENDED, *STAYS])
def test_nothing_changes_where_the_answer_was_cut_off_or_nobody_asked_for_json(protocol: Protocol, name: str) -> None:
    text = MENDED[name][0] if name in MENDED else STAYS[name]
    nothing_asked = read_request({"contents": []} if protocol is GEMINI else {"messages": [], "stream": True})
    for cut, question, policy in (
        (True, asked(protocol), None),
        (False, nothing_asked, None),
        (False, asked(protocol), Policy(structured=False)),
    ):
        documents = [] if protocol.converts else [protocol.document(text, cut)]
        for raw in (protocol.stream(deltas(text, 9), cut), *documents):
            out = mend_whole(Response(protocol.name, question, policy), raw)
            assert is_untouched(protocol, out, raw, text)


@every_protocol
def test_valid_json_is_never_held(protocol: Protocol) -> None:
    text = json.dumps({"a": 1, "b": ["x, y", "{", "```"] * 200})
    # Without tools, so that nobody looks for calls in it.
    answer = Response(protocol.name, asked(protocol, tools=[]), Policy(zai="on"))
    end = {OLLAMA: b"\n", GEMINI: b"\r\n\r\n"}.get(protocol, b"\n\n")
    events = protocol.stream(deltas(text, 5), False).split(end)
    for number, event in enumerate(events[:-5]):
        out = b"".join(answer.feed(event + end))
        if protocol.converts:
            assert json.dumps(text[5 * number : 5 * number + 5]).encode() in out
        else:
            assert out == event + end


@every_protocol
def test_what_is_longer_than_we_mend_is_not_held(protocol: Protocol) -> None:
    text = "```json\n" + json.dumps({"a": 1, "b": ["x" * 50] * 2_000}) + "\n```"
    raw = protocol.stream(deltas(text, 500), False)
    answer = Response(protocol.name, asked(protocol))
    assert is_untouched(protocol, mend_whole(answer, raw), raw, text)


@every_protocol
def test_a_list_that_the_schema_asks_for(protocol: Protocol) -> None:
    question = asked(protocol, {"type": "array", "items": {"type": "object"}})
    for text, value in (('```json\n[{"a": 1}]\n```', [{"a": 1}]), ('Sure: [{"a": 1}]', [{"a": 1}])):
        out, _ = mend(protocol.stream(deltas(text, 6), False), protocol=protocol.name, question=question)
        assert json.loads(protocol.read(out).text) == value


@every_protocol
def test_without_a_schema_any_object_will_do(protocol: Protocol) -> None:
    out, _ = mend(
        protocol.stream(deltas("```json\n{'x': 1}\n```", 6), False),
        protocol=protocol.name,
        question=asked(protocol, None),
    )
    assert json.loads(protocol.read(out).text) == {"x": 1}


def test_text_beside_a_call_is_not_the_answer_in_json() -> None:
    said = "".join(chunk({"content": text}) for text in ("Let me ", "look: ```"))
    raw = said + chunk(piece(0, "call_0", "Read", '{"file_path": "a"}')) + chunk({}, "tool_calls") + DONE
    out, answer = mend(raw, question=asked(CHAT, tools=TOOLS))
    client = CHAT.read(out)
    assert client.text == "Let me look: ```"
    assert [call["name"] for call in client.calls] == ["Read"]
    assert [outcome.name for outcome in answer.outcomes] == ["Read"]


def test_a_call_that_is_written_as_text_is_a_call_where_tools_are_declared() -> None:
    text = 'Let me look.\n<tool_call>\n{"name": "Read", "arguments": {"file_path": "a"}}\n</tool_call>'
    out, _ = mend(CHAT.stream(deltas(text, 7), False), question=asked(CHAT, tools=TOOLS))
    client = CHAT.read(out)
    assert [call["name"] for call in client.calls] == ["Read"]
    assert client.text.strip() == "Let me look."


CALL_SHAPED = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
    "required": ["name", "arguments"],
    "additionalProperties": False,
}


@every_protocol
@pytest.mark.parametrize("schema", [CALL_SHAPED, None], ids=["schema", "any JSON"])
@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Read", "arguments": {"file_path": "a"}}',
        '{"name":"Read","arguments":{"file_path":"a"}}\n',
    ],
)
def test_json_that_was_asked_for_and_looks_like_a_call_is_no_call(
    protocol: Protocol, schema: dict[str, Any] | None, text: str
) -> None:
    raw = protocol.stream(deltas(text, 7), False)
    question = asked(protocol, schema, tools=TOOLS)
    out, answer = mend(raw, protocol=protocol.name, question=question)
    assert is_untouched(protocol, out, raw, text)
    assert not any(outcome.is_call for outcome in answer.outcomes)


@every_protocol
def test_fenced_json_that_looks_like_a_call_is_the_json_that_was_asked_for(protocol: Protocol) -> None:
    text = '```json\n{"name": "Read", "arguments": {"file_path": "a"}}\n```'
    question = asked(protocol, CALL_SHAPED, tools=TOOLS)
    out, _ = mend(protocol.stream(deltas(text, 7), False), protocol=protocol.name, question=question)
    client = protocol.read(out)
    assert client.calls == []
    assert json.loads(client.text) == {"name": "Read", "arguments": {"file_path": "a"}}


NOT_THE_ANSWER: dict[str, str] = {
    "a fence behind an object": '{"a": 1}\n```json\n{"a": 2}\n```',
    "an object before the fence": 'Not {"a": 1} but\n```json\n{"a": 2}\n```',
    "an object behind the fence": '```json\n{"a": 2}\n```\nor rather {"a": 3}',
    "a second one that is cut off": '{"a": 2} Correction: {"a": 3',
    "another object that begins": '{"a": 2}\n{"b": ',
    "an example": 'I do not know who that is. An answer would look like {"a": 1}.',
    "a question": 'Do you mean {"a": 1}?',
    "what is wrong": '{"a": 2} is wrong.',
    "a label that takes it back": 'Wrong: {"a": 2}',
    "an example in a fence": '```json\n{"a": 1}\n```\nPlease give me the text.',
    "a German refusal": 'Das geht leider nicht: {"a": 1}',
    "not a number": '{"a": NaN, "b": [1}',
    "an infinite number": '```json\n{"a": 1e999}\n```',
}


@every_protocol
@pytest.mark.parametrize("text", NOT_THE_ANSWER.values(), ids=NOT_THE_ANSWER)
def test_what_is_not_the_one_answer_stays_as_it_is(protocol: Protocol, text: str) -> None:
    raw = protocol.stream(deltas(text, 6), False)
    out, answer = mend(raw, protocol=protocol.name, question=asked(protocol, None))
    assert is_untouched(protocol, out, raw, text)
    assert answer.outcomes == []


@every_protocol
@pytest.mark.parametrize(
    "text", ["I found it, see [1].", "- [ ] todo", "Use a[0] for it.", "{} is a dict in Python."]
)
def test_brackets_between_words_are_no_json_where_no_schema_says_so(protocol: Protocol, text: str) -> None:
    raw = protocol.stream(deltas(text, 6), False)
    out, _ = mend(raw, protocol=protocol.name, question=asked(protocol, None))
    assert is_untouched(protocol, out, raw, text)


@every_protocol
def test_valid_json_that_is_nested_too_deep_for_us_passes(protocol: Protocol) -> None:
    text = '{"a": ' + "[" * 3000 + "]" * 3000 + "}"
    raw = protocol.stream(deltas(text, 500), False)
    answer = Response(protocol.name, asked(protocol, None))
    assert is_untouched(protocol, mend_whole(answer, raw), raw, text)
    assert answer.failure is None


@pytest.mark.parametrize("text", ['"hello, this is a long text"', "42.5"])
def test_a_string_or_a_number_is_not_held(text: str) -> None:
    answer = Response("chat", asked(CHAT, None))
    for delta in deltas(text, 4):
        assert answer.feed(chunk({"content": delta}).encode()) != []


def test_every_protocol_says_in_its_own_place_that_it_wants_json() -> None:
    for request in (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}},
        {"text": {"format": {"type": "json_schema", "name": "x", "schema": SCHEMA}}},
        {"output_format": {"type": "json_schema", "schema": SCHEMA}},
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        {"format": SCHEMA},
        {"contents": [], "generationConfig": {"responseMimeType": "application/json", "responseSchema": SCHEMA}},
        {"contents": [], "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA}},
    ):
        wanted = structured_output_of(request)
        assert wanted is not None and wanted.schema == SCHEMA, request
    for request in (
        {"response_format": {"type": "json_object"}},
        {"format": "json"},
        {"text": {"format": {"type": "json_object"}}},
    ):
        wanted = structured_output_of(request)
        assert wanted is not None and wanted.schema is None, request
    for request in (
        {"response_format": {"type": "text"}},
        {"text": {"verbosity": "low"}},
        {"text": "hi"},
        {"format": ""},
        {"contents": []},
    ):
        assert structured_output_of(request) is None, request
