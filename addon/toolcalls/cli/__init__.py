"""The `toolfix` command. Only the output that was asked for goes to stdout."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from .. import __version__
from ..shown import LINE, shown_lines

COMMANDS = {
    "demo": "Play broken answers, and show what an agent gets.",
    "run": "Run a command behind the proxy, and say what was mended.",
    "proxy": "Run the proxy alone, on port 8080 of 127.0.0.1.",
    "env": "Print the lines that send a shell's clients through the proxy.",
    "filter": "Repair a saved model response (stdin → stdout).",
    "repair": "Mend the arguments of a tool call.",
    "replay": "Run recordings through this version of toolfix.",
    "report": "Write one self-contained page: every call, before and after.",
    "doctor": "Find out what is wrong, and print the command that fixes it.",
    "path": "Print where the mitmproxy script is.",
}
"""Each command with the first sentence of its help, so that `toolfix --help` loads none of them."""

_FILES = {"proxy": "run", "repair": "filter", "report": "replay", "env": "environment", "path": "environment"}
"""Where a command is not in the file of its name."""

INTERRUPTED = 130
"""The exit status after Ctrl-C, the same as in shells."""


def own_name() -> str:
    """The command to show in hints that are pasted: scripts/toolfix says how it was started itself."""
    return os.environ.get("TOOLFIX_STARTED_AS", "toolfix")


def remark(sentence: str) -> None:
    """Say on stderr what was done. If that cannot be written, the exit status stays that of the work."""
    try:
        click.echo(f"toolfix: {shown_lines(sentence, LINE)}", err=True)
    except OSError:
        # Python must not try it again when it exits.
        os.dup2(os.open(os.devnull, os.O_RDWR), 2)


def sentence_of(error: OSError | click.ClickException) -> str:
    if isinstance(error, click.ClickException):
        return error.format_message()
    what = f"{error.filename} cannot be used" if error.filename else "the output cannot be written"
    return f"{what} ({error.strerror or error})."


class _Commands(click.Group):
    """The commands. The file of one is loaded when it is used: loading all takes half a second."""

    def main(self, *args: Any, **more: Any) -> Any:
        """Run a command. An error becomes one sentence; Ctrl-C sets the exit status without a word."""
        for name in ("stdin", "stdout", "stderr"):
            if getattr(sys, name) is None:
                # The caller has closed it: nothing can be read there, and no output be written.
                setattr(sys, name, Path(os.devnull).open("w" if name == "stderr" else "r"))  # noqa: SIM115
        try:
            status = super().main(*args, **{"prog_name": own_name(), **more, "standalone_mode": False})
        except (click.ClickException, OSError) as error:
            if isinstance(error, click.UsageError) and error.ctx:
                click.echo(error.ctx.get_usage(), err=True)
            remark(sentence_of(error))
            if isinstance(error, OSError):
                # The rest of the buffers cannot be written either, and Python must not try it again when it exits.
                os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            status = getattr(error, "exit_code", 1)
        sys.exit(status)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args or ["--help"])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f".{_FILES.get(cmd_name, cmd_name)}", __name__)
        command: click.Command = getattr(module, cmd_name)
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="toolfix")
@click.pass_context
def main(context: click.Context) -> None:
    """Make the tool calls of any model work in CLI coding agents."""
    if os.environ.get("NO_COLOR"):
        context.color = False
