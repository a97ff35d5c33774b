"""The agents that toolfix is for: how each is found, and how it is led to a server for one short session.

Data and files in a home of their own; nothing of the user's is read or written. `toolfix doctor` probes with it, and
`scripts/agents` plays whole sessions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

KEY = "toolfix-probe"
MODEL = "toolfix-probe"


@dataclass(slots=True, frozen=True)
class AgentSession:
    """A command, what its environment needs besides, and files relative to its home."""

    command: tuple[str, ...]
    environ: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def prepare(self, home: Path) -> None:
        for name, text in self.files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


@dataclass(slots=True, frozen=True)
class Agent:
    """`session(base URL without /v1, prompt)` is how to start it without an account."""

    name: str
    binary: str
    install: str
    protocol: str
    session: Callable[[str, str], AgentSession]
    note: str = ""


def _claude(url: str, prompt: str) -> AgentSession:
    environ = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }
    command = ("claude", "-p", prompt, "--model", "claude-sonnet-4-5", "--dangerously-skip-permissions")
    return AgentSession(command, environ)


def _codex(url: str, prompt: str) -> AgentSession:
    config = f"""
model = "{MODEL}"
model_provider = "local"

[model_providers.local]
name = "local"
base_url = "{url}/v1"
env_key = "LOCAL_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""
    command = ("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt)
    return AgentSession(command, {"LOCAL_API_KEY": KEY}, {".codex/config.toml": config})


def _opencode(url: str, prompt: str) -> AgentSession:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "local",
        "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
        "models": {MODEL: {"name": MODEL, "tool_call": True, "limit": {"context": 100000, "output": 8000}}},
    }
    config = {"provider": {"local": provider}, "autoupdate": False, "share": "disabled", "permission": {"*": "allow"}}
    return AgentSession(
        ("opencode", "run", "-m", f"local/{MODEL}", prompt),
        {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
        {".config/opencode/opencode.json": json.dumps(config)},
    )


def _qwen(url: str, prompt: str) -> AgentSession:
    environ = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY, "OPENAI_MODEL": MODEL}
    settings = {"security": {"auth": {"selectedType": "openai"}}, "general": {"disableAutoUpdate": True}}
    return AgentSession(
        ("qwen", "--yolo", "--auth-type", "openai", "-p", prompt),
        environ,
        {".qwen/settings.json": json.dumps({**settings, "privacy": {"usageStatisticsEnabled": False}})},
    )


def _pi(url: str, prompt: str) -> AgentSession:
    local = {
        "baseUrl": f"{url}/v1",
        "api": "openai-completions",
        "apiKey": KEY,
        "models": [{"id": MODEL, "name": MODEL, "contextWindow": 100000, "maxTokens": 8000}],
    }
    return AgentSession(
        ("pi", "--provider", "local", "--model", MODEL, "-p", prompt),
        {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"},
        {".pi/agent/models.json": json.dumps({"providers": {"local": local}})},
    )


def _gemini(url: str, prompt: str) -> AgentSession:
    environ = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"disableAutoUpdate": True}}
    return AgentSession(("gemini", "--yolo", "-p", prompt), environ, {".gemini/settings.json": json.dumps(settings)})


def _aider(url: str, prompt: str) -> AgentSession:
    environ = {"OPENAI_API_BASE": f"{url}/v1", "OPENAI_API_KEY": KEY, "AIDER_ANALYTICS": "false"}
    command = ("aider", "--model", f"openai/{MODEL}", "--no-git", "--no-check-update", "--yes-always")
    return AgentSession((*command, "--no-show-model-warnings", "--message", prompt), environ)


AGENTS = (
    Agent("Claude Code", "claude", "npm install -g @anthropic-ai/claude-code", "messages", _claude),
    Agent("Codex", "codex", "npm install -g @openai/codex", "responses", _codex),
    Agent("opencode", "opencode", "npm install -g opencode-ai", "chat", _opencode),
    Agent("qwen-code", "qwen", "npm install -g @qwen-code/qwen-code", "chat", _qwen),
    Agent("Gemini CLI", "gemini", "npm install -g @google/gemini-cli", "gemini", _gemini),
    Agent("pi", "pi", "npm install -g @mariozechner/pi-coding-agent", "chat", _pi),
    Agent("aider", "aider", "pipx install aider-chat", "chat", _aider, "it declares no tools"),
)


def named(word: str) -> Agent | None:
    """By its name or the name of its command, however written."""
    wanted = word.lower().replace("-", "").replace(" ", "")
    for agent in AGENTS:
        if wanted in {agent.name.lower().replace("-", "").replace(" ", ""), agent.binary}:
            return agent
    return None
