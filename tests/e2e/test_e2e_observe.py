"""Observe mode in a real mitmdump: a sample of the acceptance set passes byte for byte, and the log tells the same."""

from __future__ import annotations

import time
from pathlib import Path

from toolcalls.cli.proxy_process import ProxyProcess
from toolcalls.cli.upstream import Upstream, recordings_by_path
from toolcalls.recording import store

from .stage import ROOT, Clients

SAMPLE = [
    recording
    for recording in map(store.load, store.find(ROOT / "recordings")[::16])
    if not recording.flow.get("policy")
    and not recording.flow.get("content_encoding")
    and recording.suffix != ".jsonl"
]


def told(process: ProxyProcess, last: str) -> list[str]:
    """The lines about calls and requests, once the last of them is there."""
    for _ in range(200):
        lines = [line.partition("] ")[2].strip() for line in process.output.splitlines()]
        found = [line for line in lines if " mended " in line or "refused " in line or "would have" in line]
        if any(last in line for line in found):
            return [line.replace("would have ", "") for line in found]
        time.sleep(0.05)
    raise AssertionError(process.output)


def test_a_sample_of_the_recordings_passes_and_the_same_is_said(
    confdir: Path, proxy: ProxyProcess, clients: Clients
) -> None:
    # The last one is waited for, so it must be one of which something is said.
    sample = sorted(SAMPLE, key=lambda known: any(call["status"] == "repaired" for call in known.calls or []))
    assert len(sample) > 15
    with Upstream(recordings_by_path(sample)) as upstream:
        said = {}
        for mode in ("repair", "observe"):
            with ProxyProcess(confdir, ("--set", f"toolfix_mode={mode}")) as process:
                for recording in sample:
                    url = f"{upstream.url}/{recording.name}{recording.flow['path']}"
                    received = clients.fetch(url, process, recording.request)
                    assert not received.error
                    if mode == "observe":
                        assert received.body == recording.before
                        assert upstream.requests[-1].body == recording.request
                    else:
                        assert received.body == recording.after
                said[mode] = told(process, f"/{sample[-1].name}/")
    assert said["observe"] == said["repair"]
    assert len(said["observe"]) > 5
