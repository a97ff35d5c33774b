"""The probes of `toolfix doctor`: each agent of this machine is really started, and must come through the proxy.

The agent gets an empty home, a made-up key and the environment of `toolfix run`, and sends its request to a server on
this machine. It does not know the server's certificate, so a request that arrives has come through the proxy, and
the agent trusts mitmproxy's CA.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from . import client_environment, doctor_checks, node_runtime, trust
from .agent_sessions import PRIVATE_VARIABLES
from .agents import Agent
from .certificate import write_certificate
from .doctor_checks import Finding
from .proxy_process import ProxyFailed, ProxyProcess
from .upstream import Play, Seen, Upstream

_ANSWER = b'{"error":{"type":"invalid_request_error","message":"this was a probe of toolfix doctor"}}'


def probe_all(
    wanted: Sequence[Agent], environ: Mapping[str, str], confdir: Path, patience: float
) -> Iterator[Finding]:
    before = client_environment.original(environ)
    with contextlib.ExitStack() as stack:
        try:
            name = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="toolfix-doctor-", ignore_cleanup_errors=True)
            )
            ca = trust.ensure_ca(confdir)
        except OSError:
            return  # `doctor_checks` has already reported what is wrong with these directories.
        folder = Path(name)
        certificate = write_certificate(folder / "upstream.pem", ["localhost", "127.0.0.1"])
        trusted = trust.prepare(folder, ca, before)
        arguments = ("--set", f"ssl_verify_upstream_trusted_ca={certificate}")
        try:
            with Upstream(_refuse, certificate) as upstream, ProxyProcess(confdir, arguments) as proxy:
                yield _probe_ourselves(proxy, upstream, trusted)
                clean = client_environment.applied(before, client_environment.for_proxy(before, proxy.url, trusted))
                for agent in wanted:
                    yield _probe(agent, proxy, upstream, clean, folder, patience)
        except ProxyFailed as failed:
            yield Finding("wrong", f"the proxy does not start: {failed.sentence}", "mitmdump --version")


def _refuse(_seen: Seen) -> Play:
    """An answer after which no agent tries again."""
    return Play([_ANSWER], 400, {"content-type": "application/json"})


def _probe_ourselves(proxy: ProxyProcess, upstream: Upstream, trusted: trust.Trust) -> Finding:
    connection = http.client.HTTPSConnection(
        "127.0.0.1", proxy.port, context=ssl.create_default_context(cafile=str(trusted.bundle)), timeout=30
    )
    connection.set_tunnel("localhost", upstream.port)
    try:
        connection.request("POST", "/v1/chat/completions", b"{}", {"content-type": "application/json"})
        connection.getresponse().read()
    except (OSError, http.client.HTTPException) as error:
        return Finding("wrong", f"a request through the proxy fails ({error})", "toolfix demo")
    finally:
        connection.close()
    return Finding("ok", "a request of our own over TLS came through the proxy, with the bundle that clients get")


def _probe(
    agent: Agent, proxy: ProxyProcess, upstream: Upstream, environ: Mapping[str, str], folder: Path, patience: float
) -> Finding:
    program = shutil.which(agent.binary, path=environ.get("PATH"))
    if program is None:
        return Finding("wrong", f"{agent.name}: {agent.binary} is not on the PATH", agent.install)
    if agent.session is None:
        return Finding("note", f"{agent.name} was not started: it {agent.bypass}", agent.works)
    home = folder / agent.binary
    session = agent.session(upstream.url, "Say hello.")
    session.prepare(home)
    seen, logged = len(upstream.requests), len(proxy.output)
    with _started(
        (program, *session.command[1:]), {**_homeless(environ), **session.environ, "HOME": str(home)}, home
    ):
        arrived = _wait(upstream, seen, patience)
    if arrived is None:
        what = f"{agent.name}: started with a made-up key, but none of its requests came through the proxy"
        fix = _fix(agent, proxy.output[logged:], node_runtime.version(environ))
        # An agent that bypasses the proxy for a server on this machine may use it for other hosts.
        return (
            Finding("note", f"{what}: it {agent.bypass}", fix) if fix == agent.works else Finding("wrong", what, fix)
        )
    note = f"; {agent.note}" if agent.note else ""
    return Finding("ok", f"{agent.name}: started with a made-up key, its {arrived} came through the proxy{note}")


def _homeless(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without everything that leads an agent to the user's own files or accounts."""
    return {name: value for name, value in environ.items() if not name.startswith(PRIVATE_VARIABLES)}


@contextlib.contextmanager
def _started(command: Sequence[str], environ: Mapping[str, str], home: Path) -> Iterator[None]:
    """Run the command in a process group of its own, which is killed at the end of the probe."""
    work = home / "work"
    work.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        command,
        cwd=work,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait(10)


def _wait(upstream: Upstream, seen: int, patience: float) -> str | None:
    """The method and path of the first POST that arrives; None if none does in time."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        for request in upstream.requests[seen:]:
            if request.method == "POST":
                return f"POST {request.path.partition('?')[0]}"
        time.sleep(0.05)
    return None


def _fix(agent: Agent, log: str, node: tuple[int, int] | None) -> str:
    """What the log says about a rejected certificate, what is known about the agent, or how to see more."""
    rejected = [line for line in log.splitlines() if "does not trust mitmproxy's CA" in line]
    if rejected:
        return rejected[-1].partition(": it needs ")[2] or rejected[-1]
    if doctor_checks.too_old_for(agent, node):
        return f"{agent.name} needs Node {agent.node} or newer: {doctor_checks.NEWER_NODE}"
    if agent.works:
        return agent.works
    return f"toolfix run --verbose -- {agent.binary}   (shows what reaches the proxy)"
