"""`toolfix run`: an agent, or any other command, behind a proxy of its own. `toolfix proxy`: the proxy alone."""

from __future__ import annotations

import errno
import io
import logging
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import FrameType

import click

from ..policy import BadOption, read_options
from ..proxy import session_summary
from ..proxy.session_summary import Summary
from . import agents, environment, inputs
from .inputs import remark, spelled
from .proxy_process import SCRIPT, Keeper, ProxyProcess, listen

OUR_OWN_FAULT, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
"""Exit statuses: if the proxy, not the command, is at fault, as of `timeout` and `env`; and as of a shell."""

LOOPBACK_DIRECT = Path(__file__).with_name("loopback_direct.py")
SHOWN_SENTENCES = 5


@dataclass(slots=True, frozen=True)
class RunOptions:
    """The options of the command."""

    record: str | None
    report: str | None
    observe: bool
    hosts: tuple[str, ...]
    reverse: str | None
    port: int
    settings: tuple[str, ...]
    verbose: bool

    @property
    def target(self) -> Path | None:
        """The file of the report."""
        return Path(self.report).absolute() if self.report else None


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--record", metavar="DIR", help="Record every answer, before and after, into this directory.")
@click.option("--report", metavar="FILE.html", help="Write one page about every call when the command ends.")
@click.option("--observe", is_flag=True, help="Change nothing, and report what would have been mended.")
@click.option("--host", "hosts", multiple=True, metavar="HOST", help="Another LLM host to intercept.")
@click.option("--reverse", metavar="URL", help="For clients that ignore proxies: serve URL at a local base URL.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="The proxy's port; a free one by default."
)
@click.option("--set", "settings", multiple=True, metavar="K=V", help="An option, such as toolfix_mode=observe.")
@click.option("-v", "--verbose", is_flag=True, help="Show the proxy's log, with every call, on stderr.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD…")
def run(command: tuple[str, ...], **given: object) -> None:
    """Run a command behind the proxy, and say what was mended.

    Finds a free port, sets the proxy and CA variables for Node, Python, Rust, Go, curl, git and pip clients, and
    passes on signals and the exit status of the command. If HTTPS_PROXY names a proxy, requests go through it.
    """
    options = RunOptions(**given)  # type: ignore[arg-type]
    _check(command, options)
    environ = environment.original(os.environ)
    way_out = _way_out(options, environ)
    if shutil.which(command[0], path=environ.get("PATH")) is None:
        if "/" in command[0] and Path(command[0]).exists():
            remark(f"{command[0]!r} cannot be started (Permission denied).")
            sys.exit(NOT_EXECUTABLE)
        remark(f"there is no command {command[0]!r}: is it installed and on the PATH?")
        sys.exit(NOT_FOUND)
    try:
        with inputs.temporary_folder("toolfix-") as folder:
            status = _run(command, options, environ, way_out, Path(folder))
    except click.ClickException as problem:
        remark(problem.message)
        status = OUR_OWN_FAULT
    sys.exit(status)


def _check(command: tuple[str, ...], options: RunOptions) -> None:
    """Refuse what cannot work. At the end of a long session it would be too late to find a typo."""
    if not command:
        raise click.UsageError(spelled("name the command to run: toolfix run -- claude"))
    modes = inputs.values_of("toolfix_mode", options.settings)
    if options.observe and any(mode != "observe" for mode in modes):
        raise click.UsageError(f"--observe and --set toolfix_mode={modes[-1]} contradict each other: leave one out.")
    for name, value, example in (
        ("--report", options.report, "a file: write --report calls.html"),
        ("--record", options.record, "a directory: write --record recorded"),
    ):
        # click takes the dashes of `--report -- CMD` for the value.
        if value is not None and (not value or value.startswith("-")):
            raise click.UsageError(f"{name} needs {example} -- CMD")
    if options.record and Path(options.record).is_file():
        raise click.UsageError(f"--record {options.record} is a file: name a directory.")
    if options.target:
        inputs.refuse_unwritable("--report", options.target)
    for host in options.hosts:
        try:
            read_options({"toolfix_hosts": _added(host)})
        except BadOption:
            name = environment.split_url(host).hostname or "llm.example.com"
            raise click.UsageError(f"--host {host!r} is not a host name: write --host {name}") from None
    inputs.check_ours(options.settings)


def _run(
    command: tuple[str, ...], options: RunOptions, environ: dict[str, str], way_out: list[str], folder: Path
) -> int:
    confdir = inputs.confdir_of(options.settings)
    recorded = Path(options.record).absolute() if options.record else folder / "recorded" if options.report else None
    trusted = environment.trust_for_clients(confdir, folder, environ)
    summary = folder / "summary"
    child = Child()
    listener = listen(options.port)
    process = ProxyProcess(
        confdir,
        [*_settings(options, trusted, recorded), *way_out],
        environment={session_summary.VARIABLE: str(summary)},
        sink=sys.stderr.write if options.verbose else lambda _: None,
        listener=listener,
    )
    keeper = Keeper(process, listener, remark)
    try:
        # What cannot be checked here must not fail in the middle of the session.
        unchecked = [text for text in options.settings if not text.startswith(("toolfix_", "confdir="))]
        configured = any((confdir / name).exists() for name in ("config.yaml", "config.yml"))
        keeper.start(at_once=bool(unchecked or configured or recorded or options.verbose))
        if options.reverse:
            changes = environment.for_reverse(environ, keeper.url, _reverse(options.reverse)[1])
            base = changes["OPENAI_BASE_URL"]
            remark(f"{base} forwards to {options.reverse}; OPENAI_BASE_URL and ANTHROPIC_BASE_URL are set.")
        else:
            changes = environment.for_proxy(environ, keeper.url, trusted)
        status = child.run(command, environment.applied(environ, changes))
    finally:
        keeper.stop()
    session = session_summary.read(summary)
    where = _report(session, options, recorded)
    asks_nothing = bool({"-h", "--help", "-v", "-V", "--version"} & set(command))
    bypassed = "" if asks_nothing else _bypassed(session, command, options, environ)
    _tell(session, where, bypassed, explained=options.verbose, asks_nothing=asks_nothing)
    return status


# The proxy's command line


def _way_out(options: RunOptions, environ: dict[str, str]) -> list[str]:
    """mitmdump's arguments for where requests go from the proxy."""
    upstream = environment.upstream_proxy(environ)
    if options.reverse:
        if upstream:
            raise click.UsageError(
                f"--reverse cannot go through the proxy {upstream.url} of the environment: unset HTTPS_PROXY first."
            )
        return ["--mode", f"reverse:{_reverse(options.reverse)[0]}"]
    if not upstream:
        return []
    credentials = ["--set", f"upstream_auth={upstream.credentials}"] if upstream.credentials else []
    return ["--mode", f"upstream:{upstream.url}", "-s", str(LOOPBACK_DIRECT), *credentials]


def _settings(options: RunOptions, trusted: environment.Trust, recorded: Path | None) -> list[str]:
    """mitmdump's arguments for our options and the user's."""
    hosts = [*inputs.values_of("toolfix_hosts", options.settings), *map(_added, options.hosts)]
    ours = {
        "ssl_verify_upstream_trusted_ca": str(trusted.bundle),
        "toolfix_record": str(recorded or ""),
        "toolfix_hosts": ",".join(hosts),
        "toolfix_mode": "observe" if options.observe else "",
        "termlog_verbosity": "debug" if options.verbose else "",
    }
    # Every proxy gets its confdir separately.
    theirs = [setting for setting in options.settings if not setting.startswith(("confdir=", "toolfix_hosts="))]
    needed = inputs.unless_set({name: value for name, value in ours.items() if value}, theirs)
    return [*needed, *(word for setting in theirs for word in ("--set", setting))]


def _added(host: str) -> str:
    return f"+{host.lstrip('+')}"


def _reverse(url: str) -> tuple[str, str]:
    """The server behind the reverse proxy, and the path of its base URL."""
    parts = environment.split_url(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise click.UsageError(f"--reverse {url!r} is not a URL: write --reverse https://api.openai.com/v1")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", parts.path.rstrip("/")


# What the user is told


def _report(session: Summary, options: RunOptions, recorded: Path | None) -> str:
    """Write the report, and say where the report and the recordings are."""
    places = []
    if options.target and recorded:
        # Loaded here, because it imports the engine, which `run` does not need otherwise.
        from ..recording.report import write_report

        try:
            write_report(recorded, options.target)
            places.append(f"report at {options.target}")
        except Exception as error:  # A failed report must not change the exit status of the command.
            remark(f"the report {options.target} could not be written ({error}).")
    if options.record:
        places.append(f"recorded in {recorded}" if session.answers else "nothing was recorded")
    return ", ".join(places)


def _bypassed(session: Summary, command: Sequence[str], options: RunOptions, environ: Mapping[str, str]) -> str:
    """How the command may have bypassed the proxy, if no answer came through it."""
    if session.answers or session.warnings or options.reverse:
        return ""
    for name in environment.NO_PROXY:
        if hidden := environment.hiding_models(environ, name, options.hosts):
            return f"{name} has {', '.join(hidden)}: clients bypass the proxy there. Take it out."
    known = agents.named(Path(command[0]).stem)
    return f"{known.name} {known.bypass}. This works: {spelled(known.works)}" if known and known.bypass else ""


def _tell(session: Summary, where: str, bypassed: str, *, explained: bool, asks_nothing: bool) -> None:
    """Say what was mended, or why there was no answer. After `claude --version` there is nothing to say."""
    sentences = session.warnings[:SHOWN_SENTENCES]
    if session.answers:
        summary = session.sentence()
        if session.refused and not (where or explained):
            summary += " (why: run it with -v, or --report calls.html)"
    else:
        sentences += [*session.reasons[:SHOWN_SENTENCES], *filter(None, [bypassed])]
        summary = "no answer from a model went through the proxy"
        if asks_nothing and not (sentences or where):
            return
    for sentence in (*sentences, f"{summary}: {where}" if where else summary):
        remark(sentence)


# The command: as if it had been started directly, with the terminal, the signals and its own exit status

_FROM_THE_KEYBOARD = (signal.SIGINT, signal.SIGQUIT)
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


class Child:
    """The command and its signals: from its creation on, none of them ends this process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        for number in (*_FROM_THE_KEYBOARD, *_PASSED_ON):
            # A signal that is ignored, as under nohup, stays ignored in the command. Handlers are not inherited.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._pass_on)

    def run(self, command: Sequence[str], environ: Mapping[str, str]) -> int:
        """Run the command and return its exit status; 128+n if signal n ended it."""
        try:
            self._process = subprocess.Popen(command, env=environ)
        except OSError as error:
            remark(f"{command[0]!r} cannot be started ({error.strerror}).")
            return NOT_FOUND if error.errno == errno.ENOENT else NOT_EXECUTABLE
        for number in self._early:
            self._process.send_signal(number)
        status = self._process.wait()
        return status if status >= 0 else 128 - status

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        if self._process is None:
            self._early.append(number)
        elif number not in _FROM_THE_KEYBOARD or not _terminal_is_ours():
            self._process.send_signal(number)


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
_NO_PORT = re.compile(
    r"\('[^'\s]{1,64}', (\d{1,5})[\d, ]{0,16}\): (?:\[errno \d{1,4}\] )?(address already in use|permission denied)"
)
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
    trusted = environment.trust_for_clients(confdir, confdir / "toolfix-proxy", environment.original(os.environ))
    ours = {"flow_detail": "0", "ssl_verify_upstream_trusted_ca": str(trusted.bundle)}
    quiet = [option for option in options if not _WORDY.fullmatch(option)]
    if len(quiet) < len(options):
        ours["termlog_verbosity"] = "debug"
    else:
        # Do not log every connection that opens or closes.
        logging.getLogger("mitmproxy.proxy.server").setLevel(logging.WARNING)
    arguments = ["--listen-host", "127.0.0.1", "-s", str(SCRIPT), *inputs.unless_set(ours, settings)]
    arguments += [_PORT.sub("--listen-port", option) for option in quiet]
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Each line reaches a file or a journal at once.
        sys.stdout.reconfigure(line_buffering=True)
    # mitmdump's messages about its options should name this command.
    sys.argv[0] = "toolfix proxy"
    from mitmproxy.tools.main import mitmdump

    with inputs.temporary_folder("toolfix-") as folder:
        summary = Path(folder) / "summary"
        os.environ.setdefault(session_summary.VARIABLE, str(summary))
        hint = _Hint(
            "".join(f" --confdir {shlex.quote(text)}" for text in inputs.values_of("confdir", settings)[-1:])
        )
        logging.getLogger().addHandler(hint)
        try:
            status = mitmdump(arguments)
        except SystemExit as wrong:
            # mitmproxy exits with 1 whatever is wrong; if it has logged nothing yet, the command line is wrong.
            raise SystemExit(WRONG_USAGE if hint.silent and wrong.code else wrong.code) from None
        session = session_summary.read(summary)
    if session.answers:
        remark(session.sentence())
    sys.exit(status)


class _Hint(logging.Handler):
    """Prints what to do in the other shell, when mitmproxy logs where it listens."""

    def __init__(self, confdir: str) -> None:
        """`confdir`: the option that `toolfix env` needs to find the same CA."""
        super().__init__()
        self._confdir = confdir
        self.silent = True

    def emit(self, record: logging.LogRecord) -> None:
        self.silent = False
        said = record.getMessage()
        if found := _NO_PORT.search(said):
            taken = found[2] == "address already in use"
            why = "is taken: name another with --port." if taken else f"cannot be used: {found[2]}."
            remark(f"port {found[1]} {why}")
        if not (found := _LISTENING.search(said)):
            return
        port = found[1]
        if "reverse proxy" in said:
            hint = f"set the client's base URL to http://127.0.0.1:{port} plus its path, such as /v1; no CA is needed"
        else:
            options = f"{'' if port == '8080' else f' --port {port}'}{self._confdir}"
            hint = f'in another terminal: eval "$(toolfix env{options})", then start the agent there'
        remark(spelled(hint))
