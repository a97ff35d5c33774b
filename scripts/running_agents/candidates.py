"""The agents that are run: the package of each, and the tools that it declares."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from toolcalls.cli import agents
from toolcalls.cli.agent_sessions import AgentSession

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
        assert self.agent.session is not None
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


def known_agent(binary: str) -> agents.Agent:
    agent = agents.named(binary)
    assert agent is not None
    return agent


def _candidate(binary: str, package: str, tools: Tools) -> Candidate:
    return Candidate(known_agent(binary), package, tools, _IMPATIENT.get(binary, _patient))


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
