"""Which certificates a client behind the proxy must trust: the system's roots, the user's own CAs and mitmproxy's CA.

Hosts that toolfix does not intercept present their real certificates, so mitmproxy's CA alone is not enough. A CA
that the user already had in one of these variables, a company's for instance, is kept.
"""

from __future__ import annotations

import errno
import fcntl
import platform
import re
import ssl
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import certifi
import click

from .inputs import explained

BUNDLE_VARIABLES = (
    "SSL_CERT_FILE",
    "CODEX_CA_CERTIFICATE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    "CARGO_HTTP_CAINFO",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
)
"""The file that such a variable names replaces the client's own roots, so it must contain all certificates."""

NODE_VARIABLE = "NODE_EXTRA_CA_CERTS"
"""The file that it names is added to the roots of Node and bun."""

CA_FILE = "mitmproxy-ca-cert.pem"
KEY_FILE = "mitmproxy-ca.pem"

_SYSTEM_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Arch, Alpine
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # macOS, Alpine, the BSDs
    "/opt/homebrew/etc/openssl@3/cert.pem",
    "/usr/local/etc/openssl@3/cert.pem",
)
_KEYCHAINS = ("/System/Library/Keychains/SystemRootCertificates.keychain", "/Library/Keychains/System.keychain")
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----")


@dataclass(slots=True, frozen=True)
class Trust:
    """The files that the variables name."""

    bundle: Path
    node: Path


def certificates(pem: bytes) -> list[bytes]:
    return _CERTIFICATE.findall(pem.replace(b"\r\n", b"\n"))


def ensure_ca(confdir: Path) -> Path:
    """The file of mitmproxy's CA certificate. If there is none yet, it is made as mitmproxy would make it."""
    ca = confdir / CA_FILE
    if ca.is_file():
        refuse_damage(confdir)
        return ca
    confdir.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Loaded here, because it takes a quarter of a second and the CA is made only once.
    from mitmproxy.certs import CertStore

    # Two first sessions at once could leave the key of one with the certificate of the other.
    with (confdir / ".toolfix-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Not before the lock: another session may be writing the key file, and writes the certificate after it.
        refuse_damage(confdir)
        CertStore.from_store(confdir, "mitmproxy", 2048)
    return ca


def refuse_damage(confdir: Path) -> None:
    """Raise OSError if the file for mitmproxy's key and certificate exists, but does not contain both."""
    key = confdir / KEY_FILE
    pem = key.read_bytes() if key.is_file() else b""
    if pem and (b"PRIVATE KEY-----" not in pem or not certificates(pem)):
        raise OSError(errno.EINVAL, f"{KEY_FILE} is damaged: delete it")


def expiry(ca: Path) -> datetime:
    from cryptography import x509

    return x509.load_pem_x509_certificate(ca.read_bytes()).not_valid_after_utc


def system_roots() -> list[bytes]:
    """The roots of this machine; if the system has no file of them, those of certifi, which mitmproxy installs."""
    paths = ssl.get_default_verify_paths()
    for candidate in (paths.openssl_cafile, *_SYSTEM_BUNDLES):
        if found := _read(candidate):
            return found + _keychain_roots()
    return _keychain_roots() + _read(certifi.where())


def _keychain_roots() -> list[bytes]:
    """The roots in the keychains of macOS, which are the only place for a company's CA there."""
    if platform.system() != "Darwin":
        return []
    command = ["security", "find-certificate", "-a", "-p", *_KEYCHAINS]
    return certificates(subprocess.run(command, capture_output=True, check=False).stdout)


def _read(path: str) -> list[bytes]:
    try:
        return certificates(Path(path).read_bytes()) if path else []
    except OSError:
        return []


def prepare(folder: Path, ca: Path, environ: Mapping[str, str]) -> Trust:
    """Write the bundle and the file for Node into the folder. The CAs that the user's variables name are kept."""
    ours = certificates(ca.read_bytes())
    own = [pem for name in (*BUNDLE_VARIABLES, NODE_VARIABLE) for pem in _read(environ.get(name, ""))]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Trust(
        bundle=_written(folder / "toolfix-bundle.pem", [*system_roots(), *own, *ours]),
        node=_written(folder / "toolfix-node.pem", [*_read(environ.get(NODE_VARIABLE, "")), *ours]),
    )


def _written(path: Path, pems: Sequence[bytes]) -> Path:
    """The file, written whole or not at all, even if several sessions start at once."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
        file.write(b"\n".join([*dict.fromkeys(pems), b""]))
    return Path(file.name).replace(path)


def for_clients(confdir: Path, folder: Path, environ: Mapping[str, str], option: str = "--set confdir=DIR") -> Trust:
    """The files for clients, in this folder, with the CA of mitmproxy's confdir; one sentence if that fails."""
    with explained(
        f"mitmproxy's CA in {confdir} cannot be read or made",
        f"name another place with {option}.",
        click.ClickException,
    ):
        return prepare(folder, ensure_ca(confdir), environ)
