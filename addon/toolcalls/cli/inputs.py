"""Input that several commands share: files, JSON lines, `--set`. Bad input gives one sentence and exit status 2."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ..policy import BadOption, Policy, check_variables, from_environment, is_ours, make_policy, read_options
from ..shown import LINE, shown_lines
from . import own_name

DEFAULT_CONFDIR = "~/.mitmproxy"
DEFAULT_PORT = 8080
PORT = click.option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="N",
    default=DEFAULT_PORT,
    show_default=True,
    help="The proxy's port.",
)
CONFDIR = click.option(
    "--confdir",
    metavar="DIR",
    default=DEFAULT_CONFDIR,
    show_default=True,
    callback=lambda _context, _option, text: Path(text or DEFAULT_CONFDIR).expanduser().absolute(),
    help="Where mitmproxy keeps its CA.",
)
"""Options of `env` and `doctor`."""

_COMMAND = re.compile(r"\btoolfix(?= (?:run|env|proxy|demo|doctor)\b)")


def spelled(line: str) -> str:
    """The line, with `toolfix` replaced by the name that works when it is pasted."""
    return _COMMAND.sub(lambda _: own_name(), line)


@contextlib.contextmanager
def explained(what: str, advice: str, kind: type[click.ClickException] = click.UsageError) -> Iterator[None]:
    """Make one sentence of an error of the system: what cannot be done, why not, and what to do."""
    try:
        yield
    except OSError as error:
        raise kind(f"{what} ({error.strerror}): {advice}") from None


def read_file(path: str, what: str) -> bytes:
    with explained(f"{what} {path!r} cannot be read", "name a readable file."):
        return Path(path).read_bytes()


def refuse_unwritable(option: str, file: Path) -> None:
    """Raise an error if a report cannot be written there: at the end of the work it would be too late."""
    if file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
        raise click.UsageError(f"{option} {file} cannot be written: name a file in an existing directory.")


def temporary_folder(prefix: str) -> tempfile.TemporaryDirectory[str]:
    """A private folder that is removed at the end of the command."""
    advice = "set TMPDIR to a directory that you can write to."
    with explained("cannot make a temporary file", advice, click.ClickException):
        return tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)


def refuse_words(command: str, words: Sequence[str]) -> None:
    """Raise an error if a file or a text follows the command: it says that the command reads standard input."""
    if words:
        file = shlex.quote(words[0]) if Path(words[0]).is_file() else "FILE"
        raise click.UsageError(f"{command} reads standard input: {own_name()} {command} < {file}")


def read_stdin() -> bytes:
    """All of standard input. On a terminal, say how to end it."""
    if sys.stdin.isatty():
        click.echo("Reading from the terminal: paste the text, then press Ctrl-D.", err=True)
    return sys.stdin.buffer.read()


def remark(sentence: str) -> None:
    """Say on stderr what was done. If that cannot be written, the exit status stays that of the work."""
    try:
        click.echo(f"toolfix: {shown_lines(sentence, LINE)}", err=True)
    except OSError:
        # Python must not try it again when it exits.
        os.dup2(os.open(os.devnull, os.O_RDWR), 2)


def policy_from(settings: Sequence[str]) -> Policy:
    """The policy from the environment and from `--set K=V`, which wins; K is the name of a mitmproxy option."""
    texts = from_environment(os.environ)
    try:
        check_variables(os.environ)
        for setting in settings:
            name, equals, value = setting.partition("=")
            if not equals:
                raise BadOption(f"--set {setting!r} has no '=': write --set {name}=VALUE.")
            texts[name] = value
        return make_policy(read_options(texts))
    except BadOption as bad:
        raise click.UsageError(str(bad)) from None


def check_ours(settings: Sequence[str]) -> None:
    """Check our own options before a proxy is started with them."""
    policy_from([text for text in settings if "=" not in text or is_ours(text.partition("=")[0])])


def values_of(name: str, settings: Sequence[str]) -> list[str]:
    """The values of all `--set NAME=…`."""
    return [value for known, _, value in (setting.partition("=") for setting in settings) if known == name]


def unless_set(ours: Mapping[str, str], settings: Sequence[str]) -> list[str]:
    """mitmproxy's arguments for our options, but for those that the user sets: mitmproxy accepts each only once."""
    named = {setting.partition("=")[0] for setting in settings}
    return [word for name, value in ours.items() if name not in named for word in ("--set", f"{name}={value}")]


def confdir_of(settings: Sequence[str]) -> Path:
    """The directory in which mitmproxy keeps its CA."""
    return Path((values_of("confdir", settings) or [DEFAULT_CONFDIR])[-1]).expanduser()


class BadLine(Exception):
    """A line of standard input is wrong; the message says why, as the rest of a sentence."""


def must(right: bool, otherwise: str) -> None:
    if not right:
        raise BadLine(otherwise)


def each_line(work: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Read JSON objects, one on each line of standard input, and write a line with what `work` makes of each."""
    for number, text in enumerate(sys.stdin.buffer, 1):
        if not text.strip():
            continue
        try:
            line = json.dumps(work(_object(text)), ensure_ascii=False) + "\n"
        except BadLine as bad:
            raise click.UsageError(f"line {number} of the input{bad}") from None
        sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()


def _object(text: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadLine(f" is not JSON ({error}).") from None
    must(isinstance(entry, dict), " is not a JSON object.")
    return dict(entry)
