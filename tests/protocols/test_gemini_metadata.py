"""Gemini: what an event says besides its parts reaches the client once, wherever the event is split."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.protocols.test_order_of_blocks import GEMINI_QUESTION, call
from tests.protocols.text_protocols import gemini_answer
from tests.splits import mend

Json = dict[str, Any]
KEYS = ("safetyRatings", "citationMetadata", "groundingMetadata")
SIGNATURE = {"text": "", "thoughtSignature": "c2ln"}


def event(number: int, *parts: Json, finish: str = "") -> bytes:
    """An event whose ratings, citations and grounding have its number."""
    answer = gemini_answer(*parts, finish=finish)
    answer["candidates"][0].update({key: {"of": number} for key in KEYS})
    answer["usageMetadata"] = {"totalTokenCount": number}
    return b"data: " + json.dumps(answer).encode() + b"\r\n\r\n"


STREAMS = {
    "text and call": [event(1, {"text": "Look: "}, call(file_path="/a")), event(2, {"text": ""}, finish="STOP")],
    "all in one": [event(1, {"text": "Hm", "thought": True}, {"text": "Look: "}, call(file_path="/a"), finish="STOP")],
    "held text": [event(1, {"text": "a <"}), event(2, {"text": "b"}), event(3, {"text": " ["}, finish="STOP")],
    "split text": [event(1, {"text": "x <tool"}), event(2, {"text": "_x> y <"}), event(3, {"text": "."}, finish="STOP")],
    "mended call": [event(1, call(path="/a")), event(2, {"text": ""}, finish="STOP")],
    "mended call at the end": [event(1, {"text": "Look: "}), event(2, call(path="/a"), finish="STOP")],
    "two mended calls": [event(1, call(path="/a"), call(path="/b")), event(2, {"text": "Done."}, finish="STOP")],
    "call with a text for arguments": [
        event(1, {"functionCall": {"name": "Read", "args": '{"file_path": "/a"}'}}), event(2, {"text": ""}, finish="STOP")
    ],
    "signature": [event(1, call(path="/a"), SIGNATURE), event(2, {"text": ""}, finish="STOP")],
}  # fmt: skip


@pytest.mark.parametrize("name", STREAMS)
def test_what_an_event_says_besides_comes_once(name: str) -> None:
    out, _ = mend(b"".join(STREAMS[name]), protocol="gemini", question=GEMINI_QUESTION)
    events = [json.loads(said.removeprefix("data: ")) for said in out.decode().strip().split("\r\n\r\n")]
    for key in KEYS:
        found = [one["candidates"][0][key]["of"] for one in events if key in one["candidates"][0]]
        assert found == list(range(1, len(STREAMS[name]) + 1)), key
    assert events[-1]["usageMetadata"] == {"totalTokenCount": len(STREAMS[name])}


def of_second(number: int, *parts: Json, finish: str = "") -> bytes:
    answer = gemini_answer(*parts, finish=finish)
    answer["candidates"][0]["index"] = 1
    return b"data: " + json.dumps({**answer, "usageMetadata": {"totalTokenCount": number}}).encode() + b"\r\n\r\n"


@pytest.mark.parametrize("made", [call(file_path="/a"), call(path="/a")], ids=["valid", "mended"])
@pytest.mark.parametrize("ends", [0, 1, 2])
def test_the_usage_of_the_last_event_stays_the_last(made: Json, ends: int) -> None:
    other = [of_second(3, {"text": "Or"}), of_second(4, {"text": " else."}, finish="STOP")]
    other.insert(ends, event(5 if ends == 2 else 2, {"text": ""}, finish="STOP"))
    body = b"".join([event(1, made), *other])
    out, _ = mend(body, protocol="gemini", question=GEMINI_QUESTION)
    events = [json.loads(said.removeprefix("data: ")) for said in out.decode().strip().split("\r\n\r\n")]
    found = [one["usageMetadata"]["totalTokenCount"] for one in events if "usageMetadata" in one]
    sent = [3, 4]
    sent.insert(ends, 5 if ends == 2 else 2)
    assert found[-1] == sent[-1]


def test_usage_is_not_lost_when_the_stream_breaks_behind_a_split_event() -> None:
    cut = event(1, call(file_path="/a"), call(path="/b"))
    out, _ = mend(cut + b'data: {"candidates": [{"con', protocol="gemini", question=GEMINI_QUESTION)
    events = [json.loads(said.removeprefix("data: ")) for said in out.decode().strip().split("\r\n\r\n")]
    assert all(one["usageMetadata"] == {"totalTokenCount": 1} for one in events)


def test_feedback_stays_with_the_candidate_of_its_event() -> None:
    answer = {**gemini_answer(call(path="/a"), finish="STOP"), "promptFeedback": {"safetyRatings": []}}
    answer["candidates"][0]["index"] = 1
    body = b"data: " + json.dumps(answer).encode() + b"\n\n"
    out, _ = mend(body, protocol="gemini", question=GEMINI_QUESTION)
    events = [json.loads(said.removeprefix("data: ")) for said in out.decode().strip().split("\n\n")]
    assert {one["candidates"][0]["index"] for one in events} == {1}
    assert [one["promptFeedback"] for one in events if "promptFeedback" in one] == [{"safetyRatings": []}]


def test_text_that_is_held_is_not_overtaken_by_a_part_that_nobody_knows() -> None:
    parts = [{"text": "a <t"}, {"text": "ool"}, {"xFuturePart": {"text": "b"}}]
    body = json.dumps(gemini_answer(*parts, finish="STOP")).encode()
    assert mend(body, protocol="gemini", question=GEMINI_QUESTION)[0] == body


@pytest.mark.parametrize("character", ["\x85", "\u2028", "\u2029"])
def test_a_character_that_python_clients_take_for_a_line_end_is_escaped(character: str) -> None:
    """google-genai splits the stream with `str.splitlines`."""
    for parts in ([call(path=character)], [{"text": f"{character}a <"}, call(file_path="/a")]):
        body = b"data: " + json.dumps(gemini_answer(*parts, finish="STOP")).encode() + b"\n\n"
        out, _ = mend(body, protocol="gemini", question=GEMINI_QUESTION)
        assert character not in out.decode()
        assert all(json.loads(line.removeprefix("data: ")) for line in out.decode().splitlines() if line)


@pytest.mark.parametrize("behind", [{"text": " ", "thought": True}, call(file_path="/a")], ids=["space", "call"])
def test_text_that_is_held_goes_before_a_thought_of_space_and_before_a_call(behind: Json) -> None:
    parts = [{"text": "x = [1, 2]"}, behind, SIGNATURE]
    for body in (
        json.dumps(gemini_answer(*parts, finish="STOP")).encode(),
        b"".join(event(number, part) for number, part in enumerate(parts)) + event(9, {"text": ""}, finish="STOP"),
    ):
        out, _ = mend(body, protocol="gemini", question=GEMINI_QUESTION)
        said = [out] if out[:1] == b"{" else [one.removeprefix(b"data: ") for one in out.strip().split(b"\r\n\r\n")]
        listed = [part for one in said for part in json.loads(one)["candidates"][0]["content"]["parts"]]
        text = "".join(part["text"] for part in listed[: listed.index(behind)])
        assert text == "x = [1, 2]" and listed.index(SIGNATURE) > listed.index(behind)
