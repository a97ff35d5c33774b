"""Ollama's own Python client reads its recordings through a real mitmdump, and ends with the right calls."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.upstream import delivered
from toolcalls.recording import store
from toolcalls.recording.store import Recording

from .stage import ROOT, Asking, Plays

RECORDINGS = [store.load(path) for path in store.find(ROOT / "recordings" / "ollama")]
TOUCHED = [one for one in RECORDINGS if one.before != one.after or one.request_after is not None]
UNTOUCHED = [one for one in RECORDINGS if one not in TOUCHED][::6]


def question(recording: Recording, url: str) -> dict[str, Any]:
    asked = json.loads(recording.request)
    streamed = asked.pop("stream", True)
    # The client itself insists on objects.
    if recording.name.startswith("request-"):
        asked["messages"] = asked["messages"][:1]
    return {"api": "ollama", "base_url": url, "stream": streamed, "request": asked}


def test_the_client_ends_with_the_right_calls(asking: Asking, plays: Plays) -> None:
    checked = 0
    for recording in TOUCHED:
        told = asking.through(recording, question)
        if json.loads(plays.seen[recording.name].body)["tools"] != json.loads(recording.request)["tools"]:
            continue  # The client leaves out of a schema what it does not know, and nobody can tell what was meant.
        checked += 1
        assert bool(told["error"]) == (b'{"error"' in (recording.after or b"")), (recording.name, told["error"])
        expected = delivered(recording)
        assert [call["name"] for call in told["calls"]] == [call["name"] for call in expected], recording.name
        got = [json.loads(call["arguments"]) for call in told["calls"]]
        assert got == [json.loads(call["arguments"]) for call in expected], recording.name
        ended = re.search(rb'"done": ?true', recording.after or b"") is not None
        finish = ("length" if b'"length"' in recording.before else "stop") if ended else ""
        assert told["error"] or (told["finish"] or "") == finish, recording.name
    assert checked > 40


def test_an_untouched_answer_is_what_it_is_without_the_proxy(asking: Asking) -> None:
    for recording in UNTOUCHED:
        assert asking.through(recording, question) == asking.past(recording, question), recording.name


def test_without_us_the_client_breaks_off_at_arguments_that_are_text(asking: Asking) -> None:
    recording = next(one for one in RECORDINGS if one.name == "ollama-args-text")
    assert "ValidationError" in asking.past(recording, question)["error"]
