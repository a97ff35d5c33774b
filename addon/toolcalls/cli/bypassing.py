"""How a command may have bypassed the proxy, if no answer came through it: one sentence, with what to do."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import agents, client_environment, node_runtime
from .own_name import own_name, spelled

_NODE_PROGRAMS = ("node", "npx", "tsx")


def asks_nothing(command: Sequence[str]) -> bool:
    """Whether the command only prints its help or version, and so asks no model."""
    return bool({"-h", "--help", "-v", "-V", "--version"} & set(command))


def of_reverse(command: Sequence[str], url: str) -> str:
    """A sentence for when no request reached the reverse proxy."""
    return f"no request reached {url}: make it the base URL in the settings of {command[0]}."


def of_proxy(command: Sequence[str], environ: Mapping[str, str], hosts: Sequence[str]) -> str:
    """Names the cause: NO_PROXY, or an agent or a Node that is known to bypass proxies. "" if it is none of these."""
    return _by_no_proxy(command, environ, hosts) or _by_agent(command) or _by_node(command, environ, hosts)


def _by_no_proxy(command: Sequence[str], environ: Mapping[str, str], hosts: Sequence[str]) -> str:
    models: list[str] = []
    fix = ""
    for name in client_environment.NO_PROXY:
        entries = client_environment.entries_of(client_environment.without_loopback(environ.get(name, "")))
        covering = [
            entry
            for entry in entries
            if client_environment.covers_a_model(entry, (*hosts, *client_environment.base_url_hosts(environ)))
        ]
        if covering:
            models += covering
            fix += f"{name}={shlex.quote(','.join(entry for entry in entries if entry not in covering))} "
    if not models:
        return ""
    named = ", ".join(dict.fromkeys(models))
    works = f"{fix}{own_name()} run -- {shlex.join(command)}"
    return f"NO_PROXY has {named}: clients bypass the proxy there. This works: {works}"


def _by_agent(command: Sequence[str]) -> str:
    known = agents.named(Path(command[0]).stem)
    return f"{known.name} {known.bypass}. This works: {spelled(known.works)}" if known and known.bypass else ""


def _by_node(command: Sequence[str], environ: Mapping[str, str], hosts: Sequence[str]) -> str:
    if Path(command[0]).stem not in _NODE_PROGRAMS:
        return ""
    version = node_runtime.version(environ)
    if version is None or node_runtime.uses_proxies(version):
        return ""
    base_url = environ.get("OPENAI_BASE_URL") or f"https://{hosts[0] if hosts else 'YOUR.LLM.HOST'}/v1"
    works = f"{own_name()} run --reverse {shlex.quote(base_url)} -- {shlex.join(command)}"
    return (
        f"Node {version[0]}.{version[1]} ignores proxies. If the program reads OPENAI_BASE_URL, this works: {works}"
    )
