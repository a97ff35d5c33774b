"""Rule 4: an exception anywhere in the engine never loses a byte of the answer and never raises.

The test walks every line that the engine executes for an answer and raises there, at its first and at its last
execution: in the wire, the protocol, the answer, the mending, the text search, and in the body too. Not attacked are
the few functions that catch the exception and give out what is held.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

import toolcalls
from tests import sampling
from tests.chat_client import events
from tests.protocols.responses_wire import REQUEST, Upstream
from tests.splits import cut
from toolcalls import engine as engine_module
from toolcalls.engine import Response
from toolcalls.recording import store
from toolcalls.request.request import decode, read_request
from toolcalls.sizes import MOST_CALLS
from toolcalls.wire.framing import SSE

ENGINE = str(Path(toolcalls.__file__).parent)
BOOKS = ("body_stream.py", "events.py")
BODY = Path(ENGINE) / "engine.py"
TAIL = Path(ENGINE) / "waiting.py"
CATCHES = {"feed", "_take", "close", "drain", "_answer", "commit", "_give_up", "_release", "_read"}
"""The functions of the body and the tail that must be right for anything to fail open."""
RECORDINGS = Path(__file__).parents[1] / "recordings"

Line = tuple[str, int]


class Injected(Exception):
    """The exception that the test raises."""


class Saboteur:
    """Counts the lines of the engine that are executed, and raises at one execution of one of them."""

    def __init__(self, line: Line | None = None, execution: int = 0, error: type[Exception] = Injected) -> None:
        self.counts: Counter[Line] = Counter()
        self._line = line
        self._execution = execution
        self._error = error

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(ENGINE) or name.endswith(BOOKS):
            return None
        catches = frame.f_code.co_name in CATCHES and name in map(str, (BODY, TAIL))
        return None if catches else self._trace

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            line = frame.f_code.co_filename, frame.f_lineno
            self.counts[line] += 1
            if line == self._line and self.counts[line] == self._execution:
                raise self._error("injected")
        return self._trace


def run(recording: store.Recording, pieces: list[bytes], saboteur: Saboteur) -> tuple[bytes, Response]:
    answer = Response(recording.protocol, read_request(decode(recording.request)), seed=recording.seed)
    out: list[bytes] = []
    sys.settrace(saboteur)
    try:
        for piece in pieces:
            out += answer.feed(piece)
        out += answer.close()
    finally:
        sys.settrace(None)
    return b"".join(out), answer


class Said(NamedTuple):
    """What a client of one protocol reads out of a body: texts and argument texts, a string a call."""

    texts: str
    calls: dict[Any, str]


def _payloads(body: bytes) -> list[dict[str, Any]]:
    found = []
    for data in events(body):
        # An event that a "blank" line of spaces glued together, and one that is a Python dict, are read too.
        for part in data.split("\n"):
            try:
                value = json.loads(part)
            except ValueError:
                try:
                    value = eval(part, {}, {}) if part.startswith("{'") else None
                except SyntaxError:
                    value = None
            if isinstance(value, dict):
                found.append(value)
    return found


def chat(body: bytes) -> Said:
    text = ""
    calls: dict[Any, str] = {}
    for chunk in _payloads(body):
        for choice in chunk.get("choices") or []:
            delta = choice.get("delta") or {}
            text += (delta.get("reasoning_content") or "") + (delta.get("content") or "")
            for number, call in enumerate(delta.get("tool_calls") or []):
                key = call.get("index", number)
                calls[key] = calls.get(key, "") + str(call["function"].get("arguments") or "")
    return Said(text, calls)


def messages(body: bytes) -> Said:
    text = ""
    calls: dict[Any, str] = {}
    place = None
    for event in _payloads(body):
        if event.get("type") == "content_block_start" and event["content_block"]["type"] == "tool_use":
            place = event["content_block"].get("id")
            calls.setdefault(place, "")
        delta = event.get("delta") or {}
        text += delta.get("text") or ""
        if "partial_json" in delta:
            calls[place] = calls.get(place, "") + delta["partial_json"]
    return Said(text, calls)


def responses(body: bytes) -> Said:
    text = ""
    calls: dict[Any, str] = {}
    for event in _payloads(body):
        if event.get("type") == "response.output_text.delta":
            text += event["delta"]
        elif event.get("type") == "response.function_call_arguments.delta":
            calls[event["item_id"]] = calls.get(event["item_id"], "") + event["delta"]
    return Said(text, calls)


def ollama(body: bytes) -> Said:
    messages = [json.loads(line)["message"] for line in body.splitlines() if line.strip()]
    calls = [call["function"]["arguments"] for message in messages for call in message.get("tool_calls") or []]
    texts = "".join(message["content"] for message in messages)
    thoughts = "".join(message.get("thinking") or "" for message in messages)
    written = (text if isinstance(text, str) else json.dumps(text) for text in calls)
    return Said(thoughts + texts, dict(enumerate(written)))


READERS: dict[str, Callable[[bytes], Said]] = {
    "chat": chat,
    "messages": messages,
    "responses": responses,
    "ollama": ollama,
}
NAMES = (
    "chat-text-beside-call",
    "chat-error-in-mid-call",
    "000-sse-stream",
    "chat-python-payload",
    "messages-args-container-as-string",
    "messages-args-python-literals",
    "responses-args-double-encoded",
    "responses-args-param-name-drift",
    "ollama-text-beside-call",
)


def check(recording: store.Recording, out: bytes, good: bytes, answer: Response, error: type[Exception]) -> None:
    """Every word once and in order; every call mended or as it came."""
    read = READERS[recording.protocol]
    said, mended, raw = read(out), read(good), read(recording.before)
    assert said.texts == raw.texts
    if answer.failure is None:
        # Where the engine copes by itself: what is too deep to read passes, or the call is refused.
        assert error is RecursionError or said in (mended, raw)
        return
    assert isinstance(answer.failure, error)
    # A call that is refused before an error is dropped on purpose: it may be missing.
    for key, text in raw.calls.items():
        forms = {text, mended.calls.get(key, ""), *(value for value in mended.calls.values())}
        assert said.calls.get(key, "") in forms or not mended.calls.get(key), f"call {key} came as {said.calls}"


def walk(name: str, error: type[Exception], *, thorough: bool) -> None:
    (directory,) = RECORDINGS.glob(f"*/{name}")
    recording = store.load(directory)
    pieces = recording.pieces() if thorough else cut(recording.before, 150)
    scout = Saboteur()
    good, _ = run(recording, pieces, scout)
    assert len(scout.counts) > 60, "the walk must really walk"
    # The recordings share most lines: each walks a sixth of them, and together they walk all, most of them twice;
    # those that raise an error that is easily forgotten, a part of that.
    share = list(scout.counts.items())[NAMES.index(name) % 6 :: 6]
    share = share if thorough else sampling.part(share, 2)
    for number, (line, times) in enumerate(share):
        for execution in {1, times} if thorough else {(number % times) + 1}:
            out, answer = run(recording, pieces, Saboteur(line, execution, error))
            check(recording, out, good, answer, error)


@pytest.mark.parametrize("name", NAMES)
def test_whatever_line_raises_the_answer_arrives_mended_or_as_it_came(name: str) -> None:
    walk(name, Injected, thorough=True)


@pytest.mark.parametrize("error", [RecursionError, MemoryError])
@pytest.mark.parametrize("name", NAMES[::3])
def test_the_same_for_the_errors_that_are_easily_forgotten(name: str, error: type[Exception]) -> None:
    walk(name, error, thorough=False)


@pytest.mark.parametrize("known", [False, True])
def test_a_chunk_that_cannot_be_cut_into_events_is_not_lost(known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> int:
        raise Injected("injected")

    body = b'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'
    answer = Response("chat")
    out = answer.feed(body) if known else []
    broken = SSE._replace(cut=fails)
    monkeypatch.setattr(answer, "_framing", broken)
    monkeypatch.setattr(engine_module, "SSE", broken)
    out += [*answer.feed(body[:20]), *answer.feed(body[20:]), *answer.close()]
    assert b"".join(out) == body * (2 if known else 1)
    assert isinstance(answer.failure, Injected)


@pytest.mark.parametrize("size", [1, 10_000_000])
def test_calls_that_were_sent_before_a_limit_are_reported_whatever_chunk_they_come_in(size: int) -> None:
    upstream = Upstream().call("shell", json.dumps('{"command":"ls"}'))
    upstream.output += [{"id": f"m{number}", "type": "message", "content": []} for number in range(MOST_CALLS)]
    body = upstream.end().bytes()
    answer = Response("responses", read_request(REQUEST))
    out = b"".join(sent for piece in cut(body, size) for sent in answer.feed(piece))
    assert answer.limited
    assert [outcome.status for outcome in answer.outcomes] == ["repaired"]
    assert rb'"arguments":"{\"command\":\"ls\"}"' in out
