"""Options that several commands share. A bad value gives one sentence and exit status 2."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from ..policy import BadOption, Policy, check_variables, from_environment, is_ours, make_policy, read_options
from . import own_name

DEFAULT_CONFDIR = "~/.mitmproxy"

Settings = Mapping[str, str]
"""The value of each `--set K=V` by K, the name of a mitmproxy option."""


def read_settings(_context: object, _option: object, texts: Sequence[str]) -> Settings:
    settings: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"--set {text!r} has no '=': write --set {text}=VALUE.")
        if name in settings:
            raise click.UsageError(f"--set {name} is given twice: a list can be in mitmproxy's config.yaml.")
        settings[name] = value
    return settings


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


def spelled(line: str) -> str:
    """The line, with `toolfix` replaced by the name that works when it is pasted."""
    return re.sub(r"\btoolfix(?= (?:run|env|proxy|demo|doctor)\b)", lambda _: own_name(), line)


def policy_from(settings: Settings) -> Policy:
    """The policy from the environment and from `--set`, which wins."""
    try:
        check_variables(os.environ)
        return make_policy(read_options({**from_environment(os.environ), **settings}))
    except BadOption as bad:
        raise click.UsageError(str(bad)) from None


def check_ours(settings: Settings) -> None:
    """Check our own options before a proxy is started with them."""
    policy_from({name: value for name, value in settings.items() if is_ours(name)})


def set_arguments(settings: Settings) -> list[str]:
    """mitmproxy's arguments for these settings."""
    return [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]


def confdir_of(settings: Settings) -> Path:
    """The directory in which mitmproxy keeps its CA."""
    return Path(settings.get("confdir", DEFAULT_CONFDIR)).expanduser()
