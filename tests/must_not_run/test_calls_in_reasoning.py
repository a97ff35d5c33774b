"""A call in the reasoning is a thought, unless it is the very end of an answer that says nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.must_not_run import meant, quotations
from tests.must_not_run import parts as wire
from tests.must_not_run.parts import Part
from tests.must_not_run.quotations import MEANT, QUOTED, STRUCTURED, Case, all_ways, cases, question_of
from tests.must_not_run.test_quotations import filled
from tests.must_not_run.wires import TOOLS, Json
from tests.must_not_run.written import COMMON, FORMATS
from tests.protocols.test_chat import DONE, chunk
from tests.protocols.text_protocols import (
    CHAT,
    GEMINI,
    MESSAGES,
    OLLAMA,
    RESPONSES,
    ZAI,
    Client,
    Protocol,
    gemini_event,
    ollama_line,
)
from tests.sampling import part
from tests.splits import mend
from toolcalls.engine import Response, mend_whole
from toolcalls.policy import Policy
from toolcalls.request.request import Request, read_request

PROTOCOLS = (CHAT, MESSAGES, OLLAMA, GEMINI, RESPONSES, ZAI)
THOUGHT = "The user wants it gone. I run the command now.\n\n"

every_protocol = pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
common_formats = pytest.mark.parametrize("format", COMMON)
PAIRS = [
    pytest.param(protocol, format, id=f"{protocol.name}-{format}")
    for number, protocol in enumerate(PROTOCOLS)
    for format in part(COMMON, 2, number)
]
every_second = pytest.mark.parametrize(("protocol", "format"), PAIRS)
"""Every protocol with every second of the common formats, and every format with every second protocol."""


def question(**request: Any) -> Request:
    return read_request({"tools": TOOLS, "stream": True, **request})


def clients(
    protocol: Protocol,
    *parts: Part,
    asked: Request | None = None,
    body: Any = None,
    policy: Policy | None = None,
) -> Iterator[Client]:
    """What the client ends with: streamed, at every split, in deltas of several sizes, and as one document."""
    asked = asked or question()
    policy = replace(policy or Policy(), zai="on")
    for size in (0, 40, 3) if body is None else (0,):
        raw = wire.stream(protocol, parts, size) if body is None else body
        out, answer = mend(raw, protocol=protocol.name, question=asked, policy=policy, few=size == 3)
        assert not answer.limited
        yield protocol.read(out)
        if not answer.outcomes and not protocol.converts:
            assert out == raw
    if body is None and not protocol.converts:
        document = wire.document(protocol, parts)
        out = mend_whole(Response(protocol.name, asked, policy), document)
        yield protocol.read_document(out)


def thought(text: str) -> Part:
    return Part("reasoning", text)


def made(client: Client) -> list[tuple[str, Json]]:
    return [(call["name"], call["arguments"]) for call in client.calls]


# What is meant


@every_protocol
@pytest.mark.parametrize("format", FORMATS)
def test_a_call_that_the_reasoning_ends_with_is_one_where_nothing_else_is_said(
    protocol: Protocol, format: str
) -> None:
    written = FORMATS[format]
    before = "" if written.whole else THOUGHT
    for client in clients(protocol, thought(before + written(QUOTED))):
        assert made(client) == [QUOTED]
        assert client.text == ""
        assert client.finish == protocol.finishes[1]


@every_second
def test_what_may_stand_around_such_a_call(protocol: Protocol, format: str) -> None:
    written = FORMATS[format]
    for text, calls in (
        (written(QUOTED, MEANT), [QUOTED, MEANT]),
        (written(QUOTED) + "\n\n", [QUOTED]),
        (written(QUOTED) + "<|im_end|>", [QUOTED]),
        ("First I would say\n" + written(MEANT) + "\nbut no. I do this instead.\n\n" + written(QUOTED), [QUOTED]),
    ):
        for client in clients(protocol, thought(THOUGHT + text)):
            assert made(client) == calls, text
    for client in clients(protocol, thought(THOUGHT + written(QUOTED)), Part("text", "\n\n")):
        assert made(client) == [QUOTED]


@pytest.mark.parametrize("protocol", PROTOCOLS[:-1], ids=lambda protocol: protocol.name)
def test_the_reasoning_passes_as_it_comes(protocol: Protocol) -> None:
    """Nothing of it waits for anything, whether it is a call or not."""
    text = THOUGHT + FORMATS["hermes"](QUOTED)
    raw = wire.stream(protocol, (thought(text),), 3, finish=False)
    answer = Response(protocol.name, question())
    end = {OLLAMA: b"\n", GEMINI: b"\r\n\r\n"}.get(protocol, b"\n\n")
    for event in raw.split(end)[:-1]:
        assert b"".join(answer.feed(event + end)) == event + end
    # Where an answer has to have an end it gets one, and nothing but that.
    assert answer.close() == [] or protocol in (MESSAGES, RESPONSES)
    assert not answer.outcomes


@pytest.mark.parametrize("protocol", (CHAT, OLLAMA, GEMINI), ids=lambda protocol: protocol.name)
def test_reasoning_in_the_event_that_ends_the_answer_does_not_wait(protocol: Protocol) -> None:
    before, _, last = (THOUGHT + FORMATS["hermes"](QUOTED)).partition("</tool")
    first = wire.stream(protocol, (thought(before),), finish=False)
    end = {
        "chat": (chunk({"reasoning_content": _ + last}, "stop") + DONE).encode(),
        "ollama": ollama_line({"thinking": _ + last}, done_reason="stop"),
        "gemini": gemini_event({"text": _ + last, "thought": True}, finish="STOP"),
    }[protocol.name]
    for client in clients(protocol, body=first + end):
        assert made(client) == [QUOTED]
    answer = Response(protocol.name, question())
    answer.feed(first)
    assert b"/tool_call" in b"".join(answer.feed(end.replace(DONE.encode(), b"")))


# What is not


AFTER = {
    "text": (Part("text", "I ask first."),),
    "one letter": (Part("text", "."),),
    "white space, then text": (Part("text", "\n\n"), Part("further", "I ask first.")),
    "more reasoning": (thought("\nNo, I had better ask."),),
    "one more letter of reasoning": (thought("."),),
    "text before it": (),
}


@every_second
@pytest.mark.parametrize("after", AFTER)
def test_a_rehearsal_that_something_follows_stays_a_thought(protocol: Protocol, format: str, after: str) -> None:
    rehearsed = thought(THOUGHT + FORMATS[format](QUOTED))
    parts = (rehearsed, *AFTER[after]) if AFTER[after] else (Part("text", "Hello."), rehearsed)
    for client in clients(protocol, *parts):
        assert made(client) == []
        assert client.finish == protocol.finishes[0]


WEIGHED = (
    "The file's last line is", "If the user agrees, I will run:", "Maybe", "Hmm, what about", "I have no permission for",
    "Last time I ran", "Previously I called", "Earlier in this conversation I made this call:", "The wrong way is",
    "Rather than", "What if someone sends", "The test expects the output", "I'd rather ask first than run",
    "So the model would emit", "which decodes to", "The hidden text in the page is", "The user wants me to repeat:",
    "Now run", "Let me see what it is about", "Next I need to", "The build is stale.", "The user wants me to delete it.",
    "Checking", "Simulating:", "Let me think about which is better:", "I should not run", "The user wrote:", "For example:",
)  # fmt: skip
"""What breaks off before a call, or shows it: the thought is about the call, it does not make it."""
ACTED = (
    "I will run", "So I run this:", "The tests fail, so I'll call", "We should run", "Let me check:",
)  # fmt: skip


@every_protocol
@common_formats
def test_a_rehearsal_beside_a_structured_call_stays_a_thought(protocol: Protocol, format: str) -> None:
    rehearsed = thought(THOUGHT + FORMATS[format](QUOTED))
    structured = quotations.PARTS["in the thought, then a structured call"][0][1]
    for parts in ((rehearsed, structured), (structured, rehearsed)):
        for client in clients(protocol, *parts):
            assert made(client) == [STRUCTURED]


@every_protocol
@common_formats
def test_a_rehearsal_beside_a_call_in_the_text_stays_a_thought(protocol: Protocol, format: str) -> None:
    written = FORMATS[format]
    for client in clients(protocol, thought(THOUGHT + written(QUOTED)), Part("text", written(MEANT))):
        assert made(client) == [MEANT]


@every_protocol
@common_formats
def test_an_answer_that_was_cut_off_or_ends_without_a_word_has_no_calls_in_its_reasoning(
    protocol: Protocol, format: str
) -> None:
    parts = (thought(THOUGHT + FORMATS[format](QUOTED)),)
    whole = wire.stream(protocol, parts, 20)
    cut = whole.replace(f'"{protocol.finishes[0]}"'.encode(), f'"{protocol.finishes[2]}"'.encode())
    assert cut != whole
    for client in clients(protocol, body=cut):
        assert made(client) == []
    unfinished = wire.stream(protocol, parts, 20, finish=False)
    out, answer = mend(unfinished, protocol=protocol.name, question=question())
    assert (protocol.converts or out.startswith(unfinished)) and not answer.outcomes
    half = (thought(THOUGHT + FORMATS[format](QUOTED)[:-9]),)
    for client in clients(protocol, *half):
        assert made(client) in ([], [QUOTED])
    inside = FORMATS[format](QUOTED).partition("-rf")[0]
    for client in clients(protocol, thought(THOUGHT + inside)):
        assert made(client) == []


@every_second
def test_what_the_client_does_not_want_is_not_looked_for(protocol: Protocol, format: str) -> None:
    call = FORMATS[format](QUOTED)
    parts = (thought(THOUGHT + call),)
    read_aloud = {"messages": [{"role": "user", "content": f"This page says {call}. Is that good?"}]}
    for asked, policy in (
        (question(tool_choice="none"), None),
        (question(**read_aloud), None),
        (read_request({"stream": True}), None),
        (question(), Policy(text_calls="off")),
        (question(tools=[tool for tool in TOOLS if tool["function"]["name"] != "Bash"]), None),
    ):
        for client in clients(protocol, *parts, asked=asked, policy=policy):
            assert made(client) == []


def in_the_reasoning(case: Case) -> tuple[Part, ...]:
    return tuple(
        replace(part, kind="reasoning") if part.kind in ("text", "further") else part
        for part in case.way.parts(case.format)
    )


@pytest.mark.parametrize(("protocol", "rest"), list(zip(PROTOCOLS, range(len(PROTOCOLS)), strict=True)))
def test_nothing_that_is_quoted_or_rehearsed_in_the_reasoning_runs(protocol: Protocol, rest: int) -> None:
    """All ways to quote a call, with all that was said as reasoning: a part of the cases on each wire."""
    seen: Counter[str] = Counter()
    wrong = []
    for case in part(cases(all_ways(), CHAT), 20, rest):
        parts = in_the_reasoning(case)
        answer = Response(protocol.name, question_of(case))
        if case.number % 4 == 3 and not protocol.converts:
            client = protocol.read_document(mend_whole(answer, wire.document(protocol, parts)))
        else:
            client = protocol.read(mend_whole(answer, wire.stream(protocol, parts, (0, 30, -1)[case.number % 3], 1)))
        calls = made(client)
        seen["cases"] += 1
        if any(calls.count(call) > case.way.meant.count(call) for call in calls):
            wrong.append(str(case))
    assert seen["cases"] > 300
    assert not wrong, f"{len(wrong)} of {seen['cases']}:\n" + "\n".join(wrong[:40])


@every_protocol
def test_a_call_that_is_meant_is_found_in_the_reasoning_as_it_would_be_in_the_text(protocol: Protocol) -> None:
    missed = []
    for number, (name, text) in enumerate({**meant.WHOLE, **meant.TEXTS}.items()):
        for written in part([FORMATS[each] for each in COMMON], 2, number):
            parts = (thought(filled(text, written)),)
            answer = Response(protocol.name, question())
            raw = wire.stream(protocol, parts, (0, 30, -1)[number % 3], number)
            if not {*map(repr, made(protocol.read(mend_whole(answer, raw))))} & {repr(QUOTED), repr(MEANT)}:
                missed.append(f"{name} · {written.name}")
    assert not missed, f"{len(missed)}:\n" + "\n".join(missed[:40])
