"""`toolfix doctor`: looks at what `toolfix run` and `toolfix proxy` need, and tries every agent of this machine.

Each agent on the PATH is really started, with an empty home, a made-up key and the environment of `toolfix run`, and
sends its request to a server on this machine. A request that arrives has come through the proxy, and the agent trusts
mitmproxy's CA (see `upstream.py`).
"""

from __future__ import annotations

import contextlib
import http.client
import importlib.metadata
import os
import platform
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import click

from ..shown import LINE, shown_lines
from . import agents, environment, inputs, trust
from .agents import PRIVATE_VARIABLES, Agent
from .inputs import spelled
from .proxy_process import ProxyProcess
from .upstream import Play, Upstream, ask

_INDENT = " " * 7
_ANSWER = b'{"error":{"type":"invalid_request_error","message":"this was a probe of toolfix doctor"}}'
_COLOURS = {"ok": "green", "note": "yellow", "wrong": "red"}
_EXPIRES_SOON = 30
"""The days before its end at which a CA expires soon."""
_NEWER_NODE = "npm install -g n && n 24"


@dataclass(slots=True, frozen=True)
class Finding:
    status: Literal["ok", "note", "wrong"]
    what: str
    fix: str = ""


Found = Iterator[Finding]


@click.command()
@click.argument("agent", required=False)
@inputs.PORT
@inputs.CONFDIR
@click.option("--no-probe", is_flag=True, help="Check only; start no agent.")
@click.option("--patience", default=30, show_default=True, metavar="SECONDS", help="How long an agent may take.")
def doctor(agent: str | None, port: int, confdir: Path, no_probe: bool, patience: int) -> None:
    """Find out what is wrong, and print the command that fixes it.

    Checks mitmproxy's CA, the port, NO_PROXY and the proxy of this shell. Then starts each agent that it knows
    and finds on the PATH (or AGENT alone, such as claude or kimi) in an empty home with a made-up key against a
    server on this machine, and checks that its request comes through the proxy. No account is used, and no key of
    yours leaves the machine. Exits with 1 if there is a problem.
    """
    wanted = agents.named(agent) if agent else None
    if agent and wanted is None:
        known = ", ".join(known.binary for known in agents.AGENTS)
        raise click.UsageError(f"there is no agent {agent!r}: name one of {known}.")
    environ = dict(os.environ)
    findings = [checks(environ, confdir, port)]
    if not no_probe and confdir.parent.is_dir():
        findings.append(_probes([wanted] if wanted else agents.installed(environ), environ, confdir, patience))
    wrong = 0
    for finding in (finding for group in findings for finding in group):
        wrong += finding.status == "wrong"
        _show(finding)
    click.echo("1 problem" if wrong == 1 else f"{wrong or 'no'} problems")
    sys.exit(1 if wrong else 0)


def _show(finding: Finding) -> None:
    mark = click.style(f"{finding.status:5}", fg=_COLOURS[finding.status])
    click.echo(f"{mark}  {_wrapped(shown_lines(finding.what, LINE))}")
    if finding.fix:
        click.echo(f"{_INDENT}fix: {spelled(shown_lines(finding.fix, LINE))}")


def _wrapped(text: str) -> str:
    """The text, wrapped between words on a terminal. A fix is not wrapped, so that it can be copied."""
    if not sys.stdout.isatty():
        return text
    width = shutil.get_terminal_size().columns - len(_INDENT)
    return f"\n{_INDENT}".join(textwrap.wrap(text, max(width, 20), break_long_words=False, break_on_hyphens=False))


# What can be seen without starting anything


def checks(environ: Mapping[str, str], confdir: Path, port: int) -> Found:
    yield Finding("ok", f"Python {platform.python_version()}, mitmproxy {importlib.metadata.version('mitmproxy')}")
    yield ca(confdir)
    yield port_of_the_proxy(port, environ)
    yield from no_proxy(environ)
    yield from existing_proxy(environ)


def ca(confdir: Path) -> Finding:
    file = confdir / trust.CA_FILE
    elsewhere = "name another place: toolfix run --set confdir=DIR -- …   and   toolfix env --confdir DIR"
    again = f"rm {shlex.quote(str(confdir))}/mitmproxy-ca* && toolfix env > /dev/null"
    if not confdir.parent.is_dir():
        what = f"there is no directory {confdir.parent} for mitmproxy's CA: is that a typo?"
        return Finding("wrong", what, elsewhere)
    try:
        trust.refuse_damage(confdir)
        if not file.is_file():
            what = f"there is no CA in {confdir} yet: it is made on first use"
            return Finding("note", what, "toolfix env > /dev/null")
        (confdir / trust.KEY_FILE).read_bytes()
        until = trust.expiry(file)
    except OSError as error:
        return Finding("wrong", f"mitmproxy's CA in {confdir} cannot be used ({error.strerror})", elsewhere)
    except ValueError:
        return Finding("wrong", f"{file} is not a certificate", again)
    days = (until - datetime.now(UTC)).days
    if days < _EXPIRES_SOON:
        what = f"mitmproxy's CA in {confdir} " + ("has expired" if days < 0 else f"expires in {days} days")
        return Finding("wrong" if days < 0 else "note", what, again)
    return Finding("ok", f"CA {file}, valid until {until:%Y-%m-%d}")


def port_of_the_proxy(port: int, environ: Mapping[str, str]) -> Finding:
    taken = _listens("127.0.0.1", port)
    if environ.get("HTTPS_PROXY", "").rstrip("/") == f"http://127.0.0.1:{port}":
        if taken:
            return Finding("ok", f"this shell uses the proxy on port {port}, and something listens there")
        start = f"toolfix proxy{'' if port == 8080 else f' -p {port}'}   (in another terminal)"
        return Finding("wrong", f"this shell uses the proxy on port {port}, but nothing listens there", start)
    if taken:
        what = f"port {port} is taken; toolfix run finds a free one by itself, toolfix proxy needs another"
        with socket.create_server(("127.0.0.1", 0)) as unused:
            free = unused.getsockname()[1]
        return Finding("note", what, f'toolfix proxy -p {free}   and   eval "$(toolfix env --port {free})"')
    return Finding("ok", f"port {port} is free for toolfix proxy")


def _listens(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), 3):
            return True
    except OSError:
        return False


def no_proxy(environ: Mapping[str, str]) -> Found:
    for name, this_machine, models, others in environment.no_proxy(environ):
        fix = f"export {name}={shlex.quote(','.join(others))}" if others else f"unset {name}"
        if this_machine:
            what = (
                f"{name} has {', '.join(this_machine)}: clients silently bypass the proxy for servers on this machine"
            )
            if environment.BEFORE in environ or "//127.0.0.1:" in environ.get("HTTPS_PROXY", ""):
                yield Finding("wrong", what, fix)
            else:
                yield Finding("note", f"{what} (toolfix run takes it out)", fix)
        if models:
            what = f"{name} has {', '.join(models)}: requests to these LLM hosts bypass the proxy"
            yield Finding("wrong", what, fix)


def existing_proxy(environ: Mapping[str, str]) -> Found:
    try:
        upstream = environment.upstream_proxy(environment.original(environ))
    except environment.BadProxy as bad:
        yield Finding("wrong", bad.message, "unset HTTPS_PROXY https_proxy ALL_PROXY all_proxy")
        return
    if upstream is None:
        return
    parts = environment.split_url(upstream.url)
    if _listens(parts.hostname or "", parts.port or 0):
        yield Finding("ok", f"the proxy {upstream.url} of this shell answers; toolfix run goes through it")
    else:
        what = f"the proxy {upstream.url} of this shell does not answer, and toolfix run goes through it"
        yield Finding("wrong", what, "unset HTTPS_PROXY https_proxy")


# Starting agents


def _probes(wanted: Sequence[Agent], environ: Mapping[str, str], confdir: Path, patience: float) -> Found:
    if not wanted:
        yield Finding("note", f"none of {', '.join(agent.binary for agent in agents.AGENTS)} is on the PATH")
    before = environment.original(environ)
    # An answer after which no agent tries again.
    refusal = Play([_ANSWER], 400)
    try:
        with inputs.temporary_folder("toolfix-doctor-") as folder:
            trusted = trust.for_clients(confdir, Path(folder), before, "--confdir DIR")
            with Upstream(lambda _: refusal) as upstream, ProxyProcess(confdir, upstream.for_proxy) as proxy:
                yield _probe_ourselves(proxy, upstream, trusted)
                clean = environment.applied(before, environment.for_proxy(before, proxy.url, trusted))
                for agent in wanted:
                    yield _probe(agent, proxy, upstream, clean, Path(folder) / agent.binary, patience)
    except click.ClickException as problem:
        yield Finding("wrong", problem.message, "mitmdump --version")


def _probe_ourselves(proxy: ProxyProcess, upstream: Upstream, trusted: trust.Trust) -> Finding:
    try:
        ask(proxy.port, f"{upstream.url}/v1/chat/completions", b"{}", trusted.bundle)
    except (OSError, http.client.HTTPException) as error:
        return Finding("wrong", f"a request through the proxy fails ({error})", "toolfix demo")
    return Finding("ok", "a request of our own over TLS came through the proxy, with the bundle that clients get")


def _probe(
    agent: Agent, proxy: ProxyProcess, upstream: Upstream, environ: Mapping[str, str], home: Path, patience: float
) -> Finding:
    program = shutil.which(agent.binary, path=environ.get("PATH"))
    if program is None:
        return Finding("wrong", f"{agent.name}: {agent.binary} is not on the PATH", agent.install)
    if not agent.words:
        return Finding("note", f"{agent.name} was not started: it {agent.bypass}", agent.works)
    session = agent.session(upstream.url, "Say hello.")
    session.prepare(home)
    # Nothing may lead the agent to the user's own files or accounts.
    homeless = {name: value for name, value in environ.items() if not name.startswith(PRIVATE_VARIABLES)}
    environ = {**homeless, **session.environ, "HOME": str(home)}
    logged = len(proxy.output)
    try:
        arrived = _first_post(upstream, (program, *session.command[1:]), environ, home / "work", patience)
    except OSError as error:
        return Finding("wrong", f"{agent.name}: {program} cannot be started ({error.strerror})", agent.install)
    if arrived:
        note = f"; {agent.note}" if agent.note else ""
        return Finding("ok", f"{agent.name}: started with a made-up key, its {arrived} came through the proxy{note}")
    what = f"{agent.name}: started with a made-up key, but none of its requests came through the proxy"
    rejected = [line for line in proxy.output[logged:].splitlines() if "does not trust mitmproxy's CA" in line]
    if rejected:
        return Finding("wrong", what, rejected[-1].partition(": it needs ")[2])
    if 0 < _node_version(environ) < agent.node:
        return Finding("wrong", what, f"{agent.name} needs Node {agent.node} or newer: {_NEWER_NODE}")
    if agent.works:
        # It may use the proxy for hosts that are not on this machine.
        return Finding("note", f"{what}: it {agent.bypass}", agent.works)
    return Finding("wrong", what, f"toolfix run --verbose -- {agent.binary}   (shows what reaches the proxy)")


def _node_version(environ: Mapping[str, str]) -> int:
    """The major version; 0 if there is no Node that runs."""
    program = shutil.which("node", path=environ.get("PATH"))
    if program is None:
        return 0
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = re.match(r"v(\d+)\.", said)
    return int(match[1]) if match else 0


def _first_post(
    upstream: Upstream, command: Sequence[str], environ: Mapping[str, str], work: Path, patience: float
) -> str:
    """Start the command, and stop it when its first POST arrives: its method and path; "" if none does in time."""
    upstream.requests.clear()
    work.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + patience
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(
        command, cwd=work, env=environ, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True
    )
    try:
        while time.monotonic() < deadline:
            for request in upstream.requests:
                if request.method == "POST":
                    return f"POST {request.path.partition('?')[0]}"
            time.sleep(0.05)
        return ""
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
