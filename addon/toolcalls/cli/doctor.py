"""`toolfix doctor`: checks whether everything is there, and whether every agent of this machine gets through."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click

from ..shown import LINE, shown_lines
from . import agents, doctor_checks, doctor_probe, node_runtime, trust
from .doctor_checks import Finding
from .own_name import spelled

_INDENT = " " * 7
_COLOURS = {"ok": "green", "note": "yellow", "wrong": "red"}


@click.command()
@click.argument("agent", required=False)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="N",
    default=8080,
    show_default=True,
    help="The port of toolfix proxy.",
)
@click.option("--confdir", metavar="DIR", help=f"Where mitmproxy keeps its CA; {trust.DEFAULT_CONFDIR} by default.")
@click.option("--no-probe", is_flag=True, help="Check only; start no agent.")
@click.option("--patience", default=30, show_default=True, metavar="SECONDS", help="How long an agent may take.")
def doctor(agent: str | None, port: int, confdir: str | None, no_probe: bool, patience: int) -> None:
    """Find out what is wrong, and print the command that fixes it.

    Checks Python, mitmproxy, its CA, the roots, the port, NO_PROXY, Node and the proxy of this shell. Then starts
    each agent that it knows and finds on the PATH (or AGENT alone, such as claude or kimi) in an empty home with a
    made-up key against a server on this machine, and checks that its request comes through the proxy. No account is
    used, and no key of yours leaves the machine. Exits with 1 if there is a problem.
    """
    wanted = agents.named(agent) if agent else None
    if agent and wanted is None:
        known = ", ".join(known.binary for known in agents.AGENTS)
        raise click.UsageError(f"there is no agent {agent!r}: name one of {known}.")
    folder = Path(confdir or trust.DEFAULT_CONFDIR).expanduser().absolute()
    wrong = 0
    for finding in _findings(wanted, folder, port, patience=0 if no_probe else patience):
        wrong += finding.status == "wrong"
        _show(finding)
    if wrong:
        click.echo(f"{wrong} problems" if wrong > 1 else "1 problem")
        sys.exit(1)
    click.echo("no problems")


def _findings(wanted: agents.Agent | None, confdir: Path, port: int, *, patience: float) -> Iterator[Finding]:
    environ = dict(os.environ)
    yield from doctor_checks.everything(environ, confdir, port)
    if not patience:
        yield from doctor_checks.agents_and_node(node_runtime.version(environ), environ)
        return
    found = [agent for agent in agents.AGENTS if shutil.which(agent.binary, path=environ.get("PATH"))]
    if not found and not wanted:
        yield Finding("note", f"none of {', '.join(agent.binary for agent in agents.AGENTS)} is on the PATH")
    yield from doctor_probe.probe_all([wanted] if wanted else found, environ, confdir, patience)


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
