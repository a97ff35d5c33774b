"""One proxy with its probe, the hostile upstream, and clients: everything but the proxy lives on one event loop here."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import time
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from toolcalls.cli.proxy_process import SCRIPT, ProxyProcess

from .client import COMPLETE, Asked
from .streams import PROTOCOLS, RIGHT, stream
from .upstream import Play, Upstream, whole

PROBE = Path(__file__).with_name("probe.py")
PATIENCE = float(os.environ.get("TOOLFIX_FAULTS_PATIENCE", "120"))
"""Most seconds that one play may take; fewer where it is known that it will hang (mutations.py)."""
SETTLING = PATIENCE / 4
LEFT_BYTES = 40 * 2**20
"""What the resident memory may differ by after a fault: an allocator keeps some of what it once had."""

T = TypeVar("T")


class Stage:
    def __init__(
        self, confdir: Path, arguments: Sequence[str] = (), script: Path | None = SCRIPT, quiet: bool = True
    ) -> None:
        own = ("-s", str(script)) if script else ()
        level = ("--set", "flow_detail=0") if quiet else ()
        own += ("--set", "toolfix_metrics=loopback") if script else ()
        # The probe stands first, so that its clocks are there when the addon takes them.
        self.proxy = ProxyProcess(confdir, ("-s", str(PROBE), *own, *level, *arguments), script=None)
        self.upstream = Upstream()
        self._loop = asyncio.new_event_loop()
        self._ears: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.baseline: dict[str, Any] = {}

    def start(self) -> Stage:
        self.proxy.start()
        self.run(self._begin())
        return self

    async def _begin(self) -> None:
        await self.upstream.start()
        deadline = time.monotonic() + PATIENCE
        while not (found := re.search(r"probe at (\d+)\.", self.proxy.output)):
            assert time.monotonic() < deadline, self.proxy.output
            await asyncio.sleep(0.02)
        self._ears = await asyncio.open_connection("127.0.0.1", int(found[1]), limit=2**22)
        for name in PROTOCOLS:  # What is loaded at the first use counts as being there.
            await self.answer(whole(*stream(name, "a broken call")), name)
        self.baseline = await self.probe()

    @property
    def alive(self) -> bool:
        return Path(f"/proc/{self.proxy.process.pid}/statm").exists() and bool(self._resident())

    def stop(self) -> None:
        self.run(self.upstream.stop())
        if self._ears:
            self._ears[1].transport.abort()
        self.proxy.stop()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def run(self, play: Coroutine[Any, Any, T]) -> T:
        try:
            return self._loop.run_until_complete(asyncio.wait_for(play, PATIENCE))
        except TimeoutError:
            raise AssertionError(f"nothing more happened for {PATIENCE:.0f} s") from None

    def future(self) -> asyncio.Future[Any]:
        return self._loop.create_future()

    # Clients

    async def ask(
        self,
        play: Play,
        protocol: str = "chat",
        body: bytes | None = None,
        *,
        listen: bool = True,
        keep: bool = True,
        version: str = "1.1",
        path: str = "",
        length: int | None = None,
    ) -> Asked:
        """Send a request whose answer is the play. `length`: of a body that the caller goes on to send."""
        name = f"play{id(play)}"
        self.upstream.plays[name] = play
        spoken = PROTOCOLS[protocol]
        content = spoken.request() if body is None else body
        reader, writer = await asyncio.open_connection("127.0.0.1", self.proxy.port, limit=2**20)
        target = f"http://127.0.0.1:{self.upstream.port}/{name}{path or spoken.path}"
        size = len(content) if length is None else length
        head = f"POST {target} HTTP/{version}\r\nhost: 127.0.0.1\r\ncontent-length: {size}\r\n\r\n"
        writer.write(head.encode() + content)
        asked = Asked(reader, writer, keep)
        return asked.listen() if listen else asked

    async def answer(self, play: Play, protocol: str = "chat", **more: Any) -> Asked:
        """The same, to its end."""
        return await (await self.ask(play, protocol, **more)).over()

    async def works(self, protocol: str = "chat") -> None:
        """A broken call is asked for, and is mended."""
        got = await self.answer(whole(*stream(protocol, "a broken call")), protocol)
        assert got.end == COMPLETE
        assert [json.loads(text) for _, text in PROTOCOLS[protocol].calls(bytes(got.body))] == [RIGHT]

    # The proxy

    async def probe(self, **order: Any) -> dict[str, Any]:
        """Give an order; without one, hear what there is."""
        assert self._ears
        self._ears[1].write(json.dumps(order).encode() + b"\n")
        told: dict[str, Any] = json.loads(await self._ears[0].readline())
        return told

    async def metric(self, name: str) -> float:
        """A counter of /metrics, all protocols together."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.proxy.port)
        writer.write(f"GET http://127.0.0.1:{self.proxy.port}/metrics HTTP/1.0\r\n\r\n".encode())
        text = (await reader.read()).decode()
        writer.close()
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name + "{"))

    async def settled(self) -> None:
        """Nothing of the fault is left: no task, no descriptor, no thread, no object of ours, no memory."""
        deadline = time.monotonic() + SETTLING
        while left := self._left(now := await self.probe()):
            assert time.monotonic() < deadline, f"left behind: {left}: {now}"
            await asyncio.sleep(0.05)

    def _left(self, now: dict[str, Any]) -> list[str]:
        before = self.baseline
        counts = ("tasks", "descriptors", "threads", "objects")
        left = [f"{now[name] - before[name]} {name}" for name in counts if now[name] > before[name]]
        grown = now["resident"] - before["resident"]
        return [*left, f"{grown / 2**20:.0f} MiB"] if grown > LEFT_BYTES else left

    def said(self, words: str) -> int:
        return self.proxy.output.count(words)

    def tracebacks(self) -> list[str]:
        """What was not foreseen. A script that a test broke on purpose was, and what mitmproxy cancels at its end."""
        foreseen = ("SyntaxError", "CancelledError")
        said = self.proxy.output.split("Traceback")[1:]
        return [text for text in said if not any(word in text[:2000] for word in foreseen)]

    async def hears(self, words: str, times: int = 1) -> None:
        """Wait until the proxy has logged it."""
        deadline = time.monotonic() + SETTLING
        while self.said(words) < times:
            assert time.monotonic() < deadline, f"it did not say {words!r}: {self.proxy.output[-3000:]}"
            await asyncio.sleep(0.02)

    @contextlib.contextmanager
    def watched(self, most: int) -> Iterator[None]:
        """The proxy's memory never grows by more than this many bytes."""
        before = self._resident()
        task = self._loop.create_task(self._watch())
        yield
        task.cancel()
        peak = max(self._peak, self._resident()) - before
        self.peak = peak
        assert peak <= most, f"the proxy grew by {peak / 2**20:.0f} MiB"

    async def _watch(self) -> None:
        self._peak = 0
        while True:
            self._peak = max(self._peak, self._resident())
            await asyncio.sleep(0.01)

    def _resident(self) -> int:
        pages = int(Path(f"/proc/{self.proxy.process.pid}/statm").read_text().split()[1])
        return pages * 4096
