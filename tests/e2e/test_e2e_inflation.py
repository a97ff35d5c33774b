"""An upstream that answers with a gigabyte in a small body, through a real mitmdump."""

from __future__ import annotations

from pathlib import Path

from tests.bombs import BOMBS
from tests.upstream import Play, Upstream
from toolcalls.cli.proxy_process import ProxyProcess
from toolcalls.wire.encoding import MAX_INFLATED

from .stage import (
    CHAT,
    DOCUMENT,
    EVENT_STREAM,
    MENDED,
    Clients,
    Plays,
    arguments_of,
    broken_call,
    chat_event,
    request_body,
)

FIRST = chat_event({"content": "before"})
MOST_MIB = 400
"""By so much the memory of mitmdump may grow in all: what is decoded as a whole may become 64 MiB, and is joined."""


def peak_mib(process: ProxyProcess) -> float:
    """The most memory that the process has had; 0 where the system does not tell that of another process."""
    status = Path(f"/proc/{process.process.pid}/status")
    return int(status.read_text().partition("VmHWM:")[2].split()[0]) / 1024 if status.exists() else 0.0


def test_no_body_fills_the_memory_and_the_next_answer_is_mended(
    confdir: Path, trusting: tuple[str, ...], plays: Plays, upstream: Upstream, clients: Clients, tmp_path: Path
) -> None:
    record = tmp_path / "recorded"
    with ProxyProcess(confdir, (*trusting, "--set", f"toolfix_record={record}")) as process:
        plays.add("fine", Play(broken_call(), headers=EVENT_STREAM))
        clients.fetch(f"{upstream.url}/fine{CHAT}", process)
        before = peak_mib(process)
        for name, make in BOMBS.items():
            bomb = make(FIRST)
            encoded = {"content-encoding": name}
            plays.add("stream", Play([bomb], headers={**EVENT_STREAM, **encoded}))
            streamed = clients.fetch(f"{upstream.url}/stream{CHAT}", process)
            assert not streamed.error
            # How much of the zeros has passed before depends on what arrives in one read.
            assert FIRST.startswith(streamed.body[: len(FIRST)])
            assert not streamed.body[len(FIRST) :].strip(b"\0")
            assert len(streamed.body) < 2 * MAX_INFLATED
            plays.add("document", Play([bomb], headers={**DOCUMENT, **encoded}))
            assert clients.fetch(f"{upstream.url}/document{CHAT}", process, request_body(False)).body == bomb
            fine = clients.fetch(f"{upstream.url}/fine{CHAT}", process, bomb, headers=encoded)
            assert plays.seen["fine"].body == bomb
            assert arguments_of(fine.body) == [MENDED]
        assert peak_mib(process) - before < MOST_MIB
    assert "please report" not in process.output
    assert process.output.count("the answer was cut off:") == len(BOMBS)
    assert sum(path.stat().st_size for path in record.rglob("*") if path.is_file()) < 64 * 2**20
