"""A call that was cut off is refused for that reason, however its server cut it into fragments: the model reads it.

A fragment that begins like an object was taken for another call, so a stream said that several were mixed.
"""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from tests.must_not_run.wires import Said, call, document, stream
from tests.protocols.text_protocols import CHAT, MESSAGES, RESPONSES, Protocol
from toolcalls.engine import Response, mend_whole

NOISE = '{"command":"' + "x{}\"'[,: " * 1000
CUT = {
    "noise": NOISE,
    "objects in a list": '{"command":"ls","edits":[{"old":"a"},{"old":"b',
    "a Python dict": "{'command': 'ls', 'edits': [{'old': 'a",
    "an object in a text": '{"command":"ls","text":"{\\"a\\": [{\\"b',
}


def outcomes(protocol: Protocol, body: bytes, said: Said) -> list[tuple[str, str, str]]:
    answer = Response(protocol.name, said.question)
    mend_whole(answer, body)
    return [(one.status, one.arguments, one.reason) for one in answer.outcomes]


@pytest.mark.parametrize("finish", ["length", "calls"])
@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize("protocol", [CHAT, MESSAGES, RESPONSES], ids=["chat", "messages", "responses"])
def test_the_reason_does_not_depend_on_the_fragments(protocol: Protocol, name: str, finish: str) -> None:
    text = CUT[name]
    whole = Said(calls=(call("Bash", text, id="call_1"),), finish=finish)
    expected = outcomes(protocol, stream(protocol, whole), whole)
    assert protocol is MESSAGES or outcomes(protocol, document(protocol, whole), whole) == expected
    chance = random.Random(name)
    for size in (1, 2, 7, 400):
        cuts = range(size, len(text), size) if size < 400 else chance.sample(range(1, len(text)), 3)
        starts = [0, *sorted(cuts), len(text)]
        fragments = [text[first:last] for first, last in pairwise(starts)]
        said = Said(calls=(call("Bash", *fragments, id="call_1"),), finish=finish)
        assert outcomes(protocol, stream(protocol, said), said) == expected, f"{len(fragments)} fragments"
