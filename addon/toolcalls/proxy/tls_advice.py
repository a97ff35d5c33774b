"""Which environment variable makes each client trust a CA, as measured. Data and a lookup.

The script logs this when a client rejects mitmproxy's certificate; `toolfix doctor` says it before that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NODE = "NODE_EXTRA_CA_CERTS"
BUNDLE = "SSL_CERT_FILE"


@dataclass(slots=True, frozen=True)
class Client:
    """A client and the variable that it takes its CA from. `agent` recognises its User-Agent."""

    name: str
    agent: re.Pattern[str]
    variable: str
    also: str = ""
    """What else the client accepts or needs, as the rest of a sentence."""


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

_ALERTS = ("unknown ca", "bad certificate", "certificate unknown", "does not trust", "self-signed", "untrusted")
_HUNG_UP = "disconnected during the handshake"


def by_agent(user_agent: str) -> Client | None:
    return next((client for client in CLIENTS if client.agent.search(user_agent)), None)


def advice(error: str, user_agent: str, host: str, ca: str) -> str:
    """Which variable a client needs that just rejected our certificate, in one sentence; "" if it did not reject it.

    curl, git and pip send a User-Agent to the proxy, the agents do not. Those are told apart by how they reject: Node
    and bun hang up without an alert, OpenSSL in Python and rustls in Codex send one.
    """
    hung_up = _HUNG_UP in error
    alert = not hung_up and any(sign in error.lower() for sign in _ALERTS)
    if not alert and not hung_up:
        return ""
    client = by_agent(user_agent)
    if client is not None:
        who, variable, also = client.name, client.variable, client.also
    elif alert:
        who, variable, also = (
            "A client such as Codex or a Python SDK",
            BUNDLE,
            "Codex also takes CODEX_CA_CERTIFICATE",
        )
    else:
        who, variable, also = "A Node or bun client (Claude Code, opencode, qwen-code, Gemini CLI, pi)", NODE, ""
    more = f" ({also})" if also else ""
    return (
        f"{who} does not trust mitmproxy's CA for {host}: it needs {variable}={ca}{more}; "
        '`eval "$(toolfix env)"` sets every such variable, to a file that has the system\'s roots too.'
    )
