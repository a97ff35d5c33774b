"""No rehearsal, no quotation and nothing that was read aloud runs; the calls that are meant do.

`tests/must_not_run/quotations.py` prints the figures by class, and every way that fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.must_not_run import meant, quotations
from tests.must_not_run import parts as wire
from tests.must_not_run.parts import Part
from tests.must_not_run.quotations import MEANT, QUOTED, STRUCTURED, all_ways, cases, problem
from tests.must_not_run.wires import TOOLS, Json
from tests.must_not_run.written import COMMON, FORMATS, RARE, FormatWriter, Made
from tests.protocols.text_protocols import CHAT, GEMINI, OLLAMA, PROTOCOLS, Client, Protocol
from tests.sampling import part
from tests.splits import mend
from toolcalls.engine import Response, mend_whole
from toolcalls.request.request import read_request

WAYS = all_ways()
GROUPS = list(Counter(way.group for way in WAYS))
EVERY = 211
"""One case in so many is cut at every place."""


def test_every_way_has_a_name_of_its_own() -> None:
    assert len(WAYS) >= 900
    assert len({(way.group, way.name, way.protocols) for way in WAYS}) == len(WAYS)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
@pytest.mark.parametrize("group", GROUPS)
def test_a_quoted_call_is_text_and_the_text_is_not_changed(group: str, protocol: Protocol) -> None:
    """Each on one of the wires, unless they are few: the text of all goes the same way."""
    every = list(cases([way for way in WAYS if way.group == group], protocol))
    sample = every if len(every) < 200 else part(every, 2 * len(PROTOCOLS), PROTOCOLS.index(protocol))
    wrong = [f"{said}: {case}" for case in sample if (said := problem(case))]
    assert not wrong, f"{len(wrong)} of {len(sample)}:\n" + "\n".join(wrong[:60])


@pytest.mark.parametrize(("protocol", "rest"), [(OLLAMA, 0), (GEMINI, 1)], ids=["ollama", "gemini"])
def test_a_quoted_call_is_text_on_the_other_wires_too(protocol: Protocol, rest: int) -> None:
    """Their text goes the same way, so a part of the cases shows it."""
    sample = [replace(case, protocol=protocol) for case in part(cases(WAYS, CHAT), 14, rest)]
    assert len(sample) > 500
    wrong = [f"{said}: {case}" for case in sample if (said := problem(case))]
    assert not wrong, f"{len(wrong)} of {len(sample)}:\n" + "\n".join(wrong[:60])


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_the_cut_of_the_bytes_does_not_matter(protocol: Protocol) -> None:
    sample = [case for case in cases(WAYS, protocol) if case.number % EVERY == 0]
    assert len(sample) > 30
    for case in sample:
        mend(quotations.stream_of(case), protocol=protocol.name, question=quotations.question_of(case))


# What is meant


def filled(text: str, format: FormatWriter) -> str:
    calls = {"%AB%": format(QUOTED, MEANT), "%A%": format(QUOTED), "%B%": format(MEANT)}
    for mark, call in calls.items():
        text = text.replace(mark, call)
    return text


def expected(name: str, text: str) -> list[Made]:
    if name in meant.FIRST_ONLY_TEXT:
        return [MEANT]
    return [QUOTED, MEANT] if "%AB%" in text or "%B%" in text else [QUOTED]


def examples(protocol: Protocol) -> Iterator[tuple[str, FormatWriter, tuple[Part, ...], list[Made], Json]]:
    """A name, a format, the parts of the answer, the calls that are meant, and the request."""
    texts = {**meant.WHOLE, **meant.TEXTS, **meant.GLUED}
    for number, (name, text) in enumerate(texts.items()):
        rare = [RARE[(number * 7 + step) % len(RARE)] for step in range(6)]
        for format in (FORMATS[each] for each in (*COMMON, *rare)):
            fits = name in meant.WHOLE if format.whole else name not in meant.GLUED or format.name in COMMON
            if "```" in format(QUOTED) and name == "one that was thought of before":
                continue  # The fence of the format itself is open or not, and nobody knows.
            if fits:
                yield name, format, (Part("text", filled(text, format)),), expected(name, text), {}
    for name, request in meant.REQUESTS.items():
        for format in (FORMATS[each] for each in COMMON):
            call = format(QUOTED)
            said = request(call)
            if protocol.name == "responses" and "messages" in said:
                said = {"input": said["messages"]}
            yield name, format, (Part("text", f"I do it.\n\n{call}"),), [QUOTED], said
    for name, (parts, which) in meant.PARTS.items():
        for format in (FORMATS[each] for each in COMMON):
            made = tuple(Part(part.kind, filled(part.text, format), part.name) for part in parts)
            calls = {"A": QUOTED, "B": MEANT, "S": STRUCTURED}
            yield name, format, made, [calls[letter] for letter in which], {}


def received(protocol: Protocol, parts: tuple[Part, ...], request: Json, number: int) -> Client:
    answer = Response(protocol.name, read_request({"tools": TOOLS, "stream": True, **request}))
    if number % 4 == 3:
        return protocol.read_document(mend_whole(answer, wire.document(protocol, parts)))
    return protocol.read(mend_whole(answer, wire.stream(protocol, parts, (0, 30, -1)[number % 3], number)))


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_a_call_that_is_meant_is_found(protocol: Protocol) -> None:
    """Each on one of the wires: the text of all goes the same way."""
    missed = []
    sample = part(enumerate(examples(protocol)), len(PROTOCOLS), PROTOCOLS.index(protocol))
    for number, (name, format, parts, calls, request) in sample:
        client = received(protocol, parts, request, number)
        made = [(call["name"], call["arguments"]) for call in client.calls]
        if sorted(made, key=repr) != sorted(calls, key=repr):
            missed.append(f"{name} · {format.name}: {made} for {calls}")
        elif format(calls[0]) in client.text:
            missed.append(f"{name} · {format.name}: the call is text as well")
    assert not missed, f"{len(missed)}:\n" + "\n".join(missed[:60])


def test_a_text_copy_of_a_structured_call_is_dropped() -> None:
    for protocol in PROTOCOLS:
        for format in (FORMATS[name] for name in COMMON):
            parts = (
                Part("text", f"I read it.\n\n{format(STRUCTURED)}"),
                quotations.PARTS["in the thought, then a structured call"][0][1],
            )
            client = received(protocol, parts, {}, 0)
            assert [(call["name"], call["arguments"]) for call in client.calls] == [STRUCTURED], format.name
