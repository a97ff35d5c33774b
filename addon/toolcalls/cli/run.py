"""`toolfix run`: runs an agent, or any other command, behind a proxy of its own."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType

import click

from ..policy import BadOption, read_options
from ..proxy import session_summary
from ..proxy.session_summary import Summary
from . import agents, environment, inputs, trust
from .inputs import remark, spelled
from .proxy_process import Keeper, ProxyProcess

OUR_OWN_FAULT = 125
"""The exit status if the proxy, not the command, is at fault; the same as that of `timeout` and `env`."""
NOT_EXECUTABLE, NOT_FOUND = 126, 127

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
    if shutil.which(command[0], path=environ.get("PATH")) is None and not Path(command[0]).exists():
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
    target = Path(options.report).absolute() if options.report else None
    if target and (target.is_dir() or not os.access(target if target.exists() else target.parent, os.W_OK)):
        raise click.UsageError(f"--report {target} cannot be written: name a file in an existing directory.")
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
    trusted = trust.for_clients(confdir, folder, environ)
    arguments = [*_settings(options, trusted, recorded), *way_out]
    summary = folder / "summary"
    child = Child()
    keeper = _keeper(
        partial(
            ProxyProcess,
            confdir,
            arguments,
            environment={session_summary.VARIABLE: str(summary)},
            sink=sys.stderr.write if options.verbose else lambda _: None,
        ),
        options.port,
    )
    try:
        # What cannot be checked here must not fail in the middle of the session.
        unchecked = [text for text in options.settings if not text.startswith(("toolfix_", "confdir="))]
        keeper.start(at_once=bool(unchecked or recorded or options.verbose))
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
    _tell(session, where, _bypassed(session, command, options, environ), explained=options.verbose)
    return status


def _keeper(make: Callable[..., ProxyProcess], port: int) -> Keeper:
    try:
        return Keeper(make, remark, port)
    except OSError as error:
        reason = "taken" if error.errno == errno.EADDRINUSE else f"not to be had ({error.strerror})"
        raise click.ClickException(
            f"port {port} is {reason}: leave --port out for a free one, or name another."
        ) from None


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


def _settings(options: RunOptions, trusted: trust.Trust, recorded: Path | None) -> list[str]:
    """mitmdump's arguments for our options and the user's."""
    ours = {"ssl_verify_upstream_trusted_ca": str(trusted.bundle)}
    if recorded:
        ours["toolfix_record"] = str(recorded)
    if options.verbose:
        ours["termlog_verbosity"] = "debug"
    if options.observe:
        ours["toolfix_mode"] = "observe"
    # Every proxy gets its confdir separately.
    theirs = [setting for setting in options.settings if not setting.startswith("confdir=")]
    if options.hosts:
        own = inputs.values_of("toolfix_hosts", theirs)
        ours["toolfix_hosts"] = ",".join([*own, *map(_added, options.hosts)])
        theirs = [setting for setting in theirs if not setting.startswith("toolfix_hosts=")]
    return [*inputs.unless_set(ours, theirs), *(word for setting in theirs for word in ("--set", setting))]


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
    if options.report and recorded:
        # Loaded here, because it imports the engine, which `run` does not need otherwise.
        from ..recording.report import write_report

        target = Path(options.report).absolute()
        try:
            write_report(recorded, target)
            places.append(f"report at {target}")
        except Exception as error:  # A failed report must not change the exit status of the command.
            remark(f"the report {target} could not be written ({error}).")
    if options.record:
        places.append(f"recorded in {recorded}" if session.answers else "nothing was recorded")
    return ", ".join(places)


def _bypassed(session: Summary, command: Sequence[str], options: RunOptions, environ: Mapping[str, str]) -> str:
    """How the command may have bypassed the proxy, if no answer came through it and more than its help was wanted."""
    asks_nothing = {"-h", "--help", "-v", "-V", "--version"} & set(command)
    if session.answers or session.warnings or asks_nothing or options.reverse:
        return ""
    for no_proxy in environment.no_proxy(environ, options.hosts):
        if no_proxy.models:
            return f"{no_proxy.name} has {', '.join(no_proxy.models)}: clients bypass the proxy there. Take it out."
    known = agents.named(Path(command[0]).stem)
    return f"{known.name} {known.bypass}. This works: {spelled(known.works)}" if known and known.bypass else ""


def _tell(session: Summary, where: str, bypassed: str, *, explained: bool) -> None:
    for warning in session.warnings[:SHOWN_SENTENCES]:
        remark(warning)
    if not session.answers:
        for reason in session.reasons[:SHOWN_SENTENCES]:
            remark(reason)
        if bypassed:
            remark(bypassed)
        if not (session.reasons or session.warnings or bypassed or where):
            return  # No model was asked: there is nothing to say after `toolfix run -- claude --version`.
        summary = "no answer from a model went through the proxy"
    else:
        summary = session.sentence()
        if session.refused and not (where or explained):
            summary += " (why: run it with -v, or --report calls.html)"
    remark(f"{summary}: {where}" if where else summary)


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
            return NOT_EXECUTABLE
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
