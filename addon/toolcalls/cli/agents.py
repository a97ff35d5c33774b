"""The agents that toolfix knows, a row each: how one is installed and started, and what matters behind a proxy.

`toolfix doctor` probes these agents, `toolfix run` prints the command that works for those that bypass a proxy, and
`scripts/agents` runs whole sessions with them. A session is one prompt with a server on this machine, a made-up key
and an empty home: nothing of the user's is read or written.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

KEY = MODEL = "toolfix-probe"
URL, PROMPT = "{{url}}", "{{prompt}}"
"""Stand for the server, without /v1, and for the prompt in a row."""


@dataclass(slots=True, frozen=True)
class AgentSession:
    """A command, the variables to add to its environment, and its files, relative to its home directory."""

    command: tuple[str, ...]
    environ: Mapping[str, str]
    files: Mapping[str, str]

    def prepare(self, home: Path) -> None:
        for name, text in self.files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


@dataclass(slots=True, frozen=True)
class Agent:
    name: str
    binary: str
    install: str
    protocol: str
    words: str = ""
    """What follows the binary; "" if the agent cannot be started without an account."""
    environ: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """The files in its home."""
    bypass: str = ""
    """When the agent bypasses a proxy, as the rest of a sentence."""
    works: str = ""
    """The command that works in that case."""

    def session(self, url: str, prompt: str) -> AgentSession:
        """How to start the agent for one prompt with the server at this URL."""

        def filled(text: str) -> str:
            return text.replace(URL, url).replace(PROMPT, prompt)

        files, environ = (
            {name: filled(text) for name, text in texts.items()} for texts in (self.files, self.environ)
        )
        return AgentSession((self.binary, *map(filled, shlex.split(self.words))), environ, files)


_NPM = "npm install -g "
_V1 = f"{URL}/v1"

# The files of the agents, as they stand in a home.

_CODEX = """
model = "toolfix-probe"
model_provider = "local"

[model_providers.local]
name = "local"
base_url = "{{url}}/v1"
env_key = "LOCAL_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""
_OPENCODE = """
{"provider": {"local": {
  "npm": "@ai-sdk/openai-compatible", "name": "local",
  "options": {"baseURL": "{{url}}/v1", "apiKey": "toolfix-probe"},
  "models": {"toolfix-probe": {
    "name": "toolfix-probe", "tool_call": true, "limit": {"context": 100000, "output": 8000}}}}},
 "autoupdate": false, "share": "disabled", "permission": {"*": "allow"}}
"""
_QWEN = """
{"security": {"auth": {"selectedType": "openai"}}, "general": {"disableAutoUpdate": true},
 "privacy": {"usageStatisticsEnabled": false}}
"""
_GEMINI = '{"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"disableAutoUpdate": true}}'
_PI = """
{"providers": {"local": {
  "baseUrl": "{{url}}/v1", "api": "openai-completions", "apiKey": "toolfix-probe",
  "models": [{"id": "toolfix-probe", "name": "toolfix-probe", "contextWindow": 100000, "maxTokens": 8000}]}}}
"""
_CONTINUE = """
{"name": "local", "version": "0.0.1", "schema": "v1", "models": [{
  "name": "toolfix-probe", "provider": "openai", "model": "toolfix-probe", "apiBase": "{{url}}/v1",
  "apiKey": "toolfix-probe", "roles": ["chat"], "capabilities": ["tool_use"]}]}
"""
_CLINE = """
{"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}, "providers": {"openai-compatible": {
  "settings": {"provider": "openai-compatible", "apiKey": "toolfix-probe", "model": "toolfix-probe",
               "baseUrl": "{{url}}/v1"},
  "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}}}
"""
_DROID = """
{"customModels": [{
  "model": "toolfix-probe", "displayName": "toolfix-probe", "baseUrl": "{{url}}/v1", "apiKey": "toolfix-probe",
  "provider": "generic-chat-completion-api", "maxOutputTokens": 8000}],
 "enableDroidShield": false}
"""
_VIBE = """
active_model = "toolfix-probe"
enable_telemetry = false
enable_update_checks = false

[[providers]]
name = "local"
api_base = "{{url}}/v1"
api_key_env_var = "LOCAL_API_KEY"
api_style = "openai"
backend = "generic"

[[models]]
name = "toolfix-probe"
provider = "local"
alias = "toolfix-probe"
"""
_KIMI = """
default_model = "local"
telemetry = false

[providers.local]
type = "openai"
base_url = "{{url}}/v1"
api_key = "toolfix-probe"

[models.local]
provider = "local"
model = "toolfix-probe"
max_context_size = 100000
"""

_ROWS = (
    Agent("Claude Code", "claude", _NPM + "@anthropic-ai/claude-code", "messages",
        f"-p {PROMPT} --model claude-sonnet-4-5 --dangerously-skip-permissions",
        {
            "ANTHROPIC_BASE_URL": URL, "ANTHROPIC_API_KEY": KEY, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1",
        }),
    Agent("Codex", "codex", _NPM + "@openai/codex", "responses",
        f"exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox {PROMPT}",
        {"LOCAL_API_KEY": KEY}, {".codex/config.toml": _CODEX}),
    Agent("opencode", "opencode", _NPM + "opencode-ai", "chat", f"run -m local/{MODEL} {PROMPT}",
        {
            "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
        {".config/opencode/opencode.json": _OPENCODE}),
    Agent("qwen-code", "qwen", _NPM + "@qwen-code/qwen-code", "chat", f"--yolo --auth-type openai -p {PROMPT}",
        {"OPENAI_BASE_URL": _V1, "OPENAI_API_KEY": KEY, "OPENAI_MODEL": MODEL},
        {".qwen/settings.json": _QWEN}),
    Agent("Gemini CLI", "gemini", _NPM + "@google/gemini-cli", "gemini", f"--yolo -p {PROMPT}",
        {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": URL, "GEMINI_CLI_TRUST_WORKSPACE": "true"},
        {".gemini/settings.json": _GEMINI}),
    Agent("pi", "pi", _NPM + "@mariozechner/pi-coding-agent", "chat", f"--provider local --model {MODEL} -p {PROMPT}",
        {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"}, {".pi/agent/models.json": _PI}),
    Agent("aider", "aider", "pipx install aider-chat", "chat",
        f"--model openai/{MODEL} --no-git --no-check-update --yes-always --no-show-model-warnings --message {PROMPT}",
        {"OPENAI_API_BASE": _V1, "OPENAI_API_KEY": KEY, "AIDER_ANALYTICS": "false"}),
    Agent("Copilot CLI", "copilot", _NPM + "@github/copilot", "chat",
        f"-p {PROMPT} --allow-all-tools --no-auto-update",
        {"COPILOT_PROVIDER_BASE_URL": _V1, "COPILOT_PROVIDER_API_KEY": KEY, "COPILOT_MODEL": MODEL}),
    Agent("Continue", "cn", _NPM + "@continuedev/cli", "chat",
        f"--config ../.continue/config.yaml --auto -p {PROMPT}",
        {"CONTINUE_TELEMETRY_ENABLED": "0"}, {".continue/config.yaml": _CONTINUE}),
    Agent("Kilo", "kilo", _NPM + "@kilocode/cli", "chat", f"run --auto -m local/{MODEL} {PROMPT}",
        {"KILO_DISABLE_AUTOUPDATE": "1", "KILO_DISABLE_MODELS_FETCH": "1"}, {".config/kilo/kilo.json": _OPENCODE}),
    Agent("Cline", "cline", _NPM + "cline", "chat",
        f"--auto-approve true --provider openai-compatible --model {MODEL} {PROMPT}",
        files={".cline/data/settings/providers.json": _CLINE}),
    Agent("Droid", "droid", _NPM + "droid", "chat", f"exec --skip-permissions-unsafe -m custom:{MODEL}-0 {PROMPT}",
        {"FACTORY_API_KEY": f"fk-{KEY}"}, {".factory/settings.json": _DROID}),
    Agent("Mistral Vibe", "vibe", "uv tool install mistral-vibe", "chat", f"--auto-approve --prompt {PROMPT}",
        {"LOCAL_API_KEY": KEY, "MISTRAL_API_KEY": KEY}, {".vibe/config.toml": _VIBE}),
    Agent("grok-cli", "grok", _NPM + "@vibe-kit/grok-cli", "chat", f"-p {PROMPT}",
        {"GROK_API_KEY": KEY, "GROK_BASE_URL": _V1, "GROK_MODEL": MODEL},
        bypass="ignores proxies on Node 20",
        works="toolfix run --reverse https://api.x.ai/v1 -- sh -c 'GROK_BASE_URL=$OPENAI_BASE_URL grok'"),
    Agent("kimi-code", "kimi", _NPM + "@moonshot-ai/kimi-code", "chat", f"-p {PROMPT}",
        files={".kimi-code/config.toml": _KIMI},
        bypass="bypasses the proxy for servers on this machine",
        works=(
            "toolfix run --reverse http://localhost:8000 --port 8081 -- kimi "
            '(with base_url = "http://127.0.0.1:8081/v1" in ~/.kimi-code/config.toml)'
        )),
    Agent("Claude Code Router", "ccr", _NPM + "@musistudio/claude-code-router", "messages",
        bypass="sets NO_PROXY for the agent that it starts",
        works='eval "$(ccr activate)" && toolfix run -- claude'),
)  # fmt: skip

AGENTS = {agent.binary: agent for agent in _ROWS}
"""The agents by the name of their command."""
