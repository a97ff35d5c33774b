"""The agents that are run: the package of each, and the tools that it declares."""

from __future__ import annotations

import json
import os
import shlex
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from toolcalls.cli import agents
from toolcalls.cli.agents import KEY, MODEL, AgentSession

from .broken_calls import MARK, RUN, Tools

CACHE = Path(os.environ.get("TOOLFIX_AGENTS_CACHE", "~/.cache/toolfix-agents")).expanduser()
"""Where the agents are installed."""


Way = Callable[["Candidate", str, str, list[str]], tuple[AgentSession, list[str]]]
"""Takes the URL of the upstream, the prompt and the words of `toolfix run`; returns a session and its command."""


def accepted(_work: Path, results: list[str]) -> bool:
    """Whether the tool returned a result that is no complaint."""
    complaints = ("error", "invalid", "must be", "failed", "expected")
    return bool(results) and not any(word in results[-1].lower() for word in complaints)


def edited(work: Path, _results: list[str]) -> bool:
    """Whether the tool edited the file."""
    return "after" in (work / "file.txt").read_text()


def ran(work: Path, _results: list[str]) -> bool:
    """Whether the command ran."""
    return (work / MARK).is_file()


def _through_proxy(candidate: Candidate, url: str, prompt: str, toolfix: list[str]) -> tuple[AgentSession, list[str]]:
    session = candidate.session(url, prompt)
    return session, [*toolfix, "--", *session.command]


def _patient(session: AgentSession, _seconds: float) -> AgentSession:
    return session


@dataclass(slots=True, frozen=True)
class Candidate:
    """An agent that can be installed and run."""

    agent: agents.Agent
    package: str
    """The package on npm, or on PyPI if it begins with `pip:`. Several are separated by spaces."""
    tools: Tools | None = None
    """None if the model has to look for the shell among the declared tools."""
    impatient: Callable[[AgentSession, float], AgentSession] = _patient
    """Sets how many seconds the agent waits for the next event of an answer, if the agent has such a setting."""
    python: str = sys.executable
    """The Python that a package of PyPI is installed with."""
    way: Way = _through_proxy
    """How the agent is started behind toolfix."""

    def session(self, url: str, prompt: str) -> AgentSession:
        return self.agent.session(url, prompt)

    @property
    def folder(self) -> Path:
        return CACHE / self.agent.binary


def _impatient_claude(session: AgentSession, seconds: float) -> AgentSession:
    # Claude Code accepts nothing below ten seconds.
    limits = dict.fromkeys(("CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS", "CLAUDE_STREAM_IDLE_TIMEOUT_MS"), _ms(seconds))
    return replace(session, environ={**session.environ, **limits, "CLAUDE_ENABLE_STREAM_WATCHDOG": "1"})


def _impatient_codex(session: AgentSession, seconds: float) -> AgentSession:
    ((name, config),) = session.files.items()
    return replace(session, files={name: f"{config}stream_idle_timeout_ms = {_ms(seconds)}\n"})


def _impatient_opencode(session: AgentSession, seconds: float) -> AgentSession:
    ((name, text),) = session.files.items()
    config = json.loads(text)
    config["provider"]["local"]["options"]["chunkTimeout"] = int(_ms(seconds))
    return replace(session, files={name: json.dumps(config)})


def _impatient_qwen(session: AgentSession, seconds: float) -> AgentSession:
    return replace(session, environ={**session.environ, "QWEN_STREAM_IDLE_TIMEOUT_MS": _ms(seconds)})


def _ms(seconds: float) -> str:
    return str(int(seconds * 1000))


_IMPATIENT = {
    "claude": _impatient_claude,
    "codex": _impatient_codex,
    "opencode": _impatient_opencode,
    "qwen": _impatient_qwen,
}


def _candidate(binary: str, package: str, tools: Tools) -> Candidate:
    return Candidate(agents.AGENTS[binary], package, tools, _IMPATIENT.get(binary, _patient))


FINDING = {"file": "file.txt", "line": 1, "summary": "a word", "failure_scenario": "none", "category": "correctness"}
TODO = {"content": "go on", "status": "pending", "priority": "high", "id": "1"}
EDITS = {"path": "file.txt", "edits": [{"oldText": "before", "newText": "after"}]}

CANDIDATES = (
    _candidate("claude", "@anthropic-ai/claude-code@2.1.325", Tools("Bash", "command", "cmd", "timeout",
               "ReportFindings", {"findings": [FINDING]}, "findings", accepted, "ListAgents")),
    _candidate("codex", "@openai/codex@0.166.0", Tools("exec_command", "cmd", "command", "yield_time_ms",
               "exec_command", {"cmd": RUN, "prefix_rule": ["echo", "ran"]}, "prefix_rule", ran, "get_goal")),
    _candidate("opencode", "opencode-ai@1.18.33", Tools("bash", "command", "cmd", "timeout",
               "todowrite", {"todos": [TODO]}, "todos", accepted)),
    _candidate("qwen", "@qwen-code/qwen-code@0.24.4", Tools("run_shell_command", "command", "cmd", "timeout",
               "tool_call", {"name": "todo_write", "arguments": {"todos": [TODO]}}, "arguments", accepted,
               "get_goal")),
    _candidate("pi", "@mariozechner/pi-coding-agent@0.73.1", Tools("bash", "command", "cmd", "timeout",
               "edit", EDITS, "edits", edited)),
    _candidate("gemini", "@google/gemini-cli@0.61.0", Tools("run_shell_command", "command", "cmd", "delay_ms",
               "list_directory", {"dir_path": ".", "ignore": ["*.log"]}, "ignore", accepted)),
)  # fmt: skip


# The agents of docs/agents.md without a column in the table: one broken call each, with the command of that page


def _reverse(candidate: Candidate, url: str, prompt: str, toolfix: list[str]) -> tuple[AgentSession, list[str]]:
    """Start an agent that bypasses proxies, with the base URL of `toolfix run --reverse`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    session = candidate.session(f"http://127.0.0.1:{port}", prompt)
    return session, [*toolfix, "--reverse", url, "--port", str(port), "--", *session.command]


def _router(_candidate: Candidate, url: str, prompt: str, toolfix: list[str]) -> tuple[AgentSession, list[str]]:
    """Start Claude Code Router, and then Claude Code behind toolfix, with the router's variables."""
    provider = {
        "name": "local",
        "api_base_url": f"{url}/v1/chat/completions",
        "api_key": KEY,
        "models": [MODEL],
    }
    config = {"Providers": [provider], "Router": {"default": f"local,{MODEL}"}, "NON_INTERACTIVE_MODE": True}
    agent = shlex.join([*toolfix, "--", "claude", "-p", prompt, "--dangerously-skip-permissions"])
    script = (
        "ccr start >router.log 2>&1 & "
        "for _ in $(seq 30); do curl -s -o /dev/null 127.0.0.1:3456 && break; sleep 1; done; "
        f'eval "$(ccr activate)" && {agent}; status=$?; ccr stop >/dev/null 2>&1; exit $status'
    )
    session = AgentSession(
        ("sh", "-c", script),
        {"IS_SANDBOX": "1", "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
        {".claude-code-router/config.json": json.dumps(config)},
    )
    return session, list(session.command)


OTHERS = (
    Candidate(agents.AGENTS["aider"], "pip:aider-chat==0.86.2"),
    Candidate(agents.AGENTS["copilot"], "@github/copilot@1.0.102"),
    Candidate(agents.AGENTS["cn"], "@continuedev/cli@1.5.47"),
    Candidate(agents.AGENTS["kilo"], "@kilocode/cli@7.7.7"),
    Candidate(agents.AGENTS["cline"], "cline@3.0.65"),
    Candidate(agents.AGENTS["droid"], "droid@0.215.0"),
    Candidate(agents.AGENTS["vibe"], "pip:mistral-vibe==3.0.2", python="python3.12"),
    Candidate(agents.AGENTS["grok"], "@vibe-kit/grok-cli@0.0.34"),
    Candidate(agents.AGENTS["kimi"], "@moonshot-ai/kimi-code@2.1.0", way=_reverse),
    Candidate(
        agents.AGENTS["ccr"], "@musistudio/claude-code-router@2.0.0 @anthropic-ai/claude-code@2.1.325", way=_router
    ),
)
