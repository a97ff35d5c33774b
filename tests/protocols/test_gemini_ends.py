"""How Gemini's answers end: half an event, no finish, finishes that are not STOP, other candidates, our failures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.protocols.test_gemini import LS, TEXT_CALL, TOOLS, call, malformed, run, said, stream, text
from tests.splits import mend
from toolcalls.policy import Policy
from toolcalls.protocols.gemini import Gemini

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
    event = said(text(TEXT_CALL))
    for body in (json.dumps(event), json.dumps([event]), stream(event)):
        assert mend(body, protocol="gemini", question=TOOLS)[0].decode() == body
    whole = said(text(TEXT_CALL), finish="STOP")
    for body in (json.dumps(whole), json.dumps([whole]), stream(whole)):
        assert mend(body, protocol="gemini", question=TOOLS)[0].decode() != body
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


def end(reason: Any, key: str = "finishReason") -> Json:
    return {"candidates": [{key: reason, "index": 0}]}


@pytest.mark.parametrize("finish", [end(1), end("STOP", "finish_reason"), end(5), end(True), end(["x"]), end("X")])
def test_a_finish_that_is_no_word_stays_behind_its_call_and_gets_no_other_one(finish: Json) -> None:
    stays(stream(said(call("Bash", LS)), finish))
    stays(stream(said(text("Hi")), finish))
    assert run(stream(said(call("BASH", LS)), finish))[1].endswith(stream(finish))


@pytest.mark.parametrize("finish", [end(2), end(3), end("MAX_TOKENS", "finish_reason")])
def test_a_number_or_a_key_in_snake_case_cuts_as_the_word_does(finish: Json) -> None:
    for body in (stream(said(call("Bash", RM)), finish), json.dumps([said(call("Bash", RM)), finish])):
        held, out, answer = run(body)
        assert (held.calls, "rm -rf" in out) == ([("Bash", {})], False)
        assert [outcome.status for outcome in answer.outcomes] == ["refused"]
        assert out.count("inish") == 1
    stays(stream(said(text(TEXT_CALL)), finish))


def test_text_is_a_call_beside_stop_however_it_is_written() -> None:
    for finish in (end(1), end("STOP", "finish_reason")):
        body = stream(said(text(TEXT_CALL)), finish)
        assert run(body)[0].calls == [("Bash", LS)]
        assert run(body)[1].endswith(stream(finish))
    for finish in (end(5), end(True)):
        stays(stream(said(text(TEXT_CALL)), finish))


def test_a_block_comes_behind_what_it_blocks() -> None:
    block = {"promptFeedback": {"blockReason": "SAFETY"}}
    for words in ("<tool_c", TEXT_CALL, "Hi"):
        stays(stream(said(text(words)), block))
    held, out, _ = run(stream(said(call("Bash", RM)), block))
    assert (held.calls, out.endswith(stream(block))) == ([("Bash", {})], True)


SECOND = {"content": {"parts": [text("two")], "role": "model"}, "index": 1}


def test_another_candidate_does_not_show_that_a_call_is_complete() -> None:
    other = {"candidates": [SECOND]}
    both = {"candidates": [{"finishReason": "MAX_TOKENS", "index": 0}, SECOND]}
    for events in ([other, end("MAX_TOKENS")], [both]):
        held, out, answer = run(stream(said(call("Bash", RM)), *events))
        assert "rm -rf" not in out
        assert [outcome.status for outcome in answer.outcomes] == ["refused"]
        assert out.endswith(stream(events[-1]))
        assert held.finishes == ["MAX_TOKENS"]
    stopped = {"candidates": [{"finishReason": "STOP", "index": 0}, SECOND]}
    stays(stream(said(call("Bash", LS)), stopped))
    for events in ([other, end("STOP")], [stopped]):
        assert run(stream(said(text(TEXT_CALL)), *events))[0].calls == [("Bash", LS)], (
            "another answer follows no text"
        )
    mended = run(stream(said(call("BASH", LS)), other, end("STOP")))[1]
    assert '"name":"Bash","args":{"command":"ls"}}}],"role":"model"},"index":0' in mended


def test_a_malformed_call_that_we_fail_at_goes_on_as_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    quoted = malformed("print(default_api.Bash(command='ls'))")
    body = stream(quoted, {"usageMetadata": {"totalTokenCount": 7}, "responseId": "x" * 300})
    limit = Policy(max_held_bytes=len(stream(quoted)) + 9)
    assert mend(body, protocol="gemini", question=TOOLS, policy=limit, may_fail=True)[0].decode() == body

    def broken(*_: object) -> bytes:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Gemini, "write", broken)
    for failing in (stream(quoted), stream(said(call("BASH", LS), finish="STOP")), stream(quoted, end("STOP"))):
        assert mend(failing, protocol="gemini", question=TOOLS, may_fail=True)[0].decode() == failing
    message = quoted["candidates"][0]["finishMessage"]
    both = said(text("I look."), finish="MALFORMED_FUNCTION_CALL", message=message)
    out = mend(stream(both), protocol="gemini", question=TOOLS, may_fail=True)[0].decode()
    assert out.index("I look.") < out.index('"MALFORMED_FUNCTION_CALL"') < out.index(message)
    assert "STOP" not in out
