"""The text of docs/commands.md, made from the --help of every command."""

from __future__ import annotations

from pathlib import Path

import click

from toolcalls.cli import main

TARGET = Path(__file__).resolve().parents[2] / "docs/commands.md"
WIDTH = 100

HEAD = """# The commands

The `--help` of every command. Written by `scripts/docs`; do not edit by hand.
In a clone, write `scripts/toolfix COMMAND` instead of `toolfix COMMAND`.
"""


def help_of(command: click.Command, name: str, parent: click.Context | None = None) -> str:
    context = click.Context(
        command,
        info_name=name,
        parent=parent,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
    )
    lines = (line.rstrip() for line in command.get_help(context).splitlines())
    return "\n".join(lines)


ROOT = click.Context(main, info_name="toolfix", terminal_width=WIDTH)


def commands() -> list[tuple[str, click.Command]]:
    found = ((name, main.get_command(ROOT, name)) for name in main.list_commands(ROOT))
    return [(name, command) for name, command in found if command is not None]


def page() -> str:
    parts = [HEAD, f"```text\n{help_of(main, 'toolfix')}\n```\n"]
    for name, command in commands():
        parts.append(f"## toolfix {name}\n\n```text\n{help_of(command, name, ROOT)}\n```\n")
    return "\n".join(parts)
