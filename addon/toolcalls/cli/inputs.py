"""Input that several commands share: files, JSON lines, `--set`. Bad input gives one sentence and exit status 2."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from ..policy import BadOption, Policy, check_variables, from_environment, make_policy, read_options
from ..shown import LINE, shown_lines

DEFAULT_CONFDIR = "~/.mitmproxy"
PORT = click.option(
    "--port", type=click.IntRange(1, 65535), metavar="N", default=8080, show_default=True, help="The proxy's port."
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
    name = own_name()
    return _COMMAND.sub(lambda _: name, line)


@functools.cache
def own_name() -> str:
    """`toolfix` if it is installed or on the PATH; the script of the clone if that was started."""
    environment = Path(sys.prefix)
    script = environment.parent / "scripts" / "toolfix"
    started = str(environment / "bin" / "toolfix") in sys.orig_argv[:3]
    if not started or not script.is_file() or shutil.which("toolfix"):
        return "toolfix"
    near = os.path.relpath(script)
    return str(script) if near.startswith("..") else near


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
    """Say on stderr what was done."""
    click.echo(f"toolfix: {shown_lines(sentence, LINE)}", err=True)


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
    policy_from([setting for setting in settings if setting.startswith("toolfix_") or "=" not in setting])


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


class JsonLine(NamedTuple):
    """One line of standard input, a JSON object, with its number."""

    number: int
    entry: dict[str, Any]

    def wrong(self, what: str) -> click.UsageError:
        return click.UsageError(f"line {self.number} of the input{what}")

    def must(self, right: bool, otherwise: str) -> None:
        if not right:
            raise self.wrong(otherwise)


def json_lines() -> Iterator[JsonLine]:
    for number, text in enumerate(sys.stdin.buffer, 1):
        if not text.strip():
            continue
        line = JsonLine(number, {})
        try:
            line = JsonLine(number, json.loads(text))
        except (ValueError, RecursionError) as error:
            raise line.wrong(f" is not JSON ({error}).") from None
        line.must(isinstance(line.entry, dict), " is not a JSON object.")
        yield line


def write_line(entry: dict[str, Any]) -> None:
    line = json.dumps(entry, ensure_ascii=False) + "\n"
    sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()
