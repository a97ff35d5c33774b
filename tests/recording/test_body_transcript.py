"""The transcript of a response: what arrived and what was sent, kept once as long as they are the same."""

from __future__ import annotations

import pytest

from toolcalls.recording import body_transcript
from toolcalls.recording.body_transcript import BodyTranscript


def filled(*steps: tuple[bytes, list[bytes]], limit: int | None = None) -> BodyTranscript:
    transcript = BodyTranscript(limit)
    for number, (chunk, out) in enumerate(steps):
        transcript.add(chunk, out, float(number))
    return transcript


def test_an_answer_that_passes_is_kept_once() -> None:
    transcript = filled((b"one", [b"one"]), (b"two", [b"t", b"wo"]))
    assert transcript.after is transcript.before
    assert transcript.before.joined() == b"onetwo"
    assert transcript.is_shared


def test_bytes_that_were_held_and_then_sent_as_they_arrived_are_kept_once() -> None:
    transcript = filled((b"one", [b"one"]), (b"<too", []), (b"thing", [b"<toothing"]), (b"two", [b"two"]))
    assert transcript.after is transcript.before
    assert transcript.before.times == [0.0, 1.0, 2.0, 3.0]


def test_what_is_held_was_not_sent() -> None:
    transcript = filled((b"one", [b"one"]), (b"two", []), (b"three", [b"tw"]))
    assert transcript.before.joined() == b"onetwothree"
    assert transcript.after.joined() == b"onetw"
    assert not transcript.is_shared


@pytest.mark.parametrize("after_it", [(), ((b"more", [b"more"]),)])
def test_what_was_sent_instead_is_kept_on_its_own(after_it: tuple[tuple[bytes, list[bytes]], ...]) -> None:
    transcript = filled((b"one", [b"one"]), (b"two", []), (b"three", [b"2", b"3"]), *after_it)
    rest = b"".join(chunk for chunk, _ in after_it)
    assert transcript.before.joined() == b"onetwothree" + rest
    assert transcript.after.joined() == b"one23" + rest


def test_what_is_sent_at_the_end_is_no_chunk_that_arrived() -> None:
    transcript = filled((b"one", [b"one"]), (b"", [b"end"]))
    assert (transcript.before.chunks, transcript.after.chunks) == ([b"one"], [b"one", b"end"])


def test_bytes_held_to_the_end_and_sent_then_are_kept_once() -> None:
    transcript = filled((b"one", []), (b"", [b"one"]))
    assert transcript.after is transcript.before


def test_a_large_call_that_is_held_is_not_copied_to_be_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_transcript, "_MOST_UNSENT", 10)
    transcript = filled((b"one", [b"one"]), (b"2" * 8, []), (b"3" * 8, []), (b"", [b"2" * 8 + b"3" * 8]))
    assert transcript.after is not transcript.before
    assert transcript.after.joined() == transcript.before.joined()


def test_each_body_has_a_limit_of_its_own() -> None:
    transcript = filled((b"12345", [b"12345"]), (b"678901", []), (b"", [b"x"]), limit=10)
    assert (transcript.before.joined(), transcript.before.complete) == (b"12345", False)
    assert (transcript.after.joined(), transcript.after.complete) == (b"12345x", True)


def test_what_was_sent_has_no_gap_if_a_part_of_it_was_not_kept() -> None:
    transcript = filled((b"one and two", [b"one"]), (b"", [b"2"]), limit=5)
    assert (transcript.after.joined(), transcript.after.size, transcript.after.complete) == (b"", 4, False)


def test_an_empty_chunk_is_nothing_that_was_held() -> None:
    transcript = filled((b"one", [b"one"]), (b"", []))
    assert transcript.is_shared
    assert transcript.after is transcript.before
