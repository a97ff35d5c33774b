"""`toolfix run`: an agent, or any other command, behind a proxy of its own. `toolfix proxy`: the proxy alone."""

from __future__ import annotations

import io
import logging
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import click

from ..proxy import session_summary
from ..proxy.session_summary import Summary
from . import environment, inputs, remark, sentence_of
from .agents import AGENTS
from .inputs import Settings, spelled
from .proxy_process import CHILD, SCRIPT, ProxyProcess

OUR_OWN_FAULT, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
"""Exit statuses: if the proxy, not the command, is at fault, as of `timeout` and `env`; and as of a shell."""

SHOWN_SENTENCES = 5


def _server(_context: object, _option: object, url: str | None) -> environment.Server | None:
    """The server behind the reverse proxy."""
    server = environment.server_at(url or "")
    if url is not None and server is None:
        raise click.UsageError(f"--reverse {url!r} is not a URL: write --reverse https://api.openai.com/v1")
    return server


@dataclass(slots=True, frozen=True)
class RunOptions:
    """The command line."""

    command: tuple[str, ...]
    record: str | None
    report: Path | None
    observe: bool
    hosts: tuple[str, ...]
    reverse: environment.Server | None
    port: int
    settings: Settings
    verbose: bool


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--record", type=click.Path(file_okay=False), metavar="DIR", help="Record every answer, before and after, there."
)
@click.option(
    "--report", metavar="FILE.html", callback=inputs.writable_file, help="Write one page about every call at the end."
)
@click.option("--observe", is_flag=True, help="Change nothing, and report what would have been mended.")
@click.option("--host", "hosts", multiple=True, metavar="HOST", help="Another LLM host to intercept.")
@click.option(
    "--reverse",
    metavar="URL",
    callback=_server,
    help="For clients that ignore proxies: serve URL at a local base URL.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The proxy's port; a free one by default."
)
@inputs.SETTINGS
@click.option("-v", "--verbose", is_flag=True, help="Show the proxy's log, with every call, on stderr.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD…")
def run(**given: Any) -> None:
    """Run a command behind the proxy, and say what was mended.

    Finds a free port, sets the proxy and CA variables for Node, Python, Rust, Go, curl, git and pip clients, and
    passes on signals and the exit status of the command. If HTTPS_PROXY names a proxy, requests go through it.
    """
    options = RunOptions(**given)
    environ = environment.original(os.environ)
    settings = _settings(options, environment.upstream_proxy(environ))
    for number in _PASSED_ON:
        # Until the command is there to get it: `run` ends then, and removes its folder.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        with tempfile.TemporaryDirectory(prefix="toolfix-", ignore_cleanup_errors=True) as folder:
            status = _run(options, settings, environ, Path(folder))
    except (click.ClickException, OSError) as problem:
        remark(sentence_of(problem))
        status = OUR_OWN_FAULT
    sys.exit(status)


def _settings(options: RunOptions, upstream: environment.Server | None) -> dict[str, str]:
    """mitmdump's settings: ours, and the user's. Refuses what cannot work, before anything is started."""
    if not options.command:
        raise click.UsageError(spelled("name the command to run: toolfix run -- claude"))
    # click takes the dashes of `--record -- CMD` for the value.
    if options.record in ("", "--"):
        raise click.UsageError("--record needs a directory: write --record recorded -- CMD")
    if options.reverse and upstream:
        raise click.UsageError(
            f"--reverse cannot go through the proxy {upstream.url} of the environment: unset HTTPS_PROXY first."
        )
    settings = {}
    if options.reverse:
        settings["mode"] = f"reverse:{options.reverse.url}"
    if upstream:
        settings["mode"] = f"upstream:{upstream.url}"
    if upstream and upstream.login:
        settings["upstream_auth"] = upstream.login
    if options.verbose:
        settings["termlog_verbosity"] = "debug"
    if options.observe:
        settings["toolfix_mode"] = "observe"
    settings.update(options.settings)
    mode = settings.get("toolfix_mode")
    if options.observe and mode != "observe":
        raise click.UsageError(f"--observe and --set toolfix_mode={mode} contradict each other: leave one out.")
    if options.hosts:
        named = options.settings.get("toolfix_hosts", "")
        settings["toolfix_hosts"] = ",".join([named, *(f"+{host.lstrip('+')}" for host in options.hosts)]).strip(",")
    inputs.check_ours(settings)
    return settings


def _run(options: RunOptions, settings: dict[str, str], environ: Mapping[str, str], folder: Path) -> int:
    confdir = inputs.confdir_of(settings)
    settings.pop("confdir", None)
    trusted = environment.prepare(folder, environment.ensure_ca(confdir), environ)
    settings.setdefault("ssl_verify_upstream_trusted_ca", trusted["SSL_CERT_FILE"])
    recorded = Path(options.record or folder / "recorded").absolute()
    if options.record or options.report:
        settings.setdefault("toolfix_record", str(recorded))
    direct = ("-s", str(CHILD)) if settings.get("mode", "").startswith("upstream:") else ()
    # What cannot be checked here must not fail in the middle of the session.
    unchecked = any(name != "confdir" and not name.startswith("toolfix_") for name in options.settings)
    configured = any((confdir / name).exists() for name in ("config.yaml", "config.yml"))
    proxy = ProxyProcess(
        confdir,
        (*inputs.set_arguments(settings), *direct),
        port=options.port,
        environment={session_summary.VARIABLE: str(folder / "summary")},
        sink=sys.stderr.write if options.verbose else lambda _: None,
        lazy=not (unchecked or configured or options.record or options.report or options.verbose),
    )
    with proxy:
        if options.reverse:
            changes = environment.for_reverse(environ, proxy.url, options.reverse.path)
            base, server = changes["OPENAI_BASE_URL"], options.reverse.url + options.reverse.path
            remark(f"{base} forwards to {server}; OPENAI_BASE_URL and ANTHROPIC_BASE_URL are set.")
        else:
            changes = environment.for_proxy(environ, proxy.url, trusted)
        status = _run_command(options.command, environment.applied(environ, changes))
    _tell(session_summary.read(folder / "summary"), options, recorded, changes)
    return status


# What the user is told


def _tell(session: Summary, options: RunOptions, recorded: Path, changes: environment.Changes) -> None:
    """Say what was mended, or why there was no answer, and where the report and the recordings are."""
    places = []
    if options.report:
        # Loaded here, because it imports the engine, which `run` does not need otherwise.
        from ..recording.report import write_report

        try:
            write_report(recorded, options.report)
            places.append(f"report at {options.report}")
        except Exception as error:  # A failed report must not change the exit status of the command.
            remark(f"the report {options.report} could not be written ({error}).")
    if options.record:
        places.append(f"recorded in {recorded}" if session.answers else "nothing was recorded")
    sentences = session.warnings[:SHOWN_SENTENCES]
    if session.answers:
        summary = session.sentence()
        if session.refused and not (places or options.verbose):
            summary += " (why: run it with -v, or --report calls.html)"
    else:
        summary = "no answer from a model went through the proxy"
        sentences += session.reasons[:SHOWN_SENTENCES]
        if {"-h", "--help", "-v", "-V", "--version"} & set(options.command):
            # Such a command asks no model, so there is nothing to say.
            if not (sentences or places):
                return
        elif not (session.warnings or options.reverse):
            sentences += _bypasses(options.command[0], changes)
    if places:
        summary += f": {', '.join(places)}"
    for sentence in (*sentences, summary):
        remark(sentence)


def _bypasses(command: str, changes: environment.Changes) -> list[str]:
    """How the command may have bypassed the proxy."""
    name = next(filter(changes.get, environment.NO_PROXY), "")
    if name:
        return [f"{name} has {changes[name]}: clients bypass the proxy there. Remove the entries that serve a model."]
    known = AGENTS.get(Path(command).stem)
    return [f"{known.name} {known.bypass}. This works: {spelled(known.works)}"] if known and known.bypass else []


# The command: as if it had been started directly, with the terminal, the signals and its own exit status

_FROM_THE_KEYBOARD = (signal.SIGINT, signal.SIGQUIT)
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def _run_command(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run the command, pass signals on to it, and return its exit status; 128+n if signal n ended it."""
    process: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if process is None:
            early.append(number)
        elif number not in _FROM_THE_KEYBOARD or not _terminal_is_ours():
            process.send_signal(number)

    for number in (*_FROM_THE_KEYBOARD, *_PASSED_ON):
        # A signal that is ignored, as under nohup, stays ignored in the command. Handlers are not inherited.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, pass_on)
    try:
        process = subprocess.Popen(command, env=environ)
    except FileNotFoundError:
        remark(f"there is no command {command[0]!r}: is it installed and on the PATH?")
        sys.exit(NOT_FOUND)
    except OSError as error:
        remark(f"{command[0]!r} cannot be started ({error.strerror}).")
        sys.exit(NOT_EXECUTABLE)
    for signum in early:
        process.send_signal(signum)
    status = process.wait()
    return status if status >= 0 else 128 - status


def _terminal_is_ours() -> bool:
    """Whether this process group is in the foreground: then the command gets Ctrl-C from the terminal itself."""
    try:
        with Path("/dev/tty").open("rb", buffering=0) as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


# The proxy alone

WRONG_USAGE = 2
_LISTENING = re.compile(r" listening at \S*?:(\d+)")


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", help="The port, instead of 8080 (or -p N).")
@inputs.SETTINGS
@click.option("--verbose", is_flag=True, help="Log every call and mitmproxy's own lines, but no headers (or -v).")
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[MITMDUMP OPTIONS]…")
def proxy(port: int | None, settings: Settings, verbose: bool, options: tuple[str, ...]) -> None:
    """Run the proxy alone, on port 8080 of 127.0.0.1.

    Every option of mitmdump works, such as --mode reverse:https://api.openai.com. The log has one line for each
    mended call, and a summary at the end.
    """
    inputs.check_ours(settings)
    arguments = _proxy_arguments(port, settings, verbose, options)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Each line reaches a file or a journal at once.
        sys.stdout.reconfigure(line_buffering=True)
    # mitmdump's messages about its options should name this command.
    sys.argv[0] = "toolfix proxy"
    from mitmproxy.tools.main import mitmdump

    hint = _Hint(settings.get("confdir", ""))
    logging.getLogger().addHandler(hint)
    with tempfile.TemporaryDirectory(prefix="toolfix-", ignore_cleanup_errors=True) as folder:
        summary = Path(folder) / "summary"
        os.environ.setdefault(session_summary.VARIABLE, str(summary))
        try:
            status = mitmdump(arguments)
        except SystemExit as wrong:
            # mitmproxy exits with 1 whatever is wrong; if it has logged nothing yet, the command line is wrong.
            raise SystemExit(WRONG_USAGE if hint.silent and wrong.code else wrong.code) from None
        session = session_summary.read(summary)
    if session.answers:
        remark(session.sentence())
    sys.exit(status)


def _proxy_arguments(port: int | None, settings: Settings, verbose: bool, options: Sequence[str]) -> list[str]:
    """mitmdump's arguments: the user's, and ours."""
    confdir = inputs.confdir_of(settings)
    ca = environment.ensure_ca(confdir)
    trusted = environment.prepare(confdir / "toolfix-proxy", ca, environment.original(os.environ))
    ours = {"flow_detail": "0", "ssl_verify_upstream_trusted_ca": trusted["SSL_CERT_FILE"]}
    if port is not None:
        ours["listen_port"] = str(port)
    # mitmdump's own meaning of it, which may be abbreviated, prints headers too, keys included, whatever else is set.
    quiet = [option for option in options if not re.fullmatch(r"-v+|--verb\w*", option)]
    if verbose or len(quiet) < len(options):
        ours["termlog_verbosity"] = "debug"
    else:
        # Do not log every connection that opens or closes.
        logging.getLogger("mitmproxy.proxy.server").setLevel(logging.WARNING)
    needed = inputs.set_arguments({**ours, **settings})
    return ["--listen-host", "127.0.0.1", "-s", str(SCRIPT), *needed, *quiet]


class _Hint(logging.Handler):
    """Prints what to do in the other shell, when mitmproxy logs where it listens."""

    def __init__(self, confdir: str) -> None:
        super().__init__()
        self._confdir = f" --confdir {shlex.quote(confdir)}" if confdir else ""
        self.silent = True

    def emit(self, record: logging.LogRecord) -> None:
        self.silent = False
        said = record.getMessage()
        if found := _LISTENING.search(said):
            port = found[1]
            options = f"{'' if port == '8080' else f' --port {port}'}{self._confdir}"
            hint = f'in another terminal: eval "$(toolfix env{options})", then start the agent there'
            if "reverse proxy" in said:
                url = f"http://127.0.0.1:{port}"
                hint = f"set the client's base URL to {url} plus its path, such as /v1; no CA is needed"
            remark(spelled(hint))
