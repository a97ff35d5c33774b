"""Observe mode over the whole acceptance set: every byte and header passes as it came, and the log says the same.

A team that observes for a week must be able to rely on both: nothing changes, and what the report says is what
repair mode would have done.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http, websocket
from mitmproxy.test import taddons, tflow, tutils
from wsproto.frame_protocol import Opcode

from tests.chat_client import events
from tests.sampling import part
from tests.splits import cut_at_random
from tests.upstream import compressed
from toolcalls.recording import store
from toolfix import Toolfix

RECORDINGS = Path(__file__).parents[2] / "recordings"
DIRECTORIES = [path for path in store.find(RECORDINGS) if not (path / "before.jsonl").is_file()]


@dataclass
class Heard(logging.Handler):
    """What the script says of the flows."""

    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(logging.INFO)

    __hash__ = logging.Handler.__hash__

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == "toolfix":
            self.lines.append(record.getMessage())


@contextmanager
def script(mode: str, recording: store.Recording, **more: str) -> Iterator[tuple[Toolfix, Heard]]:
    addon, heard = Toolfix(), Heard()
    logger = logging.getLogger("toolfix")
    level = logger.level
    logger.addHandler(heard)
    logger.setLevel(logging.INFO)
    # mitmproxy 12 leaves a handler of each context behind, whose event loop is closed.
    logger.propagate = False
    options = {**recording.flow.get("policy", {}), "toolfix_mode": mode, **more}
    try:
        with taddons.context(addon) as context:
            context.configure(addon, **options)
            heard.lines.clear()
            yield addon, heard
    finally:
        logger.removeHandler(heard)
        logger.setLevel(level)
        logger.propagate = True


@dataclass
class Seen:
    """What the upstream and the client got, and what was said about it."""

    request: bytes
    request_headers: list[tuple[str, str]]
    headers: list[tuple[str, str]]
    chunks: list[bytes]
    said: list[str]
    calls: list[dict[str, Any]]
    steps: dict[str, int] | None


def a_flow(recording: store.Recording) -> http.HTTPFlow:
    flow = tflow.tflow()
    flow.request = tutils.treq(
        method=b"POST",
        scheme=b"http",
        host=str(recording.flow.get("host") or "api.example"),
        authority=b"",
        path=str(recording.flow["path"]).encode(),
        content=recording.request,
        headers=http.Headers([(b"accept-encoding", b"gzip, br"), (b"content-type", b"application/json")]),
    )
    return flow


def play(recording: store.Recording, mode: str, *cuts: list[bytes]) -> list[Seen]:
    """Exchanges through the hooks, as mitmproxy calls them: one for each way in which the answer is cut."""
    with script(mode, recording) as (addon, heard):
        return [exchange(recording, addon, heard, pieces) for pieces in cuts]


def exchange(recording: store.Recording, addon: Toolfix, heard: Heard, pieces: list[bytes]) -> Seen:
    heard.lines = []
    flow = a_flow(recording)
    addon.request(flow)
    ours = addon.http.open[flow]
    fields = {"content-type": str(recording.flow.get("content_type")), "x-own": "1"}
    if recording.flow.get("content_encoding"):
        fields["content-encoding"] = str(recording.flow["content_encoding"])
    if recording.flow["status"] >= 400:
        fields["content-length"] = str(sum(map(len, pieces)))
    headers = http.Headers([(name.encode(), text.encode()) for name, text in fields.items()])
    response = flow.response = tutils.tresp(status_code=recording.flow["status"], headers=headers, content=None)
    addon.http.responseheaders(flow)
    stream: Any = response.stream
    if callable(stream):
        out = [sent for chunk in [*pieces, b""] for sent in stream(chunk)]
    else:
        response.raw_content = b"".join(pieces)
    sent_headers = list(response.headers.items())
    addon.http.response(flow)
    if not callable(stream):
        out, sent_headers = [response.raw_content or b""], list(response.headers.items())
    stream = ours.stream
    assert stream is not None or response.status_code >= 400, "an error that goes on has no books"
    assert stream is None or stream.response.failure is None
    return Seen(
        flow.request.raw_content or b"",
        list(flow.request.headers.items()),
        sent_headers,
        out,
        heard.lines,
        store.calls_json(stream.response.outcomes if stream else []),
        ours.report.exchange.changed.steps if ours.report.exchange.changed else None,
    )


def encoded(recording: store.Recording, pieces: list[bytes]) -> list[bytes]:
    name = str(recording.flow.get("content_encoding") or "")
    return [piece for piece in compressed(pieces, name) if piece] if name else pieces


@pytest.mark.parametrize("directory", part(DIRECTORIES, 2), ids=lambda directory: directory.name)
def test_observed_every_byte_passes_and_the_same_is_said_as_in_repair_mode(directory: Path) -> None:
    recording = store.load(directory)
    (repaired,) = play(recording, "repair", encoded(recording, recording.pieces()))
    assert b"".join(repaired.chunks) == recording.after, "repair mode is the real thing"
    cuts = [recording.before], recording.pieces(), cut_at_random(recording.before, seed=1)
    all_sent = [encoded(recording, pieces) for pieces in cuts]
    for sent, seen in zip(all_sent, play(recording, "observe", *all_sent), strict=True):
        assert seen.chunks in (sent, [b"".join(sent)]), "chunk by chunk, or a body as a whole"
        assert seen.request == recording.request
        assert dict(seen.request_headers)["accept-encoding"] == "gzip, br"
        assert ("x-own", "1") in seen.headers
        assert dict(seen.headers).get("content-encoding") == recording.flow.get("content_encoding")
        assert seen.calls == repaired.calls
        assert seen.steps == repaired.steps
        # Where nothing is converted, nothing goes out that the host could change later.
        said = [line for line in repaired.said if "the client keeps the old text" not in line]
        assert [line.replace("would have ", "") for line in seen.said] == said
        assert sum("would have " in line for line in seen.said) == len(seen.said)


def test_the_log_of_the_whole_set_has_something_to_say() -> None:
    """The test above compares logs: it must not compare silence with silence."""
    loaded = map(store.load, DIRECTORIES)
    spoken = [known for known in loaded if any(call["status"] != "valid" for call in known.calls or [])]
    assert len(spoken) > 150
    assert play(spoken[0], "observe", spoken[0].pieces())[0].said


# The same over a WebSocket

SOCKETS = [path for path in DIRECTORIES if path.name.startswith("responses-") and (path / "before.sse").is_file()]


def talk(recording: store.Recording, mode: str) -> tuple[list[str], list[str]]:
    """The messages of both sides as they go on, and what is said."""
    with script(mode, recording) as (addon, heard):
        flow = a_flow(recording)
        flow.request.method = "GET"
        flow.response = tutils.tresp(status_code=101)
        flow.websocket = websocket.WebSocketData()
        addon.websocket_start(flow)
        create = {"type": "response.create", "response": json.loads(recording.request)}
        out = []
        for number, text in enumerate([json.dumps(create), *events(recording.before)]):
            message = websocket.WebSocketMessage(Opcode.TEXT, number == 0, text.encode())
            flow.websocket.messages.append(message)
            addon.websockets.websocket_message(flow)
            out.append("(dropped)" if message.dropped else message.text)
        addon.websockets.websocket_end(flow)
        return out, heard.lines


@pytest.mark.parametrize("directory", SOCKETS[::4], ids=lambda directory: directory.name)
def test_observed_every_message_of_a_socket_passes(directory: Path) -> None:
    recording = store.load(directory)
    passed, said = talk(recording, "observe")
    assert passed[0] == json.dumps({"type": "response.create", "response": json.loads(recording.request)})
    assert passed[1:] == events(recording.before)
    _, done = talk(recording, "repair")
    assert [line.replace("would have ", "") for line in said] == done
