"""`toolfix replay` runs recordings, flow files and HAR files through this version; `report` makes a page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from ..policy import BadOption
from ..recording import store
from ..recording.replay import Replayed, summary, update
from ..recording.replay import replay as replay_one
from ..recording.report import page
from ..shown import LINE, shown, shown_lines
from . import inputs, remark


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH…", type=click.Path(exists=True, path_type=Path))
@click.option("--check", is_flag=True, help="Exit 1 when anything differs from what was recorded, and show it.")
@click.option(
    "--update", "write", is_flag=True, help="Rewrite after.* and request-after.json; calls.json is never touched."
)
def replay(paths: tuple[Path, ...], check: bool, write: bool) -> None:
    """Run recordings through this version of toolfix.

    A PATH is a directory that toolfix_record wrote, a flow file of mitmproxy or a HAR file.
    """
    if write and any(path.is_file() for path in paths):
        raise click.UsageError("--update writes into recordings; flow files and HAR files stay as they are.")
    count = updated = changed = 0
    for replayed in (replayed for path in paths for replayed in _replayed(path)):
        count += 1
        name = shown(str(replayed.recording.directory), LINE)
        if write and (written := update(replayed)):
            updated += 1
            click.echo(f"{name}: wrote {' and '.join(written)}")
            (replayed,) = _replayed(replayed.recording.directory)
        if check and replayed.drift:
            changed += 1
            click.echo(f"{name}: not as recorded")
            for line in replayed.drift:
                visible = shown_lines(line, len(line))
                click.echo("  " + click.style(visible, fg={"-": "red", "+": "green", "@": "cyan"}.get(line[:1])))
        if not (check or write):
            click.echo(f"{name}: {summary(replayed.calls)}")
    if not count:
        names = " ".join(repr(str(path)) for path in paths)
        raise click.UsageError(f"there is no answer of a model in {names}, so nothing was replayed.")
    recordings = "1 recording" if count == 1 else f"{count} recordings"
    if write:
        click.echo(f"{recordings}, {updated} rewritten")
    if check:
        click.echo(f"{recordings}, {changed} changed", err=bool(changed))
        sys.exit(1 if changed else 0)


def _replayed(path: Path) -> Iterator[Replayed]:
    """The recordings at a path, or the flows in a file, run through this version."""
    try:
        if path.is_file():
            from ..proxy import flow_files  # mitmproxy takes a second to load

            yield from map(replay_one, flow_files.read(path))
        else:
            yield from map(replay_one, map(store.load, _found(path)))
    except (store.NoRecording, BadOption) as error:
        raise click.ClickException(str(error)) from None


def _found(path: Path) -> list[Path]:
    found = store.find(path)
    if not found:
        raise click.UsageError(f"there is no recording at {str(path)!r}: name a directory that toolfix_record wrote.")
    return found


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE.html",
    callback=inputs.writable_file,
    help="Where to write the page.",
)
def report(directory: Path, output: Path) -> None:
    """Write one self-contained page: every call, before and after."""
    skipped: list[str] = []
    number = len(_found(directory))
    text = page(directory, skipped.append)
    for sentence in skipped:
        remark(f"left out: {sentence}")
    number -= len(skipped)
    if not number:
        raise click.ClickException(f"nothing at {str(directory)!r} can be read, so {output} was not written.")
    store.private_report(output, text.encode())
    click.echo(f"{output}: {number} recording{'' if number == 1 else 's'}")
