"""Why there was no answer: one sentence about what the upstream did instead, and what to do about it."""

from __future__ import annotations

import os
import re

from mitmproxy import connection
from mitmproxy.proxy import mode_specs

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


def of_tunnel(host: str) -> str:
    """A sentence about a host whose TLS is not intercepted."""
    return f"{host} was tunnelled unchanged, because it is not in the list of LLM hosts: add --host {host}"
