"""Words behind one call that got into a key of another one leave valid JSON: where only the order of fragments tells
calls apart, none of them runs unless each is one that its tool can take."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.chat_client import read
from tests.must_not_run.interleaved import QUESTION
from tests.must_not_run.test_merged_calls import chat
from tests.must_not_run.test_resent_calls import zai_delta
from tests.protocols import messages_wire as wire
from tests.protocols.test_chat import piece
from tests.protocols.zai_streams import Backend
from tests.splits import mend
from tests.validators import messages as strict_messages

Json = dict[str, Any]

SAID = '{"command":"rm -rf /home"}\n\n'
WORDS = "is what I would never send."
LS, TIMEOUT = {"command": "ls"}, {"command": "ls", "timeout": 5}

OTHERS = {
    "a required key": ('{"comm', 'and":"ls"}'),
    "an optional key": ('{"command":"ls","time', 'out":5}'),
}
"""The second call, cut where the words of the first one arrive."""


def told(first: str, *rest: str) -> list[tuple[str, str, str]]:
    """Two calls, ids and names at their beginnings only: id, name, arguments."""
    return [("a", "Bash", SAID), ("b", "Bash", first), *(("", "", text) for text in rest)]


def on_chat(events: list[tuple[str, str, str]], index: int | None) -> list[Json]:
    return chat(*(piece(index, identity or None, name or None, text) for identity, name, text in events))


def on_zai(events: list[tuple[str, str, str]]) -> list[Json]:
    backend = Backend(compact=True)
    for identity, name, text in events:
        backend.say(**zai_delta(identity, name, text))
    out, _ = mend(backend.done().stream, protocol="zai", question=QUESTION)
    return [value for _, text in read(out).call_list() if (value := json.loads(text))]


def on_messages(events: list[tuple[str, str, str]]) -> list[Json]:
    """Both calls at one index, never stopped."""
    body = wire.begin()
    for identity, name, text in events:
        body += (wire.tool_start(0, identity, name) if identity else b"") + wire.fragment(0, text)
    out, _ = mend(body + wire.stop(0) + wire.end("tool_use"), protocol="messages", question=QUESTION)
    return [value for _, value in strict_messages.read(out).calls if value]


@pytest.mark.parametrize("where", OTHERS)
def test_a_call_with_words_behind_it_does_not_run_when_those_are_in_a_key_of_the_next(where: str) -> None:
    begin, rest = OTHERS[where]
    events = told(begin, WORDS, rest)
    assert on_chat(events, 0) == []
    assert on_chat(events, None) == []
    assert on_zai(events) == []
    assert on_messages(events) == []


@pytest.mark.parametrize("where", OTHERS)
def test_calls_that_only_their_order_tells_apart_run_where_their_tools_can_take_them(where: str) -> None:
    """The near miss."""
    begin, rest = OTHERS[where]
    meant = [{"command": "rm -rf /home"}, json.loads(begin + rest)]
    for made in (
        on_chat(told(begin, rest), 0),
        on_chat(told(begin, rest), None),
        on_zai(told(begin, rest)),
        on_messages(told(begin, rest)),
    ):
        assert made == meant


def test_a_drifted_name_of_a_field_is_one_that_the_tool_can_take() -> None:
    assert on_chat(told('{"cmd":', '"ls"}'), 0) == [{"command": "rm -rf /home"}, LS]


def test_where_ids_tell_the_calls_apart_each_is_believed_by_itself() -> None:
    deltas = [piece(0, "a", "Bash", SAID), piece(0, "b", "Bash", '{"no":'), piece(0, "b", None, '"key"}')]
    assert chat(*deltas) == [{"command": "rm -rf /home"}, {"no": "key"}]
