"""The corpus of calls written as text, as answers of every protocol: streamed at several delta sizes, and whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.protocols.text_protocols import CHAT, GEMINI, OLLAMA, PROTOCOLS, ZAI, Client, Protocol, deltas
from tests.sampling import part
from tests.splits import feed, mend
from toolcalls.engine import Response, mend_whole
from toolcalls.policy import Policy
from toolcalls.request.request import Request, read_request

CORPUS = Path(__file__).parents[1] / "textcalls" / "corpus" / "text-calls.jsonl"
CASES = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]
NEGATIVE = [case for case in CASES if case["kind"] == "negative"]
OTHERS = [case for case in CASES if case["kind"] != "negative"]
SIZES = (1, 2, 3, 7, 100_000)
CONVERTING = Policy(zai="on")
"""chat.z.ai is converted for clients without tools too."""

every_protocol = pytest.mark.parametrize(
    "protocol", (*PROTOCOLS, OLLAMA, GEMINI, ZAI), ids=lambda protocol: protocol.name
)


def question(case: dict[str, Any]) -> Request:
    return read_request({"tools": case["tools"], "stream": True})


def streamed(protocol: Protocol, case: dict[str, Any], size: int) -> Client:
    answer = Response(protocol.name, question(case), CONVERTING)
    client = protocol.read(feed(answer, [protocol.stream(deltas(case["text"], size), False)]))
    assert answer.failure is None
    return client


@every_protocol
@pytest.mark.parametrize("case", NEGATIVE, ids=lambda case: case["name"])
def test_an_answer_without_a_call_comes_out_as_it_is(protocol: Protocol, case: dict[str, Any]) -> None:
    for size in SIZES:
        assert streamed(protocol, case, size) == Client(case["text"], [], protocol.finishes[0])
    if protocol.converts:
        return
    # No event has to be cut in two: each comes out as the bytes that it came in.
    events = protocol.stream(deltas(case["text"], 1), False)
    assert feed(Response(protocol.name, question(case)), [events]) == events
    body = protocol.document(case["text"], False)
    assert mend_whole(Response(protocol.name, question(case)), body) == body


def is_right(client: Client, case: dict[str, Any], protocol: Protocol) -> bool:
    texts = [text.split() for text in (case["content"], *case.get("content_alt", ()))]
    if client.calls != case["expected"] or client.text.split() not in texts:
        return False
    return client.finish == protocol.finishes[bool(case["expected"])]


@every_protocol
def test_every_call_of_the_corpus_reaches_the_client(protocol: Protocol) -> None:
    wrong, table = [], dict[str, list[int]]()
    others = OTHERS if protocol is CHAT else part(OTHERS, 2, len(protocol.name))
    for case in others:
        clients = {size: streamed(protocol, case, size) for size in SIZES}
        if not protocol.converts:
            body = protocol.document(case["text"], False)
            clients[0] = protocol.read_document(mend_whole(Response(protocol.name, question(case)), body))
        row = table.setdefault(case["format"], [0, 0])
        for size, client in clients.items():
            right = is_right(client, case, protocol)
            row[0] += right
            row[1] += 1
            if not right:
                wrong.append((case["format"], case["name"], size, client))
    for name, (right, count) in sorted(table.items()):
        print(f"{protocol.name:10} {name:32} {right:4} of {count}")
    assert not wrong


@every_protocol
@pytest.mark.parametrize("case", CASES[:: len(CASES) // 24], ids=lambda case: case["name"])
def test_the_same_for_every_split(protocol: Protocol, case: dict[str, Any]) -> None:
    for cut in (False, True):
        body = protocol.stream(deltas(case["text"], 11), cut)
        out, _ = mend(body, protocol=protocol.name, question=question(case), policy=CONVERTING)
        protocol.read(out)
