"""`toolfix proxy`: mitmdump with the addon on 127.0.0.1, a line of log for each mended call."""

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
from . import environment, inputs, trust
from .inputs import spelled
from .proxy_process import SCRIPT

WRONG_USAGE = 2
_WORDY = re.compile(r"-v+|--verb(?:o|os|ose)?")
"""mitmdump's own meaning of it also prints every request with its headers, keys included, whatever else is set."""
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
    mitmproxy's own log, and every call, but no headers.
    """
    settings = [value for option, value in pairwise(options) if option == "--set"]
    settings += [option.removeprefix("--set=") for option in options if option.startswith("--set=")]
    inputs.check_ours(settings)
    confdir = inputs.confdir_of(settings)
    trusted = trust.for_clients(confdir, confdir / "toolfix-proxy", environment.original(os.environ))
    ours = {"flow_detail": "0", "ssl_verify_upstream_trusted_ca": str(trusted.bundle)}
    quiet = [option for option in options if not _WORDY.fullmatch(option)]
    if len(quiet) < len(options):
        ours["termlog_verbosity"] = "debug"
    else:
        # Do not log every connection that opens or closes.
        logging.getLogger("mitmproxy.proxy.server").setLevel(logging.WARNING)
    arguments = ["--listen-host", "127.0.0.1", "-s", str(SCRIPT)]
    arguments += inputs.unless_set(ours, settings)
    arguments += [_PORT.sub("--listen-port", option) for option in quiet]
    from mitmproxy.tools.main import mitmdump

    if isinstance(sys.stdout, io.TextIOWrapper):
        # Each line reaches a file or a journal at once.
        sys.stdout.reconfigure(line_buffering=True)
    # mitmdump's messages about its options should name this command.
    sys.argv[0] = "toolfix proxy"
    with inputs.temporary_folder("toolfix-") as folder:
        summary = Path(folder) / "summary"
        os.environ.setdefault(session_summary.VARIABLE, str(summary))
        hint = _Hint(settings)
        logging.getLogger().addHandler(hint)
        try:
            status = mitmdump(arguments)
        except SystemExit as wrong:
            # mitmproxy exits with 1 whatever is wrong; if it has logged nothing yet, the command line is wrong.
            raise SystemExit(WRONG_USAGE if hint.silent and wrong.code else wrong.code) from None
        session = session_summary.read(summary)
    if session.answers:
        inputs.remark(session.sentence())
    sys.exit(status)


class _Hint(logging.Handler):
    """Prints what to do in the other shell, when mitmproxy logs where it listens."""

    def __init__(self, settings: list[str]) -> None:
        super().__init__()
        confdir = inputs.values_of("confdir", settings)
        self._words = f" --confdir {shlex.quote(confdir[-1])}" if confdir else ""
        """The option that `toolfix env` needs to find the same CA."""
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
