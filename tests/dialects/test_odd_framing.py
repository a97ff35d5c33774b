"""Framing that is almost right, in every protocol: no event is lost for it, and healthy streams keep their bytes."""

from __future__ import annotations

import re

import pytest

from tests.dialects.text_protocols import CHAT, GEMINI, MESSAGES, RESPONSES, ZAI, Protocol, deltas
from tests.must_not_run.wires import Said, call, stream
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
    assert sse.end_of_last_event(out) == len(out)
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
