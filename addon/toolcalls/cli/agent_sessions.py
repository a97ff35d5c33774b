"""How to start each agent for one short session with a server on this machine, with a made-up key and no account.

Each function takes a base URL without /v1 and a prompt, and returns a command, variables, and files for an empty home
directory. Nothing of the user's is read or written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

KEY = "toolfix-probe"
MODEL = "toolfix-probe"
PRIVATE_VARIABLES = (
    "XDG_", "CLAUDE_", "CODEX_HOME", "OPENCODE_", "QWEN_", "GEMINI_", "PI_", "ANTHROPIC_", "OPENAI_", "GOOGLE_",
    "AIDER_", "COPILOT_", "GH_TOKEN", "GITHUB_TOKEN", "CONTINUE_", "KILO_", "CLINE_", "FACTORY_", "VIBE_", "MISTRAL_",
    "GROK_", "KIMI_",
)  # fmt: skip
"""The prefixes of variables that lead an agent to the user's own files or accounts."""


@dataclass(slots=True, frozen=True)
class AgentSession:
    """A command, the variables to add to its environment, and its files, relative to its home directory."""

    command: tuple[str, ...]
    environ: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def prepare(self, home: Path) -> None:
        for name, text in self.files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def claude(url: str, prompt: str) -> AgentSession:
    environ = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
    }
    command = ("claude", "-p", prompt, "--model", "claude-sonnet-4-5", "--dangerously-skip-permissions")
    return AgentSession(command, environ)


def codex(url: str, prompt: str) -> AgentSession:
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


def opencode(url: str, prompt: str) -> AgentSession:
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


def qwen(url: str, prompt: str) -> AgentSession:
    environ = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY, "OPENAI_MODEL": MODEL}
    settings = {"security": {"auth": {"selectedType": "openai"}}, "general": {"disableAutoUpdate": True}}
    return AgentSession(
        ("qwen", "--yolo", "--auth-type", "openai", "-p", prompt),
        environ,
        {".qwen/settings.json": json.dumps({**settings, "privacy": {"usageStatisticsEnabled": False}})},
    )


def pi(url: str, prompt: str) -> AgentSession:
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


def gemini(url: str, prompt: str) -> AgentSession:
    environ = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"disableAutoUpdate": True}}
    return AgentSession(("gemini", "--yolo", "-p", prompt), environ, {".gemini/settings.json": json.dumps(settings)})


def aider(url: str, prompt: str) -> AgentSession:
    environ = {"OPENAI_API_BASE": f"{url}/v1", "OPENAI_API_KEY": KEY, "AIDER_ANALYTICS": "false"}
    command = ("aider", "--model", f"openai/{MODEL}", "--no-git", "--no-check-update", "--yes-always")
    return AgentSession((*command, "--no-show-model-warnings", "--message", prompt), environ)


def copilot(url: str, prompt: str) -> AgentSession:
    environ = {"COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_PROVIDER_API_KEY": KEY, "COPILOT_MODEL": MODEL}
    return AgentSession(("copilot", "-p", prompt, "--allow-all-tools", "--no-auto-update"), environ)


def continue_cn(url: str, prompt: str) -> AgentSession:
    model = {
        "name": MODEL,
        "provider": "openai",
        "model": MODEL,
        "apiBase": f"{url}/v1",
        "apiKey": KEY,
        "roles": ["chat"],
        "capabilities": ["tool_use"],
    }
    config = {"name": "local", "version": "0.0.1", "schema": "v1", "models": [model]}
    command = ("cn", "--config", "../.continue/config.yaml", "--auto", "-p", prompt)
    return AgentSession(
        command, {"CONTINUE_TELEMETRY_ENABLED": "0"}, {".continue/config.yaml": json.dumps(config, indent=1)}
    )


def kilo(url: str, prompt: str) -> AgentSession:
    config = opencode(url, prompt).files[".config/opencode/opencode.json"]
    return AgentSession(
        ("kilo", "run", "--auto", "-m", f"local/{MODEL}", prompt),
        {"KILO_DISABLE_AUTOUPDATE": "1", "KILO_DISABLE_MODELS_FETCH": "1"},
        {".config/kilo/kilo.json": config},
    )


def cline(url: str, prompt: str) -> AgentSession:
    provider = "openai-compatible"
    settings = {"provider": provider, "apiKey": KEY, "model": MODEL, "baseUrl": f"{url}/v1"}
    entry = {"settings": settings, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
    known = {"version": 1, "lastUsedProvider": provider, "modes": {}, "providers": {provider: entry}}
    return AgentSession(
        ("cline", "--auto-approve", "true", "--provider", provider, "--model", MODEL, prompt),
        files={".cline/data/settings/providers.json": json.dumps(known)},
    )


def droid(url: str, prompt: str) -> AgentSession:
    model = {
        "model": MODEL,
        "displayName": MODEL,
        "baseUrl": f"{url}/v1",
        "apiKey": KEY,
        "provider": "generic-chat-completion-api",
        "maxOutputTokens": 8000,
    }
    return AgentSession(
        ("droid", "exec", "--skip-permissions-unsafe", "-m", f"custom:{MODEL}-0", prompt),
        {"FACTORY_API_KEY": f"fk-{KEY}"},
        {".factory/settings.json": json.dumps({"customModels": [model], "enableDroidShield": False})},
    )


def vibe(url: str, prompt: str) -> AgentSession:
    config = f"""
active_model = "{MODEL}"
enable_telemetry = false
enable_update_checks = false

[[providers]]
name = "local"
api_base = "{url}/v1"
api_key_env_var = "LOCAL_API_KEY"
api_style = "openai"
backend = "generic"

[[models]]
name = "{MODEL}"
provider = "local"
alias = "{MODEL}"
"""
    command = ("vibe", "--auto-approve", "--prompt", prompt)
    return AgentSession(command, {"LOCAL_API_KEY": KEY, "MISTRAL_API_KEY": KEY}, {".vibe/config.toml": config})


def grok(url: str, prompt: str) -> AgentSession:
    environ = {"GROK_API_KEY": KEY, "GROK_BASE_URL": f"{url}/v1", "GROK_MODEL": MODEL}
    return AgentSession(("grok", "-p", prompt), environ)


def kimi(url: str, prompt: str) -> AgentSession:
    config = f"""
default_model = "local"
telemetry = false

[providers.local]
type = "openai"
base_url = "{url}/v1"
api_key = "{KEY}"

[models.local]
provider = "local"
model = "{MODEL}"
max_context_size = 100000
"""
    return AgentSession(("kimi", "-p", prompt), {}, {".kimi-code/config.toml": config})
