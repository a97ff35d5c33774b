"""Options that several commands share. A bad value gives one sentence and exit status 2."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import click

from ..policy import BadOption, Policy, check_variables, from_environment, is_ours, make_policy, read_options
from . import own_name

DEFAULT_CONFDIR = "~/.mitmproxy"
DEFAULT_PORT = 8080

Settings = Sequence[tuple[str, str]]
"""The name and the value of each `--set K=V`; K is the name of a mitmproxy option."""


def read_settings(_context: object, _option: object, texts: Sequence[str]) -> Settings:
    for text in texts:
        if "=" not in text:
            raise click.UsageError(f"--set {text!r} has no '=': write --set {text}=VALUE.")
    return [(name, value) for name, _, value in (text.partition("=") for text in texts)]


def writable_file(_context: object, option: click.Parameter, text: str | None) -> Path | None:
    """The file of a report. At the end of the work it would be too late to find that it cannot be written."""
    if text is None:
        return None
    # click takes the dashes of `--report -- CMD` for the value.
    file = Path("" if text == "--" else text).absolute()
    if file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
        raise click.UsageError(f"{option.opts[0]} {text} cannot be written: name a file in an existing directory.")
    return file


SETTINGS = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="K=V",
    callback=read_settings,
    help="An option, such as toolfix_shape=false.",
)
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


def spelled(line: str) -> str:
    """The line, with `toolfix` replaced by the name that works when it is pasted."""
    return re.sub(r"\btoolfix(?= (?:run|env|proxy|demo|doctor)\b)", lambda _: own_name(), line)


def policy_from(settings: Settings) -> Policy:
    """The policy from the environment and from `--set`, which wins."""
    try:
        check_variables(os.environ)
        return make_policy(read_options({**from_environment(os.environ), **dict(settings)}))
    except BadOption as bad:
        raise click.UsageError(str(bad)) from None


def check_ours(settings: Settings) -> None:
    """Check our own options before a proxy is started with them."""
    policy_from([setting for setting in settings if is_ours(setting[0])])


def unless_set(ours: Mapping[str, str], settings: Settings) -> Settings:
    """Our settings, but for those that the user sets: mitmproxy accepts each only once."""
    return [setting for setting in ours.items() if setting[0] not in dict(settings)]


def set_arguments(settings: Iterable[tuple[str, str]]) -> list[str]:
    """mitmproxy's arguments for these settings."""
    return [word for name, value in settings for word in ("--set", f"{name}={value}")]


def confdir_of(settings: Settings) -> Path:
    """The directory in which mitmproxy keeps its CA."""
    return Path(dict(settings).get("confdir", DEFAULT_CONFDIR)).expanduser()
