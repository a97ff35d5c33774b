"""`toolfix env`: prints the lines that set up a shell for a proxy that is already running, or that undo this."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

import click

from . import client_environment, trust
from .client_environment import BEFORE, VARIABLES, Changes

DEFAULT_PORT = 8080
SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.option(
    "--shell",
    type=click.Choice(SHELLS),
    help="The shell that will read the lines; by default, your login shell ($SHELL).",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="N",
    default=DEFAULT_PORT,
    show_default=True,
    help="The proxy's port.",
)
@click.option("--confdir", metavar="DIR", help=f"Where mitmproxy keeps its CA; {trust.DEFAULT_CONFDIR} by default.")
@click.option("--unset", is_flag=True, help="Put back what was there before.")
def env(shell: str | None, port: int, confdir: str | None, unset: bool) -> None:
    """Print the lines that send a shell's clients through the proxy.

    \b
    eval "$(toolfix env)"               bash and zsh
    eval "$(toolfix env --unset)"       undo it
    toolfix env --shell fish | source   fish; --unset works there too

    Start the proxy itself with: toolfix proxy
    """
    environ = client_environment.original(os.environ)
    changes = _unset(os.environ) if unset else _set(environ, port, Path(confdir or trust.DEFAULT_CONFDIR))
    write = _fish if (shell or Path(os.environ.get("SHELL", "")).name) == "fish" else _posix
    click.echo("\n".join(write(name, value) for name, value in changes.items()))


def _set(environ: dict[str, str], port: int, confdir: Path) -> Changes:
    """The variables that lead clients to the proxy."""
    folder = confdir.expanduser().absolute()
    if not folder.parent.is_dir():
        raise click.UsageError(f"--confdir {confdir}: there is no directory {folder.parent}. Is that a typo?")
    try:
        trusted = trust.prepare(folder, trust.ensure_ca(folder), environ)
    except OSError as error:
        raise click.ClickException(
            f"{folder} cannot be written ({error.strerror}): name another --confdir."
        ) from None
    changes = client_environment.for_proxy(environ, f"http://127.0.0.1:{port}", trusted)
    changes[BEFORE] = json.dumps({name: environ.get(name) for name in VARIABLES})
    return changes


def _unset(environ: Mapping[str, str]) -> Changes:
    """The variables as they were before `toolfix env`."""
    before = client_environment.original(environ)
    changes: Changes = {name: before.get(name) if BEFORE in environ else None for name in VARIABLES}
    return {**changes, BEFORE: None}


def _posix(name: str, value: str | None) -> str:
    return f"unset {name}" if value is None else f"export {name}={shlex.quote(value)}"


def _fish(name: str, value: str | None) -> str:
    if value is None:
        return f"set -e {name};"
    quoted = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"set -gx {name} '{quoted}';"
