"""`toolfix demo`: the whole thing on this machine, nothing but loopback."""

from __future__ import annotations

import difflib
import http.client
import json
import ssl
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import click

from ..recording import store
from ..recording.store import Recording
from ..turn import payload
from ..wire import sse
from .certificate import write_certificate
from .proxy_process import ProxyFailed, ProxyProcess
from .upstream import Upstream, recordings_by_path

SHOWN = 8
"""Most events shown of one side."""


def recordings_directory() -> Path:
    """The committed scenarios: in a clone `recordings/`, in an installation inside the package."""
    package = Path(__file__).resolve().parents[1]
    shipped = package / "scenarios"
    return shipped if shipped.is_dir() else package.parents[1] / "recordings"


@click.command()
@click.argument("names", nargs=-1, metavar="[SCENARIO]…")
@click.option("--list", "listed", is_flag=True, help="List the scenarios.")
@click.option("--all", "everything", is_flag=True, help="Play every scenario, not only the most telling ones.")
def demo(names: tuple[str, ...], listed: bool, everything: bool) -> None:
    """Play broken answers through a real mitmdump and show what the client gets."""
    recordings = [store.load(path) for path in store.find(recordings_directory())]
    if listed:
        for recording in recordings:
            click.echo(f"{recording.name}  {recording.flow.get('title', '')}")
        return
    unknown = sorted(set(names) - {recording.name for recording in recordings})
    if unknown:
        raise click.UsageError(f"there is no scenario {unknown[0]!r}: see toolfix demo --list.")
    chosen = [
        recording
        for recording in recordings
        if everything or recording.name in names or (not names and recording.flow.get("demo"))
    ]
    if not chosen:
        raise click.ClickException(f"there are no recordings in {recordings_directory()}.")
    with tempfile.TemporaryDirectory(prefix="toolfix-demo-") as folder:
        wrong = _play(chosen, Path(folder))
    click.echo(f"{len(chosen)} scenarios, {wrong} not as expected")
    sys.exit(1 if wrong else 0)


def _play(recordings: list[Recording], folder: Path) -> int:
    """Play them, each under the options that it was recorded with; the number of those that came out otherwise."""
    certificate = write_certificate(folder / "upstream.pem", ["localhost"])
    by_options: dict[tuple[str, ...], list[Recording]] = {}
    for recording in recordings:
        by_options.setdefault(recording.options, []).append(recording)
    wrong = 0
    with Upstream(recordings_by_path(recordings), certificate) as upstream:
        for options, group in by_options.items():
            settings = (f"ssl_verify_upstream_trusted_ca={certificate}", *options)
            try:
                with ProxyProcess(folder, [word for text in settings for word in ("--set", text)]) as proxy:
                    _introduce(proxy, upstream, options)
                    for recording in group:
                        received = fetch(proxy, upstream, recording)
                        wrong += not _show(recording, received, upstream.requests[-1].body)
            except ProxyFailed as failed:
                raise click.ClickException(f"mitmdump did not start:\n{failed}") from None
    return wrong


def _introduce(proxy: ProxyProcess, upstream: Upstream, options: tuple[str, ...]) -> None:
    place = f"real mitmdump on 127.0.0.1:{proxy.port}, upstream on 127.0.0.1:{upstream.port}, TLS on both sides"
    click.echo(f"{place}{', ' if options else ''}{' '.join(options)}\n")


def fetch(proxy: ProxyProcess, upstream: Upstream, recording: Recording) -> bytes:
    """Ask the upstream for a recording through the proxy, trusting nothing but mitmproxy's CA."""
    target = urlsplit(f"{upstream.url}/{recording.name}{recording.flow.get('path', '/v1/chat/completions')}")
    context = ssl.create_default_context(cafile=str(proxy.ca))
    connection = http.client.HTTPSConnection("127.0.0.1", proxy.port, context=context, timeout=30)
    connection.set_tunnel(str(target.hostname), target.port)
    try:
        connection.request("POST", target.path, recording.request or b"{}", {"content-type": "application/json"})
        return connection.getresponse().read()
    finally:
        connection.close()


def _show(recording: Recording, received: bytes, asked: bytes) -> bool:
    right = received == recording.after
    if not recording.refusals:  # what was refused before is known to nobody here
        right = right and asked == (recording.request_after or recording.request or b"{}")
    mark = click.style("as expected", fg="green") if right else click.style("NOT AS EXPECTED", fg="red")
    click.echo(click.style(f"── {recording.name}: {recording.flow.get('title', '')}", bold=True))
    if asked != (recording.request or b"{}"):
        _show_request(recording.request, asked)
    _show_side("upstream sent", recording.before, "red")
    _show_side("client got", received, "green")
    click.echo(f"  {mark}\n")
    return right


def _show_request(sent: bytes, asked: bytes) -> None:
    """The lines of the request that were changed on its way up."""
    old, new = (body.decode("utf-8", "replace").splitlines() for body in (sent, asked))
    click.echo("  on the way up:")
    for line in difflib.unified_diff(old, new, lineterm="", n=0):
        if line[:1] in "-+" and line[:3] not in ("---", "+++"):
            click.echo("    " + click.style(_short(line), fg="red" if line[0] == "-" else "green"))


def _show_side(title: str, body: bytes, colour: str) -> None:
    click.echo(f"  {title}:")
    lines = _lines(body)
    for line in lines[:SHOWN]:
        click.echo("    " + click.style(line, fg=colour))
    if len(lines) > SHOWN:
        click.echo(f"    … {len(lines) - SHOWN} more")


def _lines(body: bytes) -> list[str]:
    """What the body says of calls and ends, an event a line; the text between is not the point here."""
    if body.lstrip()[:1] in (b"{", b"["):
        text = body.decode("utf-8", "replace")
        return [
            _short(_telling(line)) for line in (text.splitlines() if store.suffix_of(body) == ".ndjson" else [text])
        ]
    end = sse.end_of_last_event(body)
    events = sse.split(body[:end] if end > 0 else body) + ([body[end:]] if 0 < end < len(body) else [])
    data = [sse.read_event(raw).data for raw in events]
    return [_short(_telling(text)) for text in data if text is not None]


def _telling(text: str) -> str:
    """Of a chunk of Chat, or a line of Ollama's, only what changes from one to the next."""
    chunk = payload.read_strict(text)
    chunk = chunk if isinstance(chunk, dict) else {}
    choices = chunk.get("choices")
    if isinstance(chunk.get("message"), dict) and "done" in chunk:
        choices = [{**chunk, "finish_reason": chunk.get("done_reason")}]
    if not isinstance(choices, list):
        return text
    told = [
        json.dumps(choice.get("delta", choice.get("message", {})), ensure_ascii=False)
        + (f" finish: {choice['finish_reason']}" if choice.get("finish_reason") else "")
        for choice in choices
        if isinstance(choice, dict)
    ]
    return " ".join(told) or text


def _short(text: str) -> str:
    text = text.replace("\n", "⏎")
    return text if len(text) <= 240 else f"{text[:230]}… ({len(text):,} characters)"
