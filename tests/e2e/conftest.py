"""The parts that all end-to-end tests share: started once a session, because each costs a second."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http2 import Http2Upstream
from tests.upstream import Upstream, write_certificate
from toolcalls.cli.proxy_process import ProxyProcess

from .running import Run, client_environment, command
from .stage import Asking, Clients, Plays, Start, Way, request_body


@pytest.fixture(scope="session")
def plays() -> Plays:
    """What the upstreams answer."""
    return Plays()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The upstreams' own certificate."""
    return write_certificate(tmp_path_factory.mktemp("upstream") / "upstream.pem", ["localhost"])


@pytest.fixture(scope="session")
def upstream(plays: Plays, certificate: Path) -> Iterator[Upstream]:
    """TLS, HTTP/1.1 and HTTP/2."""
    with Http2Upstream(plays, certificate) as upstream:
        yield upstream


@pytest.fixture(scope="session")
def plain_upstream(plays: Plays) -> Iterator[Upstream]:
    """HTTP/1.1 without TLS."""
    with Upstream(plays) as upstream:
        yield upstream


@pytest.fixture(scope="session")
def confdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """mitmproxy's own directory, with its CA."""
    return tmp_path_factory.mktemp("confdir")


@pytest.fixture(scope="session")
def trusting(certificate: Path) -> tuple[str, ...]:
    """The arguments that make mitmdump trust the upstreams, and nothing else."""
    return ("--set", f"ssl_verify_upstream_trusted_ca={certificate}")


@pytest.fixture(scope="session")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the session's proxy records."""
    return tmp_path_factory.mktemp("recorded") / "flows"


@pytest.fixture(scope="session")
def proxy(confdir: Path, trusting: tuple[str, ...], recordings: Path) -> Iterator[ProxyProcess]:
    """A real mitmdump with the addon, as users start it, and a recorder."""
    with ProxyProcess(confdir, (*trusting, "--set", f"toolfix_record={recordings}")) as proxy:
        yield proxy


@pytest.fixture
def start(confdir: Path, trusting: tuple[str, ...], proxy: ProxyProcess) -> Iterator[Start]:
    """Start another mitmdump for one test; it has the CA of the session's proxy."""
    started: list[ProxyProcess] = []

    def start(*arguments: str, **more: Any) -> ProxyProcess:
        # An option that is set twice is an error of mitmproxy's.
        named = any(word.startswith("toolfix_metrics=") for word in arguments)
        ours = more.get("script", "toolfix.py") is not None
        metrics = ("--set", "toolfix_metrics=loopback") if ours and not named else ()
        process = ProxyProcess(confdir, (*metrics, *trusting, *arguments), **more)
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        process.stop()


@pytest.fixture(scope="session")
def clients() -> Iterator[Clients]:
    """The process of the real SDKs."""
    clients = Clients()
    yield clients
    clients.close()


@pytest.fixture
def asking(upstream: Upstream, plays: Plays, proxy: ProxyProcess, clients: Clients, certificate: Path) -> Asking:
    """An SDK that asks for recordings, through the session's proxy and past it."""
    return Asking(upstream, plays, proxy, clients, certificate)


@pytest.fixture(params=["http1", "http2"])
def way(request: pytest.FixtureRequest, upstream: Upstream) -> Way:
    """One HTTP version on both sides of the proxy: mitmproxy offers the client what the upstream chose."""
    if request.param == "http1":
        return Way(upstream, False, "HTTP/1.1", "HTTP/1.1")
    return Way(upstream, True, "HTTP/2", "HTTP/2.0")


@pytest.fixture
def run(confdir: Path, certificate: Path) -> Run:
    """`toolfix run OPTIONS -- CMD`, in the environment of a user whose company has a CA."""

    def start(*cmd: str, options: tuple[str, ...] = (), **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(confdir, *options, cmd=cmd),
            env=client_environment(certificate, **environ),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return start


@pytest.fixture
def asked(tmp_path: Path) -> str:
    """A file with a request, for curl's -d."""
    (tmp_path / "request.json").write_bytes(request_body())
    return f"@{tmp_path / 'request.json'}"
