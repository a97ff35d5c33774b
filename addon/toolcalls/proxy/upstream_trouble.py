"""Why no answer came: one sentence for what an upstream said or did instead, with what to do about it."""

from __future__ import annotations

_STATUSES = {
    401: "the API key is missing or wrong",
    403: "this key may not use this model or this address",
    404: "check the base URL and the name of the model",
    407: "a proxy on the way out wants a name and a password: put them into HTTPS_PROXY",
    429: "too many requests, or the quota is used up: wait, or look at the account",
}


def of_status(host: str, status: int, path: str) -> str:
    """An answer with an error status."""
    if status >= 500:
        return f"{host} answered {status}: the server failed. Try again later."
    what = _STATUSES.get(status, "it does not accept the request, and its answer says why")
    where = f" to {path.partition('?')[0]}" if status == 404 else ""
    return f"{host} answered {status}{where}: {what}."


def of_connection(host: str, error: str) -> str:
    """A connection that was never made, or broke."""
    if "certificate verify failed" in error.lower():
        return (
            f"the certificate of {host} is not trusted. If it is your own server, name its CA with "
            "--set ssl_verify_upstream_trusted_ca=FILE or SSL_CERT_FILE=FILE; --set ssl_insecure=true trusts any."
        )
    return f"{host} cannot be reached ({error.rstrip('.')}): check the address and the network."


def of_tunnel(host: str) -> str:
    """A host whose TLS stays closed."""
    return f"{host} was tunnelled untouched, because it is not in the list of LLM hosts: add --host {host}"
