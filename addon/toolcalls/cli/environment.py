"""What a client behind the proxy needs: the variables that lead it there, as measured, and certificates to trust.

`run` sets the variables, `toolfix env` prints them. Hosts that toolfix does not intercept present their real
certificates, so mitmproxy's CA alone is not enough: a bundle has the system's roots too, and the CAs, such as a
company's, that the user already had in one of the variables.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import re
import shlex
import ssl
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import certifi
import click

from ..proxy.advice import CA_VARIABLES, HTTPS_PROXIES, NODE
from . import inputs
from .proxy_process import SCRIPT

PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")
ALL_PROXY = ("ALL_PROXY", "all_proxy")
NO_PROXY = ("NO_PROXY", "no_proxy")
BEFORE = "TOOLFIX_ENV_BEFORE"
"""The variable with the values before `toolfix env`, as JSON, so that they can be restored, and so that ours are not
mistaken for the user's."""

Changes = dict[str, str | None]
"""The new value of each variable; None if it is to be unset."""


def put_back(environ: Mapping[str, str]) -> Changes:
    """What undoes `eval "$(toolfix env)"`."""
    try:
        return {**json.loads(environ.get(BEFORE, "{}")), BEFORE: None}
    except (ValueError, TypeError):
        return {BEFORE: None}


def original(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment as it was before `eval "$(toolfix env)"`."""
    return applied(environ, put_back(environ))


def for_proxy(environ: Mapping[str, str], proxy_url: str, trusted: Mapping[str, str]) -> Changes:
    """Everything that a client needs to find the proxy and to trust it: `trusted` is from `prepare`."""
    # Our proxy reaches what clients would reach directly, except through an outgoing proxy.
    outgoing = any(environ.get(name) for name in HTTPS_PROXIES)
    return {
        **dict.fromkeys(PROXY_VARIABLES, proxy_url),
        **dict.fromkeys(ALL_PROXY),
        **{name: without_loopback(environ.get(name, "")) if outgoing else None for name in NO_PROXY},
        **trusted,
        "NODE_USE_ENV_PROXY": "1",
    }


def for_reverse(environ: Mapping[str, str], proxy_url: str, path: str) -> Changes:
    """Base URLs that lead to the proxy, as the SDKs spell them: OpenAI's ends in /v1, Anthropic's does not."""
    openai = proxy_url + (path or "/v1")
    return {
        "OPENAI_BASE_URL": openai,
        "OPENAI_API_BASE": openai,
        "ANTHROPIC_BASE_URL": proxy_url + path.removesuffix("/v1"),
        "TOOLFIX_URL": proxy_url,
        **{name: ",".join(filter(None, (environ.get(name, ""), "127.0.0.1"))) for name in NO_PROXY},
    }


def applied(environ: Mapping[str, str], changes: Changes) -> dict[str, str]:
    merged = {**environ, **changes}
    return {name: value for name, value in merged.items() if value is not None}


_LOOPBACK = re.compile(
    r"\*|(.*[.*])?localhost(\.localdomain)?(:\d+)?|127[\d.*]*(/\d+)?(:\d+)?|0\.0\.0\.0|\[?::1\]?(:\d+)?",
    re.IGNORECASE,
)
"""The entries of NO_PROXY that mean this machine: `*` includes it."""


def without_loopback(no_proxy: str) -> str | None:
    """The list without the entries that make clients bypass the proxy for a server on this machine."""
    entries = filter(None, map(str.strip, no_proxy.split(",")))
    return ",".join(entry for entry in entries if not _LOOPBACK.fullmatch(entry)) or None


# The proxy that the user's environment already names


class Server(NamedTuple):
    """A server that an http or https URL names."""

    url: str
    """Up to the port."""
    path: str
    login: str
    """The user and the password, or ""."""


def server_at(url: str) -> Server | None:
    """The server of a URL; None if the text is no such URL."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return None
    login = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    return Server(f"{parts.scheme}://{parts.netloc.rpartition('@')[2].rstrip(':')}", parts.path.rstrip("/"), login)


def upstream_proxy(environ: Mapping[str, str]) -> Server | None:
    """The proxy that the environment names for HTTPS, if any."""
    name = next(filter(environ.get, HTTPS_PROXIES), "")
    if not name:
        return None
    text = environ[name]
    server = server_at(text if "://" in text else f"http://{text}")
    # A word alone is a mistake more often than a host: such a host has a scheme or a port with it.
    if server is None or not re.search(r"[.:]", text):
        raise click.UsageError(
            f"{name} is not the URL of a proxy that toolfix can use, such as http://proxy.example.com:3128. "
            "Unset it, or run toolfix in a shell without it."
        )
    return server


# What it must trust

CA_FILE = "mitmproxy-ca-cert.pem"
KEY_FILE = "mitmproxy-ca.pem"

_SYSTEM_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Arch, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # macOS, Alpine, the BSDs
)
_KEYCHAINS = ("/System/Library/Keychains/SystemRootCertificates.keychain", "/Library/Keychains/System.keychain")
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----")


def certificates(pem: bytes) -> list[bytes]:
    return _CERTIFICATE.findall(pem.replace(b"\r\n", b"\n"))


def ensure_ca(confdir: Path) -> Path:
    """The file of mitmproxy's CA certificate. If there is none yet, it is made as mitmproxy would make it."""
    ca, key = confdir / CA_FILE, confdir / KEY_FILE
    if not ca.is_file():
        confdir.mkdir(mode=0o700, exist_ok=True)
        # Loaded here, because it takes a quarter of a second and the CA is made only once.
        from mitmproxy.certs import CertStore

        # Two first sessions at once could leave the key of one with the certificate of the other.
        with (confdir / ".toolfix-lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not key.exists():
                CertStore.create_store(confdir, "mitmproxy", 2048)
    pem = key.read_bytes()
    if b"PRIVATE KEY-----" not in pem or not certificates(pem):
        raise OSError(errno.EINVAL, "it is damaged: delete it", str(key))
    return ca


def system_roots() -> list[bytes]:
    """The roots of this machine; if the system has no file of them, those of certifi, which mitmproxy installs."""
    files = (ssl.get_default_verify_paths().openssl_cafile, *_SYSTEM_BUNDLES, certifi.where())
    roots = next(filter(None, map(_read, files)), [])
    if platform.system() == "Darwin":
        # The keychains are the only place for a company's CA there.
        command = ["security", "find-certificate", "-a", "-p", *_KEYCHAINS]
        roots += certificates(subprocess.run(command, capture_output=True, check=False).stdout)
    return roots


def _read(path: str) -> list[bytes]:
    try:
        return certificates(Path(path).read_bytes()) if path else []
    except OSError:
        return []


def prepare(folder: Path, ca: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Write the CAs into the folder; return the variables that clients take them from, each with its file.

    Node adds its file to its own roots, so only that of the others has the roots of the system. The CAs that the
    user's variables name are kept.
    """
    ours = certificates(ca.read_bytes())
    own = [pem for name in CA_VARIABLES for pem in _read(environ.get(name, ""))]
    folder.mkdir(mode=0o700, exist_ok=True)
    bundle = _written(folder / "toolfix-bundle.pem", [*system_roots(), *own, *ours])
    node = _written(folder / "toolfix-node.pem", [*_read(environ.get(NODE, "")), *ours])
    return {**dict.fromkeys(CA_VARIABLES, bundle), NODE: node}


def _written(path: Path, pems: Sequence[bytes]) -> str:
    """The file, written whole or not at all, even if several sessions start at once."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
        file.write(b"\n".join([*dict.fromkeys(pems), b""]))
    return str(Path(file.name).replace(path))


# The commands


@click.command()
@click.option(
    "--shell",
    type=click.Choice(("bash", "zsh", "fish")),
    help="The shell that will read the lines; by default, your login shell ($SHELL).",
)
@inputs.PORT
@inputs.CONFDIR
@click.option("--unset", is_flag=True, help="Put back what was there before.")
def env(shell: str | None, port: int, confdir: Path, unset: bool) -> None:
    """Print the lines that send a shell's clients through the proxy.

    \b
    eval "$(toolfix env)"               bash and zsh
    eval "$(toolfix env --unset)"       undo it
    toolfix env --shell fish | source   fish; --unset works there too

    Start the proxy itself with: toolfix proxy
    """
    changes = put_back(os.environ)
    if not unset:
        before = original(os.environ)
        trusted = prepare(confdir, ensure_ca(confdir), before)
        changes = for_proxy(before, f"http://127.0.0.1:{port}", trusted)
        changes[BEFORE] = json.dumps({name: before.get(name) for name in changes})
    fish = (shell or Path(os.environ.get("SHELL", "")).name) == "fish"
    for name, value in changes.items():
        if value is None:
            click.echo(f"set -e {name};" if fish else f"unset {name}")
        elif fish:
            quoted = value.replace("\\", "\\\\").replace("'", "\\'")
            click.echo(f"set -gx {name} '{quoted}';")
        else:
            click.echo(f"export {name}={shlex.quote(value)}")


@click.command()
def path() -> None:
    """Print where the mitmproxy script is.

    \b
    mitmdump -s "$(toolfix path)"
    mitmweb -s "$(toolfix path)"
    """
    click.echo(SCRIPT)
