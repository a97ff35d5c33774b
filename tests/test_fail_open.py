"""Rule 4: an exception anywhere in the engine never loses a byte of the answer and never raises.

The test walks every line that the engine executes for an answer and raises there: in the wire, the
dialect, the slots, the mending. Only the books themselves (stream, ledger, guard) are not attacked: they are
what is being tested.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import toolcalls
from tests.chat_client import read
from tests.splits import cut
from toolcalls.engine import Answer
from toolcalls.recording import store
from toolcalls.request import decode, read_question

ENGINE = str(Path(toolcalls.__file__).parent)
BOOKS = ("stream.py", "ledger.py", "guard.py", "engine.py", "events.py")
RECORDINGS = Path(__file__).parents[1] / "recordings"


class Injected(Exception):
    """The exception that the test raises."""


class Saboteur:
    """Raises at the n-th line of the engine that is executed."""

    def __init__(self, target: int, error: type[Exception]) -> None:
        self.target = target
        self.error = error
        self.lines = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(ENGINE) or name.endswith(BOOKS):
            return None
        return self._line

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self.lines += 1
            if self.lines == self.target:
                raise self.error("injected")
        return self._line


def run(pieces: list[bytes], question: Any, target: int, error: type[Exception]) -> tuple[bytes, int, Answer]:
    answer = Answer("chat", question)
    saboteur = Saboteur(target, error)
    out: list[bytes] = []
    sys.settrace(saboteur)
    try:
        for piece in pieces:
            out += answer.feed(piece)
        out += answer.close()
    finally:
        sys.settrace(None)
    return b"".join(out), saboteur.lines, answer


def scenarios() -> Iterator[Any]:
    for name in ("chat-text-beside-call", "chat-error-in-mid-call", "chat-todowrite-seed", "chat-python-payload"):
        yield pytest.param(store.load(RECORDINGS / name), id=name)


@pytest.mark.parametrize("error", [Injected, RecursionError, MemoryError])
@pytest.mark.parametrize("recording", list(scenarios()))
def test_whatever_line_raises_the_answer_arrives_mended_or_as_it_came(
    recording: store.Recording, error: type[Exception]
) -> None:
    question = read_question(decode(recording.request))
    pieces = recording.pieces()
    good, lines, _ = run(pieces, question, 0, error)
    assert lines > 100, "the walk must really walk"
    as_it_came = {piece: recording.before.count(piece) for piece in _texts(recording.before)}
    step = 1 if error is Injected else 7
    for target in range(1, lines + 1, step):
        out, _, answer = run(pieces, question, target, error)
        for piece, times in as_it_came.items():
            assert out.count(piece) == times, f"line {target}: {piece!r} arrived {out.count(piece)} times"
        if answer.failure is None:
            # Where the engine copes by itself: what is too deep to read passes, or the call is refused.
            assert error is RecursionError or _says_the_same(out, good, recording.before)
            continue
        assert isinstance(answer.failure, error)
        assert _says_the_same(out, good, recording.before)


def _texts(body: bytes) -> list[bytes]:
    """Pieces of text that the client must see exactly as often as the upstream said them."""
    return [
        text for text in (b"Let me ", b"run the tests.", b" Done.", b"Tests first.", b"overloaded") if text in body
    ]


def _fragments(body: bytes) -> str:
    try:
        return json.dumps(read(body).call_list())
    except (KeyError, ValueError):
        return repr(body)


def _says_the_same(out: bytes, good: bytes, before: bytes) -> bool:
    return _fragments(out) in (_fragments(good), _fragments(before)) or _mixed(out, good, before)


def _mixed(out: bytes, good: bytes, before: bytes) -> bool:
    """A failure between two calls: every call is there, mended or as it came, each once."""
    mended, raw = read(good).call_list(), _raw_arguments(before)
    return all(
        any(form in _raw_arguments(out) for form in forms) for forms in zip((a for _, a in mended), raw, strict=False)
    )


def _raw_arguments(body: bytes) -> list[str]:
    found: dict[Any, str] = {}
    for line in body.splitlines():
        payload = line.removeprefix(b"data:").strip()
        try:
            chunk = json.loads(payload)
        except ValueError:
            continue
        for choice in (chunk.get("choices") or []) if isinstance(chunk, dict) else []:
            for number, call in enumerate((choice.get("delta") or {}).get("tool_calls") or []):
                key = call.get("index", number)
                found[key] = found.get(key, "") + str(call["function"].get("arguments") or "")
    return list(found.values())


def test_byte_by_byte_a_failure_gives_everything_back() -> None:
    recording = store.load(RECORDINGS / "chat-text-beside-call")
    question = read_question(decode(recording.request))
    pieces = cut(recording.before, 40)
    _, lines, _ = run(pieces, question, 0, Injected)
    for target in range(1, lines + 1, 13):
        out, _, answer = run(pieces, question, target, Injected)
        if answer.failure is not None:
            for text in _texts(recording.before):
                assert out.count(text) == recording.before.count(text)
