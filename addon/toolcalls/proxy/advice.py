"""Why there was no answer: one sentence about what client or upstream did instead, and what to do about it."""

from __future__ import annotations

import os
import re

from mitmproxy import connection
from mitmproxy.proxy import mode_specs

from .hosts import looks_like_a_models

NODE = "NODE_EXTRA_CA_CERTS"
BUNDLE = "SSL_CERT_FILE"
CLIENTS = (
    ("claude", "Claude Code", NODE, ""),
    ("opencode", "opencode", NODE, ""),
    ("codex", "Codex", "CODEX_CA_CERTIFICATE", "or SSL_CERT_FILE"),
    ("gemini", "Gemini CLI", NODE, ""),
    ("qwen", "qwen-code", NODE, ""),
    ("^curl/", "curl", "CURL_CA_BUNDLE", ""),
    ("^git/", "git", "GIT_SSL_CAINFO", ""),
    ("^pip/", "pip", "PIP_CERT", ""),
    ("^cargo", "cargo", "CARGO_HTTP_CAINFO", ""),
    ("aws-cli|boto", "the AWS command line", "AWS_CA_BUNDLE", ""),
    ("deno", "Deno", "DENO_CERT", ""),
    ("python-requests", "requests", "REQUESTS_CA_BUNDLE", ""),
    ("python|httpx|aiohttp", "a Python client", BUNDLE, ""),
    ("node|undici|bun", "a Node or bun client", NODE, ""),
)
"""A pattern for the User-Agent, the client, the variable that it takes its CA from, and what else it accepts."""
_BY_AN_ALERT = ("A client such as Codex or a Python SDK", BUNDLE, "Codex also takes CODEX_CA_CERTIFICATE")
_BY_HANGING_UP = ("A Node or bun client (Claude Code, opencode, qwen-code, Gemini CLI, pi)", NODE, "")

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
    known = (row[1:] for row in CLIENTS if re.search(row[0], user_agent, re.IGNORECASE))
    who, variable, also = next(known, _BY_HANGING_UP if hung_up else _BY_AN_ALERT)
    more = f" ({also})" if also else ""
    return (
        f"{who} does not trust mitmproxy's CA for {host}: it needs {variable}={ca}{more}; "
        '`eval "$(toolfix env)"` sets every such variable, to a file that has the system\'s roots too.'
    )


_ERRNO = re.compile(r"\[Errno (-?\d+)\] (.*)", re.DOTALL)
_PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
_PORTS = {"http": 80, "https": 443}
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


def of_server(mode: mode_specs.ProxyMode, server: connection.Server) -> str:
    """A sentence about an upstream of reverse or upstream mode that cannot be reached; "" for any other server.

    The flow cannot report it: in reverse mode there is none if the server is down, and in upstream mode it does not
    name the proxy.
    """
    if not isinstance(mode, mode_specs.ReverseMode | mode_specs.UpstreamMode) or server.address != mode.address:
        return ""
    where, why = _url(mode.scheme, mode.address), _plain(server.error or "the connection failed")
    if isinstance(mode, mode_specs.ReverseMode):
        return f"{where} cannot be reached ({why}): is the server running?"
    # `toolfix run` takes the outgoing proxy from one of these variables.
    variable = next((name for name in _PROXY_VARIABLES if os.environ.get(name)), "")
    named, advice = (f", which {variable} names,", f", or unset {variable}") if variable else ("", "")
    return f"the proxy {where}{named} cannot be reached ({why}): check it{advice}."


def was_never_connected(error: str) -> bool:
    """Whether the system could not connect at all, as opposed to a connection that failed later."""
    return _ERRNO.search(error) is not None


def _url(scheme: str, address: tuple[str, int]) -> str:
    host, port = address
    host = f"[{host}]" if ":" in host else host
    return f"{scheme}://{host}" if _PORTS.get(scheme) == port else f"{scheme}://{host}:{port}"


def _plain(error: str) -> str:
    """The system's words for the error, without numbers and addresses."""
    found = _ERRNO.search(error)
    if found is None:
        return error.rstrip(".")
    number = int(found[1])
    return os.strerror(number).lower() if number > 0 else found[2].rstrip(".").lower()


def of_tunnel(host: str, port: int) -> str:
    """A sentence about a host whose TLS is not intercepted; "" unless a model seems to be behind it."""
    if not looks_like_a_models(host, port):
        return ""
    return f"{host} was tunnelled unchanged, because it is not in the list of LLM hosts: add --host {host}"
