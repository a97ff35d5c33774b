"""Why no answer came: one sentence for what an upstream said or did instead, with what to do about it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

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


def of_reverse(scheme: str, address: tuple[str, int], error: str) -> str:
    """The server of reverse mode, which could not be connected to."""
    return f"{_url(scheme, address)} cannot be reached ({_plain(error)}): is the server running?"


def of_proxy(scheme: str, address: tuple[str, int], error: str, environ: Mapping[str, str]) -> str:
    """The proxy on the way out, which could not be connected to; `toolfix run` takes it from a variable."""
    variable = next((name for name in _PROXY_VARIABLES if environ.get(name)), "")
    named, advice = (f", which {variable} names,", f", or unset {variable}") if variable else ("", "")
    return f"the proxy {_url(scheme, address)}{named} cannot be reached ({_plain(error)}): check it{advice}."


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
