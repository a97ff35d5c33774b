"""The limit of calls in one answer: past it the rest passes as it came, and the work stays linear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.faults.streams import (
    BROKEN,
    DONE,
    PROTOCOLS,
    VALID,
    chat,
    chat_part,
    event,
    messages_call,
    responses_call,
    stream,
)
from tests.pace import quick
from toolcalls.sizes import MOST_CALLS

Call = Callable[[str, int], bytes]

CALLS: dict[str, Call] = {
    "chat": lambda text, number: chat_part(text, "Bash", number),
    "messages": lambda text, number: b"".join(messages_call(text, number)),
    "responses": lambda text, number: b"".join(responses_call(text, number)),
}


@pytest.mark.parametrize("protocol", CALLS)
def test_past_the_limit_broken_calls_go_out_as_they_came(protocol: str) -> None:
    """In Responses and Messages what begins behind a call decides it; elsewhere all wait for the end of the answer."""
    answer = PROTOCOLS[protocol].answer()
    head = [] if protocol == "chat" else stream(protocol, "a text")[:1]
    came = [*head, *(CALLS[protocol](BROKEN, number) for number in range(MOST_CALLS + 100))]
    sent = b"".join(piece for chunk in came for piece in answer.feed(chunk))
    assert answer.limited
    decided = len(answer.outcomes)
    assert decided == (0 if protocol == "chat" else MOST_CALLS - 1)
    assert sent.endswith(b"".join(came[len(head) + decided :]))
    assert answer.failure is None


@pytest.mark.parametrize("protocol", CALLS)
def test_as_many_calls_as_the_limit_are_mended(protocol: str) -> None:
    answer = PROTOCOLS[protocol].answer()
    head = [] if protocol == "chat" else stream(protocol, "a text")[:1]
    came = [*head, *(CALLS[protocol](BROKEN, number) for number in range(MOST_CALLS))]
    sent = b"".join([*(piece for chunk in came for piece in answer.feed(chunk)), *answer.close()])
    assert not answer.limited
    assert len(PROTOCOLS[protocol].calls(sent)) == MOST_CALLS == len(answer.outcomes)


@pytest.mark.parametrize("protocol", CALLS)
def test_valid_calls_that_leave_at_once_are_counted_too(protocol: str) -> None:
    """Nothing of them is held, and yet every one of them is remembered."""
    answer = PROTOCOLS[protocol].answer()
    for said in stream(protocol, "a text")[:1] if protocol != "chat" else []:
        answer.feed(said)
    for number in range(2 * MOST_CALLS):
        call = CALLS[protocol](VALID, number)
        sent = b"".join(answer.feed(call))
    assert answer.limited
    assert sent == call
    assert len(answer.outcomes) <= MOST_CALLS


def test_calls_behind_one_finish_after_another_are_counted_together() -> None:
    answer = PROTOCOLS["chat"].answer()
    for number in range(MOST_CALLS + 10):
        answer.feed(chat_part(VALID, "Bash", number) + chat({}, "tool_calls"))
    answer.close()
    assert len(answer.outcomes) <= MOST_CALLS
    assert answer.limited


def test_output_items_without_a_call_are_counted_too() -> None:
    answer = PROTOCOLS["responses"].answer()
    answer.feed(stream("responses", "a text")[0])
    item: dict[str, Any] = {"type": "message", "role": "assistant", "content": []}
    for number in range(MOST_CALLS + 10):
        named = {**item, "id": f"m{number}"}
        said = event("response.output_item.added", output_index=number, item=named)
        sent = b"".join(answer.feed(said))
    assert answer.limited
    assert sent == said


def test_choices_are_counted_where_several_were_asked_for() -> None:
    answer = PROTOCOLS["chat"].answer(PROTOCOLS["chat"].request(n=5))
    for number in range(MOST_CALLS + 10):
        said = b'data: {"choices":[{"index":%d,"delta":{"content":"<tool_"}}]}\n\n' % number
        sent = b"".join(answer.feed(said))
    assert answer.limited
    assert sent == said


_WRITTEN = {
    "qwen": "<tool_call>\n<function=Bash>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>\n",
    "invoke": '<invoke name="Bash">\n<parameter name="command">ls</parameter>\n</invoke>\n',
    "glm": "<tool_call>Bash\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>\n",
}


@pytest.mark.parametrize("form", _WRITTEN)
def test_the_tags_of_the_calls_behind_a_written_call_are_not_read_with_it(form: str) -> None:
    """A model that repeats itself writes hundreds of them in one answer."""
    text = _WRITTEN[form] * (MOST_CALLS - 1)
    answer = PROTOCOLS["chat"].answer()
    with quick(0.15):
        for said in (chat({"content": text}), chat({}, "stop"), DONE):
            list(answer.feed(said))
        list(answer.close())
    assert [outcome.name for outcome in answer.outcomes] == ["Bash"] * (MOST_CALLS - 1)
