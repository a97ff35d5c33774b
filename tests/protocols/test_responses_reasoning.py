"""Calls at the end of reasoning items, however Responses tell them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.must_not_run.quotations import QUOTED
from tests.must_not_run.wires import TOOLS
from tests.must_not_run.written import FORMATS
from tests.protocols.responses_wire import Upstream, compact
from tests.protocols.text_protocols import RESPONSES, Client
from tests.splits import mend
from toolcalls.policy import Policy
from toolcalls.request.request import read_request
from toolcalls.websocket import ResponsesSocket

QUESTION = read_request({"tools": TOOLS, "stream": True})
THOUGHT = "I run the command now.\n\n" + FORMATS["hermes"](QUOTED)


def calls_in(upstream: Upstream) -> list[tuple[str, Any]]:
    out, _ = mend(upstream.bytes(), protocol="responses", question=QUESTION)
    return [(call["name"], call["arguments"]) for call in RESPONSES.read(out).calls]


@pytest.mark.parametrize("own_words", (True, False))
def test_what_may_stand_beside_the_reasoning(own_words: bool) -> None:
    def thought(*texts: str) -> Upstream:
        return Upstream().reasoning(*texts, own_words=own_words)

    assert calls_in(thought(THOUGHT).end()) == [QUOTED]
    assert calls_in(thought(THOUGHT[:20], THOUGHT[20:]).message("\n").end()) == [QUOTED]
    assert calls_in(thought("Let me think.").reasoning(THOUGHT).end()) == [QUOTED]
    assert calls_in(thought(THOUGHT).reasoning("No.").end()) == []
    assert calls_in(thought(THOUGHT).message("I ask first.").end()) == []
    assert calls_in(Upstream().search().reasoning(THOUGHT, own_words=own_words).end()) == []
    assert calls_in(thought(THOUGHT).search().end()) == []
    assert calls_in(thought(THOUGHT).end("incomplete")) == []
    assert calls_in(thought(THOUGHT).end("failed")) == []


def test_the_words_of_the_model_count_and_not_their_summary() -> None:
    for content, summary, calls in (
        (THOUGHT, "It wants to run a command.", [QUOTED]),
        ("I had better ask.", THOUGHT, []),
    ):
        upstream = Upstream()
        item = {"id": "rs_0", "type": "reasoning", "summary": []}
        upstream.say("response.output_item.added", output_index=0, item=item)
        told = {"content": [{"type": "reasoning_text", "text": content}]}
        upstream.finish(0, {**item, **told, "summary": [{"type": "summary_text", "text": summary}]})
        assert calls_in(upstream.end()) == calls


def test_an_item_that_was_cut_off_ends_with_no_call() -> None:
    upstream = Upstream()
    item = {"id": "rs_0", "type": "reasoning", "summary": []}
    upstream.say("response.output_item.added", output_index=0, item=item)
    upstream.finish(0, {**item, "status": "incomplete", "content": [{"type": "reasoning_text", "text": THOUGHT}]})
    assert calls_in(upstream.end()) == []


def over_a_websocket(upstream: Upstream, **request: Any) -> Client:
    socket = ResponsesSocket(Policy())
    socket.client_message(json.dumps({"type": "response.create", **request}))
    out = [sent for event in upstream.events for sent in socket.server_message(compact(event))]
    stream = "".join(f"event: {json.loads(sent)['type']}\ndata: {sent}\n\n" for sent in out)
    return RESPONSES.read(stream.encode())


def test_over_a_websocket() -> None:
    client = over_a_websocket(Upstream().reasoning(THOUGHT, own_words=True).end(), tools=TOOLS)
    assert [(call["name"], call["arguments"]) for call in client.calls] == [QUOTED]
