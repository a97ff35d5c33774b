"""Why there was no answer: one sentence about what client or upstream did instead, and what to do about it."""

from __future__ import annotations

import os
import re

from .hosts import looks_like_a_models

NODE = "NODE_EXTRA_CA_CERTS"
CA_VARIABLES = {
    NODE: "node|undici|bun|claude|opencode|qwen|gemini",
    "CODEX_CA_CERTIFICATE": "codex",
    "REQUESTS_CA_BUNDLE": "python-requests",
    "CURL_CA_BUNDLE": "^curl/",
    "GIT_SSL_CAINFO": "^git/",
    "PIP_CERT": "^pip/",
    "CARGO_HTTP_CAINFO": "^cargo",
    "AWS_CA_BUNDLE": "aws-cli|boto",
    "DENO_CERT": "deno",
    "SSL_CERT_FILE": "python|httpx|aiohttp",
}
"""The variables that clients take CAs from, each with a pattern for the User-Agent of the clients that need it.

The file that one of them names replaces the client's own roots; only that of Node and bun is added to them."""

HTTPS_PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
"""The variables that name a proxy on the way out, in the order in which they are asked."""

_ALERTS = ("unknown ca", "bad certificate", "certificate unknown", "does not trust", "self-signed", "untrusted")
_HUNG_UP = "disconnected during the handshake"


def of_distrust(error: str, user_agent: str, host: str, ca: str) -> str:
    """Which variable a client needs that just rejected our certificate, in one sentence; "" if it did not reject it.

    curl, git and pip send a User-Agent to the proxy, the agents do not. Those are told apart by how they reject: Node
    and bun hang up without an alert, OpenSSL in Python and rustls in Codex send one.
    """
    hung_up = _HUNG_UP in error
    if not hung_up and not any(sign in error.lower() for sign in _ALERTS):
        return ""
    who = "A Node or bun client (Claude Code, opencode, …)" if hung_up else "A client such as Codex or a Python SDK"
    known = (name for name, pattern in CA_VARIABLES.items() if re.search(pattern, user_agent, re.IGNORECASE))
    variable = next(known, NODE if hung_up else "SSL_CERT_FILE")
    return (
        f"{user_agent.partition('/')[0] or who} does not trust mitmproxy's CA for {host}: it needs {variable}={ca}; "
        '`eval "$(toolfix env)"` sets every such variable, to a file that has the system\'s roots too.'
    )


ERRNO = re.compile(r"\[Errno (-?\d+)\] (.*)", re.DOTALL)
"""The system could not connect at all, as opposed to a connection that failed later."""
_STATUSES = {
    401: "the API key is missing or wrong",
    403: "this key is not allowed to use this model or this address",
    404: "check the base URL and the name of the model",
    407: "the outgoing proxy wants a user name and a password: put them into HTTPS_PROXY",
    429: "too many requests, or the quota is used up: wait, or check your account",
}


def of_status(host: str, status: int, path: str) -> str:
    """A sentence about a response with an error status."""
    if status >= 500:
        return f"{host} answered {status}: the server failed. Try again later."
    what = _STATUSES.get(status, "it rejected the request; its response says why")
    where = f" to {path.partition('?')[0]}" if status == 404 else ""
    return f"{host} answered {status}{where}: {what}."


def of_connection(host: str, port: int, error: str) -> str:
    """A sentence about a connection that could not be made, or broke."""
    if "certificate verify failed" in error.lower():
        return (
            f"the certificate of {host} is not trusted. If it is your own server, name its CA with "
            "--set ssl_verify_upstream_trusted_ca=FILE or SSL_CERT_FILE=FILE; --set ssl_insecure=true accepts any "
            "certificate."
        )
    where = host if port in {80, 443} else f"{host}:{port}"
    return f"{where} cannot be reached ({_plain(error)}): check the address and the network."


def of_mode(mode: str, target: str, error: str) -> str:
    """A sentence about the server of reverse mode or the proxy of upstream mode, which cannot be reached.

    A flow cannot report it: in reverse mode there is none then, and in upstream mode it does not name the proxy.
    """
    if mode == "reverse":
        return f"{target} cannot be reached ({_plain(error)}): is the server running?"
    # `toolfix run` takes the outgoing proxy from one of these variables.
    variable = next((name for name in HTTPS_PROXIES if os.environ.get(name)), "")
    named, advice = (f", which {variable} names,", f", or unset {variable}") if variable else ("", "")
    return f"the proxy {target}{named} cannot be reached ({_plain(error)}): check it{advice}."


def _plain(error: str) -> str:
    """The system's words for the error, without numbers and addresses."""
    found = ERRNO.search(error)
    if found is None:
        return error.rstrip(".")
    number = int(found[1])
    return os.strerror(number).lower() if number > 0 else found[2].rstrip(".").lower()


def of_tunnel(host: str, port: int) -> str:
    """A sentence about a host whose TLS is not intercepted; "" unless a model seems to be behind it."""
    if not looks_like_a_models(host, port):
        return ""
    return f"{host} was tunnelled unchanged, because it is not in the list of LLM hosts: add --host {host}"
