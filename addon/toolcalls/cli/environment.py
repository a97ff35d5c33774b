"""The variables that lead every agent through the proxy, as measured: `run` sets them, `toolfix env` prints them."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

import click

from ..proxy.hosts import LLM_HOSTS
from . import inputs, trust
from .proxy_process import SCRIPT
from .trust import BUNDLE_VARIABLES, NODE_VARIABLE, Trust

PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")
ALL_PROXY = ("ALL_PROXY", "all_proxy")
NO_PROXY = ("NO_PROXY", "no_proxy")
BASE_URLS = ("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "TOOLFIX_URL")
BEFORE = "TOOLFIX_ENV_BEFORE"
"""The variable with the values before `toolfix env`, as JSON, so that they can be restored, and so that ours are not
mistaken for the user's."""

VARIABLES = (*PROXY_VARIABLES, *ALL_PROXY, *NO_PROXY, NODE_VARIABLE, *BUNDLE_VARIABLES, "NODE_USE_ENV_PROXY")

Changes = dict[str, str | None]
"""The new value of each variable; None if it is to be unset."""


def original(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment as it was before `eval "$(toolfix env)"`."""
    try:
        before = dict(json.loads(environ.get(BEFORE, "{}")))
    except (ValueError, TypeError):
        before = {}
    return applied(environ, {BEFORE: None, **before})


def for_proxy(environ: Mapping[str, str], proxy_url: str, trusted: Trust) -> Changes:
    """Everything that a client needs to find the proxy and to trust it."""
    return {
        **dict.fromkeys(PROXY_VARIABLES, proxy_url),
        **dict.fromkeys(ALL_PROXY),
        **{name: without_loopback(environ.get(name, "")) or None for name in NO_PROXY},
        NODE_VARIABLE: str(trusted.node),
        **dict.fromkeys(BUNDLE_VARIABLES, str(trusted.bundle)),
        "NODE_USE_ENV_PROXY": "1",
    }


def for_reverse(environ: Mapping[str, str], proxy_url: str, path: str) -> Changes:
    """Base URLs that lead to the proxy, as the SDKs spell them: OpenAI's ends in /v1, Anthropic's does not."""
    openai = proxy_url + (path or "/v1")
    anthropic = proxy_url + path.removesuffix("/v1")
    changes: Changes = dict(zip(BASE_URLS, (openai, openai, anthropic, proxy_url), strict=True))
    for name in NO_PROXY:
        changes[name] = ",".join(filter(None, (environ.get(name, ""), "127.0.0.1")))
    return changes


def applied(environ: Mapping[str, str], changes: Changes) -> dict[str, str]:
    merged = {**environ, **changes}
    return {name: value for name, value in merged.items() if value is not None}


# NO_PROXY


def entries_of(no_proxy: str) -> list[str]:
    return [entry.strip() for entry in no_proxy.split(",") if entry.strip()]


def without_loopback(no_proxy: str) -> str:
    """The list without the entries that make clients bypass the proxy for a server on this machine."""
    return ",".join(entry for entry in entries_of(no_proxy) if not is_loopback(entry))


class NoProxy(NamedTuple):
    """The entries of a variable, by what clients reach without the proxy because of them."""

    name: str
    this_machine: list[str]
    models: list[str]
    others: list[str]


def no_proxy(environ: Mapping[str, str], hosts: Sequence[str] = ()) -> Iterator[NoProxy]:
    """What the variables say. Models are behind these hosts, the known LLM hosts and those of the base URLs."""
    bases = [split_url(environ.get(name, "")).hostname or "" for name in BASE_URLS]
    known = [host.lower().lstrip("+*.") for host in (*LLM_HOSTS, *hosts, *filter(None, bases))]
    for name in NO_PROXY:
        entries = entries_of(environ.get(name, ""))
        local = [entry for entry in entries if is_loopback(entry)]
        models = [entry for entry in entries if entry not in local and _covers(entry, known)]
        yield NoProxy(name, local, models, [entry for entry in entries if entry not in (*local, *models)])


def _covers(entry: str, hosts: Sequence[str]) -> bool:
    name = entry.lower().lstrip("*.").partition(":")[0]
    return bool(name) and any(host == name or host.endswith(f".{name}") for host in hosts)


def is_loopback(entry: str) -> bool:
    """Whether this entry is this machine. `*` includes this machine."""
    name = entry.lower().strip().lstrip("*.[").partition("]")[0].partition("/")[0]
    if name.startswith("127"):
        return not name.strip("0123456789.*:")
    if name in {"", "::1"}:
        return True
    host = name.partition(":")[0]
    return host in {"localhost", "localhost.localdomain", "0.0.0.0"} or host.endswith(".localhost")


# The proxy that the user's environment already names


@dataclass(slots=True, frozen=True)
class UpstreamProxy:
    url: str
    """Without credentials."""
    credentials: str = ""


class BadProxy(click.UsageError):
    """The proxy that the environment names cannot be used; the message says why."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why} Unset it, or run toolfix in a shell without it.")


def upstream_proxy(environ: Mapping[str, str]) -> UpstreamProxy | None:
    """The proxy that the environment names for HTTPS, if any. Raises `BadProxy` if it cannot be used."""
    name = next((name for name in ("HTTPS_PROXY", "https_proxy", *ALL_PROXY) if environ.get(name)), "")
    if not name:
        return None
    text = environ[name]
    parts = split_url(text if "://" in text else f"http://{text}")
    if not parts.hostname:
        raise BadProxy(f"{name} is not the URL of a proxy, such as http://proxy.example.com:3128.")
    if parts.scheme not in {"http", "https"}:
        shown = f"{parts.scheme}://{parts.hostname}"
        raise BadProxy(
            f"{name} names the proxy {shown}, which toolfix cannot use: only http:// and https:// proxies work."
        )
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    return UpstreamProxy(f"{parts.scheme}://{host}:{port}", credentials)


def split_url(text: str) -> SplitResult:
    """The parts of a URL; all are empty if the text is not a URL."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return urlsplit("")
    return parts


# The commands


@click.command()
@click.option(
    "--shell",
    type=click.Choice(("bash", "zsh", "fish")),
    help="The shell that will read the lines; by default, your login shell ($SHELL).",
)
@inputs.PORT
@inputs.CONFDIR
@click.option("--unset", is_flag=True, help="Put back what was there before.")
def env(shell: str | None, port: int, confdir: Path, unset: bool) -> None:
    """Print the lines that send a shell's clients through the proxy.

    \b
    eval "$(toolfix env)"               bash and zsh
    eval "$(toolfix env --unset)"       undo it
    toolfix env --shell fish | source   fish; --unset works there too

    Start the proxy itself with: toolfix proxy
    """
    before = original(os.environ)
    if unset:
        changes: Changes = {name: before.get(name) if BEFORE in os.environ else None for name in VARIABLES}
        changes[BEFORE] = None
    else:
        if not confdir.parent.is_dir():
            raise click.UsageError(f"--confdir {confdir}: there is no directory {confdir.parent}. Is that a typo?")
        trusted = trust.for_clients(confdir, confdir, before, "--confdir DIR")
        changes = for_proxy(before, f"http://127.0.0.1:{port}", trusted)
        changes[BEFORE] = json.dumps({name: before.get(name) for name in VARIABLES})
    line = _fish if (shell or Path(os.environ.get("SHELL", "")).name) == "fish" else _posix
    click.echo("\n".join(line(name, value) for name, value in changes.items()))


def _posix(name: str, value: str | None) -> str:
    return f"unset {name}" if value is None else f"export {name}={shlex.quote(value)}"


def _fish(name: str, value: str | None) -> str:
    if value is None:
        return f"set -e {name};"
    quoted = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"set -gx {name} '{quoted}';"


@click.command()
def path() -> None:
    """Print where the mitmproxy script is.

    \b
    mitmdump -s "$(toolfix path)"
    mitmweb -s "$(toolfix path)"
    """
    click.echo(SCRIPT)
