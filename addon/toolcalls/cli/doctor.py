"""`toolfix doctor`: looks at what `toolfix run` and `toolfix proxy` need, and tries every agent of this machine.

Each agent on the PATH is really started, with an empty home, a made-up key and the environment of `toolfix run`, and
sends its request to a server on this machine. A request that arrives has come through the proxy, and the agent trusts
mitmproxy's CA (see `demo.py`).
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Literal
from urllib.parse import urlsplit

import click
from cryptography import x509

from .. import policy
from ..shown import LINE, shown_lines
from . import environment, inputs, sentence_of
from .agents import AGENTS, Agent
from .demo import Upstream
from .proxy_process import ProxyProcess, listen

_WORDS = b'{"error":{"type":"invalid_request_error","message":"this was a probe of toolfix doctor"}}'
_REFUSAL = 400, "application/json", [_WORDS]
"""An answer after which no agent tries again."""
_KEPT = ("PATH", "LANG", "LC_ALL", "TERM", "TMPDIR", "USER", "SHELL")
"""The variables of the user that an agent gets; others could lead it to the user's own files or accounts."""
_COLOURS = {"ok": "green", "note": "yellow", "wrong": "red"}


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
@click.option(
    "--patience",
    type=click.IntRange(1),
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="How long an agent may take.",
)
def doctor(agent: str | None, port: int, confdir: Path, no_probe: bool, patience: int) -> None:
    """Find out what is wrong, and print the command that fixes it.

    Checks mitmproxy's CA, the port, NO_PROXY and the proxy of this shell. Then starts each agent that it knows
    and finds on the PATH (or AGENT alone, such as claude or kimi) in an empty home with a made-up key against a
    server on this machine, and checks that its request comes through the proxy. No account is used, and no key of
    yours leaves the machine. Exits with 1 if there is a problem.
    """
    if agent and agent not in AGENTS:
        raise click.UsageError(f"there is no agent {agent!r}: name one of {', '.join(AGENTS)}.")
    environ = dict(os.environ)
    wanted = [AGENTS[agent]] if agent else [known for known in AGENTS.values() if shutil.which(known.binary)]
    wrong = 0
    for finding in chain(
        checks(environ, confdir, port), () if no_probe else _probes(wanted, environ, confdir, patience)
    ):
        wrong += finding.status == "wrong"
        status = click.style(f"{finding.status:5}", fg=_COLOURS[finding.status])
        click.echo(f"{status}  {inputs.spelled(shown_lines(finding.what, LINE))}")
        if finding.fix:
            click.echo(f"       fix: {inputs.spelled(shown_lines(finding.fix, LINE))}")
    click.echo("1 problem" if wrong == 1 else f"{wrong or 'no'} problems")
    sys.exit(1 if wrong else 0)


# What can be seen without starting anything


def checks(environ: Mapping[str, str], confdir: Path, port: int) -> Found:
    yield Finding("ok", f"Python {platform.python_version()}, mitmproxy {importlib.metadata.version('mitmproxy')}")
    yield ca(confdir)
    yield from port_of_the_proxy(port, environ)
    yield from variables(environ)


def ca(confdir: Path) -> Finding:
    """Whether mitmproxy's CA can be used. It is made if there is none, as by every command that needs it."""
    again = f"rm {shlex.quote(str(confdir))}/mitmproxy-ca* && toolfix env > /dev/null"
    file = confdir / environment.CA_FILE
    try:
        ends = x509.load_pem_x509_certificate(environment.ensure_ca(confdir).read_bytes()).not_valid_after_utc
    except OSError as error:
        elsewhere = "name another place: toolfix run --set confdir=DIR -- …   and   toolfix env --confdir DIR"
        return Finding("wrong", f"mitmproxy's CA: {sentence_of(error)}", elsewhere)
    except ValueError:
        return Finding("wrong", f"{file} is not a certificate", again)
    days = (ends - datetime.now(UTC)).days
    if days < 30:
        words = "has expired" if days < 0 else f"expires in {days} days"
        return Finding("wrong" if days < 0 else "note", f"mitmproxy's CA in {confdir} {words}", again)
    return Finding("ok", f"CA {file}, valid for {days} days")


def port_of_the_proxy(port: int, environ: Mapping[str, str]) -> Found:
    """The port, and whether this shell uses the proxy there for everything."""
    taken = _listens(f"http://127.0.0.1:{port}")
    uses = f"this shell uses the proxy on port {port}"
    used = environ.get("HTTPS_PROXY", "").rstrip("/") == f"http://127.0.0.1:{port}"
    if used and taken:
        yield Finding("ok", f"{uses}, and something listens there")
    elif used:
        start = f"toolfix proxy -p {port}   (in another terminal)"
        yield Finding("wrong", f"{uses}, but nothing listens there", start)
    elif taken:
        with listen(0) as unused:
            free = unused.getsockname()[1]
        what = f"port {port} is taken, by toolfix proxy or another program; toolfix run finds a free one by itself"
        yield Finding("note", what, f'toolfix proxy -p {free}   and   eval "$(toolfix env --port {free})"')
    else:
        yield Finding("ok", f"port {port} is free for toolfix proxy")
    for name in filter(environ.get, environment.NO_PROXY if used else ()):
        bypassed = f"{name} has {environ[name]}: requests there silently bypass the proxy"
        yield Finding("wrong", bypassed, f"unset {name}")


def _listens(url: str) -> bool:
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    try:
        socket.create_connection((str(parts.hostname), port), 3).close()
    except OSError:
        return False
    return True


def variables(environ: Mapping[str, str]) -> Found:
    """The proxy on the way out and the options that this shell sets."""
    try:
        upstream = environment.upstream_proxy(environment.original(environ))
        policy.check_variables(environ)
        mode = policy.read_options(policy.from_environment(environ))["toolfix_mode"]
    except (click.UsageError, policy.BadOption) as bad:
        yield Finding("wrong", str(bad), "env | grep -i -E 'toolfix|proxy'   (and unset what is wrong)")
        return
    if upstream:
        what = f"toolfix run goes through the proxy {upstream.url} of this shell, which"
        if _listens(upstream.url):
            yield Finding("ok", f"{what} answers")
        else:
            yield Finding("wrong", f"{what} does not answer", "unset HTTPS_PROXY https_proxy ALL_PROXY all_proxy")
    if mode != "repair":
        yield Finding("wrong", f"TOOLFIX_MODE={mode}: nothing is mended", "unset TOOLFIX_MODE")


# Starting agents


def _probes(wanted: Sequence[Agent], environ: Mapping[str, str], confdir: Path, patience: float) -> Found:
    if not wanted:
        yield Finding("note", f"none of {', '.join(AGENTS)} is on the PATH")
    before = environment.original(environ)
    try:
        with tempfile.TemporaryDirectory(prefix="toolfix-doctor-", ignore_cleanup_errors=True) as folder:
            trusted = environment.prepare(Path(folder), environment.ensure_ca(confdir), before)
            with Upstream(lambda _: _REFUSAL) as upstream, ProxyProcess(confdir, upstream.for_proxy) as proxy:
                kept = {name: before[name] for name in _KEPT if name in before}
                clean = environment.applied(kept, environment.for_proxy(before, proxy.url, trusted))
                for agent in wanted:
                    yield _probe(agent, proxy, upstream, clean, Path(folder) / agent.binary, patience)
    except (OSError, click.ClickException) as error:
        yield Finding("wrong", sentence_of(error), "mitmdump --version")


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
    environ = {**environ, **session.environ, "HOME": str(home)}
    logged = len(proxy.output)
    try:
        arrived, said = _first_post(upstream, (program, *session.command[1:]), environ, home / "work", patience)
    except OSError as error:
        return Finding("wrong", f"{agent.name}: {program} cannot be started ({error.strerror})", agent.install)
    if arrived:
        return Finding("ok", f"{agent.name}: started with a made-up key, its POST {arrived} came through the proxy")
    what = f"{agent.name}: started with a made-up key, but none of its requests came through the proxy"
    rejected = [line for line in proxy.output[logged:].splitlines() if "does not trust mitmproxy's CA" in line]
    if rejected:
        return Finding("wrong", what, rejected[-1].partition(": it needs ")[2])
    if agent.works:
        # It may use the proxy for hosts that are not on this machine.
        return Finding("note", f"{what}: it {agent.bypass}", agent.works)
    fix = f"toolfix run --verbose -- {agent.binary}   (shows what reaches the proxy)"
    return Finding("wrong", f"{what}. It said: {said}" if said else what, fix)


def _first_post(
    upstream: Upstream, command: Sequence[str], environ: Mapping[str, str], work: Path, patience: float
) -> tuple[str, str]:
    """Start the command, and stop it when its first POST arrives or its time is over.

    Returns the path of that request, "" if there was none, and the last line that the command printed.
    """
    upstream.posts = SimpleQueue()
    work.mkdir(parents=True, exist_ok=True)
    posted = ""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, cwd=work, env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
        try:
            with contextlib.suppress(Empty):
                posted, _ = upstream.posts.get(timeout=patience)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
        output.seek(0)
        lines = output.read().decode("utf-8", "replace").split("\n")
    return posted.partition("?")[0], next(filter(None, map(str.strip, reversed(lines))), "")
