"""`toolfix path`: prints where the mitmproxy script is, for `mitmdump -s "$(toolfix path)"`."""

from __future__ import annotations

import click

from .proxy_process import SCRIPT


@click.command()
def path() -> None:
    """Print where the mitmproxy script is.

    \b
    mitmdump -s "$(toolfix path)"
    mitmweb -s "$(toolfix path)"
    """
    click.echo(SCRIPT)
