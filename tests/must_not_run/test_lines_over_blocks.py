"""A block or an item of text goes on with the line that the last one ended with, as far as that line quotes."""

from __future__ import annotations

import json

import pytest

from tests.must_not_run.wires import TOOLS
from tests.protocols import messages_wire as wire
from tests.protocols.responses_wire import Upstream
from tests.protocols.text_protocols import MESSAGES, RESPONSES
from tests.splits import mend
from tests.textcalls.negatives import HERMES
from toolcalls.engine import Response, mend_whole
from toolcalls.request.request import read_request

ASKED = read_request({"tools": TOOLS, "stream": True})


@pytest.mark.parametrize("before", ["> ", "> quoted\n> ", "```\n", "Shall I run it?"])
def test_what_the_last_block_left_open_holds_in_the_next_one(before: str) -> None:
    two = wire.begin() + wire.text(0, before) + wire.text(1, HERMES) + wire.end("end_turn")
    clients = [MESSAGES.read(mend(two, protocol="messages", question=ASKED)[0])]
    made = Upstream().message(before).message(HERMES).end()
    clients.append(RESPONSES.read(mend(made.bytes(), protocol="responses", question=ASKED)[0]))
    document = json.dumps(made.events[-1]["response"]).encode()
    clients.append(RESPONSES.read_document(mend_whole(Response("responses", ASKED), document)))
    for client in clients:
        assert (client.calls, client.text) == ([], before + HERMES)


@pytest.mark.parametrize(
    "before", ["Let me look.", "I will remove it now.\n", "> quoted\n\nNow for the cleanup.", "Done!"]
)
def test_a_call_in_the_next_block_behind_other_words_is_one(before: str) -> None:
    two = wire.begin() + wire.text(0, before) + wire.text(1, HERMES) + wire.end("end_turn")
    assert len(MESSAGES.read(mend(two, protocol="messages", question=ASKED)[0]).calls) == 1
    made = Upstream().message(before).message(HERMES).end()
    assert len(RESPONSES.read(mend(made.bytes(), protocol="responses", question=ASKED)[0]).calls) == 1
