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
from toolcalls.engine import Response
from toolcalls.mend.finish import Finish
from toolcalls.policy import Policy
from toolcalls.request.request import Request, read_request
from toolcalls.textcalls import FoundCall, Scanner
from toolcalls.textcalls.formats import ANYWHERE, LINE_HEAD
from toolcalls.textcalls.openers import AT_HEAD, BEGUN, CHAINED, OPENER, PRECEDED_BY
from toolcalls.turn.text_search import TextPiece, TextSearch
from toolcalls.unread.opener_bytes import can_open
from toolcalls.unread.passed_text import text_of as passed_text_of
from toolcalls.unread.template import decoded
from toolcalls.wire.events import PASS

OPENERS = sorted({opener for format in (*ANYWHERE, *LINE_HEAD) for opener in format.openers})
CALL = '<tool_call>{"name": "Read", "arguments": {"file_path": "/a.py"}}</tool_call>'
QUOTING = ["`", "``", "```", "~", "~~~", '"', '"""', "'", "'''", "> ", "    ", "- ", "1. ", "| ", "\\", "“", "「"]
SPANS = ["<pre>", "</pre>", "<!--", "-->", "<code>", "</code>", "<<EOF", "EOF", "<think>", "</think>", "<example>"]
PLAIN = ["\n", "\n\n", " ", "word", "a", "c", "A", "Act", "comm", "é", "漢", "=", "[", "]", "<", "</", "\t", "\r"]
pieces = st.sampled_from([*QUOTING, *SPANS, *PLAIN, *PLAIN, CALL, f"\n{CALL}\n", *OPENERS])
cut = st.tuples(pieces, st.integers(0, 9)).map(lambda one: one[0] if one[1] else one[0][: len(one[0]) // 2])
texts = st.lists(st.lists(cut, max_size=5).map("".join), min_size=1, max_size=12)


def literal_of(text: str, *, ascii: bool) -> bytes:
    return json.dumps(text, ensure_ascii=ascii).encode("utf-8", "backslashreplace")[1:-1]


def told(prose: TextSearch, said: list[str], ascii: bool) -> list[Any]:
    """As the stream asks: each text may pass unread, and is taken where it does not."""
    out: list[Any] = []
    for text in said:
        if prose.receive(literal_of(text, ascii=ascii), b"") is PASS:
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
@given(texts, st.booleans(), st.sampled_from([0, 1100]))
def test_what_passes_unread_gives_what_single_characters_give(said: list[str], ascii: bool, extra: int) -> None:
    # A long text is looked at in another way; every third of them is enough.
    said = [text if number % 3 else text + "x" * extra for number, text in enumerate(said)]
    got = told(TextSearch(Request(tools=TWENTY), Policy()), said, ascii)
    assert got == scan("".join(said), size=1)


@given(st.lists(st.text('ab"\\\n\té漢🎉')), st.booleans())
def test_text_that_passed_is_told_when_somebody_asks(said: list[str], ascii: bool) -> None:
    assert passed_text_of([literal_of(text, ascii=ascii) for text in said]) == "".join(said)


def test_a_broken_text_does_not_spoil_those_around_it() -> None:
    assert passed_text_of([b"a\\n", b"C:\\dir\\n`", b"a\tb \\u00e9"]) == "a\nC:\\dir\n`a\tb é"


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
    return opener.startswith(end) and (not before or PRECEDED_BY.get(opener, before) == before)


@settings(max_examples=300, deadline=None)
@given(st.lists(cut, max_size=8).map("".join))
def test_text_without_an_opener_or_the_beginning_of_one_is_told_by_its_bytes(text: str) -> None:
    begun = BEGUN.search(text) is not None
    ends = [(text[at - 1 : at], text[at:]) for at in range(len(text))]
    if OPENER.search(text) or any(may_begin(opener, *end) for opener in CHAINED for end in ends):
        assert begun, text
    for ascii in (True, False):
        assert can_open(literal_of(text, ascii=ascii)) == begun
        # A long text is looked at by its bytes first: that may cost a second look, never an opener.
        for long in (
            text + "x" * 1100,
            "x" * 1100 + text,
            "x\n" * 600 + text + "é" * 600,
            "." + text + " word" * 300,
        ):
            assert can_open(literal_of(long, ascii=ascii)) == (BEGUN.search(long) is not None)


@pytest.mark.parametrize(
    "hidden", ["\\u003ctool_call>", "\\u003Ctool_call>", "<\\u0074ool_call>", "\\u25c1/think", "\\n\\u0041ction:"]
)
@pytest.mark.parametrize("before", ["", "x" * 1100])
@pytest.mark.parametrize("behind", ["", "y" * 1100])
def test_no_escape_hides_an_opener(hidden: str, before: str, behind: str) -> None:
    literal = f"{before}{hidden}{behind}".encode()
    text = decoded(literal)
    assert text is not None
    assert can_open(literal) == (BEGUN.search(text) is not None)


@pytest.mark.parametrize("opener", sorted((*AT_HEAD, *PRECEDED_BY)))
@pytest.mark.parametrize("behind", ["", "c", " and more", "y" * 1100])
def test_an_opener_that_a_text_begins_with_is_told_whatever_follows(opener: str, behind: str) -> None:
    assert can_open(literal_of(opener + behind, ascii=False))
    for before in (" ", "\n ", "x"):
        text = before + opener + behind
        assert can_open(literal_of(text, ascii=False)) == (BEGUN.search(text) is not None)


@pytest.mark.parametrize("broken", [b"C:\\dir", b"\\u12 x"])
def test_a_short_text_that_is_no_json_is_read(broken: bytes) -> None:
    assert can_open(broken)


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


@pytest.mark.parametrize("escape", [r"C:\dir", r"\u12 x", r"C:\\dir"])
@pytest.mark.parametrize("size", [100, 2000])
def test_an_event_that_is_no_json_costs_no_call_behind_it(size: int, escape: str) -> None:
    """A long one passes as it came: what is broken in it concerns no call."""
    said = ["Hello", " there", " you", "x" * size + escape, ". I will read it.", json.dumps("\n" + CALL)[1:-1]]
    for protocol in PROTOCOLS:
        answer = Response(
            protocol.name, read_request({"tools": [{"name": "Read", "input_schema": {}}], "stream": True})
        )
        body = protocol.stream([f"@{number}@" for number in range(len(said))], False)
        # Responses says the whole text again at its end.
        body = body.replace("".join(f"@{number}@" for number in range(len(said))).encode(), "".join(said).encode())
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
