"""`toolfix replay` runs recordings, flow files and HAR files through this version; `report` makes a page."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from ..policy import BadOption
from ..proxy import flow_files
from ..recording import store
from ..recording.replay import replay as replay_one
from ..recording.replay import summary, update
from ..recording.report import page
from ..recording.store import Recording
from ..shown import LINE, shown, shown_lines
from . import inputs


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--check", is_flag=True, help="Exit 1 when anything differs from what was recorded, and show it.")
@click.option(
    "--update",
    "write",
    is_flag=True,
    help="Rewrite after.* and request-after.json; calls.json is never touched.",
)
def replay(paths: tuple[str, ...], check: bool, write: bool) -> None:
    """Run recordings through this version of toolfix.

    A PATH is a directory that toolfix_record wrote, a flow file of mitmproxy or a HAR file.
    """
    sources = [source for path in paths for source in _sources(Path(path), files=True)]
    if write and any(source.is_file() for source in sources):
        raise click.UsageError("--update writes into recordings; flow files and HAR files stay as they are.")
    count = updated = 0
    changed: list[tuple[Path, list[str]]] = []
    try:
        for recording in (recording for source in sources for recording in _loaded(source)):
            count += 1
            replayed = replay_one(recording)
            if write and (written := update(replayed)):
                updated += 1
                click.echo(f"{shown(str(recording.directory), LINE)}: wrote {' and '.join(written)}")
                replayed = replay_one(store.load(recording.directory))
            if check and (drift := replayed.drift):
                changed.append((recording.directory, drift))
            if not (check or write):
                click.echo(f"{shown(str(recording.directory), LINE)}: {summary(replayed.calls)}")
    except (store.NoRecording, BadOption) as error:
        raise click.ClickException(str(error)) from None
    if not count:
        raise click.UsageError(
            f"there is no answer of a model in {' '.join(map(repr, paths))}, so nothing was replayed."
        )
    recordings = "1 recording" if count == 1 else f"{count} recordings"
    if write:
        click.echo(f"{recordings}, {updated} rewritten")
    if check:
        for directory, drift in changed:
            _show(directory, drift)
        click.echo(f"{recordings}, {len(changed)} changed", err=bool(changed))
        sys.exit(1 if changed else 0)


def _show(directory: Path, drift: list[str]) -> None:
    click.echo(f"{shown(str(directory), LINE)}: not as recorded")
    for line in drift:
        visible = shown_lines(line, len(line))
        click.echo("  " + click.style(visible, fg={"-": "red", "+": "green", "@": "cyan"}.get(line[:1])))


def _sources(path: Path, *, files: bool) -> list[Path]:
    """The recordings at a path; or the path itself if it is a file, and files can be read."""
    with inputs.explained(f"{str(path)!r} cannot be read", "name a readable directory."):
        found = [path] if files and path.is_file() else store.find(path)
    if not found:
        others = ", a flow file or a HAR file" if files else ""
        raise click.UsageError(
            f"there is no recording at {str(path)!r}: name a directory that toolfix_record wrote{others}."
        )
    return found


def _loaded(source: Path) -> Iterator[Recording]:
    if source.is_file():
        yield from flow_files.read(source)
    else:
        yield store.load(source)


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("-o", "--output", required=True, metavar="FILE.html", help="Where to write the page.")
def report(directory: str, output: str) -> None:
    """Write one self-contained page: every call, before and after."""
    found = _sources(Path(directory), files=False)
    inputs.refuse_unwritable("-o", Path(output))
    skipped: list[str] = []
    text = page(Path(directory), skipped.append)
    for sentence in skipped:
        click.echo(f"left out: {shown_lines(sentence, LINE)}", err=True)
    number = len(found) - len(skipped)
    if not number:
        raise click.ClickException(f"nothing at {directory!r} can be read, so {output} was not written.")
    with inputs.explained(f"{output} cannot be written", "name another file.", click.ClickException):
        store.private_report(Path(output), text.encode())
    click.echo(f"{output}: {number} recording{'' if number == 1 else 's'}")
