"""The `toolfix` command. Only the output that was asked for goes to stdout."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

from .. import __version__

_COMMANDS = ("demo", "run", "proxy", "env", "filter", "repair", "replay", "report", "doctor", "path")


INTERRUPTED = 130
"""The exit status after Ctrl-C, the same as in shells."""


class _Commands(click.Group):
    """The commands, one file each. A file is loaded when it is needed: loading all takes half a second."""

    def main(self, *args: Any, **more: Any) -> Any:
        """Run a command; an error of the system becomes one sentence."""
        try:
            return super().main(*args, **more)
        except OSError as error:
            what = f"{error.filename} cannot be used" if error.filename else "the output cannot be written"
            click.echo(f"toolfix: {what} ({error.strerror or error}).", err=True)
            # The rest of the buffers cannot be written either, and Python must not try it again when it exits.
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            sys.exit(1)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command. Ctrl-C is not an error: it sets the exit status and prints nothing."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f".{cmd_name}", __name__)
        command: click.Command = getattr(module, cmd_name)
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="toolfix")
@click.pass_context
def main(context: click.Context) -> None:
    """Make the tool calls of any model work in CLI coding agents."""
    if os.environ.get("NO_COLOR"):
        context.color = False
