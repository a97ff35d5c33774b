"""What the session's proxy records, and the commands that run the whole thing."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.upstream import Play, Upstream
from toolcalls.cli.proxy_process import ProxyProcess
from toolcalls.recording import store

from .stage import (
    CHAT,
    EVENT_STREAM,
    KEY,
    PATIENCE,
    ROOT,
    Clients,
    Plays,
    arguments_of,
    broken_call,
    request_body,
)

SECRET = "sk-live-abcdefghijklmnopqrstuvwx"
COOKIE = "session=0a1b2c3d4e5f60718293"


def toolfix(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "addon")}
    return subprocess.run(
        [sys.executable, "-m", "toolcalls.cli", *arguments],
        capture_output=True, text=True, timeout=240, env=environment, check=False,
    )  # fmt: skip


def recorded(recordings: Path, name: str, count: int) -> list[Path]:
    """The recordings of the flows to a play, when they are all written."""
    deadline = time.monotonic() + PATIENCE
    found: list[Path] = []
    while len(found) < count and time.monotonic() < deadline:
        # flow.json is written last.
        done = [(path.parent, json.loads(path.read_text())) for path in recordings.glob("*/flow.json")]
        found = [path for path, flow in done if f"/{name}/" in flow["path"]]
        time.sleep(0.05)
    return found


@pytest.fixture(scope="module")
def flows(plays: Plays, upstream: Upstream, proxy: ProxyProcess, clients: Clients, recordings: Path) -> list[Path]:
    """The recordings of two flows with secrets in all places, HTTP/1.1 and HTTP/2."""
    events = broken_call()
    chunks = [event[:50] for event in events[:1]] + [events[0][50:], *events[1:]]
    plays.add("recorded", Play(chunks, headers={**EVENT_STREAM, "set-cookie": COOKIE}, pause=0.01))
    message = {"role": "user", "content": f"my key is {SECRET}, api_key={SECRET}"}
    for http2 in (False, True):
        clients.fetch(
            f"{upstream.url}/recorded{CHAT}?api_key={SECRET}",
            proxy,
            request_body(messages=[message]),
            http2=http2,
            headers={"authorization": f"Bearer {KEY}", "x-api-key": SECRET, "cookie": COOKIE},
        )
    return recorded(recordings, "recorded", 2)


def test_a_recording_holds_what_came_and_what_went(flows: list[Path], plays: Plays) -> None:
    assert len(flows) == 2
    for path in flows:
        assert (path / "before.sse").read_bytes() == b"".join(broken_call())
        assert arguments_of((path / "after.sse").read_bytes()) == [{"command": "ls", "background": True}]
        call = json.loads((path / "calls.json").read_text())[0]
        assert (call["status"], call["name"]) == ("repaired", "Bash")
        flow = json.loads((path / "flow.json").read_text())
        assert (flow["protocol"], flow["method"], flow["status"]) == ("chat", "POST", 200)
        assert flow["chunks"][0] == {"offset": 0, "ms": 0.0}


def test_a_recording_keeps_the_original_chunks(flows: list[Path]) -> None:
    """The upstream pauses between its chunks, so each arrives alone; a slow machine may join some."""
    for path in flows:
        chunks = json.loads((path / "flow.json").read_text())["chunks"]
        assert chunks[1]["offset"] == 50
        assert chunks[-1]["ms"] > 0


def test_recordings_are_private(flows: list[Path], recordings: Path) -> None:
    assert stat.S_IMODE(recordings.stat().st_mode) == 0o700
    for path in flows:
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        names = sorted(file.name for file in path.iterdir())
        assert names == ["after.sse", "before.sse", "calls.json", "flow.json", "request.json"]
        assert {stat.S_IMODE(file.stat().st_mode) for file in path.iterdir()} == {0o600}


def test_no_credential_is_in_any_byte_of_any_recording(flows: list[Path], recordings: Path) -> None:
    assert flows
    for file in (path for path in recordings.rglob("*") if path.is_file()):
        data = file.read_bytes()
        for secret in (KEY, SECRET, COOKIE, COOKIE.partition("=")[2]):
            assert secret.encode() not in data, file
        assert b"authorization" not in data.lower(), file


def test_replay_accepts_what_was_recorded(flows: list[Path], recordings: Path) -> None:
    """All that the session's proxy has recorded until now, broken answers included."""
    run = toolfix("replay", "--check", str(recordings))
    assert run.returncode == 0, run.stdout + run.stderr
    assert "0 changed" in run.stdout


def test_the_demo_shows_recordings_as_expected() -> None:
    """Some of them: all are replayed by test_recordings.py and read by the SDKs in test_e2e_recordings.py."""
    paths = [path for path in store.find(ROOT / "recordings") if not (path / "before.jsonl").is_file()]
    names = [path.name for path in paths[::32]]
    run = toolfix("demo", *names)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{len(names)} of {len(names)} as expected" in run.stdout
    shown = run.stdout.count("\n   model ")
    assert run.stdout.count("\n   agent ") == shown > 0.8 * len(names), "the others have neither a call nor text"
    assert "\n   model \n" not in run.stdout and "\n   agent \n" not in run.stdout


def test_the_short_demo_fits_a_small_terminal_and_says_what_is_next() -> None:
    run = toolfix("demo")
    assert run.returncode == 0, run.stdout + run.stderr
    lines = run.stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert [line.split()[-1] for line in lines if line[:1].isdigit() and "  " in line] == [
        *["mended"] * 3, "refused", "unchanged",
    ]  # fmt: skip
    assert "Through a real mitmdump: 5 of 5 as expected" in run.stdout
    assert "toolfix run -- claude" in run.stdout
    assert "\x1b" not in run.stdout
