"""The checks of `toolfix doctor` that start no agent. Each problem comes with the exact command that fixes it."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import shlex
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from . import client_environment, node_runtime, trust
from .agents import AGENTS, Agent

NEWER_NODE = "npm install -g n && n 24"
REAL_ROOTS = 20
"""A bundle with fewer certificates is not a complete set of roots."""
SOON = 30
"""The days before its end at which a CA expires soon."""

Status = Literal["ok", "note", "wrong"]


@dataclass(slots=True, frozen=True)
class Finding:
    status: Status
    what: str
    fix: str = ""


Found = Iterator[Finding]


def everything(environ: Mapping[str, str], confdir: Path, port: int) -> Found:
    yield python(sys.version_info[:2])
    yield mitmproxy(importlib.metadata.version("mitmproxy"))
    yield ca(confdir)
    yield from temporary_files()
    yield roots(len(trust.system_roots()))
    yield from ca_files(environ, confdir)
    yield port_of_the_proxy(port, environ)
    yield from no_proxy(environ)
    yield from existing_proxy(environ, reachable)
    yield from node(node_runtime.version(environ), environ)


def python(version: tuple[int, ...]) -> Finding:
    if version < (3, 11):
        return Finding("wrong", f"Python {version[0]}.{version[1]} is too old", "install Python 3.11 or newer")
    return Finding("ok", f"Python {platform.python_version()}")


def mitmproxy(version: str) -> Finding:
    if int(version.partition(".")[0]) < 11:
        fix = f"{shlex.quote(sys.executable)} -m pip install --upgrade 'mitmproxy>=11'"
        return Finding("wrong", f"mitmproxy {version} is too old: 11 or newer is needed", fix)
    return Finding("ok", f"mitmproxy {version}")


# Certificates


def ca(confdir: Path) -> Finding:
    file = confdir / trust.CA_FILE
    elsewhere = "name another place: toolfix run --set confdir=DIR -- …   and   toolfix env --confdir DIR"
    if not confdir.parent.is_dir():
        return Finding(
            "wrong", f"there is no directory {confdir.parent} for mitmproxy's CA: is that a typo?", elsewhere
        )
    if confdir.exists() and not confdir.is_dir():
        return Finding("wrong", f"{confdir} is a file: mitmproxy keeps its CA in a directory", elsewhere)
    if not file.is_file() and not os.access(confdir if confdir.exists() else confdir.parent, os.W_OK | os.X_OK):
        return Finding("wrong", f"mitmproxy's CA cannot be made in {confdir}: permission denied", elsewhere)
    again = f"rm {shlex.quote(str(confdir))}/mitmproxy-ca* && toolfix env > /dev/null"
    if trust.is_damaged(confdir):
        return Finding("wrong", f"{confdir / trust.KEY_FILE} is damaged", again)
    if not file.is_file():
        return Finding("note", f"there is no CA in {confdir} yet: it is made on first use", "toolfix env > /dev/null")
    if not all(os.access(confdir / name, os.R_OK) for name in (trust.CA_FILE, trust.KEY_FILE)):
        return Finding("wrong", f"mitmproxy's CA or its key in {confdir} cannot be read", elsewhere)
    try:
        days = trust.days_left(file)
    except ValueError:
        return Finding("wrong", f"{file} is not a certificate", again)
    if days < 0:
        return Finding("wrong", f"mitmproxy's CA in {confdir} has expired", again)
    if days < SOON:
        return Finding("note", f"mitmproxy's CA in {confdir} expires in {days} days", again)
    return Finding("ok", f"CA {file}, valid until {trust.expiry(file):%Y-%m-%d}")


def temporary_files() -> Found:
    try:
        tempfile.TemporaryFile().close()
    except OSError as error:
        what = f"cannot make a temporary file ({error.strerror}), which toolfix run needs"
        yield Finding("wrong", what, "export TMPDIR=DIR   (a directory that you can write to)")


def roots(number: int) -> Finding:
    if number < REAL_ROOTS:
        fix = "apt-get install ca-certificates   (or your system's package of that name)"
        return Finding("wrong", f"this system has {number} root certificates: other hosts cannot be trusted", fix)
    return Finding("ok", f"{number} system roots go into the bundle beside mitmproxy's CA")


def ca_files(environ: Mapping[str, str], confdir: Path) -> Found:
    for name, path in trust.missing_files(environ):
        yield Finding("wrong", f"{name} names {path}, which cannot be read", f"unset {name}")
    for name in trust.BUNDLE_VARIABLES:
        path = environ.get(name, "")
        try:
            number = len(trust.certificates(Path(path).read_bytes())) if path else REAL_ROOTS
        except OSError:
            continue
        if number < REAL_ROOTS and _has_our_ca(path, confdir):
            what = f"{name} names {path} with {number} certificates: it replaces the roots, and other hosts fail"
            yield Finding("wrong", what, 'eval "$(toolfix env)"')


def _has_our_ca(path: str, confdir: Path) -> bool:
    file = confdir / trust.CA_FILE
    ours = trust.certificates(file.read_bytes()) if file.is_file() else []
    return bool(ours) and ours[0] in trust.certificates(Path(path).read_bytes())


# The proxy


def port_of_the_proxy(port: int, environ: Mapping[str, str]) -> Finding:
    ours = f"http://127.0.0.1:{port}"
    taken = reachable("127.0.0.1", port)
    if environ.get("HTTPS_PROXY", "").rstrip("/") == ours:
        if taken:
            return Finding("ok", f"this shell uses the proxy on port {port}, and something listens there")
        start = f"toolfix proxy{'' if port == 8080 else f' -p {port}'}   (in another terminal)"
        return Finding("wrong", f"this shell uses the proxy on port {port}, but nothing listens there", start)
    if taken:
        what = f"port {port} is taken; toolfix run finds a free one by itself, toolfix proxy needs another"
        free = free_port(port)
        return Finding("note", what, f'toolfix proxy -p {free}   and   eval "$(toolfix env --port {free})"')
    return Finding("ok", f"port {port} is free for toolfix proxy")


def free_port(taken: int) -> int:
    """The next free port; if the following ports are all taken, any free one."""
    for port in range(taken + 1, min(taken + 50, 65536)):
        with contextlib.suppress(OSError), socket.socket() as attempt:
            attempt.bind(("127.0.0.1", port))
            return port
    with socket.socket() as attempt:
        attempt.bind(("127.0.0.1", 0))
        return int(attempt.getsockname()[1])


def no_proxy(environ: Mapping[str, str]) -> Found:
    for name in client_environment.NO_PROXY:
        entries = client_environment.entries_of(environ.get(name, ""))
        local = [entry for entry in entries if client_environment.is_loopback(entry)]
        llm = [entry for entry in entries if entry not in local and client_environment.covers_a_model(entry)]
        left = ",".join(entry for entry in entries if entry not in (*local, *llm))
        fix = f"export {name}={shlex.quote(left)}" if left else f"unset {name}"
        if local:
            status: Status = "wrong" if _uses_loopback_proxy(environ) else "note"
            what = f"{name} has {', '.join(local)}: clients silently bypass the proxy for servers on this machine"
            yield Finding(status, what + ("" if status == "wrong" else " (toolfix run takes it out)"), fix)
        if llm:
            yield Finding("wrong", f"{name} has {', '.join(llm)}: requests to these LLM hosts bypass the proxy", fix)


def _uses_loopback_proxy(environ: Mapping[str, str]) -> bool:
    return client_environment.BEFORE in environ or "//127.0.0.1:" in environ.get("HTTPS_PROXY", "")


def existing_proxy(environ: Mapping[str, str], reach: Callable[[str, int], bool]) -> Found:
    before = client_environment.original(environ)
    try:
        upstream = client_environment.upstream_proxy(before)
    except client_environment.BadProxy as bad:
        yield Finding("wrong", str(bad), "unset HTTPS_PROXY https_proxy ALL_PROXY all_proxy")
        return
    plain = before.get("HTTP_PROXY") or before.get("http_proxy")
    if upstream is None and plain:
        what = "HTTP_PROXY is set and HTTPS_PROXY is not: Codex, opencode and Python clients bypass it"
        yield Finding("note", what, f"export HTTPS_PROXY={shlex.quote(plain)}")
    if upstream is None:
        return
    host, _, port = upstream.url.rpartition("://")[2].rpartition(":")
    if reach(host.strip("[]"), int(port)):
        yield Finding("ok", f"the proxy {upstream.url} of this shell answers; toolfix run goes through it")
    else:
        what = f"the proxy {upstream.url} of this shell does not answer, and toolfix run goes through it"
        yield Finding("wrong", what, "unset HTTPS_PROXY https_proxy")


def reachable(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), 3):
            return True
    except OSError:
        return False


# Node


def too_old_for(agent: Agent, version: tuple[int, int] | None) -> bool:
    """Whether the newest versions of the agent need a newer Node. Older ones may run, so a probe knows better."""
    return version is not None and version[0] < agent.node


def agents_and_node(version: tuple[int, int] | None, environ: Mapping[str, str]) -> Found:
    """Findings about the agents on the PATH if none is started."""
    for agent in AGENTS:
        if version and too_old_for(agent, version) and shutil.which(agent.binary, path=environ.get("PATH")):
            what = (
                f"{agent.name} needs Node {agent.node} or newer in its newest versions, and this is Node {version[0]}"
            )
            yield Finding("note", what, NEWER_NODE)


def node(version: tuple[int, int] | None, environ: Mapping[str, str]) -> Found:
    if version is None:
        yield Finding("ok", "Node is not installed: nothing to check")
        return
    shown = f"Node {version[0]}.{version[1]}"
    if node_runtime.uses_proxies(version):
        yield Finding("ok", f"{shown} uses the proxy variables (NODE_USE_ENV_PROXY)")
    else:
        what = f"{shown} ignores proxy variables: agents bring their own proxy code, programs with a Node SDK do not"
        yield Finding("note", what, "toolfix run --reverse https://YOUR.LLM.HOST -- node program.js   (or Node 24)")
    if environ.get("NODE_TLS_REJECT_UNAUTHORIZED") == "0":
        what = "NODE_TLS_REJECT_UNAUTHORIZED=0 makes Node accept any certificate"
        yield Finding("note", what, "unset NODE_TLS_REJECT_UNAUTHORIZED")
