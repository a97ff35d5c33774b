"""Google's own Python client reads Gemini's recordings through a real mitmdump, and ends with the right calls."""

from __future__ import annotations

import json
from typing import Any

from tests.upstream import delivered
from tests.validators import gemini as strict
from toolcalls.recording import store
from toolcalls.recording.store import Recording

from .stage import ROOT, Asking

_ALL = [store.load(path) for path in store.find(ROOT / "recordings" / "gemini")]
# The client asks neither for the array nor as one that has a Google login.
RECORDINGS = [one for one in _ALL if not one.before.startswith(b"[") and b'"response":' not in one.before]
TOUCHED = [one for one in RECORDINGS if one.before != one.after]
UNTOUCHED = [one for one in RECORDINGS if one not in TOUCHED][::6]


def question(recording: Recording, url: str) -> dict[str, Any]:
    asked = json.loads(recording.request)
    return {"api": "gemini", "base_url": url, "stream": recording.suffix == ".sse", "request": asked}


def test_the_client_ends_with_the_right_calls(asking: Asking) -> None:
    for recording in TOUCHED:
        told = asking.through(recording, question)
        expected, held = delivered(recording), strict.read(recording.after or b"")
        assert bool(told["error"]) == bool(held.errors), (recording.name, told["error"])
        assert [call["name"] for call in told["calls"]] == [call["name"] for call in expected], recording.name
        got = [json.loads(call["arguments"]) for call in told["calls"]]
        assert got == [json.loads(call["arguments"]) for call in expected], recording.name
        signed = [(call["name"], call["signature"]) for call in told["calls"] if call["signature"]]
        assert signed == [entry for entry in held.signatures if entry[0] != "text"], recording.name
        assert (told["text"], [told["finish"]]) == (held.text, held.finishes[-1:] or [""]), recording.name


def test_an_untouched_answer_is_what_it_is_without_the_proxy(asking: Asking) -> None:
    for recording in UNTOUCHED:
        assert asking.through(recording, question) == asking.past(recording, question), recording.name


def test_without_us_the_client_breaks_off_at_arguments_that_are_text(asking: Asking) -> None:
    recording = next(one for one in RECORDINGS if one.name == "gemini-args-text")
    assert "ValidationError" in asking.past(recording, question)["error"]
