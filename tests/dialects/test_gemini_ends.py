"""How Gemini's answers end: half an event, no finish, finishes that are not STOP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.dialects.test_gemini import LS, TEXT_CALL, TOOLS, call, run, said, stream, text
from tests.splits import mend
from toolcalls.request.request import read_request

Json = dict[str, Any]
RM = {"command": "rm -rf /home/user/tmp"}


def stays(body: str) -> None:
    assert mend(body, protocol="gemini", question=TOOLS)[0].decode() == body


def test_half_an_event_ends_an_answer_that_was_cut_off() -> None:
    """It may be the one that says MAX_TOKENS, and servers close what was cut off: the last call may be half."""
    begun = stream(said(call("Bash", LS)), said(call("Bash", RM)))
    for behind in (said(text("Hi")), said(finish="MAX_TOKENS"), said(finish="STOP")):
        for size in (3, 9, 40, 95):
            held, out, answer = run(begun + stream(behind)[:size])
            assert (held.calls, held.finishes) == ([("Bash", LS), ("Bash", {})], []), "no end is made up"
            assert "rm -rf" not in out
            assert [outcome.status for outcome in answer.outcomes] == ["valid", "refused"]
    half = stream(said(finish="MAX_TOKENS"))[:95]
    for words in (stream(said(call("Bash", LS)), said(text("Hi"))), stream(said(text("<tool_c")))):
        stays(words + half)
    stays(stream(said(text(TEXT_CALL))) + half)
    for clean in ("", " "):
        assert run(begun + clean)[0].finishes == ["STOP"], "a clean end behind a whole event"
    ended = stream(said(call("Bash", LS), finish="STOP"))
    assert run(ended + half)[1] == ended, "it had ended before"


def test_nothing_is_made_of_the_text_of_an_answer_that_does_not_say_that_it_is_complete() -> None:
    schema = {"type": "OBJECT", "properties": {"a": {"type": "NUMBER"}}, "required": ["a"]}
    config = {"responseMimeType": "application/json", "responseSchema": schema}
    asked = read_request({"contents": [], "generationConfig": config})
    for words, request in ((TEXT_CALL, TOOLS), ('```json\n{"a": 1}\n```', asked)):
        event = said(text(words))
        for body in (json.dumps(event), json.dumps([event]), stream(event)):
            assert mend(body, protocol="gemini", question=request)[0].decode() == body
        whole = said(text(words), finish="STOP")
        for body in (json.dumps(whole), json.dumps([whole]), stream(whole)):
            assert mend(body, protocol="gemini", question=request)[0].decode() != body
    stays(json.dumps(said(text(TEXT_CALL, thought=True))))


@pytest.mark.parametrize(
    "reason",
    [
        "FINISH_REASON_UNSPECIFIED",
        "IMAGE_SAFETY",
        "MISSING_THOUGHT_SIGNATURE",
        "MODEL_ARMOR",
        "NO_IMAGE",
        "OTHER",
        "TOO_MANY_TOOL_CALLS",
        "UNEXPECTED_TOOL_CALL",
        "WHATEVER",
    ],
)
def test_text_is_no_call_beside_a_reason_that_is_not_stop(reason: str) -> None:
    event, thought = said(text(TEXT_CALL), finish=reason), text(TEXT_CALL, thought=True)
    for body in (stream(event), stream(said(text(TEXT_CALL)), said(finish=reason)), json.dumps(event)):
        stays(body)
    for body in (stream(said(thought), said(finish=reason)), json.dumps(said(thought, finish=reason))):
        stays(body)
    assert run(stream(said(call("BASH", LS), finish=reason)))[0].calls == [("Bash", LS)], "a call is one"
