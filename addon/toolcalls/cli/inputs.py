"""What several commands read alike: files, JSON lines, `--set`. Bad input is one sentence and exit 2."""

from __future__ import annotations

import asyncio
import difflib
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ..policy import BadOption, Policy, check_variables, from_environment, make_policy, read_options
from ..shown import LINE, shown_lines
from .own_name import own_name
from .trust import DEFAULT_CONFDIR

_COMMON = {"confdir", "ssl_insecure", "ssl_verify_upstream_trusted_ca", "termlog_verbosity"}
"""Options of mitmproxy that need no second look."""


def read_file(path: str, what: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise click.UsageError(f"{what} {path!r} cannot be read ({error.strerror}): name a readable file.") from None


def temporary_folder(prefix: str) -> tempfile.TemporaryDirectory[str]:
    """A private folder that goes with the command, or one sentence where none can be made."""
    try:
        return tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)
    except OSError as error:
        raise click.ClickException(
            f"cannot make a temporary file ({error.strerror}): set TMPDIR to a directory that you can write to."
        ) from None


def recordings_at(path: Path) -> list[Path]:
    """The recordings at a path; one sentence where it cannot be read."""
    from ..recording import store  # Loaded here: `run` has no use for it.

    try:
        return store.find(path)
    except OSError as error:
        raise click.UsageError(
            f"{str(path)!r} cannot be read ({error.strerror}): name a readable directory."
        ) from None


def refuse_words(command: str, words: Sequence[str]) -> None:
    """Who names a file, or writes the text behind the command, is told how it is read."""
    if not words:
        return
    if Path(words[0]).is_file():
        works = f"{own_name()} {command} < {shlex.quote(words[0])}"
    else:
        works = f"{own_name()} {command} < FILE"
    raise click.UsageError(f"{command} reads standard input: {works}")


def read_stdin() -> bytes:
    """All of standard input. Who types it is told how it ends."""
    if sys.stdin.isatty():
        click.echo("Reading from the terminal: paste the text, then press Ctrl-D.", err=True)
    return sys.stdin.buffer.read()


def end_line(text: str) -> None:
    """End the output with a line end where a person reads it; in a pipe it stays as it is."""
    if sys.stdout.isatty() and not text.endswith("\n"):
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


def remark(sentence: str) -> None:
    """Say on stderr what was done."""
    click.echo(f"toolfix: {shown_lines(sentence, LINE)}", err=True)


def policy_from(settings: Sequence[str]) -> Policy:
    """The policy of the environment and of `--set K=V …`, which wins, with the names of the mitmproxy options."""
    try:
        check_variables(os.environ)
    except BadOption as bad:
        raise click.UsageError(str(bad)) from None
    texts = from_environment(os.environ)
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise click.UsageError(f"--set {setting!r} has no '=': write --set toolfix_fallback=empty.")
        texts[name] = value
    return policy_of(texts)


def checked(settings: tuple[str, ...], *, scripts: bool = False) -> tuple[str, ...]:
    """Our own options are checked here, with a sentence; of mitmproxy's, their names. Other `scripts` have others."""
    unequal = [setting for setting in settings if "=" not in setting]
    policy_from([setting for setting in settings if setting.startswith("toolfix_") or setting in unequal])
    foreign = {setting.partition("=")[0] for setting in settings if not setting.startswith("toolfix_")}
    if foreign - _COMMON and not scripts:
        _check_names(sorted(foreign - _COMMON))
    return settings


def _check_names(names: list[str]) -> None:
    """mitmproxy ignores an option that it does not know. Asking it which it knows takes a second."""
    from mitmproxy.options import Options
    from mitmproxy.tools.dump import DumpMaster

    async def all_options() -> list[str]:
        return list(DumpMaster(Options(), with_termlog=False).options.keys())  # type: ignore[no-untyped-call]

    known = asyncio.run(all_options())
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            meant = f"Did you mean {near[0]}?" if near else "`mitmdump --options` lists them all."
            raise click.UsageError(f"--set {name}: there is no such option. {meant}")


def values_of(name: str, settings: Sequence[str]) -> list[str]:
    """What `--set NAME=…` says, each time it is given."""
    return [value for known, _, value in (setting.partition("=") for setting in settings) if known == name]


def settings(ours: Mapping[str, str], theirs: Sequence[str]) -> list[str]:
    """mitmproxy's arguments for options of ours and of the user; it refuses one that is given twice, his wins.

    `confdir` is given to every proxy on its own; the hosts of `ours` have those of the user in them.
    """
    named = {setting.partition("=")[0] for setting in theirs} - {"toolfix_hosts"}
    kept = [f"{name}={value}" for name, value in ours.items() if name not in named]
    left_out = {"confdir", *(ours.keys() & {"toolfix_hosts"})}
    kept += [setting for setting in theirs if setting.partition("=")[0] not in left_out]
    return [word for setting in kept for word in ("--set", setting)]


def confdir_of(settings: Sequence[str]) -> Path:
    """Where mitmproxy keeps its CA."""
    return Path((values_of("confdir", settings) or [DEFAULT_CONFDIR])[-1]).expanduser()


def policy_of(texts: dict[str, str]) -> Policy:
    try:
        return make_policy(read_options(texts))
    except BadOption as bad:
        raise click.UsageError(str(bad)) from None


def json_lines() -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of standard input, one a line, with their line numbers."""
    for number, line in enumerate(sys.stdin.buffer, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise click.UsageError(f"line {number} of the input is not JSON ({error}).") from None
        if not isinstance(entry, dict):
            raise click.UsageError(f"line {number} of the input is not a JSON object.")
        yield number, entry


def write_line(entry: dict[str, Any]) -> None:
    line = json.dumps(entry, ensure_ascii=False) + "\n"
    sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()
