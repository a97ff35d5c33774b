"""The agents of docs/agents.md without a column in the table: one broken call each, with the command of that page."""

from __future__ import annotations

import json
import shlex
import socket

from toolcalls.cli.agent_sessions import KEY, MODEL, AgentSession

from .broken_calls import SCENARIOS
from .candidates import Candidate, known_agent

SCENARIO = SCENARIOS[0]


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
    Candidate(known_agent("aider"), "pip:aider-chat==0.86.2"),
    Candidate(known_agent("copilot"), "@github/copilot@1.0.102"),
    Candidate(known_agent("cn"), "@continuedev/cli@1.5.47"),
    Candidate(known_agent("kilo"), "@kilocode/cli@7.7.7"),
    Candidate(known_agent("cline"), "cline@3.0.65"),
    Candidate(known_agent("droid"), "droid@0.215.0"),
    Candidate(known_agent("vibe"), "pip:mistral-vibe==3.0.2", python="python3.12"),
    Candidate(known_agent("grok"), "@vibe-kit/grok-cli@0.0.34"),
    Candidate(known_agent("kimi"), "@moonshot-ai/kimi-code@2.1.0", way=_reverse),
    Candidate(
        known_agent("ccr"), "@musistudio/claude-code-router@2.0.0 @anthropic-ai/claude-code@2.1.325", way=_router
    ),
)
