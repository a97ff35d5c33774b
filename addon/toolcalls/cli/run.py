"""`toolfix run`: runs an agent, or any other command, behind a proxy of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from ..policy import BadOption, read_options
from ..proxy import session_summary
from ..proxy.session_summary import Summary
from ..shown import LINE, shown_lines
from . import bypassing, client_environment, inputs, trust
from .foreground import NOT_FOUND, CannotStart, Child
from .proxy_process import ProxyFailed, ProxyProcess
from .proxy_supervisor import Keeper

OUR_OWN_FAULT = 125
"""The exit status if the proxy, not the command, is at fault; the same as that of `timeout` and `env`."""

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
    if not command:
        raise click.UsageError("name the command to run: toolfix run -- claude")
    _check_values(options)
    _check_report(options.report)
    _check_hosts(options.hosts)
    inputs.checked(options.settings)
    environ = client_environment.original(os.environ)
    if shutil.which(command[0], path=environ.get("PATH")) is None and not Path(command[0]).exists():
        say(f"there is no command {command[0]!r}: is it installed and on the PATH?")
        sys.exit(NOT_FOUND)
    try:
        folder = inputs.temporary_folder("toolfix-")
    except click.ClickException as problem:
        say(problem.message)
        sys.exit(OUR_OWN_FAULT)
    with folder as name:
        sys.exit(_run(command, options, environ, Path(name)))


def _check_values(options: RunOptions) -> None:
    """Refuse `--report -- CMD`: click takes the dashes for the value."""
    if options.report is not None and (not options.report or options.report.startswith("-")):
        raise click.UsageError("--report needs a file: write --report calls.html -- CMD")
    if options.record is not None and (not options.record or options.record.startswith("-")):
        raise click.UsageError("--record needs a directory: write --record recorded -- CMD")


def _check_report(report: str | None) -> None:
    """Refuse a report that cannot be written. At the end of a long session it would be too late to find a typo."""
    target = Path(report).absolute() if report else None
    if target and (target.is_dir() or not os.access(target if target.exists() else target.parent, os.W_OK)):
        raise click.UsageError(f"--report {report} cannot be written: name a file in an existing directory.")


def _check_hosts(hosts: tuple[str, ...]) -> None:
    for host, added in zip(hosts, _added(hosts), strict=True):
        try:
            read_options({"toolfix_hosts": added})
        except BadOption:
            name = client_environment.split_url(host).hostname or "llm.example.com"
            raise click.UsageError(f"--host {host!r} is not a host name: write --host {name}") from None


def say(sentence: str) -> None:
    click.echo(f"toolfix: {shown_lines(sentence, LINE)}", err=True)


def _run(command: tuple[str, ...], options: RunOptions, environ: dict[str, str], folder: Path) -> int:
    way_out, private = _way_out(options, environ)
    confdir = inputs.confdir_of(options.settings)
    recorded = Path(options.record).absolute() if options.record else folder / "recorded" if options.report else None
    trusted = _trust(confdir, environ, folder)
    arguments = [*_options(options, trusted, recorded), *way_out]
    summary = folder / "summary"
    with _log(folder / "proxy.log", options.verbose) as sink, Child() as child:

        def make(port: int) -> ProxyProcess:
            return ProxyProcess(
                confdir,
                arguments,
                listen=("--listen-host", "127.0.0.1", "--listen-port", str(port)),
                environment={session_summary.VARIABLE: str(summary)},
                private=private,
                sink=sink,
                apart=True,
            )

        keeper = Keeper(make, say)
        try:
            proxy = keeper.start(options.port)
        except ProxyFailed as failed:
            return _did_not_start(failed, options.port)
        try:
            status = child.run(
                command, client_environment.applied(environ, _changes(options, environ, proxy.url, trusted))
            )
        except CannotStart as problem:
            say(str(problem))
            return problem.status
        finally:
            keeper.stop()
        session = session_summary.read(summary)
        bypassed = _bypassed(session, command, options, environ, proxy.url)
        _tell(session, _report(session, options, recorded), bypassed, explained=options.verbose)
    return status


def _trust(confdir: Path, environ: dict[str, str], folder: Path) -> trust.Trust:
    try:
        return trust.prepare(folder, trust.ensure_ca(confdir), environ)
    except OSError as error:
        say(
            f"mitmproxy's CA in {confdir} cannot be read or made ({error.strerror}): name another place with "
            "--set confdir=DIR."
        )
        sys.exit(OUR_OWN_FAULT)


# The proxy's command line


def _way_out(options: RunOptions, environ: dict[str, str]) -> tuple[list[str], list[str]]:
    """mitmdump's arguments for where requests go from the proxy, and those that other users must not see."""
    try:
        upstream = client_environment.upstream_proxy(environ)
    except client_environment.BadProxy as bad:
        raise click.UsageError(f"{bad} Unset it, or run toolfix in a shell without it.") from None
    if options.reverse:
        mode = f"reverse:{_reverse(options.reverse)[0]}"
        if upstream:
            raise click.UsageError(
                f"--reverse cannot go through the proxy {upstream.url} of the environment: unset HTTPS_PROXY first."
            )
        return ["--mode", mode], []
    if not upstream:
        return [], []
    arguments = ["--mode", f"upstream:{upstream.url}", "-s", str(LOOPBACK_DIRECT)]
    return arguments, ["--set", f"upstream_auth={upstream.credentials}"] if upstream.credentials else []


def _options(options: RunOptions, trusted: trust.Trust, recorded: Path | None) -> list[str]:
    """mitmdump's arguments for our options and the user's."""
    ours = {"ssl_verify_upstream_trusted_ca": str(trusted.bundle)}
    if recorded:
        ours["toolfix_record"] = str(recorded)
    if options.verbose:
        ours["termlog_verbosity"] = "debug"
    if options.observe:
        ours["toolfix_mode"] = "observe"
    if options.hosts:
        own = inputs.values_of("toolfix_hosts", options.settings)
        ours["toolfix_hosts"] = ",".join([*own, *_added(options.hosts)])
    return inputs.settings(ours, options.settings)


def _added(hosts: tuple[str, ...]) -> list[str]:
    return [f"+{host.lstrip('+')}" for host in hosts]


def _reverse(url: str) -> tuple[str, str]:
    """The server behind the reverse proxy, and the path of its base URL."""
    parts = client_environment.split_url(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise click.UsageError(f"--reverse {url!r} is not a URL: write --reverse https://api.openai.com/v1")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", parts.path.rstrip("/")


def _changes(
    options: RunOptions, environ: dict[str, str], url: str, trusted: trust.Trust
) -> client_environment.Changes:
    if not options.reverse:
        return client_environment.for_proxy(environ, url, trusted)
    changes = client_environment.for_reverse(environ, url, _reverse(options.reverse)[1])
    say(
        f"{changes['OPENAI_BASE_URL']} forwards to {options.reverse}; OPENAI_BASE_URL and ANTHROPIC_BASE_URL are set."
    )
    return changes


# What the user is told


@contextlib.contextmanager
def _log(path: Path, verbose: bool) -> Iterator[Callable[[str], None]]:
    """A function that takes the lines of the proxy's log: to a private file, and to stderr only with --verbose."""
    lock = threading.Lock()
    with path.open("w", encoding="utf-8") as file:
        path.chmod(0o600)

        def sink(line: str) -> None:
            with lock:
                if verbose:
                    sys.stderr.write(line)
                if not file.closed:
                    file.write(line)
                    file.flush()

        yield sink


def _did_not_start(failed: ProxyFailed, port: int) -> int:
    if "permission denied" in str(failed).lower() and port:
        say(f"you are not allowed to open port {port}: leave --port out for a free one, or name one above 1023.")
    elif "address already in use" in str(failed):
        say(f"port {port} is taken: leave --port out for a free one, or name another.")
    else:
        say(f"the proxy did not start: {failed.sentence}")
    return OUR_OWN_FAULT


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
            say(f"the report {target} could not be written ({error}).")
    if options.record:
        places.append(f"recorded in {recorded}" if session.answers else "nothing was recorded")
    return ", ".join(places)


def _bypassed(
    session: Summary, command: tuple[str, ...], options: RunOptions, environ: dict[str, str], url: str
) -> str:
    """How the command may have bypassed the proxy, if no answer came through it."""
    if session.answers or session.warnings or bypassing.asks_nothing(command):
        return ""
    if options.reverse:
        return "" if session.reasons else bypassing.of_reverse(command, url)
    return bypassing.of_proxy(command, environ, options.hosts)


def _tell(session: Summary, where: str, bypassed: str, *, explained: bool) -> None:
    for warning in session.warnings[:SHOWN_SENTENCES]:
        say(warning)
    if not session.answers:
        for reason in session.reasons[:SHOWN_SENTENCES]:
            say(reason)
        if bypassed:
            say(bypassed)
        if not (session.reasons or session.warnings or bypassed or where):
            return  # No model was asked: there is nothing to say after `toolfix run -- claude --version`.
        summary = "no answer from a model went through the proxy"
    else:
        summary = session.sentence()
        if session.refused and not (where or explained):
            summary += " (why: run it with -v, or --report calls.html)"
    say(f"{summary}: {where}" if where else summary)
