"""Evidence under bad luck: a killed proxy, a full disk, a directory that is gone; replay of a recorded session."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.upstream import Play, Upstream
from toolcalls.cli.proxy_process import ProxyProcess
from toolcalls.recording import store
from toolcalls.recording.replay import replay

from .stage import (
    CHAT,
    DONE,
    EVENT_STREAM,
    MENDED,
    PATIENCE,
    Clients,
    Plays,
    Start,
    arguments_of,
    broken_call,
    call_event,
    chat_event,
    request_body,
    wait_for,
)
from .test_e2e_websocket import converse, frames, one_turn
from .test_e2e_websocket import upstream as socket_upstream  # noqa: F401

# A proxy that is killed in mid-flow


class Stalled:
    """The first events of a stream; then nothing more until it is told to go on."""

    def __init__(self) -> None:
        self.over = False

    def __iter__(self) -> Iterator[bytes]:
        yield from broken_call()[:4]
        deadline = time.monotonic() + PATIENCE
        while not self.over and time.monotonic() < deadline:
            yield b": still there\n\n"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_proxy_that_is_stopped_in_mid_flow_records_that_and_a_killed_one_leaves_nothing_half(
    how: signal.Signals, start: Start, tmp_path: Path, plays: Plays, certificate: Path, clients: Clients
) -> None:
    stalled = Stalled()
    plays.add("stalled", Play(stalled, headers=EVENT_STREAM, pause=0.05))
    folder = tmp_path / "flows"
    process = start("--set", f"toolfix_record={folder}")
    with Upstream(plays, certificate) as upstream:
        ended = False

        def end(_: bytes) -> None:
            nonlocal ended
            if not ended:
                ended = True
                os.kill(process.process.pid, how)

        received = clients.fetch(f"{upstream.url}/stalled{CHAT}", process, on_chunk=end)
        stalled.over = True
    assert ended and received.error
    process.stop()
    if how == signal.SIGKILL:
        assert not [path for path in folder.rglob("*") if path.is_file()]
        return
    assert wait_for(lambda: store.find(folder))
    (path,) = store.find(folder)
    recording = store.load(path)
    assert recording.broken
    assert recording.before.startswith(b"".join(broken_call()[:4])[:100])
    assert replay(recording).drift == []


# A disk that fails


def ask_until_it_fails(
    folder: Path, process: ProxyProcess, upstream: Upstream, clients: Clients, message: str
) -> None:
    padding = [{"role": "user", "content": "x" * 20_000}]
    for _ in range(10):
        received = clients.fetch(f"{upstream.url}/failing{CHAT}", process, request_body(messages=padding))
        assert arguments_of(received.body) == [MENDED], received.error
        assert received.body.endswith(DONE)
    assert wait_for(lambda: message in process.output), process.output
    assert process.output.count("toolfix cannot write recordings") == 1
    for path in store.find(folder):
        assert replay(store.load(path)).drift == [], "what is there is whole"


@contextlib.contextmanager
def small_disk(folder: Path, options: str) -> Iterator[None]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_loses_no_answer(
    start: Start, tmp_path: Path, plays: Plays, upstream: Upstream, clients: Clients
) -> None:
    plays.add("failing", Play(broken_call(), headers=EVENT_STREAM))
    with small_disk(tmp_path / "disk", "size=128k,mode=700"):
        process = start("--set", f"toolfix_record={tmp_path / 'disk'}")
        ask_until_it_fails(tmp_path / "disk", process, upstream, clients, "No space left on device")
        process.stop()


def test_a_directory_that_becomes_read_only_loses_no_answer(
    start: Start, tmp_path: Path, plays: Plays, upstream: Upstream, clients: Clients
) -> None:
    plays.add("failing", Play(broken_call(), headers=EVENT_STREAM))
    with small_disk(tmp_path / "disk", "size=8m,mode=700"):
        process = start("--set", f"toolfix_record={tmp_path / 'disk'}")
        subprocess.run(["mount", "-o", "remount,ro", str(tmp_path / "disk")], check=True)
        ask_until_it_fails(tmp_path / "disk", process, upstream, clients, "Read-only file system")
        process.stop()


def test_a_directory_that_is_a_file_now_loses_no_answer(
    start: Start, tmp_path: Path, plays: Plays, upstream: Upstream, clients: Clients
) -> None:
    plays.add("failing", Play(broken_call(), headers=EVENT_STREAM))
    folder = tmp_path / "flows"
    process = start("--set", f"toolfix_record={folder}")
    folder.rmdir()
    folder.write_text("in the way")
    ask_until_it_fails(folder / "none", process, upstream, clients, "Not a directory")


# Secrets

SECRET = "sk-live-zyxwvutsrqponmlkjihgfedcba"
PASSWORD = "correct horse battery staple"


def test_a_secret_in_header_url_and_both_bodies_is_in_no_byte_on_the_disk(
    start: Start, tmp_path: Path, plays: Plays, upstream: Upstream, clients: Clients
) -> None:
    arguments = json.dumps({"command": f"curl -H 'x-api-key: {SECRET}'", "password": PASSWORD})
    events = [
        chat_event({"role": "assistant", "content": f"Your key is {SECRET}."}),
        call_event(arguments.replace('"', "'").replace("''", "'"), "Bash"),
        call_event(arguments, "Bash", 1),
        chat_event({}, "tool_calls"),
        DONE,
    ]
    headers = {**EVENT_STREAM, "set-cookie": f"session={SECRET}", "x-token": SECRET}
    plays.add("secrets", Play(events, headers=headers))
    folder = tmp_path / "flows"
    process = start("--set", f"toolfix_record={folder}")
    message = {"role": "user", "content": f"My key is {SECRET}, and password: '{PASSWORD}'."}
    for http2 in (False, True):
        received = clients.fetch(
            f"{upstream.url}/secrets{CHAT}?key={SECRET}&token={SECRET}",
            process,
            request_body(messages=[message], api_key=SECRET),
            http2=http2,
            headers={"authorization": f"Bearer {SECRET}", "x-api-key": SECRET, "cookie": f"session={SECRET}"},
        )
        assert SECRET.encode() in received.body, "the client gets what it asked for"
    process.stop()
    files = [file for path in store.find(folder) for file in path.iterdir()]
    assert len(files) == 10
    for file in files:
        assert SECRET.encode() not in file.read_bytes(), file
        assert PASSWORD.encode() not in file.read_bytes(), file
    assert all(replay(store.load(path)).drift == [] for path in store.find(folder))


# mitmproxy's own replay


def test_a_recorded_session_is_replayed_to_a_client_without_an_upstream(
    start: Start, tmp_path: Path, plays: Plays, certificate: Path, clients: Clients
) -> None:
    """As docs/recordings.md says: recorded with -w, replayed with -S. The upstream is gone by then."""
    plays.add("session", Play(broken_call(), headers=EVENT_STREAM))
    flows = tmp_path / "session.flows"
    recorder = start("-w", str(flows), "--set", "toolfix_mode=observe")
    with Upstream(plays, certificate) as upstream:
        url = f"{upstream.url}/session/v1"
        assert clients.fetch(f"{url}/chat/completions", recorder).body == b"".join(broken_call())
    recorder.stop()
    process = start(
        "-S", str(flows), "--set", "server_replay_ignore_content=true", "--set", "server_replay_extra=404",
        "--set", "server_replay_reuse=true", "--set", "connection_strategy=lazy",
        "--set", f"toolfix_record={tmp_path / 'again'}",
    )  # fmt: skip
    answer = clients.ask("chat", url, process, stream=True, request=json.loads(request_body()))
    assert [json.loads(call["arguments"]) for call in answer["calls"]] == [MENDED], answer["error"]
    assert clients.fetch(f"{upstream.url}/unknown{CHAT}", process).status == 404
    process.stop()
    (path,) = store.find(tmp_path / "again")
    assert replay(store.load(path)).drift == []


# WebSockets


def test_a_websocket_is_recorded_and_replayed_and_counted(
    start: Start,
    tmp_path: Path,
    socket_upstream: tuple[int, list[str]],  # noqa: F811
) -> None:
    folder = tmp_path / "flows"
    process = start("--set", f"toolfix_record={folder}")
    got = converse(process, socket_upstream[0], lambda end: one_turn(end) + one_turn(end))
    assert wait_for(lambda: any(not store.load(path).broken for path in store.find(folder)))
    with urllib.request.urlopen(f"{process.url}/metrics", timeout=PATIENCE) as response:
        metrics = response.read().decode()
    assert 'toolfix_calls_total{protocol="responses",status="repaired"} 2' in metrics
    assert 'toolfix_mending_seconds_count{protocol="responses"} 2' in metrics
    (path,) = store.find(folder)
    recording = store.load(path)
    assert recording.suffix == ".jsonl"
    came = [json.loads(line) for line in recording.before.splitlines()]
    assert [entry["text"] for entry in came if entry["from"] == "server"] == frames() * 2
    went = [json.loads(line)["text"] for line in (recording.after or b"").splitlines() if b'"server"' in line]
    assert went == got
    assert [call["status"] for call in recording.calls or []] == ["repaired", "repaired"]
    assert replay(recording).drift == []
