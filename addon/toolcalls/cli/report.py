"""`toolfix report`: one page of recordings."""

from __future__ import annotations

from pathlib import Path

import click

from ..recording import store
from ..recording.report import write_report
from ..shown import LINE, shown_lines


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("-o", "--output", required=True, metavar="FILE.html", help="Where to write the page.")
def report(directory: str, output: str) -> None:
    """Write one self-contained page: every call, before and after."""
    found = store.find(Path(directory))
    if not found:
        raise click.UsageError(f"there is no recording at {directory!r}: name a directory that toolfix_record wrote.")
    skipped: list[str] = []
    try:
        write_report(Path(directory), Path(output), skipped.append)
    except OSError as error:
        raise click.ClickException(f"{output} cannot be written ({error.strerror}): name another file.") from None
    for sentence in skipped:
        click.echo(f"left out: {shown_lines(sentence, LINE)}", err=True)
    click.echo(f"{output}: {len(found) - len(skipped)} recordings")
