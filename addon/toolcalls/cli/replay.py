"""`toolfix replay`: runs recordings, flow files and HAR files through today's engine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from ..policy import BadOption
from ..proxy import flow_files as flows
from ..recording import store
from ..recording.replay import Replayed, summary, update
from ..recording.replay import replay as replay_one
from ..recording.store import Recording
from ..shown import LINE, shown, shown_lines
from . import inputs

LONG_RUN = 20
"""A run of more recordings than this gets a progress bar."""


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
    sources = [source for path in paths for source in _sources(Path(path))]
    if write and any(source.is_file() for source in sources):
        raise click.UsageError("--update writes into recordings; flow files and HAR files stay as they are.")
    sizes = [_size(source) for source in sources]
    # Without --check and --update each recording gets a line, so no progress bar is needed.
    quiet = check or write
    hidden = not (quiet and sys.stderr.isatty() and (len(sources) > LONG_RUN or any(map(Path.is_file, sources))))
    found: list[tuple[str, list[str]]] = []
    count = 0
    with click.progressbar(length=sum(sizes), label="replaying", file=sys.stderr, hidden=hidden) as bar:
        for source, size in zip(sources, sizes, strict=True):
            reached = 0

            def at(place: int, limit: int = size) -> None:
                nonlocal reached
                bar.update(min(place, limit) - reached)
                reached = min(place, limit)

            for recording in _loaded(source, at):
                count += 1
                replayed = _replayed(recording)
                if write:
                    replayed = _updated(replayed, found)
                if drift := replayed.drift:
                    found.append((f"{recording.directory}: drifted", drift))
                if not quiet:
                    click.echo(f"{shown(str(recording.directory), LINE)}: {summary(replayed.calls)}")
            at(size)
    _finish(found, count, check=check, write=write)


def _finish(found: list[tuple[str, list[str]]], count: int, *, check: bool, write: bool) -> None:
    for title, lines in found:
        if check or (write and not lines):
            click.echo(shown(title, LINE))
        if check:
            for line in lines:
                visible = shown_lines(line, len(line))
                click.echo("  " + click.style(visible, fg={"-": "red", "+": "green", "@": "cyan"}.get(line[:1])))
    if check:
        drifted = sum(bool(lines) for _, lines in found)
        recordings = "1 recording" if count == 1 else f"{count} recordings"
        click.echo(f"{recordings}, {drifted} drifted", err=bool(drifted))
        sys.exit(1 if drifted else 0)


def _sources(path: Path) -> list[Path]:
    """The recordings at a path, or the path itself if it is a file."""
    found = [path] if _is_file(path) else inputs.recordings_at(path)
    if not found:
        raise click.UsageError(
            f"there is no recording at {str(path)!r}: "
            "name a directory that toolfix_record wrote, a flow file or a HAR file."
        )
    return found


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _size(source: Path) -> int:
    return max(1, source.stat().st_size) if source.is_file() else 1000


def _loaded(source: Path, at: Callable[[int], None]) -> Iterator[Recording]:
    try:
        if source.is_file():
            yield from flows.read(source, at)
        else:
            yield store.load(source)
    except store.NoRecording as error:
        raise click.ClickException(str(error)) from None


def _replayed(recording: Recording) -> Replayed:
    try:
        return replay_one(recording)
    except BadOption as error:
        raise click.ClickException(str(error)) from None


def _updated(replayed: Replayed, found: list[tuple[str, list[str]]]) -> Replayed:
    recording = replayed.recording
    if written := update(replayed):
        found.append((f"{recording.directory}: wrote {' and '.join(written)}", []))
    return replay_one(store.load(recording.directory))
