"""`toolfix proxy`: runs only the proxy, in the foreground, with one readable line for every mended call."""

from __future__ import annotations

import io
import logging
import os
import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path

import click

from ..proxy import session_summary
from . import client_environment, inputs, trust
from .own_name import spelled
from .proxy_process import SCRIPT

WRONG_USAGE = 2
_WORDY = {"-v", "--verbose"}
_PORT = re.compile(r"^--port(?==|$)")
"""mitmdump's `--listen-port`, under the name that `toolfix run` has for it."""
_TAKEN = re.compile(r"\('[^'\s]{1,64}', (\d{1,5})[\d, ]{0,16}\): (?:\[errno \d{1,4}\] )?address already in use")
"""Since Python 3.13 the message repeats the number of the error."""
_LISTENING = re.compile(r" listening at \S*?:(\d+)")


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[MITMDUMP OPTIONS]…")
def proxy(options: tuple[str, ...]) -> None:
    """Run the proxy alone, on port 8080 of 127.0.0.1.

    Every option of mitmdump works: --port 9000 (or -p 9000), --mode reverse:https://api.openai.com,
    --set toolfix_mode=observe. The log has one line for each mended call, and a summary at the end; -v adds
    mitmproxy's own log, and every call.
    """
    options = tuple(_PORT.sub("--listen-port", option) for option in options)
    confdir = inputs.confdir_of(inputs.checked(tuple(_settings(options)), scripts=_has_scripts(options)))
    try:
        trusted = trust.prepare(
            confdir / "toolfix-proxy", trust.ensure_ca(confdir), client_environment.original(os.environ)
        )
    except OSError as error:
        raise click.ClickException(
            f"mitmproxy's CA in {confdir} cannot be read or made ({error.strerror}): name another place with "
            "--set confdir=DIR."
        ) from None
    if not _WORDY & set(options):
        # Do not log every connection that opens or closes.
        logging.getLogger("mitmproxy.proxy.server").setLevel(logging.WARNING)
    ours = {"flow_detail": "0", "ssl_verify_upstream_trusted_ca": str(trusted.bundle)}
    named = {setting.partition("=")[0] for setting in _settings(options)}
    arguments = ["--listen-host", "127.0.0.1", "-s", str(SCRIPT)]
    arguments += inputs.settings({name: value for name, value in ours.items() if name not in named}, ())
    from mitmproxy.tools.main import mitmdump

    if isinstance(sys.stdout, io.TextIOWrapper):
        # Each line reaches a file or a journal at once.
        sys.stdout.reconfigure(line_buffering=True)
    # mitmdump's messages about its options should name this command.
    sys.argv[0] = "toolfix proxy"
    with inputs.temporary_folder("toolfix-") as folder:
        summary = Path(folder) / "summary"
        os.environ.setdefault(session_summary.VARIABLE, str(summary))
        hint = _Hint(_env_words(options))
        logging.getLogger().addHandler(hint)
        try:
            status = mitmdump([*arguments, *options])
        except SystemExit as wrong:
            # mitmproxy exits with 1 whatever is wrong; if it has logged nothing yet, the command line is wrong.
            raise SystemExit(WRONG_USAGE if hint.silent and wrong.code else wrong.code) from None
        session = session_summary.read(summary)
    if session.answers:
        inputs.remark(session.sentence())
    sys.exit(status)


class _Hint(logging.Handler):
    """Prints what to do in the other shell, when mitmproxy logs where it listens."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self._words = words
        self.silent = True

    def emit(self, record: logging.LogRecord) -> None:
        self.silent = False
        if taken := _TAKEN.search(record.getMessage()):
            click.echo(f"toolfix: port {taken[1]} is taken: name another with --port.", err=True)
        found = _LISTENING.search(record.getMessage())
        if not found:
            return
        port = found[1]
        if "reverse proxy" in record.getMessage():
            hint = f"set the client's base URL to http://127.0.0.1:{port} plus its path, such as /v1; no CA is needed"
        else:
            number = "" if port == "8080" else f" --port {port}"
            hint = f'in another terminal: eval "$(toolfix env{number}{self._words})", then start the agent there'
        click.echo(f"toolfix: {spelled(hint)}", err=True)


def _has_scripts(options: tuple[str, ...]) -> bool:
    """Whether other scripts are loaded, which may have options of their own."""
    return any(option.startswith(("-s", "--scripts")) for option in options)


def _env_words(options: tuple[str, ...]) -> str:
    """The option that `toolfix env` needs to find the same CA."""
    confdir = inputs.values_of("confdir", _settings(options))
    return f" --confdir {shlex.quote(confdir[-1])}" if confdir else ""


def _settings(options: tuple[str, ...]) -> list[str]:
    """The values of `--set K=V` and `--set=K=V`."""
    following = [value for option, value in pairwise(options) if option == "--set"]
    return following + [option.removeprefix("--set=") for option in options if option.startswith("--set=")]
