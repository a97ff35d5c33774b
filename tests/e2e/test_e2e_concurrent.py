"""Fifty answers at once through one mitmdump: each client gets its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.upstream import Upstream, recordings_by_path
from toolcalls.cli.demo import ask
from toolcalls.cli.proxy_process import ProxyProcess
from toolcalls.recording import store
from toolcalls.recording.store import Recording

from .stage import ROOT

AT_ONCE = 50


@pytest.mark.parametrize("protocol", ["zai", "chat", "messages", "responses"])
def test_fifty_answers_at_once_do_not_mix(
    protocol: str, certificate: Path, trusting: tuple[str, ...], tmp_path: Path
) -> None:
    loaded = [store.load(path) for path in store.find(ROOT / "recordings") if path.name.startswith(f"{protocol}-")]
    recordings = [recording for recording in loaded if not recording.options][:25]
    chosen = [recordings[number % len(recordings)] for number in range(AT_ONCE)]
    with (
        Upstream(recordings_by_path(recordings), certificate) as upstream,
        ProxyProcess(tmp_path, trusting) as proxy,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):

        def fetch(recording: Recording) -> bytes:
            url = f"{upstream.url}/{recording.name}{recording.flow.get('path', '/v1/chat/completions')}"
            return ask(proxy, url, recording.request or b"{}")

        received = list(pool.map(fetch, chosen))
    for recording, got in zip(chosen, received, strict=True):
        assert got == recording.after, recording.name
