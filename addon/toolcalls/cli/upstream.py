"""The upstream of `toolfix demo` and `toolfix doctor`: a server on this machine that answers in given chunks."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(slots=True)
class Seen:
    """A request that reached the upstream."""

    method: str
    path: str
    body: bytes


@dataclass(slots=True)
class Play:
    """An answer. Each chunk is sent in one write."""

    chunks: Sequence[bytes]
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class Upstream:
    """Inside `with Upstream(handler, certificate) as upstream:` it listens on a free loopback port."""

    def __init__(self, handler: Callable[[Seen], Play], certificate: Path) -> None:
        self._handler = handler
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate)
        self.requests: list[Seen] = []
        self._server = _Server(self)
        self.port = int(self._server.server_address[1])
        self.url = f"https://localhost:{self.port}"

    def __enter__(self) -> Upstream:
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def secured(self, connection: socket.socket) -> ssl.SSLSocket:
        return self._context.wrap_socket(connection, server_side=True)

    def answer(self, seen: Seen) -> Play:
        self.requests.append(seen)
        return self._handler(seen)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        super().__init__(("127.0.0.1", 0), _Connection)

    def finish_request(self, request: Any, client_address: Any) -> None:
        # In the thread of the connection, because a client may take its time with the handshake. An agent that
        # rejects the certificate, or is killed, breaks its connection.
        with contextlib.suppress(OSError), self.upstream.secured(request) as connection:
            super().finish_request(connection, client_address)


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def _answer(self) -> None:
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            body = b"".join(iter(self._next_chunk, b""))
        else:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
        play = self.server.upstream.answer(Seen(self.command, self.path, body))
        self.send_response(play.status)
        for name, value in play.headers.items():
            self.send_header(name, value)
        # Errors of real hosts have a Content-Length.
        chunked = play.status < 400
        if chunked:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(sum(map(len, play.chunks))))
        self.end_headers()
        for chunk in filter(None, play.chunks):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(chunk), chunk) if chunked else chunk)
        if chunked:
            self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = do_HEAD = do_PUT = do_OPTIONS = _answer

    def _next_chunk(self) -> bytes:
        chunk = self.rfile.read(int(self.rfile.readline().partition(b";")[0], 16))
        self.rfile.readline()
        return chunk

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


def write_certificate(path: Path, names: Sequence[str]) -> Path:
    """Write the key and the certificate for these host names and addresses into one PEM file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
    path.chmod(0o600)
    return path


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
