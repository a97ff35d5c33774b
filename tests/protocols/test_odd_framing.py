"""Framing that is almost right, in every protocol: no event is lost for it, and healthy streams keep their bytes."""

from __future__ import annotations

import re

import pytest

from tests.must_not_run.wires import Said, call, stream
from tests.protocols.text_protocols import (
    CHAT,
    GEMINI,
    MESSAGES,
    OLLAMA,
    RESPONSES,
    ZAI,
    Protocol,
    deltas,
    gemini_event,
    ollama_line,
)
from tests.splits import feed, mend
from toolcalls.engine import Response
from toolcalls.wire import sse

PROTOCOLS = pytest.mark.parametrize("protocol", [CHAT, MESSAGES, RESPONSES], ids=lambda protocol: protocol.name)
SAID = (
    Said(text=("Let me ", "look."), finish="stop"),
    Said(text=("Let me look.",), calls=(call("Bash", '{"command":', '"ls"}'),), finish="calls"),
    Said(calls=(call("Bash", "{'command': 'ls'}"), call("Read", '{"file_path":"/a"}')), finish="calls"),
)


def run(protocol: Protocol, said: Said, body: bytes) -> bytes:
    return mend(body, protocol=protocol.name, question=said.question)[0]


@PROTOCOLS
@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("tail", [b"", b"\n", b"\r\n"])
def test_the_last_event_without_its_blank_line_is_ended(protocol: Protocol, said: Said, tail: bytes) -> None:
    healthy = stream(protocol, said)
    if protocol is CHAT and not said.calls:
        # `[DONE]` says no more than the end of the stream, and all the rest passed as it came.
        body = healthy.rstrip() + tail
        assert run(protocol, said, body) == body
        healthy = healthy.removesuffix(b"data: [DONE]\n\n")
        assert run(protocol, said, healthy.rstrip() + tail).rstrip() == healthy.rstrip()
        assert run(protocol, said, healthy.rstrip() + tail).endswith((b"\n\n", b"\r\n\n"))
        return
    out = run(protocol, said, healthy.rstrip() + tail)
    assert sse.cut(out)[1] == len(out)
    assert protocol.read(out) == protocol.read(run(protocol, said, healthy))


@PROTOCOLS
def test_half_an_event_at_the_end_of_a_text_is_not_ended(protocol: Protocol) -> None:
    """A client that was never told that it is whole drops it; one that was told would stumble over it."""
    said = SAID[0]
    events = sse.split(stream(protocol, said))
    head, last = b"".join(events[:1]), events[-2].rstrip()
    for size in range(len(last) // 2, len(last)):
        out = run(protocol, said, head + last[:size])
        assert last[:size] + b"\n\n" not in out


@PROTOCOLS
@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("wrapper", [b"data: data: ", b"data:data:", b"data: data: data: "])
def test_data_inside_data_is_read(protocol: Protocol, said: Said, wrapper: bytes) -> None:
    healthy = stream(protocol, said)
    expected = run(protocol, said, healthy)
    events = sse.split(healthy)
    for which in (range(len(events)), range(1, len(events), 2), [len(events) - 1]):
        body = b"".join(
            raw.replace(b"data: ", wrapper, 1) if number in which else raw for number, raw in enumerate(events)
        )
        out = run(protocol, said, body)
        assert b"data: data:" not in out and b"data:data:" not in out
        assert protocol.read(out) == protocol.read(expected)


@PROTOCOLS
@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("comment", [b"data: : OPENROUTER PROCESSING\n\n", b"data: :\n\n", b"data:: ping\r\n\r\n"])
def test_a_comment_as_data_becomes_a_comment(protocol: Protocol, said: Said, comment: bytes) -> None:
    healthy = stream(protocol, said)
    expected = run(protocol, said, healthy)
    events = sse.split(healthy)
    for place in range(1, len(events)):
        out = run(protocol, said, b"".join([*events[:place], comment, *events[place:]]))
        assert re.search(rb"^data: ?:", out, re.MULTILINE) is None
        assert re.sub(rb"^:[^\r\n]*[\r\n]+", b"", out, flags=re.MULTILINE) == expected


@PROTOCOLS
def test_a_healthy_stream_keeps_its_bytes_with_every_line_end(protocol: Protocol) -> None:
    body = stream(protocol, SAID[0])
    for line_end in (b"\n", b"\r\n", b"\r"):
        written = b": hello\n\n".replace(b"\n", line_end) + body.replace(b"\n", line_end)
        assert run(protocol, SAID[0], written) == written


def same_at_every_cut(protocol: Protocol, said: Said, body: bytes) -> bytes:
    """What the client gets, the same wherever a line end is cut."""
    out = run(protocol, said, body)
    for line_end in re.finditer(rb"[\r\n]", body):
        cut = line_end.start()
        assert feed(Response(protocol.name, said.question), [body[:cut], body[cut:]]) == out
    return out


def with_plain_line_ends(body: bytes) -> bytes:
    return re.sub(rb"\n\n+", b"\n\n", re.sub(rb"\r\n|\r", b"\n", body))


BLANK_LINES = pytest.mark.parametrize("blank_line", [b"\r\r\n", b"\r\r\n\n", b"\r\r\n\r\r\n"])


@PROTOCOLS
@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("wrapper", [b"data: ", b"data: data: "])
@BLANK_LINES
def test_an_lf_behind_a_cr_that_ended_an_event_is_the_same_for_every_cut(
    protocol: Protocol, said: Said, wrapper: bytes, blank_line: bytes
) -> None:
    healthy = stream(protocol, said)
    body = healthy.replace(b"data: ", wrapper).replace(b"\n\n", blank_line)
    out = same_at_every_cut(protocol, said, body)
    if not said.calls and wrapper == b"data: ":
        assert out == body
    assert protocol.read(with_plain_line_ends(out)) == protocol.read(run(protocol, said, healthy))


@pytest.mark.parametrize("protocol", [CHAT, MESSAGES, RESPONSES, GEMINI, ZAI], ids=lambda protocol: protocol.name)
@pytest.mark.parametrize("text", ["Let me look.\n<tool_call>not a call", "Let me look.\n<tool_cal"])
@BLANK_LINES
def test_the_same_holds_behind_text_that_was_held(protocol: Protocol, text: str, blank_line: bytes) -> None:
    body = re.sub(rb"\r\n\r\n|\n\n", blank_line, protocol.stream(deltas(text, 5), False))
    out = same_at_every_cut(protocol, SAID[0], body)
    assert protocol.read(with_plain_line_ends(out)).text == text


HELD_TEXT = "Let me look. <tool_cal"
HALVES = (
    b"d",
    b"data",
    b"data:",
    b"data: ",
    b'data: {"ch',
    b'data: {"ch\n',
    b"event: err",
    b"event: x\ndata: {",
    b": com",
    b"id: 3",
)
"""Beginnings of events. A blank line behind one of them would make an event that the upstream never sent."""


def begun(protocol: Protocol, text: str) -> bytes:
    """An answer up to its last delta, which holds this text."""
    if protocol is OLLAMA:
        return ollama_line({"content": text})
    if protocol is GEMINI:
        return gemini_event({"text": text})
    whole = stream(protocol, Said((text,)))
    events = sse.split(whole)
    last = max(number for number, raw in enumerate(events) if b"delta" in raw and b"Let me" in raw)
    return b"".join(events[: last + 1])


@pytest.mark.parametrize(
    ("protocol", "halves"),
    [(CHAT, HALVES), (GEMINI, HALVES), (OLLAMA, (b"{", b'{"model": "m", "mess'))],
    ids=lambda value: getattr(value, "name", ""),
)
def test_half_an_event_passes_as_it_came_behind_the_text_that_was_held(
    protocol: Protocol, halves: tuple[bytes, ...]
) -> None:
    """It never overtakes that text, and is never ended: clients would read it."""
    head = begun(protocol, HELD_TEXT)
    alone = run(protocol, SAID[0], head)
    assert alone != head, "the text was held in the middle of its event"
    for half in halves:
        assert run(protocol, SAID[0], head + half) == alone + half


@pytest.mark.parametrize("protocol", [MESSAGES, RESPONSES], ids=lambda protocol: protocol.name)
def test_half_an_event_is_dropped_if_an_end_of_ours_follows(protocol: Protocol) -> None:
    for text in (HELD_TEXT, "Let me look."):
        head = begun(protocol, text)
        alone = run(protocol, SAID[0], head)
        for half in HALVES:
            assert run(protocol, SAID[0], head + half) == alone


def test_half_an_event_is_dropped_behind_a_call_that_was_held() -> None:
    said = Said(calls=(call("Bash", '{"command":"ls"}'),), finish="none")
    head = stream(CHAT, said)
    alone = run(CHAT, said, head)
    assert alone.endswith(b"data: [DONE]\n\n")
    written = Said(text=('Let me look.\n<tool_call>{"name": "Bash", "arguments": {"command": "ls"}}</tool_call>',))
    for half in HALVES:
        assert run(CHAT, said, head + half) == alone
        ended = stream(CHAT, written)
        assert run(CHAT, written, ended.removesuffix(b"data: [DONE]\n\n") + half) == run(CHAT, written, ended)


@PROTOCOLS
def test_white_space_and_comments_at_the_end_never_overtake_text_that_was_held(protocol: Protocol) -> None:
    head = begun(protocol, HELD_TEXT)
    alone = run(protocol, SAID[0], head)
    for tail in (b"\n", b" ", b": ping\n"):
        assert run(protocol, SAID[0], head + tail) == alone + tail


@pytest.mark.parametrize("half", [b'data: data: {"ch', b'data: x\n \ndata: {"ch'])
def test_half_an_event_that_is_wrapped_or_glued_is_not_ended_either(half: bytes) -> None:
    out = run(CHAT, SAID[0], begun(CHAT, HELD_TEXT) + half)
    assert out.endswith(b'{"ch')
