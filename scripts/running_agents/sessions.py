"""One session of a real agent with the model that calls tools badly, and how it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.upstream import Upstream, write_certificate
from toolcalls.cli import environment

from .broken_calls import CUT, MARK, BrokenCall, Tools
from .candidates import Candidate
from .installing import programs
from .model import FINAL, GIVES_UP, Model, UnknownTools
from .strict_hosts import StrictHost

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120.0
PROMPT = "Please go on."


@dataclass(slots=True)
class Ended:
    """How a session ended."""

    agent: str
    broken: str
    toolfix: bool
    well: bool
    how: str
    seconds: float
    output: str = field(repr=False, default="")


def play(
    candidate: Candidate,
    broken: BrokenCall,
    *,
    toolfix: bool,
    keep: Path | None,
    idle: float = 0.0,
    options: Sequence[str] = (),
) -> Ended:
    """Run one session in an empty home, and keep its output and requests in `keep`, if given.

    `idle`: how many seconds the agent waits for the next event; 0 is its default. `options` go to `toolfix run`.
    """
    with tempfile.TemporaryDirectory(prefix="toolfix-agent-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        work = folder / "home" / "work"
        work.mkdir(parents=True)
        (work / "file.txt").write_text("before\n")
        certificate = write_certificate(folder / "upstream.pem", ["localhost", "127.0.0.1"])
        trusted = environment.prepare(folder / "trust", certificate, {})
        model = _model(candidate, broken, work)
        # Without toolfix over plain HTTP, because Rust clients may reject a self-signed certificate.
        with Upstream(model, certificate if toolfix else None) as upstream:
            if toolfix:
                words = [sys.executable, "-m", "toolcalls.cli", "run", "--verbose", *options]
                session, command = candidate.way(candidate, upstream.url, PROMPT, words)
            else:
                session = candidate.session(upstream.url, PROMPT)
                command = [*session.command]
            session = candidate.impatient(session, idle) if idle else session
            session.prepare(folder / "home")
            environ = {
                "PATH": programs([candidate]), "HOME": str(folder / "home"), "TERM": "dumb", "LANG": "C.UTF-8",
                **trusted, **session.environ,
            }  # fmt: skip
            if toolfix:
                environ["PYTHONPATH"] = str(ROOT / "addon")
            started = time.monotonic()
            try:
                status, output = _bounded(command, environ, work, PATIENCE + 4 * broken.seconds)
                seconds = time.monotonic() - started
            finally:
                stop_leftovers(folder / "home")
        if keep:
            kept = (
                keep / f"{candidate.agent.binary}-{broken.name.replace(' ', '-')}-{'with' if toolfix else 'without'}"
            )
            kept.mkdir(parents=True, exist_ok=True)
            (kept / "output.txt").write_text(f"exit {status}\n{output}")
            for number, seen in enumerate(upstream.requests):
                (kept / f"request-{number}.json").write_bytes(seen.body)
        well, how = judge(model, status, output)
        return Ended(candidate.agent.name, broken.name, toolfix, well, how, seconds, output)


def _model(candidate: Candidate, broken: BrokenCall, work: Path) -> Model:
    if candidate.tools is None:
        return UnknownTools(Tools(), broken, work)
    return (StrictHost if broken.strict else Model)(candidate.tools, broken, work)


def _bounded(command: Sequence[str], environ: dict[str, str], work: Path, patience: float) -> tuple[int | None, str]:
    """The exit status (None after a time-out) and the whole output of a command."""
    process = subprocess.Popen(
        command, env=environ, cwd=work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=patience)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        time.sleep(1)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0] or ""


def judge(model: Model, status: int | None, output: str) -> tuple[bool, str]:
    """Whether a session ended well, and a description of how it ended."""
    if isinstance(model, StrictHost):
        return model.judged(status, output)
    mark = model.work / MARK
    times = len(mark.read_text().splitlines()) if mark.is_file() else 0
    if (model.work / CUT).exists():
        return False, "**ran the cut command**"
    if status is None:
        return False, "time-out"
    if times > 1:
        return False, f"ran {times} times"
    tries = model.sent
    if status == 0 and model.done() and FINAL in output:
        if not model.tools.shell:
            return True, "ok, declares no tools"
        allowed = 2 if model.broken.once else 1
        return tries <= allowed, "ok" if tries <= allowed else f"after {tries} tries"
    if model.broken.finish and status and "max_output_tokens" in output:
        return False, "stops and says why"
    if not model.finished:
        return False, "silent end" if status == 0 else f"exit {status}"
    if GIVES_UP in output or not model.done():
        return False, "error back"
    return False, f"exit {status}" if status else "silent end"


# What a session leaves running, such as the daemon that Cline starts

LEFTOVERS_PATIENCE = 3.0


def stop_leftovers(home: Path) -> list[int]:
    """Stop the processes with this home directory, which only one session used; return their ids."""
    found = _living_in(home)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in _living_in(home):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + LEFTOVERS_PATIENCE
        while _living_in(home) and time.monotonic() < deadline:
            time.sleep(0.05)
    return found


def _living_in(home: Path) -> list[int]:
    """The processes of this user with that home in their environment; none if the system has no /proc."""
    mark = f"HOME={home}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            lives = mark in (process / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if lives and int(process.name) != os.getpid():
            found.append(int(process.name))
    return found
