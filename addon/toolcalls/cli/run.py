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
from itertools import pairwise
from pathlib import Path
from types import FrameType

import click

from ..proxy import session_summary
from ..proxy.session_summary import Summary
from . import environment, inputs, sentence_of
from .agents import AGENTS
from .inputs import Settings, remark, spelled
from .proxy_process import SCRIPT, ProxyProcess, listen

OUR_OWN_FAULT, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
"""Exit statuses: if the proxy, not the command, is at fault, as of `timeout` and `env`; and as of a shell."""

LOOPBACK_DIRECT = Path(__file__).with_name("loopback_direct.py")
SHOWN_SENTENCES = 5


def _server(_context: object, _option: object, url: str | None) -> tuple[str, str] | None:
    """The server behind the reverse proxy, and the path of its base URL."""
    if url is None:
        return None
    parts = environment.split_url(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise click.UsageError(f"--reverse {url!r} is not a URL: write --reverse https://api.openai.com/v1")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", parts.path.rstrip("/")


@dataclass(slots=True, frozen=True)
class RunOptions:
    """The options of the command."""

    record: str | None
    report: Path | None
    observe: bool
    hosts: tuple[str, ...]
    reverse: tuple[str, str] | None
    port: int
    settings: Settings
    verbose: bool

    def check(self) -> None:
        """Refuse what cannot work, before anything is started."""
        mode = dict(self.settings).get("toolfix_mode", "observe")
        if self.observe and mode != "observe":
            raise click.UsageError(f"--observe and --set toolfix_mode={mode} contradict each other: leave one out.")
        # click takes the dashes of `--record -- CMD` for the value.
        if self.record in ("", "--"):
            raise click.UsageError("--record needs a directory: write --record recorded -- CMD")
        inputs.check_ours([*self.settings, ("toolfix_hosts", self.all_hosts)])

    @property
    def all_hosts(self) -> str:
        """The value of `toolfix_hosts`: what --set names, and what --host adds."""
        named = [value for name, value in self.settings if name == "toolfix_hosts"]
        return ",".join([*named, *(f"+{host.lstrip('+')}" for host in self.hosts)])


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--record",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Record every answer, before and after, into this directory.",
)
@click.option(
    "--report",
    metavar="FILE.html",
    callback=inputs.writable_file,
    help="Write one page about every call when the command ends.",
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
def run(command: tuple[str, ...], **given: object) -> None:
    """Run a command behind the proxy, and say what was mended.

    Finds a free port, sets the proxy and CA variables for Node, Python, Rust, Go, curl, git and pip clients, and
    passes on signals and the exit status of the command. If HTTPS_PROXY names a proxy, requests go through it.
    """
    options = RunOptions(**given)  # type: ignore[arg-type]
    if not command:
        raise click.UsageError(spelled("name the command to run: toolfix run -- claude"))
    options.check()
    environ = environment.original(os.environ)
    way_out = _way_out(options, environ)
    for number in _PASSED_ON:
        # Until the command is there to get it: `run` ends then, and removes its folder.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        with tempfile.TemporaryDirectory(prefix="toolfix-", ignore_cleanup_errors=True) as folder:
            status = _run(command, options, environ, way_out, Path(folder))
    except click.ClickException as problem:
        remark(problem.message)
        status = OUR_OWN_FAULT
    except OSError as error:
        remark(sentence_of(error))
        status = OUR_OWN_FAULT
    sys.exit(status)


def _run(
    command: tuple[str, ...], options: RunOptions, environ: dict[str, str], way_out: list[str], folder: Path
) -> int:
    confdir = inputs.confdir_of(options.settings)
    trusted = environment.prepare(folder, environment.ensure_ca(confdir), environ)
    recorded = Path(options.record).absolute() if options.record else folder / "recorded" if options.report else None
    summary = folder / "summary"
    # What cannot be checked here must not fail in the middle of the session.
    unchecked = any(name != "confdir" and not name.startswith("toolfix_") for name, _ in options.settings)
    configured = any((confdir / name).exists() for name in ("config.yaml", "config.yml"))
    with listen(options.port) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        proxy = ProxyProcess(
            confdir,
            [*_arguments(options, trusted, recorded), *way_out],
            environment={session_summary.VARIABLE: str(summary)},
            sink=sys.stderr.write if options.verbose else lambda _: None,
            listener=listener,
            lazy=not (unchecked or configured or recorded or options.verbose),
        )
        with proxy:
            if options.reverse:
                server, path = options.reverse
                changes = environment.for_reverse(environ, url, path)
                base = changes["OPENAI_BASE_URL"]
                remark(f"{base} forwards to {server}{path}; OPENAI_BASE_URL and ANTHROPIC_BASE_URL are set.")
            else:
                changes = environment.for_proxy(environ, url, trusted)
            status = _run_command(command, environment.applied(environ, changes))
    session = session_summary.read(summary)
    _tell(session, command, options, _places(session, options, recorded), changes)
    return status


# The proxy's command line


def _way_out(options: RunOptions, environ: dict[str, str]) -> list[str]:
    """mitmdump's arguments for where requests go from the proxy."""
    upstream = environment.upstream_proxy(environ)
    if options.reverse and upstream:
        raise click.UsageError(
            f"--reverse cannot go through the proxy {upstream[0]} of the environment: unset HTTPS_PROXY first."
        )
    if options.reverse:
        return ["--mode", f"reverse:{options.reverse[0]}"]
    if not upstream:
        return []
    url, credentials = upstream
    login = ["--set", f"upstream_auth={credentials}"] if credentials else []
    return ["--mode", f"upstream:{url}", "-s", str(LOOPBACK_DIRECT), *login]


def _arguments(options: RunOptions, trusted: environment.Trust, recorded: Path | None) -> list[str]:
    """mitmdump's arguments for our settings and the user's."""
    ours = {
        "ssl_verify_upstream_trusted_ca": str(trusted.bundle),
        "toolfix_record": str(recorded or ""),
        "toolfix_hosts": options.all_hosts,
        "toolfix_mode": "observe" if options.observe else "",
        "termlog_verbosity": "debug" if options.verbose else "",
    }
    # Every proxy gets its confdir separately.
    theirs = [setting for setting in options.settings if setting[0] not in {"confdir", "toolfix_hosts"}]
    needed = inputs.unless_set({name: value for name, value in ours.items() if value}, theirs)
    return inputs.set_arguments([*needed, *theirs])


# What the user is told


def _places(session: Summary, options: RunOptions, recorded: Path | None) -> str:
    """Write the report, and say where the report and the recordings are."""
    places = []
    if options.report and recorded:
        # Loaded here, because it imports the engine, which `run` does not need otherwise.
        from ..recording.report import write_report

        try:
            write_report(recorded, options.report)
            places.append(f"report at {options.report}")
        except Exception as error:  # A failed report must not change the exit status of the command.
            remark(f"the report {options.report} could not be written ({error}).")
    if options.record:
        places.append(f"recorded in {recorded}" if session.answers else "nothing was recorded")
    return ", ".join(places)


def _tell(
    session: Summary, command: Sequence[str], options: RunOptions, places: str, changes: environment.Changes
) -> None:
    """Say what was mended, or why there was no answer. After `claude --version` there is nothing to say."""
    asks_nothing = bool({"-h", "--help", "-v", "-V", "--version"} & set(command))
    sentences = session.warnings[:SHOWN_SENTENCES]
    summary = "no answer from a model went through the proxy"
    if session.answers:
        summary = session.sentence()
        if session.refused and not (places or options.verbose):
            summary += " (why: run it with -v, or --report calls.html)"
    else:
        sentences += session.reasons[:SHOWN_SENTENCES]
        if not (asks_nothing or session.warnings or options.reverse):
            sentences += _bypasses(command, changes)
        if asks_nothing and not (sentences or places):
            return
    for sentence in (*sentences, f"{summary}: {places}" if places else summary):
        remark(sentence)


def _bypasses(command: Sequence[str], changes: environment.Changes) -> list[str]:
    """How the command may have bypassed the proxy."""
    for name in environment.NO_PROXY:
        if changes[name]:
            return [
                f"{name} has {changes[name]}: clients bypass the proxy there. Take out what has a model behind it."
            ]
    known = AGENTS.get(Path(command[0]).stem)
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
_WORDY = re.compile(r"-v+|--verb(?:o|os|ose)?")
"""mitmdump's own meaning of it also prints every request with its headers, keys included, whatever else is set."""
_PORT = re.compile(r"^--port(?==|$)")
"""mitmdump's `--listen-port`, under the name that `toolfix run` has for it."""
_NO_PORT = re.compile(r"\('[^'\s]{1,64}', (\d{1,5})[\d, ]{0,16}\): .{0,20}(address already in use|permission denied)")
_LISTENING = re.compile(r" listening at \S*?:(\d+)")


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[MITMDUMP OPTIONS]…")
def proxy(options: tuple[str, ...]) -> None:
    """Run the proxy alone, on port 8080 of 127.0.0.1.

    Every option of mitmdump works: --port 9000 (or -p 9000), --mode reverse:https://api.openai.com,
    --set toolfix_mode=observe. The log has one line for each mended call, and a summary at the end; -v adds
    mitmproxy's own log, and every call, but no headers.
    """
    words = [value for option, value in pairwise(options) if option == "--set"]
    words += [option.removeprefix("--set=") for option in options if option.startswith("--set=")]
    settings = inputs.read_settings(None, None, words)
    inputs.check_ours(settings)
    confdir = inputs.confdir_of(settings)
    ca = environment.ensure_ca(confdir)
    trusted = environment.prepare(confdir / "toolfix-proxy", ca, environment.original(os.environ))
    arguments = _proxy_arguments(options, settings, trusted)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Each line reaches a file or a journal at once.
        sys.stdout.reconfigure(line_buffering=True)
    # mitmdump's messages about its options should name this command.
    sys.argv[0] = "toolfix proxy"
    from mitmproxy.tools.main import mitmdump

    hint = _Hint(dict(settings).get("confdir", ""))
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


def _proxy_arguments(options: Sequence[str], settings: Settings, trusted: environment.Trust) -> list[str]:
    """mitmdump's arguments: the user's, and ours."""
    ours = {"flow_detail": "0", "ssl_verify_upstream_trusted_ca": str(trusted.bundle)}
    quiet = [_PORT.sub("--listen-port", option) for option in options if not _WORDY.fullmatch(option)]
    if len(quiet) < len(options):
        ours["termlog_verbosity"] = "debug"
    else:
        # Do not log every connection that opens or closes.
        logging.getLogger("mitmproxy.proxy.server").setLevel(logging.WARNING)
    needed = inputs.set_arguments(inputs.unless_set(ours, settings))
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
        if found := _NO_PORT.search(said):
            remark(f"port {found[1]} cannot be used ({found[2]}): name another with --port.")
        if found := _LISTENING.search(said):
            port = found[1]
            options = f"{'' if port == '8080' else f' --port {port}'}{self._confdir}"
            hint = f'in another terminal: eval "$(toolfix env{options})", then start the agent there'
            if "reverse proxy" in said:
                url = f"http://127.0.0.1:{port}"
                hint = f"set the client's base URL to {url} plus its path, such as /v1; no CA is needed"
            remark(spelled(hint))
