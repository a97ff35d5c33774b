"""The text of the content view."""

from __future__ import annotations

from pathlib import Path

from mitmproxy.test import tflow

from tests.proxy.test_flow_files import RECORDING, flow_of
from toolcalls.outcome import Outcome
from toolcalls.proxy.content_view import MOST_SHOWN, preview, view_text
from toolcalls.recording import store


def viewed(before: bytes, after: bytes, outcomes: list[Outcome]) -> store.Recording:
    return store.Recording(Path(), {"protocol": "chat"}, b"", before, after, store.calls_json(outcomes))


def test_a_refused_call_has_its_reason_and_a_dropped_one_is_said_to_be_dropped() -> None:
    refused = Outcome("refused", "invalid", '{"tool":"Bash"}', "Bash", '{"a', ("sent to the invalid tool",), "cut")
    dropped = Outcome("refused", "", "", "", "{", ("dropped",), "no name", dropped=True)
    text = view_text(viewed(b"before", b"after", [refused, dropped]))
    assert "call 1: invalid, refused: sent to the invalid tool\n  because  cut\n  name     Bash → invalid\n" in text
    assert "call 2: (no name), refused: dropped\n  because  no name\n  before   {\n  after    (dropped)" in text
    assert "── before: 6 bytes from the upstream ──\nbefore\n\n" in text
    assert text.endswith("── after: 5 bytes for the client ──\nafter")


def test_what_is_untouched_is_shown_once_and_a_long_body_is_cut() -> None:
    text = view_text(viewed(b"x" * (MOST_SHOWN + 7), b"x" * (MOST_SHOWN + 7), []))
    assert text.count("──") == 2
    assert text.endswith("x\n… 7 more bytes")


def test_a_flow_from_a_file_shows_what_would_be_done() -> None:
    recording = store.load(RECORDING)
    previewed = preview(flow_of(recording), {})
    assert previewed is not None
    assert previewed.after == recording.after
    assert "loaded from a file" in view_text(previewed)
    assert preview(tflow.tflow(resp=True), {}) is None
    assert preview(tflow.tflow(), {}) is None
