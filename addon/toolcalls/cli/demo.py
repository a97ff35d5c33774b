"""`toolfix demo`: plays recordings through a real proxy on this machine, over loopback only.

Its server, which `toolfix doctor` has too, speaks plain HTTP, but only the proxy knows that: everybody else is told
an https URL. So a request that arrives has come through the proxy, from a client that trusts mitmproxy's CA.
"""

from __future__ import annotations

import http.client
import json
import re
import shutil
import ssl
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final
from urllib.parse import urlsplit

import click

from ..recording import store
from ..recording.store import Recording
from . import inputs, own_name
from .inputs import spelled
from .proxy_process import ProxyProcess

TELLING: Final = {
    "chat-python-dict": "A Python dict instead of JSON",
    "messages-args-container-as-string": "A list sent as a string",
    "chat-text-hermes": "A call written as text",
    "chat-cut-off-write": "A script cut off by the token limit",
    "chat-text-quoted-then-a-question": "A call that is only quoted",
}
"""The recordings that are played if none is named, each with a caption."""

_SHIPPED: Final = Path(__file__).resolve().parents[1] / "shipped"
RECORDINGS: Final = _SHIPPED if _SHIPPED.is_dir() else _SHIPPED.parents[2] / "recordings"
"""The folder of the recordings: `recordings/` in a clone; in an installation a folder of the package."""


@click.command()
@click.argument("names", nargs=-1, metavar="[RECORDING]…")
@click.option("--list", "listed", is_flag=True, help="List the recordings.")
@click.option("--all", "everything", is_flag=True, help="Play every recording.")
def demo(names: tuple[str, ...], listed: bool, everything: bool) -> None:
    """Play broken answers, and show what an agent gets.

    They go through a real mitmdump; nothing leaves this machine.
    """
    loaded = map(store.load, store.find(RECORDINGS))
    # The demo asks over HTTP, so it cannot play the recording of a WebSocket (`toolfix replay` can).
    recordings = {recording.name: recording for recording in loaded if recording.suffix != ".jsonl"}
    if listed:
        width = max(map(len, recordings))
        click.echo(f"{'OUTCOME':9}  {'RECORDING':{width}}  WHAT WENT WRONG")
        for recording in recordings.values():
            click.echo(f"{_verdict(recording):9}  {recording.name:{width}}  {recording.flow.get('title', '')}")
        return
    for name in names:
        if name not in recordings:
            raise click.UsageError(f"there is no recording {name!r} to play: see {own_name()} demo --list.")
    wanted = recordings if everything else names or TELLING
    chosen = [recordings[name] for name in wanted if name in recordings]
    with tempfile.TemporaryDirectory(prefix="toolfix-demo-", ignore_cleanup_errors=True) as folder:
        wrong = _play(chosen, Path(folder))
    click.echo(f"\nThrough a real mitmdump: {len(chosen) - wrong} of {len(chosen)} as expected")
    if wanted is TELLING:
        first = click.style(spelled("toolfix run -- claude"), bold=True)
        click.echo(f"\nNext: {first}   (or codex, opencode, qwen, …)")
        click.echo(spelled("More: toolfix demo --all plays every recording"))
    sys.exit(1 if wrong else 0)


def _play(recordings: list[Recording], folder: Path) -> int:
    """Play each recording with the options it was recorded with; the number of those with an unexpected result."""
    by_options: dict[tuple[tuple[str, str], ...], list[Recording]] = defaultdict(list)
    for recording in recordings:
        by_options[tuple(recording.options.items())].append(recording)
    known = {recording.name: recording for recording in recordings}
    results: list[bool] = []

    def answer(path: str) -> Play:
        """The recording that the first part of the path names, in its original chunks."""
        recording = known[path.split("/")[1]]
        kind = str(recording.flow.get("content_type") or "text/event-stream")
        return recording.status, kind, recording.pieces()

    with Upstream(answer) as upstream:
        for options, group in by_options.items():
            # Each recording is a session of its own: reasoning of one must not be given back in the next. mitmproxy
            # takes each option once.
            words = inputs.set_arguments({"toolfix_reasoning": "off", **dict(options)})
            with ProxyProcess(folder, (*words, *upstream.for_proxy)) as proxy:
                for recording in group:
                    results.append(_is_right(recording, proxy, upstream))
                    show(len(results), recording, right=results[-1])
    return results.count(False)


def _is_right(recording: Recording, proxy: ProxyProcess, upstream: Upstream) -> bool:
    """Whether the client gets what was recorded, and the upstream the request that was."""
    request = recording.request or b"{}"
    url = f"{upstream.url}/{recording.name}{recording.flow.get('path', '/v1/chat/completions')}"
    if ask(proxy, url, request) != recording.after:
        # An error of the proxy, too: then no request came.
        upstream.posts = SimpleQueue()
        return False
    _, sent = upstream.posts.get()
    # A request may need earlier refusals or reasoning, which this proxy does not know.
    return bool(recording.refusals or recording.given_back) or sent == (recording.request_after or request)


# The server, and the client


Play = tuple[int, str, Sequence[bytes]]
"""The status, the content type and the chunks of an answer; each chunk is sent in one write."""


class Upstream(ThreadingHTTPServer):
    """Inside `with Upstream(answer) as upstream:` it answers requests by their path, on a free loopback port."""

    daemon_threads = True

    def __init__(self, answer: Callable[[str], Play]) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.answer = answer
        self.posts: SimpleQueue[tuple[str, bytes]] = SimpleQueue()
        """The path and the body of each POST."""
        self.url = f"https://localhost:{self.server_port}"
        mapped = f"|{self.url}|http://localhost:{self.server_port}"
        self.for_proxy = ("--set", "connection_strategy=lazy", "--map-remote", mapped)
        """The arguments of the mitmdump that leads to it."""
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: an agent that is killed, or bypasses the proxy, breaks its connection."""


class _Connection(BaseHTTPRequestHandler):
    """One request and its answer, which ends with the connection."""

    server: Upstream

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        if self.command == "POST":
            self.server.posts.put((self.path, body))
        status, content_type, chunks = self.server.answer(self.path)
        self.send_response(status)
        self.send_header("content-type", content_type)
        if status >= 400:
            # As errors of real hosts have it: toolfix reads those that quote a call.
            self.send_header("content-length", str(sum(map(len, chunks))))
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(chunk)

    do_GET = do_POST = do_HEAD = do_PUT = do_OPTIONS = _answer

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


def ask(proxy: ProxyProcess, url: str, body: bytes) -> bytes:
    """The answer to a POST through the proxy, from a client that trusts nothing but its CA."""
    target = urlsplit(url)
    context = ssl.create_default_context(cafile=str(proxy.ca))
    connection = http.client.HTTPSConnection("127.0.0.1", proxy.port, context=context, timeout=30)
    connection.set_tunnel(str(target.hostname), target.port)
    try:
        connection.request("POST", target.path, body, {"content-type": "application/json"})
        return connection.getresponse().read()
    finally:
        connection.close()


# The screen

_LABEL = 9
_COLOURS = {"refused": "yellow", "mended": "green", "unchanged": "cyan"}


def _verdict(recording: Recording) -> str:
    """What became of the calls, or of an answer without one."""
    statuses = {call["status"] for call in recording.calls or []}
    changed = "repaired" in statuses or (not statuses and recording.before != recording.after)
    return "refused" if "refused" in statuses else "mended" if changed else "unchanged"


def show(number: int, recording: Recording, *, right: bool) -> None:
    """Show a caption with the result, and of an answer what the model sent and what the agent got."""
    width = max(60, min(100, shutil.get_terminal_size((80, 24)).columns))
    verdict = _verdict(recording) if right else "NOT AS EXPECTED"
    caption = TELLING.get(recording.name, recording.name)
    space = " " * max(1, width - len(caption) - len(verdict) - 4)
    colour = _COLOURS.get(verdict, "red")
    click.echo(f"{number}  {click.style(caption, bold=True)}{space}{click.style(verdict, fg=colour)}")
    if recording.name not in TELLING:
        click.echo(f"   {recording.flow.get('title', '')}")
    sent, got = _sides(recording, recording.calls or [])
    room = width - _LABEL
    for who, text, colour in (("model", sent, "red"), ("agent", got, "green")):
        if text:
            line = text if len(text) <= room else text[: room - 1] + "…"
            if sent != got:
                line = click.style(line, fg=colour)
            if who == "agent" and verdict == "refused":
                line += "  (the agent rejects it, and the model tries again)"
            click.echo(f"   {click.style(who.ljust(_LABEL - 3), dim=True)}{line}")


def _sides(recording: Recording, calls: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """What the model sent and what the agent got, one line each; "" if there is neither a call nor text."""
    text = " ".join(_text_in(recording.before).split())
    if not calls:
        return text, text
    # A recording written by hand names only what matters about a call.
    call = {"name": "", "arguments": "", "steps": (), **calls[0]}
    got = " ".join(f"{call['name']} {call['arguments']}".split())
    if "written as text" in call["steps"]:
        return text, got
    sent = f"{call.get('received_name', call['name'])} {call.get('received_arguments', call['arguments'])}"
    return " ".join(sent.split()), got


_TEXT = re.compile(rb'"(?:content|text|delta|delta_content|edit_content)":\s*("(?>[^"\\]|\\.)*+")')
_NO_TEXT = re.compile(rb'"type":\s*"[\w.]+\.(?:done|completed|arguments\.delta)"')
"""What holds text, in any protocol; and events that repeat the text, or hold none although they have such keys."""


def _text_in(body: bytes) -> str:
    """The text of an answer, whatever its protocol."""
    lines = (line for line in body.splitlines() if not _NO_TEXT.search(line))
    return "".join(json.loads(text, strict=False) for line in lines for text in _TEXT.findall(line))
