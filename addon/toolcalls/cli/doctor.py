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
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import click

from .. import policy
from ..shown import LINE, shown_lines
from . import agents, environment, inputs
from .agents import PRIVATE_VARIABLES, Agent
from .inputs import DEFAULT_PORT
from .proxy_process import ProxyProcess
from .upstream import Play, Upstream, ask

_INDENT = " " * 7
_REFUSAL = Play([b'{"error":{"type":"invalid_request_error","message":"this was a probe of toolfix doctor"}}'], 400)
"""An answer after which no agent tries again."""
_COLOURS = {"ok": "green", "note": "yellow", "wrong": "red"}
_EXPIRES_SOON = 30
"""The days before its end at which a CA expires soon."""


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
    what = inputs.spelled(shown_lines(finding.what, LINE))
    if sys.stdout.isatty():
        # Between words. A fix is not wrapped, so that it can be copied.
        width = max(20, shutil.get_terminal_size().columns - len(_INDENT))
        lines = textwrap.wrap(what, width, break_long_words=False, break_on_hyphens=False)
        what = f"\n{_INDENT}".join(lines)
    click.echo(f"{click.style(f'{finding.status:5}', fg=_COLOURS[finding.status])}  {what}")
    if finding.fix:
        click.echo(f"{_INDENT}fix: {inputs.spelled(shown_lines(finding.fix, LINE))}")


# What can be seen without starting anything


def checks(environ: Mapping[str, str], confdir: Path, port: int) -> Found:
    yield Finding("ok", f"Python {platform.python_version()}, mitmproxy {importlib.metadata.version('mitmproxy')}")
    yield ca(confdir)
    yield port_of_the_proxy(port, environ)
    yield from no_proxy(environ)
    yield from existing_proxy(environ)
    yield from variables(environ)


def ca(confdir: Path) -> Finding:
    file = confdir / environment.CA_FILE
    elsewhere = "name another place: toolfix run --set confdir=DIR -- …   and   toolfix env --confdir DIR"
    again = f"rm {shlex.quote(str(confdir))}/mitmproxy-ca* && toolfix env > /dev/null"
    if not confdir.parent.is_dir():
        return Finding("wrong", f"there is no directory {confdir.parent} for the CA: is that a typo?", elsewhere)
    try:
        environment.refuse_damage(confdir)
        if not file.is_file():
            if not os.access(confdir if confdir.is_dir() else confdir.parent, os.W_OK):
                return Finding(
                    "wrong", f"mitmproxy's CA cannot be made in {confdir}, which cannot be written", elsewhere
                )
            made = f"there is no CA in {confdir} yet: it is made on first use"
            return Finding("note", made, "toolfix env > /dev/null")
        (confdir / environment.KEY_FILE).read_bytes()
        days = (environment.expiry(file) - datetime.now(UTC)).days
    except OSError as error:
        return Finding("wrong", f"mitmproxy's CA in {confdir} cannot be used ({error.strerror})", elsewhere)
    except ValueError:
        return Finding("wrong", f"{file} is not a certificate", again)
    if days < 0:
        return Finding("wrong", f"mitmproxy's CA in {confdir} has expired", again)
    if days < _EXPIRES_SOON:
        return Finding("note", f"mitmproxy's CA in {confdir} expires in {days} days", again)
    return Finding("ok", f"CA {file}, valid for {days} days")


def port_of_the_proxy(port: int, environ: Mapping[str, str]) -> Finding:
    taken = _listens("127.0.0.1", port)
    if environ.get("HTTPS_PROXY", "").rstrip("/") == f"http://127.0.0.1:{port}":
        if taken:
            return Finding("ok", f"this shell uses the proxy on port {port}, and something listens there")
        start = f"toolfix proxy -p {port}   (in another terminal)"
        return Finding("wrong", f"this shell uses the proxy on port {port}, but nothing listens there", start)
    if taken and _is_our_own(port):
        options = "" if port == DEFAULT_PORT else f" --port {port}"
        return Finding(
            "ok", f'toolfix proxy runs on port {port}; a shell uses it after eval "$(toolfix env{options})"'
        )
    if taken:
        with socket.create_server(("127.0.0.1", 0)) as unused:
            free = unused.getsockname()[1]
        what = f"port {port} is taken; toolfix run finds a free one by itself, toolfix proxy needs another"
        return Finding("note", what, f'toolfix proxy -p {free}   and   eval "$(toolfix env --port {free})"')
    return Finding("ok", f"port {port} is free for toolfix proxy")


def _is_our_own(port: int) -> bool:
    """Whether `toolfix proxy` listens there: it answers at this path, be it only that it shows nobody its metrics."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3)
    try:
        connection.request("GET", "/toolfix/metrics")
        return b"toolfix" in connection.getresponse().read(4096)
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), 3).close()
    except OSError:
        return False
    return True


def no_proxy(environ: Mapping[str, str]) -> Found:
    """The entries of NO_PROXY that lead past the proxy. `toolfix run` takes this machine out by itself."""
    ours = environment.BEFORE in environ or "//127.0.0.1:" in environ.get("HTTPS_PROXY", "")
    for name in environment.NO_PROXY:
        entries, models = environment.entries_of(environ.get(name, "")), environment.hiding_models(environ, name)
        bypass = [entry for entry in entries if environment.is_loopback(entry) or entry in models]
        if bypass:
            kept = ",".join(entry for entry in entries if entry not in bypass)
            what = f"{name} has {', '.join(bypass)}: requests to models there silently bypass the proxy"
            fix = f"export {name}={shlex.quote(kept)}" if kept else f"unset {name}"
            yield Finding("wrong" if models or ours else "note", what, fix)


def existing_proxy(environ: Mapping[str, str]) -> Found:
    try:
        upstream = environment.upstream_proxy(environment.original(environ))
    except environment.BadProxy as bad:
        yield Finding("wrong", bad.message, "unset HTTPS_PROXY https_proxy ALL_PROXY all_proxy")
        return
    if upstream:
        parts = environment.split_url(upstream.url)
        answers = _listens(parts.hostname or "", parts.port or 0)
        what = f"toolfix run goes through the proxy {upstream.url} of this shell, which"
        if answers:
            yield Finding("ok", f"{what} answers")
        else:
            yield Finding("wrong", f"{what} does not answer", "unset HTTPS_PROXY https_proxy")


def variables(environ: Mapping[str, str]) -> Found:
    """The options that are set in the environment."""
    try:
        policy.check_variables(environ)
        mode = policy.read_options(policy.from_environment(environ))["toolfix_mode"]
    except policy.BadOption as bad:
        yield Finding("wrong", str(bad), "env | grep TOOLFIX_   (and unset what is wrong)")
        return
    if mode != "repair":
        yield Finding("wrong", f"TOOLFIX_MODE={mode}: nothing is mended", "unset TOOLFIX_MODE")


# Starting agents


def _probes(wanted: Sequence[Agent], environ: Mapping[str, str], confdir: Path, patience: float) -> Found:
    if not wanted:
        yield Finding("note", f"none of {', '.join(agent.binary for agent in agents.AGENTS)} is on the PATH")
    before = environment.original(environ)
    try:
        with inputs.temporary_folder("toolfix-doctor-") as folder:
            trusted = environment.trust_for_clients(confdir, Path(folder), before, "--confdir DIR")
            with Upstream(lambda _: _REFUSAL) as upstream, ProxyProcess(confdir, upstream.for_proxy) as proxy:
                yield _probe_ourselves(proxy, upstream, trusted)
                clean = environment.applied(before, environment.for_proxy(before, proxy.url, trusted))
                for agent in wanted:
                    yield _probe(agent, proxy, upstream, clean, Path(folder) / agent.binary, patience)
    except click.ClickException as problem:
        yield Finding("wrong", problem.message, "mitmdump --version")


def _probe_ourselves(proxy: ProxyProcess, upstream: Upstream, trusted: environment.Trust) -> Finding:
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
        arrived, said = _first_post(upstream, (program, *session.command[1:]), environ, home / "work", patience)
    except OSError as error:
        return Finding("wrong", f"{agent.name}: {program} cannot be started ({error.strerror})", agent.install)
    if arrived:
        note = f"; {agent.note}" if agent.note else ""
        return Finding("ok", f"{agent.name}: started with a made-up key, its {arrived} came through the proxy{note}")
    what = f"{agent.name}: started with a made-up key, but none of its requests came through the proxy"
    rejected = [line for line in proxy.output[logged:].splitlines() if "does not trust mitmproxy's CA" in line]
    if rejected:
        return Finding("wrong", what, rejected[-1].partition(": it needs ")[2])
    if agent.works:
        # It may use the proxy for hosts that are not on this machine.
        return Finding("note", f"{what}: it {agent.bypass}", agent.works)
    own_words = f". It said: {said}" if said else ""
    fix = f"toolfix run --verbose -- {agent.binary}   (shows what reaches the proxy)"
    return Finding("wrong", f"{what}{own_words}", fix)


def _first_post(
    upstream: Upstream, command: Sequence[str], environ: Mapping[str, str], work: Path, patience: float
) -> tuple[str, str]:
    """Start the command, and stop it when its first POST arrives or its time is over.

    Returns the method and path of that request, "" if there was none, and the last line that the command printed.
    """
    upstream.requests.clear()
    work.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + patience
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, cwd=work, env=environ, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
        posted: list[str] = []
        try:
            while not posted and time.monotonic() < deadline:
                time.sleep(0.05)
                posted = [request.path for request in upstream.requests if request.method == "POST"]
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
        output.seek(0)
        lines = [line.strip() for line in output.read().decode("utf-8", "replace").splitlines()]
    said = next(filter(None, reversed(lines)), "")
    return f"POST {posted[0].partition('?')[0]}" if posted else "", said
