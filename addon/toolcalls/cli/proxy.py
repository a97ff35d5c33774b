"""`toolfix proxy`: the proxy alone, in the foreground, with one readable line for every mended call."""

from __future__ import annotations

import logging
import os
import sys
from itertools import pairwise

import click

from . import client_environment as surroundings
from . import inputs, trust
from .proxy_process import SCRIPT

_WORDY = {"-v", "--verbose"}


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[MITMDUMP OPTIONS]…")
def proxy(options: tuple[str, ...]) -> None:
    """Run the proxy alone, on port 8080 of 127.0.0.1.

    Every option of mitmdump works: -p 9000, --mode reverse:https://api.openai.com, --set toolfix_mode=observe.
    The log has one line for each mended call; -v shows what mitmproxy does besides.
    """
    confdir = inputs.confdir_of(_settings(options))
    try:
        trusted = trust.prepare(
            confdir / "toolfix-proxy", trust.ensure_ca(confdir), surroundings.original(os.environ)
        )
    except OSError as error:
        raise click.ClickException(
            f"mitmproxy's CA in {confdir} cannot be read or made ({error.strerror}): name another place with "
            "--set confdir=DIR."
        ) from None
    if not _WORDY & set(options):
        # A connection that opens and closes is nothing to read.
        logging.getLogger("mitmproxy.proxy.server").setLevel(logging.WARNING)
    ours = {"flow_detail": "0", "ssl_verify_upstream_trusted_ca": str(trusted.bundle)}
    named = {setting.partition("=")[0] for setting in _settings(options)}
    arguments = ["--listen-host", "127.0.0.1", "-s", str(SCRIPT)]
    arguments += inputs.settings({name: value for name, value in ours.items() if name not in named}, ())
    from mitmproxy.tools.main import mitmdump

    sys.exit(mitmdump([*arguments, *options]))


def _settings(options: tuple[str, ...]) -> list[str]:
    """The values of `--set`, in both ways to write it."""
    following = [value for option, value in pairwise(options) if option == "--set"]
    return following + [option.removeprefix("--set=") for option in options if option.startswith("--set=")]
