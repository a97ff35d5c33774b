"""Ollama's own Python client reads its scenarios through a real mitmdump, and ends with the right calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from toolcalls.cli.proxy_process import ProxyProcess
from toolcalls.cli.upstream import Upstream, play_recording
from toolcalls.recording import store
from toolcalls.recording.store import Recording

from .stage import ROOT, Clients, Plays

RECORDINGS = [store.load(path) for path in store.find(ROOT / "recordings" / "ollama")]
TOUCHED = [one for one in RECORDINGS if one.before != one.after or one.request_after is not None]
UNTOUCHED = [one for one in RECORDINGS if one not in TOUCHED][::6]


def question(recording: Recording, upstream: Upstream) -> dict[str, Any]:
    asked = json.loads(recording.request)
    streamed = asked.pop("stream", True)
    # The client itself insists on objects.
    if recording.name.startswith("request-"):
        asked["messages"] = asked["messages"][:1]
    return {"api": "ollama", "base_url": f"{upstream.url}/{recording.name}", "stream": streamed, "request": asked}


def test_the_client_ends_with_the_right_calls(
    upstream: Upstream, plays: Plays, proxy: ProxyProcess, clients: Clients
) -> None:
    checked = 0
    for recording in TOUCHED:
        plays.add(recording.name, play_recording(recording))
        asked = question(recording, upstream)
        told = clients.ask(proxy=proxy, **asked)
        if json.loads(plays.seen[recording.name].body)["tools"] != asked["request"]["tools"]:
            continue  # The client leaves out of a schema what it does not know, and nobody can tell what was meant.
        checked += 1
        assert bool(told["error"]) == (b'{"error"' in (recording.after or b"")), (recording.name, told["error"])
        expected = recording.delivered
        assert [call["name"] for call in told["calls"]] == [call["name"] for call in expected], recording.name
        got = [json.loads(call["arguments"]) for call in told["calls"]]
        assert got == [json.loads(call["arguments"]) for call in expected], recording.name
        assert told["error"] or told["finish"] == ("length" if b'"length"' in recording.before else "stop")
    assert checked > 40


def test_an_untouched_answer_is_what_it_is_without_the_proxy(
    upstream: Upstream, plays: Plays, proxy: ProxyProcess, clients: Clients, certificate: Path
) -> None:
    for recording in UNTOUCHED:
        plays.add(recording.name, play_recording(recording))
        asked = question(recording, upstream)
        assert clients.ask(proxy=proxy, **asked) == clients.ask(proxy=None, ca=str(certificate), **asked)


def test_without_us_the_client_breaks_off_at_arguments_that_are_text(
    upstream: Upstream, plays: Plays, clients: Clients, certificate: Path
) -> None:
    recording = next(one for one in RECORDINGS if one.name == "ollama-args-text")
    plays.add(recording.name, play_recording(recording))
    told = clients.ask(proxy=None, ca=str(certificate), **question(recording, upstream))
    assert "ValidationError" in told["error"]
