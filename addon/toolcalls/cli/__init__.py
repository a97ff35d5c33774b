"""The `toolfix` command. Nothing but the asked-for output goes to stdout."""

from __future__ import annotations

import click

from .. import __version__
from .demo import demo
from .doctor import doctor
from .env import env
from .filter import filter_command
from .proxy import proxy
from .repair import repair
from .replay import replay
from .report import report
from .run import run


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="toolfix")
def main() -> None:
    """Make the tool calls of any model work in CLI coding agents."""


for _command in (demo, run, proxy, env, filter_command, repair, replay, report, doctor):
    main.add_command(_command)
