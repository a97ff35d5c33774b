"""Observe mode in a real mitmdump: a sample of the acceptance set passes byte for byte, and the log tells the same."""

from __future__ import annotations

from pathlib import Path

from tests.upstream import Upstream, recordings_by_path
from toolcalls.cli.proxy_process import ProxyProcess
from toolcalls.recording import store

from .stage import ROOT, Clients

SAMPLE = [
    recording
    for recording in map(store.load, store.find(ROOT / "recordings")[::16])
    if not recording.flow.get("policy")
    and not recording.flow.get("content_encoding")
    and recording.suffix != ".jsonl"
]


def told(output: str) -> list[str]:
    """The lines about calls and requests."""
    lines = [line.partition("] ")[2].strip() for line in output.splitlines()]
    found = [line for line in lines if " mended " in line or "refused " in line or "would have" in line]
    return [line.replace("would have ", "") for line in found]


def test_a_sample_of_the_recordings_passes_and_the_same_is_said(
    confdir: Path, proxy: ProxyProcess, clients: Clients
) -> None:
    assert len(SAMPLE) > 15
    with Upstream(recordings_by_path(SAMPLE)) as upstream:
        said = {}
        for mode in ("repair", "observe"):
            with ProxyProcess(confdir, ("--set", f"toolfix_mode={mode}")) as process:
                for recording in SAMPLE:
                    url = f"{upstream.url}/{recording.name}{recording.flow['path']}"
                    received = clients.fetch(url, process, recording.request)
                    assert not received.error
                    if mode == "observe":
                        assert received.body == recording.before
                        assert upstream.requests[-1].body == recording.request
                    else:
                        assert received.body == recording.after
            # Only when it has ended everything is said: a line may come after the last byte of its answer.
            said[mode] = told(process.output)
    assert said["observe"] == said["repair"]
    assert len(said["observe"]) > 5
