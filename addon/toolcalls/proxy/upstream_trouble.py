"""Why no answer came: one sentence for what an upstream said or did instead, with what to do about it."""

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
    407: "a proxy on the way out wants a name and a password: put them into HTTPS_PROXY",
    429: "too many requests, or the quota is used up: wait, or check your account",
}


def of_status(host: str, status: int, path: str) -> str:
    """An answer with an error status."""
    if status >= 500:
        return f"{host} answered {status}: the server failed. Try again later."
    what = _STATUSES.get(status, "it does not accept the request, and its answer says why")
    where = f" to {path.partition('?')[0]}" if status == 404 else ""
    return f"{host} answered {status}{where}: {what}."


def of_connection(host: str, port: int, error: str) -> str:
    """A connection that was never made, or broke."""
    if "certificate verify failed" in error.lower():
        return (
            f"the certificate of {host} is not trusted. If it is your own server, name its CA with "
            "--set ssl_verify_upstream_trusted_ca=FILE or SSL_CERT_FILE=FILE; --set ssl_insecure=true trusts any."
        )
    where = host if port in {80, 443} else f"{host}:{port}"
    return f"{where} cannot be reached ({_plain(error)}): check the address and the network."


def of_server(mode: mode_specs.ProxyMode, server: connection.Server) -> str:
    """A connection that was never made, for which no flow speaks: "" for others.

    In reverse mode there is no flow if the server is down; in upstream mode flows do not name the proxy.
    """
    if not isinstance(mode, mode_specs.ReverseMode | mode_specs.UpstreamMode) or server.address != mode.address:
        return ""
    where, why = _url(mode.scheme, mode.address), _plain(server.error or "the connection failed")
    if isinstance(mode, mode_specs.ReverseMode):
        return f"{where} cannot be reached ({why}): is the server running?"
    # `toolfix run` takes the proxy on the way out from a variable.
    variable = next((name for name in _PROXY_VARIABLES if os.environ.get(name)), "")
    named, advice = (f", which {variable} names,", f", or unset {variable}") if variable else ("", "")
    return f"the proxy {where}{named} cannot be reached ({why}): check it{advice}."


def was_never_connected(error: str) -> bool:
    """Is it an error of the connection from here, and not of what became of it?"""
    return _ERRNO.search(error) is not None


def _url(scheme: str, address: tuple[str, int]) -> str:
    host, port = address
    host = f"[{host}]" if ":" in host else host
    return f"{scheme}://{host}" if _PORTS.get(scheme) == port else f"{scheme}://{host}:{port}"


def _plain(error: str) -> str:
    """What the system says about it, without numbers and addresses."""
    found = _ERRNO.search(error)
    if found is None:
        return error.rstrip(".")
    number = int(found[1])
    return os.strerror(number).lower() if number > 0 else found[2].rstrip(".").lower()


def of_tunnel(host: str) -> str:
    """A host whose TLS stays closed."""
    return f"{host} was tunnelled unchanged, because it is not in the list of LLM hosts: add --host {host}"
