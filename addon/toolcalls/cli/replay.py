"""`toolfix replay`: recordings through today's engine."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ..policy import BadOption
from ..recording import store
from ..recording.replay import replay as replay_one
from ..recording.replay import summary, update


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--check", is_flag=True, help="Exit 1 when anything differs from what was recorded, and show it.")
@click.option(
    "--update",
    "write",
    is_flag=True,
    help="Write today's after.* and request-after.json; calls.json is never touched.",
)
def replay(paths: tuple[str, ...], check: bool, write: bool) -> None:
    """Run recordings through today's engine."""
    directories: list[Path] = []
    for path in paths:
        found = store.find(Path(path))
        if not found:
            raise click.UsageError(f"there is no recording at {path!r}: name a directory that toolfix_record wrote.")
        directories += found
    drifted = 0
    with click.progressbar(directories, label="replaying", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        for directory in bar:
            drifted += _replay(directory, check=check, write=write)
    if check:
        click.echo(f"{len(directories)} recordings, {drifted} drifted", err=bool(drifted))
        sys.exit(1 if drifted else 0)


def _replay(directory: Path, *, check: bool, write: bool) -> bool:
    try:
        replayed = replay_one(store.load(directory))
    except (store.NoRecording, BadOption) as error:
        raise click.ClickException(str(error)) from None
    if write:
        written = update(replayed)
        if written:
            click.echo(f"{directory}: wrote {' and '.join(written)}")
        replayed = replay_one(store.load(directory))
    drift = replayed.drift
    if check and drift:
        click.echo(f"{directory}: drifted")
        click.echo("\n".join(f"  {line}" for line in drift))
    elif not check and not write:
        click.echo(f"{directory}: {summary(replayed.calls)}")
    return bool(drift)
