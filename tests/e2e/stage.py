"""What the end-to-end tests are played with: answers by name, the SDK clients, streams to send."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import queue
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.upstream import Play, Seen, Upstream, play_recording
from toolcalls.cli.proxy_process import ProxyProcess
from toolcalls.recording.store import Recording

ROOT = Path(__file__).resolve().parents[2]
CHAT = "/v1/chat/completions"
PATIENCE = 60.0
KEY = "sk-test-0123456789abcdefghijklmnop"
EVENT_STREAM = {"content-type": "text/event-stream; charset=utf-8"}
DOCUMENT = {"content-type": "application/json"}

# Answers


class Plays:
    """Answers by the first part of the path. Shared by all upstreams of a session."""

    def __init__(self) -> None:
        self._known: dict[str, Callable[[Seen], Play]] = {}
        self.seen: dict[str, Seen] = {}

    def add(self, name: str, play: Play | Callable[[Seen], Play]) -> None:
        self._known[name] = play if callable(play) else lambda _seen: play

    def __call__(self, seen: Seen) -> Play:
        name = seen.path.lstrip("/").partition("/")[0]
        self.seen[name] = seen
        if name in self._known:
            return self._known[name](seen)
        return Play([b'{"error":{"message":"no such play"}}'], 404, DOCUMENT)


class Lockstep:
    """Chunks that are sent one by one: the next only when the client has every byte of those before.

    Not waited for are chunks that are `held` on the way. `late` are the numbers of those that did not arrive in
    time. Blocks the thread of the upstream, which is the point.
    """

    def __init__(self, chunks: Iterable[bytes], held: Callable[[bytes], bool] = lambda _chunk: False) -> None:
        self.chunks = list(chunks)
        self.late: list[int] = []
        self._held = held
        self._arrived = 0
        self._news = threading.Condition()

    def arrived(self, chunk: bytes) -> None:
        with self._news:
            self._arrived += len(chunk)
            self._news.notify_all()

    def _has(self, size: int) -> Callable[[], bool]:
        return lambda: self._arrived >= size

    def __iter__(self) -> Iterator[bytes]:
        sent = 0
        for number, chunk in enumerate(self.chunks):
            yield chunk
            if self._held(chunk):
                continue
            sent += len(chunk)
            with self._news:
                if not self._news.wait_for(self._has(sent), PATIENCE / 4):
                    self.late.append(number)
                    return


# Streams


def chat_event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    chunk = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1763251200,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


def call_event(arguments: str, name: str | None = None, number: int = 0) -> bytes:
    call: dict[str, Any] = {"index": number, "function": {"arguments": arguments}}
    if name is not None:
        call = {"index": number, "id": f"call_{number}", "type": "function", "function": {"name": name}}
        call["function"]["arguments"] = arguments
    return chat_event({"tool_calls": [call]})


DONE = b"data: [DONE]\n\n"

BROKEN = "{'command': 'ls', 'background': True,}"
MENDED = {"command": "ls", "background": True}


def broken_call(pieces: int = 6, text: str = "One moment. ") -> list[bytes]:
    """A stream with text, one call whose arguments are a Python dict in several fragments, and an end."""
    size = -(-len(BROKEN) // pieces)
    fragments = [BROKEN[start : start + size] for start in range(0, len(BROKEN), size)]
    return [
        chat_event({"role": "assistant", "content": text}),
        call_event("", "Bash"),
        *(call_event(fragment) for fragment in fragments),
        chat_event({}, "tool_calls"),
        DONE,
    ]


def broken_document() -> bytes:
    call = {"id": "call_0", "type": "function", "function": {"name": "Bash", "arguments": BROKEN}}
    message = {"role": "assistant", "content": "", "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    answer = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return json.dumps(answer).encode()


def request_body(stream: bool = True, **more: Any) -> bytes:
    bash = {
        "type": "function",
        "function": {
            "name": "Bash",
            "parameters": {
                "type": "object",
                "properties": {"command": {"type": "string"}, "background": {"type": "boolean"}},
                "required": ["command"],
            },
        },
    }
    question = [{"role": "user", "content": "Please go on."}]
    return json.dumps({"model": "m", "stream": stream, "messages": question, "tools": [bash], **more}).encode()


def arguments_of(body: bytes) -> list[dict[str, Any]]:
    """The calls in a Chat event stream, put together as a client does it."""
    calls: dict[int, str] = {}
    for line in body.split(b"\n"):
        if line.startswith(b"data: {"):
            for choice in json.loads(line[6:])["choices"]:
                for call in choice["delta"].get("tool_calls") or []:
                    calls[call["index"]] = calls.get(call["index"], "") + call["function"].get("arguments", "")
    return [json.loads(text) for text in calls.values()]


# Clients


@dataclass(slots=True)
class Received:
    """What came back as bytes. `error` is empty when the transfer was complete."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    http_version: str = ""
    error: str = ""
    chunks: list[bytes] = field(default_factory=list)

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)


class Clients:
    """The helper process in which the SDKs live; one request at a time."""

    def __init__(self) -> None:
        python = os.environ.get("TOOLFIX_CLIENTS_PYTHON", str(ROOT / ".venv-clients/bin/python"))
        script = Path(__file__).with_name("sdk_client.py")
        self._process = subprocess.Popen(
            [python, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        if self._process.stdout:
            for line in self._process.stdout:
                self._lines.put(line)
        self._lines.put("")

    def _answer(self) -> dict[str, Any]:
        line = self._lines.get(timeout=2 * PATIENCE)
        if not line:
            raise RuntimeError("the process of the SDK clients has ended")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, api: str, base_url: str, proxy: ProxyProcess | None, **more: Any) -> dict[str, Any]:
        """Send a request with an SDK; what the agent ends up with."""
        self._send(api, base_url, proxy, {"key": KEY, **more})
        return self._answer()

    def fetch(
        self,
        url: str,
        proxy: ProxyProcess | None,
        body: bytes | None = None,
        *,
        on_chunk: Callable[[bytes], None] = lambda _chunk: None,
        **more: Any,
    ) -> Received:
        """Send a request and give the bytes that come back, as they come."""
        content = request_body() if body is None else body
        headers = {"content-type": "application/json", **more.pop("headers", {})}
        sent = {"body": base64.b64encode(content).decode("ascii"), "headers": headers, **more}
        self._send("raw", url, proxy, sent)
        chunks: list[bytes] = []
        while "chunk" in (line := self._answer()):
            chunks.append(base64.b64decode(line["chunk"]))
            on_chunk(chunks[-1])
        return Received(line.get("status", 0), line.get("headers", {}), line["http_version"], line["error"], chunks)

    def _send(self, api: str, base_url: str, proxy: ProxyProcess | None, more: dict[str, Any]) -> None:
        job = {"api": api, "base_url": base_url, **more}
        if proxy is not None:
            job = {"proxy": proxy.url, "ca": str(proxy.ca), **job}
        if self._process.stdin:
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()

    def close(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        self._process.wait(PATIENCE)


Question = Callable[[Recording, str], dict[str, Any]]
"""From a recording and a base URL to what an SDK is asked to do."""


@dataclass(slots=True, frozen=True)
class Asking:
    """An SDK asks for recorded answers, through the proxy and past it."""

    upstream: Upstream
    plays: Plays
    proxy: ProxyProcess
    clients: Clients
    certificate: Path

    def through(self, recording: Recording, question: Question) -> dict[str, Any]:
        """What the SDK makes of the answer behind the proxy."""
        return self.clients.ask(proxy=self.proxy, **self._asked(recording, question))

    def past(self, recording: Recording, question: Question) -> dict[str, Any]:
        """What the SDK makes of the answer without the proxy."""
        return self.clients.ask(proxy=None, ca=str(self.certificate), **self._asked(recording, question))

    def _asked(self, recording: Recording, question: Question) -> dict[str, Any]:
        self.plays.add(recording.name, play_recording(recording))
        return question(recording, f"{self.upstream.url}/{recording.name}")


@dataclass(slots=True)
class Way:
    """A combination of HTTP versions, client and upstream, and what mitmproxy makes of it."""

    upstream: Upstream
    http2: bool
    client_version: str
    upstream_version: str


Start = Callable[..., ProxyProcess]
"""The fixture `start`: another mitmdump for one test."""


def wait_for(condition: Callable[[], object]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


# Certificates


def fingerprint(pem: Path) -> str:
    """Of the certificate in a PEM file, as `seen_certificate` gives it."""
    text = pem.read_text()
    start = text.index("-----BEGIN CERTIFICATE-----")
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(text[start:])).hexdigest()


def seen_certificate(port: int, host: str, target_port: int, timeout: float = 5.0) -> str:
    """The fingerprint of the certificate that a client gets to see through a proxy. Raises OSError on failure."""
    with socket.create_connection(("127.0.0.1", port), timeout) as connection:
        connection.sendall(f"CONNECT {host}:{target_port} HTTP/1.1\r\nhost: {host}:{target_port}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = connection.recv(1)
            if not byte:
                raise ConnectionError("the proxy closed the connection")
            head += byte
        if b" 200 " not in head.partition(b"\r\n")[0]:
            raise ConnectionError(head.decode("latin-1"))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with context.wrap_socket(connection, server_hostname=host) as tls:
            return hashlib.sha256(tls.getpeercert(binary_form=True) or b"").hexdigest()


def outside_address() -> str | None:
    """An address of this machine that is not loopback; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            address: str = probe.getsockname()[0]
        except OSError:
            return None
    return None if address.startswith("127.") else address


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
