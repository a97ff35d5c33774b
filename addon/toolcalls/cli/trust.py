"""Which certificates a client behind the proxy must trust: the system's roots, the user's own CAs and mitmproxy's CA.

Hosts that toolfix does not intercept present their real certificates, so mitmproxy's CA alone is not enough. A CA
that the user already had in one of these variables, a company's for instance, is kept.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import platform
import re
import ssl
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import certifi

_LOCKS: Any = importlib.import_module("fcntl") if os.name == "posix" else None

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

DEFAULT_CONFDIR = "~/.mitmproxy"
CA_FILE = "mitmproxy-ca-cert.pem"
KEY_FILE = "mitmproxy-ca.pem"
BUNDLE_FILE = "toolfix-bundle.pem"
NODE_FILE = "toolfix-node.pem"

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

    ca: Path
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

    with _alone(confdir):
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


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock the folder: two first sessions at once could leave the key of one with the certificate of the other."""
    if _LOCKS is None:
        yield
        return
    with (folder / ".toolfix-lock").open("w") as lock:
        _LOCKS.flock(lock, _LOCKS.LOCK_EX)
        yield


def expiry(ca: Path) -> datetime:
    from cryptography import x509

    return x509.load_pem_x509_certificate(ca.read_bytes()).not_valid_after_utc


def unusable(confdir: Path, error: OSError) -> str:
    """A sentence for when `ensure_ca` or `prepare` fails."""
    return (
        f"mitmproxy's CA in {confdir} cannot be read or made ({error.strerror}): name another place with "
        "--set confdir=DIR."
    )


def system_roots() -> list[bytes]:
    """The roots of this machine; if the system has no file of them, those of certifi, which mitmproxy installs."""
    paths = ssl.get_default_verify_paths()
    for candidate in (paths.openssl_cafile, *_SYSTEM_BUNDLES):
        found = _read(candidate)
        if found:
            return found + _keychain_roots()
    return _keychain_roots() + _read(certifi.where())


def _keychain_roots() -> list[bytes]:
    """The roots in the keychains of macOS, which are the only place for a company's CA there."""
    if platform.system() != "Darwin":
        return []
    command = ["security", "find-certificate", "-a", "-p", *_KEYCHAINS]
    return certificates(subprocess.run(command, capture_output=True, check=False).stdout)


def own_cas(environ: Mapping[str, str]) -> list[bytes]:
    """The CAs in the files that the user's variables already name."""
    return [pem for name in (*BUNDLE_VARIABLES, NODE_VARIABLE) for pem in _read(environ.get(name, ""))]


def _read(path: str) -> list[bytes]:
    try:
        return certificates(Path(path).read_bytes()) if path else []
    except OSError:
        return []


def prepare(folder: Path, ca: Path, environ: Mapping[str, str]) -> Trust:
    """Write the bundle and the file for Node into the folder."""
    ours = certificates(ca.read_bytes())
    trust = Trust(ca, folder / BUNDLE_FILE, folder / NODE_FILE)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(trust.bundle, _joined([*system_roots(), *own_cas(environ), *ours]))
    _write(trust.node, _joined([*_read(environ.get(NODE_VARIABLE, "")), *ours]))
    return trust


def _write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, even if several sessions start at once."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
        file.write(data)
    Path(file.name).replace(path)


def _joined(pems: Iterable[bytes]) -> bytes:
    return b"\n".join([*dict.fromkeys(pems), b""])
