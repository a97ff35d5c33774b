"""`toolfix report`: writes one page about recordings."""

from __future__ import annotations

from pathlib import Path

import click

from ..recording import store
from ..recording.report import page
from ..shown import LINE, shown_lines
from . import inputs


@click.command()
@click.argument("directory", metavar="DIR")
@click.option("-o", "--output", required=True, metavar="FILE.html", help="Where to write the page.")
def report(directory: str, output: str) -> None:
    """Write one self-contained page: every call, before and after."""
    found = inputs.recordings_at(Path(directory))
    if not found:
        raise click.UsageError(f"there is no recording at {directory!r}: name a directory that toolfix_record wrote.")
    skipped: list[str] = []
    text = page(Path(directory), skipped.append)
    for sentence in skipped:
        click.echo(f"left out: {shown_lines(sentence, LINE)}", err=True)
    number = len(found) - len(skipped)
    if not number:
        raise click.ClickException(f"nothing at {directory!r} can be read, so {output} was not written.")
    try:
        store.private_report(Path(output), text.encode())
    except OSError as error:
        raise click.ClickException(f"{output} cannot be written ({error.strerror}): name another file.") from None
    click.echo(f"{output}: {number} recording{'' if number == 1 else 's'}")
