"""The agents that toolfix knows, as a table: how each is found and installed, and what matters behind a proxy.

`toolfix doctor` probes these agents, `toolfix run` prints the command that works for those that bypass a proxy, and
`scripts/agents` runs whole sessions with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import agent_sessions as sessions
from .agent_sessions import AgentSession


@dataclass(slots=True, frozen=True)
class Agent:
    name: str
    binary: str
    install: str
    protocol: str
    session: Callable[[str, str], AgentSession] | None
    """How to start the agent without an account; None if that is impossible."""
    note: str = ""
    node: int = 0
    """The oldest version of Node that the agent runs on."""
    bypass: str = ""
    """When the agent bypasses a proxy, as the rest of a sentence."""
    works: str = ""
    """The command that works in that case."""


_NPM = "npm install -g "

AGENTS = (
    Agent("Claude Code", "claude", _NPM + "@anthropic-ai/claude-code", "messages", sessions.claude),
    Agent("Codex", "codex", _NPM + "@openai/codex", "responses", sessions.codex),
    Agent("opencode", "opencode", _NPM + "opencode-ai", "chat", sessions.opencode),
    Agent("qwen-code", "qwen", _NPM + "@qwen-code/qwen-code", "chat", sessions.qwen, node=22),
    Agent("Gemini CLI", "gemini", _NPM + "@google/gemini-cli", "gemini", sessions.gemini, node=20),
    Agent("pi", "pi", _NPM + "@mariozechner/pi-coding-agent", "chat", sessions.pi, node=20),
    Agent("aider", "aider", "pipx install aider-chat", "chat", sessions.aider, "it declares no tools"),
    Agent("Copilot CLI", "copilot", _NPM + "@github/copilot", "chat", sessions.copilot, node=22),
    Agent("Continue", "cn", _NPM + "@continuedev/cli", "chat", sessions.continue_cn, node=20),
    Agent("Kilo", "kilo", _NPM + "@kilocode/cli", "chat", sessions.kilo),
    Agent("Cline", "cline", _NPM + "cline", "chat", sessions.cline, node=22),
    Agent("Droid", "droid", _NPM + "droid", "chat", sessions.droid),
    Agent("Mistral Vibe", "vibe", "uv tool install mistral-vibe", "chat", sessions.vibe),
    Agent(
        "grok-cli", "grok", _NPM + "@vibe-kit/grok-cli", "chat", sessions.grok,
        bypass="ignores proxies on Node 20",
        works="toolfix run --reverse https://api.x.ai/v1 -- sh -c 'GROK_BASE_URL=$OPENAI_BASE_URL grok'",
    ),
    Agent(
        "kimi-code", "kimi", _NPM + "@moonshot-ai/kimi-code", "chat", sessions.kimi, node=22,
        bypass="bypasses the proxy for servers on this machine",
        works=(
            "toolfix run --reverse http://localhost:8000 --port 8081 -- kimi "
            '(with base_url = "http://127.0.0.1:8081/v1" in ~/.kimi-code/config.toml)'
        ),
    ),
    Agent(
        "Claude Code Router", "ccr", _NPM + "@musistudio/claude-code-router", "messages", None,
        bypass="sets NO_PROXY for the agent that it starts",
        works='eval "$(ccr activate)" && toolfix run -- claude',
    ),
)  # fmt: skip


def named(word: str) -> Agent | None:
    """The agent with this name, or with this name of its command, whatever the case, spaces and hyphens."""
    wanted = _folded(word)
    for agent in AGENTS:
        if wanted in {_folded(agent.name), agent.binary}:
            return agent
    return None


def _folded(word: str) -> str:
    return word.lower().replace("-", "").replace(" ", "")
