"""Text that passes unread gives what the same text gives one character at a time: the same text, the same calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dialects.text_protocols import PROTOCOLS, Protocol
from tests.splits import feed
from tests.textcalls.declared import TWENTY, scan, text_of
from toolcalls.dialects.text_search import TextPiece, TextSearch
from toolcalls.engine import Response
from toolcalls.mend.finish import Finish
from toolcalls.policy import Policy
from toolcalls.request.request import Request, read_request
from toolcalls.textcalls import FoundCall, Scanner
from toolcalls.textcalls.formats import ANYWHERE, LINE_HEAD
from toolcalls.textcalls.openers import BEGUN, BEHIND, CHAINED, OPENER
from toolcalls.unread.passed_text import Field

CONTENT = Field("content")
OPENERS = sorted({opener for format in (*ANYWHERE, *LINE_HEAD) for opener in format.openers})
CALL = '<tool_call>{"name": "Read", "arguments": {"file_path": "/a.py"}}</tool_call>'
QUOTING = ["`", "``", "```", "~", "~~~", '"', '"""', "'", "'''", "> ", "    ", "- ", "1. ", "| ", "\\", "“", "「"]
SPANS = ["<pre>", "</pre>", "<!--", "-->", "<code>", "</code>", "<<EOF", "EOF", "<think>", "</think>", "<example>"]
PLAIN = ["\n", "\n\n", " ", "word", "a", "c", "A", "Act", "comm", "é", "漢", "=", "[", "]", "<", "</", "\t", "\r"]
pieces = st.sampled_from([*QUOTING, *SPANS, *PLAIN, *PLAIN, CALL, f"\n{CALL}\n", *OPENERS])
cut = st.tuples(pieces, st.integers(0, 9)).map(lambda one: one[0] if one[1] else one[0][: len(one[0]) // 2])
texts = st.lists(st.lists(cut, max_size=5).map("".join), min_size=1, max_size=12)


def event(text: str, *, ascii: bool, extra: int) -> bytes:
    said = {"index": 0, "delta": {"content": text}, "pad": "x" * extra}
    return b"data: " + json.dumps(said, ensure_ascii=ascii).encode() + b"\n\n"


def told(prose: TextSearch, groups: list[list[str]], ascii: bool, extra: int) -> list[Any]:
    """As the dialects ask: the whole block, then each event, and then it is read."""
    out: list[Any] = []
    for group in groups:
        blocks = [event(text, ascii=ascii, extra=extra) for text in group]
        whole = b"".join(blocks)
        if prose.repeats(whole) or prose.all_repeat(whole) or prose.passes(whole, len(blocks)):
            out += group
            continue
        for text, block in zip(group, blocks, strict=True):
            if prose.repeats(block) or prose.passes(block, 1):
                out.append(text)
            elif text:
                out += [part.text if isinstance(part, TextPiece) else part for part in prose.take(text).parts]
    out += [part.text if isinstance(part, TextPiece) else part for part in prose.close(Finish.COMPLETE).parts]
    joined: list[Any] = []
    for item in filter(None, out):
        if isinstance(item, str) and joined and isinstance(joined[-1], str):
            joined[-1] += item
        else:
            joined.append(item)
    return joined


@settings(max_examples=500, deadline=None)
@given(texts, st.integers(1, 4), st.booleans(), st.sampled_from([0, 400, 1100]))
def test_what_passes_unread_gives_what_single_characters_give(
    said: list[str], size: int, ascii: bool, extra: int
) -> None:
    groups = [said[at : at + size] for at in range(0, len(said), size)]
    got = told(TextSearch(Request(tools=TWENTY), Policy(), CONTENT), groups, ascii, extra)
    assert got == scan("".join(said), size=1)


@settings(max_examples=300, deadline=None)
@given(texts, st.sampled_from([0, 400, 1100]), st.booleans(), st.booleans())
def test_several_events_are_harmless_if_each_of_them_is(
    said: list[str], extra: int, numbered: bool, varied: bool
) -> None:
    def event_of(number: int, text: str) -> bytes:
        head = {"sequence_number": 98 + number} if numbered else {}
        pad = "x" * (extra + number * (varied and numbered))
        data = json.dumps({"id": "i", **head, "content": text, "pad": pad}, ensure_ascii=number % 2 == 0)
        return f"event: e\ndata: {data}\n\n".encode()

    events = [event_of(number, text) for number, text in enumerate(said * 3)]
    form = Field("content", numbered=True).form(event_of(0, "b"))
    assert form is not None and form.harmless(event_of(1, "b")) and form.says(b'"id": "i"')
    assert form.all_harmless(b"".join(events)) == all(map(form.harmless, events))
    assert not form.all_harmless(b"".join([*events, event_of(5, "b").replace(b'"i"', b'"j"'), event_of(6, "b")]))
    assert not form.all_harmless(b"".join([*events, event_of(5, "b").replace(b'"pad"', b'"content":"a"')]))


@settings(max_examples=300, deadline=None)
@given(texts)
def test_the_scanner_that_skips_gives_what_single_characters_give(said: list[str]) -> None:
    scanner = Scanner(TWENTY)
    out = [item for text in said for item in scanner.feed(text)] + scanner.close()
    whole = scan("".join(said), size=1)
    assert text_of(out) == text_of(whole)
    assert [item for item in out if isinstance(item, FoundCall)] == [
        item for item in whole if isinstance(item, FoundCall)
    ]


def may_begin(opener: str, before: str, end: str) -> bool:
    """May the end of a text, behind what stands before it, become this opener?"""
    return opener.startswith(end) and (not before or BEHIND.get(opener, before) == before)


@settings(max_examples=300, deadline=None)
@given(st.lists(cut, max_size=8).map("".join))
def test_text_that_is_harmless_has_no_opener_and_no_beginning_of_one(text: str) -> None:
    begun = BEGUN.search(text) is not None
    ends = [(text[at - 1 : at], text[at:]) for at in range(len(text))]
    if OPENER.search(text) or any(may_begin(opener, *end) for opener in CHAINED for end in ends):
        assert begun, text
    for ascii in (True, False):
        for extra in (0, 1100):
            if CONTENT.harmless(event(text, ascii=ascii, extra=extra), 1):
                assert not begun, text


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
@settings(max_examples=60, deadline=None)
@given(said=texts, size=st.integers(1, 400))
def test_on_every_protocol_the_cuts_of_the_network_change_nothing(
    protocol: Protocol, said: list[str], size: int
) -> None:
    tools = [{"name": "Read", "input_schema": {"type": "object"}}]
    question = read_request({"tools": tools, "stream": True})
    body = protocol.stream([text for text in said if text] or ["x"], False)
    whole = feed(Response(protocol.name, question), [body])
    assert (
        feed(Response(protocol.name, question), [body[at : at + size] for at in range(0, len(body), size)]) == whole
    )


@pytest.mark.parametrize("size", [10, 2000])
def test_a_text_with_a_raw_line_feed_is_not_of_the_form_however_long_it_is(size: int) -> None:
    form = CONTENT.form(event("a", ascii=True, extra=0))
    assert form is not None and form.harmless(event("x" * size, ascii=True, extra=0))
    assert not form.harmless(event("x" * size + "|", ascii=True, extra=0).replace(b"|", b"\n\ndata: y"))


@pytest.mark.parametrize("size", [10, 2000])
def test_a_call_behind_the_text_is_not_of_the_form_however_long_it_is(size: int) -> None:
    def said(**delta: Any) -> bytes:
        return b"data: " + json.dumps({"choices": [{"delta": {**delta, "role": "assistant"}}]}).encode() + b"\n\n"

    form = CONTENT.form(said(content="a"))
    assert form is not None and form.harmless(said(content="x" * size))
    call = {"index": 0, "function": {"name": "Read", "arguments": json.dumps({"file_path": "x" * size})}}
    assert not form.harmless(said(content="", tool_calls=[call]))
    assert not form.harmless(said(content="", function_call=call["function"]))
    assert not form.harmless(said(content="a", reasoning="b" * size, finish_reason="tool_use"))


@pytest.mark.parametrize("escape", [r"C:\dir", r"\u12 x", r"C:\\dir"])
@pytest.mark.parametrize("size", [100, 2000])
def test_an_event_that_is_no_json_costs_no_call_behind_it(size: int, escape: str) -> None:
    """A long one passes as it came: what is broken in it concerns no call."""
    said = ["Hello", " there", " you", "x" * size + escape, json.dumps("\n" + CALL)[1:-1]]
    for protocol in PROTOCOLS:
        answer = Response(
            protocol.name, read_request({"tools": [{"name": "Read", "input_schema": {}}], "stream": True})
        )
        body = protocol.stream([f"@{number}@" for number in range(len(said))], False)
        for number, text in enumerate(said):
            body = body.replace(f'"@{number}@"'.encode(), f'"{text}"'.encode())
        feed(answer, [body[at : at + 50] for at in range(0, len(body), 50)])
        assert answer.failure is None
        assert [outcome.name for outcome in answer.outcomes] == ["Read"], protocol.name


def test_a_call_behind_a_text_that_is_numbered_is_read_in_chat() -> None:
    call = {"index": 0, "id": "c", "type": "function", "function": {"name": "Read", "arguments": "{file_path: 1}"}}

    def said(number: int, **delta: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        return b"data: " + json.dumps({"sequence_number": number, "choices": [choice]}).encode() + b"\n\n"

    for text in ("hi", "a <\u003e x"):
        answer = Response("chat", read_request({"tools": [{"name": "Read", "input_schema": {}}], "stream": True}))
        feed(answer, [*(said(number, content="hi") for number in range(4)), said(4, content=text, tool_calls=[call])])
        assert [outcome.status for outcome in answer.outcomes] == ["repaired"]


@pytest.mark.parametrize("cut", [0, 1, 50])
def test_two_raw_carriage_returns_in_a_numbered_text_fail_nothing(cut: int) -> None:
    protocol = next(protocol for protocol in PROTOCOLS if protocol.name == "responses")
    body = protocol.stream(["a", "b", "c@d", "e"], False).replace(b"@", b"\r\r")
    answer = Response("responses", read_request({"tools": [{"name": "Read", "input_schema": {}}], "stream": True}))
    feed(answer, [body[at : at + (cut or len(body))] for at in range(0, len(body), cut or len(body))])
    assert answer.failure is None


@pytest.mark.parametrize(("first", "found"), [("\n", 1), ("\n```\n", 0)])
def test_two_events_that_end_their_lines_differently_are_no_form(first: str, found: int) -> None:
    def said(text: str) -> bytes:
        return event(text, ascii=True, extra=0)

    two = said("a ").replace(b"\n", b"\r\n") + said("\n```\n")
    chunks = [said("hi "), said("you "), said(first), two, two, said("\n" + CALL)]
    question = read_request({"tools": [{"name": "Read", "input_schema": {}}], "stream": True})
    for pieces in (chunks, [b"".join(chunks)]):
        answer = Response("chat", question)
        feed(
            answer,
            [
                piece.replace(b'{"index"', b'{"choices": [{"index"')
                .replace(b"}\n", b"}]}\n")
                .replace(b"}\r", b"}]}\r")
                for piece in pieces
            ]
            + [b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'],
        )
        assert len(answer.outcomes) == found


@pytest.mark.parametrize("tail", [{"x": "abc", "delta": f"\n{CALL}"}, {"x": {"y": "z", "logprobs": 1}}])
def test_a_long_event_is_read_where_what_follows_its_text_is_odd(tail: dict[str, Any]) -> None:
    where = {"type": "response.output_text.delta", "sequence_number": 7, "item_id": "m"}

    def numbered(text: str, **more: Any) -> bytes:
        return b"data: " + json.dumps({**where, "delta": text, "logprobs": [], **more}).encode() + b"\n\n"

    def twice(raw: bytes) -> bytes:
        return raw.replace(b'"x": "abc", "delta2"', b'"x": "abc", "delta"')

    form = Field("delta", numbered=True).form(numbered("a"))
    assert form is not None and form.harmless(numbered("x" * 2000))
    assert form.harmless(numbered("x" * 2000, x="abc"))
    odd = {f"{key}2" if key == "delta" else key: value for key, value in tail.items()}
    assert form.harmless(twice(numbered("x" * 2000, **odd))) == ("delta" not in tail)
    assert not form.harmless(twice(numbered("x" * 2000 + "\nAct", **odd)))
