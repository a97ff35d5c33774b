"""`toolfix demo`: plays recordings through a real proxy on this machine, over loopback only."""

from __future__ import annotations

import http.client
import os
import ssl
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click

from ..recording import store
from ..recording.store import Recording
from . import inputs
from .certificate import write_certificate
from .demo_screen import show_raw, show_short
from .own_name import own_name, spelled
from .proxy_process import ProxyFailed, ProxyProcess
from .upstream import Upstream, recordings_by_path

TELLING: Final = {
    "chat-python-dict": "A Python dict instead of JSON",
    "messages-args-container-as-string": "A list sent as a string",
    "chat-text-hermes": "A call written as text",
    "chat-cut-off-write": "A script cut off by the token limit",
    "chat-text-quoted-then-a-question": "A call that is only quoted",
}
"""The scenarios that are played if none is named, each with a caption."""


SHIPPED: Final = "scenarios"
"""The folder of the package that contains them, in an installation."""


def recordings_directory() -> Path:
    """The folder of the scenarios: `recordings/` in a clone; in an installation a folder of the package."""
    package = Path(__file__).resolve().parents[1]
    shipped = package / SHIPPED
    return shipped if shipped.is_dir() else package.parents[1] / "recordings"


@click.command()
@click.argument("names", nargs=-1, metavar="[SCENARIO]…")
@click.option("--list", "listed", is_flag=True, help="List the scenarios.")
@click.option("--all", "everything", is_flag=True, help="Play every scenario, event by event.")
@click.option("--raw", is_flag=True, help="Show the events that the upstream sent and the client got.")
def demo(names: tuple[str, ...], listed: bool, everything: bool, raw: bool) -> None:
    """Play broken answers, and show what an agent gets.

    They go through a real mitmdump; nothing leaves this machine.
    """
    loaded = {recording.name: recording for recording in map(store.load, store.find(recordings_directory()))}
    # The demo asks over HTTP, so it cannot play the recording of a WebSocket (`toolfix replay` can).
    recordings = {name: recording for name, recording in loaded.items() if recording.suffix != ".jsonl"}
    if listed:
        for recording in recordings.values():
            click.echo(f"{recording.name}  {recording.flow.get('title', '')}")
        return
    unknown = sorted(set(names) - set(recordings))
    if unknown:
        raise click.UsageError(_why_not(unknown[0], loaded.get(unknown[0])))
    wanted = recordings if everything else names or TELLING
    chosen = [recordings[name] for name in wanted if name in recordings]
    if not chosen:
        raise click.ClickException(f"there are no recordings in {recordings_directory()}.")
    in_detail = raw or everything or bool(names)
    with inputs.temporary_folder("toolfix-demo-") as folder:
        wrong = _play(chosen, Path(folder), show_raw if in_detail else _Short())
    if in_detail:
        click.echo(f"{_counted(len(chosen))}, {wrong} not as expected")
    else:
        _say_what_is_next(len(chosen), wrong)
    sys.exit(1 if wrong else 0)


def _why_not(name: str, session: Recording | None) -> str:
    """Why a scenario cannot be played."""
    if session is not None:
        place = os.path.relpath(session.directory)
        return f"the demo cannot play {name!r}, which is a WebSocket: use {own_name()} replay {place}"
    if recordings_directory().name == SHIPPED:
        return spelled(
            f"there is no scenario {name!r} here: an installed toolfix has five (toolfix demo --list); "
            "a clone has all of them."
        )
    return spelled(f"there is no scenario {name!r}: see toolfix demo --list.")


Show = Callable[..., None]


class _Short:
    """Shows each scenario briefly, with a number."""

    def __init__(self) -> None:
        self._number = 0

    def __call__(self, recording: Recording, received: bytes, asked: bytes, *, right: bool) -> None:
        self._number += 1
        caption = TELLING.get(recording.name, recording.name)
        show_short(self._number, caption, recording, right=right)


def _counted(scenarios: int) -> str:
    return "1 scenario" if scenarios == 1 else f"{scenarios} scenarios"


def _say_what_is_next(scenarios: int, wrong: int) -> None:
    click.echo(f"\n{_counted(scenarios)} through a real mitmdump, {wrong} not as expected")
    first = click.style(spelled("toolfix run -- claude"), bold=True)
    click.echo(f"\nNext: {first}   (or codex, opencode, qwen, …)")
    click.echo(spelled("More: toolfix demo --raw shows the events, --all every scenario"))


def _play(recordings: list[Recording], folder: Path, show: Show) -> int:
    """Play each recording with the options it was recorded with; the number of those with an unexpected result."""
    certificate = write_certificate(folder / "upstream.pem", ["localhost"])
    by_options: dict[tuple[str, ...], list[Recording]] = {}
    for recording in recordings:
        by_options.setdefault(recording.options, []).append(recording)
    wrong = 0
    with Upstream(recordings_by_path(recordings), certificate) as upstream:
        for options, group in by_options.items():
            # Each recording is a session of its own: reasoning of one must not be given back in the next.
            alone = (
                () if any(text.startswith("toolfix_reasoning=") for text in options) else ("toolfix_reasoning=off",)
            )
            settings = (f"ssl_verify_upstream_trusted_ca={certificate}", *options, *alone)
            try:
                with ProxyProcess(folder, [word for text in settings for word in ("--set", text)]) as proxy:
                    if show is show_raw:
                        _introduce(proxy, upstream, options)
                    for recording in group:
                        received = fetch(proxy, upstream, recording)
                        asked = upstream.requests[-1].body
                        right = _is_right(recording, received, asked)
                        show(recording, received, asked, right=right)
                        wrong += not right
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


def _is_right(recording: Recording, received: bytes, asked: bytes) -> bool:
    """Whether the client and the upstream got what the recording says."""
    if received != recording.after:
        return False
    # This proxy does not know earlier refusals or reasoning, so a request that needs them cannot be compared.
    return bool(recording.refusals or recording.given_back) or asked == (
        recording.request_after or recording.request or b"{}"
    )
