"""A long text is read once and means the same as if each of its events had been read whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.splits import mend
from toolcalls.dialects.responses.events import read_incoming
from toolcalls.dialects.responses.repeated_string import LONG, REPEATING, RepeatedString

Json = dict[str, Any]
TEXT = 'say "hi" \\ to\n渐 and 🎉: {"text":"no"}, ' * (LONG // 30)


def ends(text: str, **more: Any) -> list[Json]:
    part = {"type": "output_text", "annotations": [], "text": text, **more}
    where = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    item = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [part]}
    return [
        {"type": "response.output_text.done", **where, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **where, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
    ]


def read(data: str, kind: str, long: RepeatedString) -> Any:
    came = read_incoming(b"", kind, data, long)
    assert came is None or came.data == data
    return None if came is None else came.message


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_the_three_ends_of_a_long_text_are_what_json_reads(separators: tuple[str, str], ascii_only: bool) -> None:
    long = RepeatedString()
    for event in [*ends(TEXT), *ends(TEXT + "more"), *ends("short"), *ends(TEXT)]:
        data = json.dumps(event, separators=separators, ensure_ascii=ascii_only)
        came = read_incoming(b"", event["type"], data, long)
        assert came is not None
        assert came.message == event
        assert came.data == data
        if "item" in event:
            assert came.item_text == json.dumps(event["item"], separators=separators, ensure_ascii=ascii_only)


_LEAF = st.sampled_from([TEXT, TEXT[: LONG + 50], "short", "", "\0a long text\0", None, 7])
_VALUE = st.recursive(
    _LEAF,
    lambda inner: (
        st.dictionaries(st.sampled_from(["text", "part", "item", "content", "type", "x"]), inner, max_size=4)
        | st.lists(inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.lists(st.tuples(_VALUE, st.sampled_from([*sorted(REPEATING), "other"])), min_size=1, max_size=4))
def test_whatever_the_events_are_they_are_what_json_reads(events: list[tuple[Any, str]]) -> None:
    long = RepeatedString()
    for event, kind in events:
        expected = event if isinstance(event, dict) else None
        assert read(json.dumps(event), kind, long) == expected


@given(st.integers(0, 5000), st.sampled_from(['"', "\\", "}", ',"text":"x"', "\n", "\0"]))
def test_a_broken_one_is_as_broken_as_it_came(at: int, inserted: str) -> None:
    long = RepeatedString()
    for event in ends(TEXT[:2000]):
        data = json.dumps(event, ensure_ascii=False)
        data = data[:at] + inserted + data[at:]
        try:
            expected = json.loads(data)
        except ValueError:
            expected = None
        assert read(data, event["type"], long) == expected


def test_an_answer_with_a_long_text_goes_on_as_it_came() -> None:
    response = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    item = {"id": "msg_1", "type": "message", "status": "in_progress", "role": "assistant", "content": []}
    where = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "annotations": [], "text": ""}
    told = ends(TEXT)
    events: list[Json] = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **where, "part": part},
        {"type": "response.output_text.delta", **where, "delta": TEXT},
        *told,
        {
            "type": "response.completed",
            "response": {**response, "status": "completed", "output": [told[-1]["item"]]},
        },
    ]
    body = "".join(
        f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n"
        for number, event in enumerate(events)
    )
    out, _ = mend(body, protocol="responses")
    assert out == body.encode()
