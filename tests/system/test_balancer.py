"""Several people behind one address: two proxies with one CA behind HAProxy, set up as docs/team.md says."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.stage import (
    CHAT,
    EVENT_STREAM,
    MENDED,
    ROOT,
    arguments_of,
    broken_call,
    chat_event,
    free_port,
    request_body,
)
from tests.upstream import Play, Seen, Upstream, write_certificate
from toolcalls.cli.proxy_process import ProxyProcess

STREAMS = 50
PIECES = 40
PAUSE = 0.05
"""Each stream takes at least PIECES times this."""


@dataclass(slots=True)
class Team:
    port: int
    upstream: Upstream
    proxies: dict[str, ProxyProcess]
    ca: Path


def slow_stream(_seen: Seen) -> Play:
    words = [chat_event({"content": f"word {number} "}) for number in range(PIECES)]
    first, *rest = broken_call(pieces=10)
    return Play([first, *words, *rest], headers=EVENT_STREAM, pause=PAUSE)


def configuration(folder: Path, ports: list[int], port: int) -> Path:
    """The block of docs/team.md, with the ports of this test."""
    found = re.search(r"```haproxy\n(.*?)```", (ROOT / "docs/team.md").read_text(), re.DOTALL)
    assert found
    text = found[1].replace("bind :8080", f"bind 127.0.0.1:{port}")
    for number, own in zip((8081, 8082), ports, strict=True):
        assert f"127.0.0.1:{number}" in text
        text = text.replace(f"127.0.0.1:{number}", f"127.0.0.1:{own}")
    path = folder / "haproxy.cfg"
    path.write_text(text)
    return path


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    certificate = write_certificate(tmp_path / "upstream.pem", ["localhost"])
    confdir = tmp_path / "one-ca"
    with Upstream(slow_stream, certificate) as upstream:
        proxies = {
            name: ProxyProcess(
                confdir,
                (
                    "--set",
                    f"ssl_verify_upstream_trusted_ca={certificate}",
                    "--modify-headers",
                    f"/~q/x-instance/{name}",
                ),
            )
            for name in ("a", "b")
        }
        port = free_port()
        haproxy = None
        try:
            for proxy in proxies.values():
                proxy.start()
            path = configuration(tmp_path, [proxy.port for proxy in proxies.values()], port)
            haproxy = subprocess.Popen(["haproxy", "-db", "-q", "-f", str(path)])
            wait_for(port)
            yield Team(port, upstream, proxies, proxies["a"].ca)
        finally:
            if haproxy:
                haproxy.terminate()
                haproxy.wait(10)
            for proxy in proxies.values():
                proxy.stop()


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("HAProxy does not listen")


class Stream(threading.Thread):
    """One agent's answer. `body` is what arrived, `complete` whether that was all."""

    def __init__(self, team: Team, number: int) -> None:
        super().__init__(daemon=True)
        self._team = team
        self.number = number
        self.body = b""
        self.complete = False

    def run(self) -> None:
        context = ssl.create_default_context(cafile=str(self._team.ca))
        connection = http.client.HTTPSConnection("127.0.0.1", self._team.port, context=context, timeout=60)
        connection.set_tunnel("localhost", self._team.upstream.port)
        headers = {"content-type": "application/json", "x-stream": str(self.number)}
        try:
            connection.request("POST", CHAT, request_body(), headers)
            response = connection.getresponse()
            while chunk := response.read1(65536):
                self.body += chunk
            self.complete = self.body.endswith(b"data: [DONE]\n\n")
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()


def served_by(team: Team) -> dict[int, str]:
    """Which instance carried each stream, as the upstream saw it."""
    return {int(seen.headers["x-stream"]): seen.headers["x-instance"] for seen in team.upstream.requests}


def start(team: Team, numbers: range) -> list[Stream]:
    streams = [Stream(team, number) for number in numbers]
    for stream in streams:
        stream.start()
    return streams


def test_fifty_streams_are_served_by_both(team: Team) -> None:
    streams = start(team, range(STREAMS))
    for stream in streams:
        stream.join(60)
    assert all(stream.complete for stream in streams)
    assert all(arguments_of(stream.body) == [MENDED] for stream in streams)
    carried = list(served_by(team).values())
    assert len(carried) == STREAMS
    assert min(carried.count("a"), carried.count("b")) >= STREAMS // 4, carried


def test_killing_one_in_mid_run_breaks_only_its_own_streams(team: Team) -> None:
    streams = start(team, range(STREAMS))
    deadline = time.monotonic() + 30
    while not all(b"word 3 " in stream.body for stream in streams) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(stream.complete for stream in streams), "the streams are too short for this test"
    os.kill(team.proxies["a"].process.pid, signal.SIGKILL)
    for stream in streams:
        stream.join(60)
    carried = served_by(team)
    assert len(carried) == STREAMS
    broken = {stream.number for stream in streams if not stream.complete}
    assert broken == {number for number, instance in carried.items() if instance == "a"}
    assert broken
    whole = [stream for stream in streams if stream.complete]
    assert all(arguments_of(stream.body) == [MENDED] for stream in whole)
    # Whoever asks again is served by the other one.
    again = start(team, range(STREAMS, STREAMS + 10))
    for stream in again:
        stream.join(60)
    assert all(stream.complete for stream in again)
    assert {served_by(team)[stream.number] for stream in again} == {"b"}
