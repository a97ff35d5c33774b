"""What is known of the clients: which variable makes each of them trust a CA. Measured; data and a lookup.

The script says it in the log when a client rejects mitmproxy's certificate, `toolfix doctor` before that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NODE = "NODE_EXTRA_CA_CERTS"
BUNDLE = "SSL_CERT_FILE"


@dataclass(slots=True, frozen=True)
class Client:
    """A client and the variable that it takes its CA from. `agent` is how its User-Agent begins to be known."""

    name: str
    agent: re.Pattern[str]
    variable: str
    also: str = ""
    """What else it needs, as the rest of a sentence."""


def _client(name: str, agent: str, variable: str, also: str = "") -> Client:
    return Client(name, re.compile(agent, re.IGNORECASE), variable, also)


CLIENTS = (
    _client("Claude Code", r"claude", NODE),
    _client("opencode", r"opencode", NODE),
    _client("Codex", r"codex", "CODEX_CA_CERTIFICATE", "or SSL_CERT_FILE"),
    _client("Gemini CLI", r"gemini", NODE),
    _client("qwen-code", r"qwen", NODE),
    _client("curl", r"^curl/", "CURL_CA_BUNDLE"),
    _client("git", r"^git/", "GIT_SSL_CAINFO"),
    _client("pip", r"^pip/", "PIP_CERT"),
    _client("cargo", r"^cargo", "CARGO_HTTP_CAINFO"),
    _client("the AWS command line", r"aws-cli|boto", "AWS_CA_BUNDLE"),
    _client("Deno", r"deno", "DENO_CERT"),
    _client("requests", r"python-requests", "REQUESTS_CA_BUNDLE"),
    _client("a Python client", r"python|httpx|aiohttp", BUNDLE),
    _client("a Node or bun client", r"node|undici|bun", NODE),
)

_REJECTED = ("unknown ca", "bad certificate", "certificate unknown", "does not trust", "self-signed", "untrusted")


def by_agent(user_agent: str) -> Client | None:
    return next((client for client in CLIENTS if client.agent.search(user_agent)), None)


def rejects_the_ca(error: str) -> bool:
    """Does this error of a TLS handshake mean that the client does not know the CA?"""
    return any(sign in error.lower() for sign in _REJECTED)


def advice(user_agent: str, host: str, ca: str) -> str:
    """One sentence: which variable the client that just rejected our certificate needs."""
    client = by_agent(user_agent)
    if client is None:
        return (
            f"A client does not trust mitmproxy's CA for {host}: Node and bun clients (Claude Code, opencode, "
            f"qwen-code, Gemini CLI, pi) need {NODE}={ca}, Codex and Python clients need {BUNDLE}; "
            "`toolfix env` prints all of them."
        )
    also = f" ({client.also})" if client.also else ""
    return (
        f"{client.name} does not trust mitmproxy's CA for {host}: it needs {client.variable}{also}, for one "
        f"{client.variable}={ca}; `toolfix env` prints a file that has the system's roots too."
    )
