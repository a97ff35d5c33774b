"""The soak itself: mixed traffic with faults at full speed through one real mitmdump, for minutes or hours.

Every call that the upstream sends is accounted for on the client's side, /metrics must agree, nothing may be raised,
and nothing may grow. A second mitmdump with a small limit gets answers that exceed the limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
import shutil
import signal
import ssl
import sys
import time
from pathlib import Path
from typing import IO

from tests.http2 import Http2Upstream
from tests.upstream import Play, Seen, Upstream, write_certificate
from toolcalls.cli.proxy_process import ProxyProcess
from toolcalls.recording import store

from .accounting import Books, Watched, read_metrics
from .case import Recordings, Turn
from .client import Client, Http1, Http2, fetch
from .faults import plan
from .oversized import HELD_BYTES, oversized
from .probe_addon import PATH as PROBE
from .sockets import SocketUpstream, converse
from .verdict import verdict

PROBE_SCRIPT = Path(__file__).with_name("probe_addon.py")
KEPT_RECORDINGS = 1000
SETTLE_SECONDS = 120.0
"""How long the recorder may go on writing after the traffic."""
PLAIN, TLS, HTTP2, STREAMS, SOCKETS = 8, 6, 2, 4, 2
"""How many clients there are of each kind, and how many streams share one HTTP/2 connection."""


class Soak:
    """The proxies, the upstreams and the clients of a soak."""

    def __init__(self, folder: Path, seed: int, seconds: float, log: IO[str] | None = None) -> None:
        self.seconds = seconds
        self.books, self.limits = Books(log, records=True), Books(log)
        self.recorded = folder / "recorded"
        self.started = time.monotonic()
        self.stop = asyncio.Event()
        self._chance = random.Random(seed)
        self._tokens = (f"t{number:07d}" for number in itertools.count(1))
        self._recordings = Recordings()
        self._cases = self._recordings.cases(self._chance, self._tokens)
        self._turns: dict[str, Turn] = {}
        certificate = write_certificate(folder / "upstream.pem", ["localhost"])
        # All recordings seem to come from one user, but reasoning of one must not be given back in the next.
        options = ("flow_detail=0", "toolfix_metrics=loopback", "toolfix_reasoning=off")
        common = ("-s", str(PROBE_SCRIPT), *(word for text in options for word in ("--set", text)))
        trusting = ("--set", f"ssl_verify_upstream_trusted_ca={certificate}")
        recording = ("--set", f"toolfix_record={self.recorded}")
        self.plain, self.tls = Upstream(self._answer), Http2Upstream(self._answer, certificate)
        self._sockets = SocketUpstream()
        limit = ("--set", f"toolfix_max_held_bytes={HELD_BYTES}")
        self.proxy = ProxyProcess(folder, (*common, *trusting, *recording), sink=self.books.hear)
        self.small = ProxyProcess(folder, (*common, *limit), sink=self.limits.hear)
        self.watched = (
            Watched("mitmdump", self.books, self.proxy),
            Watched("mitmdump with a small limit", self.limits, self.small),
        )

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.started

    # The upstream's side

    def _answer(self, seen: Seen) -> Play:
        for upstream in (self.plain, self.tls):
            upstream.requests.clear()
        token, _, path = seen.path.lstrip("/").partition("/")
        turn = self._turns[token]
        if f"/{path}" != turn.case.path:
            turn.complaint = f"the request went to {seen.path}"
        if turn.case.request_after is not None and seen.body != turn.case.request_after:
            turn.complaint = f"another request reached the upstream: {seen.body[:300]!r}"
        return turn.play

    # The clients' side

    async def _ask(self, client: Client, turn: Turn, books: Books) -> None:
        case, manner = turn.case, turn.manner
        self._turns[case.token] = turn
        try:
            got = await client.ask(f"/{case.token}{case.path}", case.request, manner)
        finally:
            del self._turns[case.token]
        books.asked[case.protocol] += 1
        if turn.fault:
            books.faults[turn.fault] += 1
        if 200 <= turn.play.status < 300:
            certain = turn.certain
            books.answered(case.protocol, certain=certain)
            books.called(case.protocol, case.statuses, certain=certain and turn.fault != "corrupt gzip")
        complaint = verdict(turn, got)
        if complaint:
            missing = case.delivered if got.error or not got.body else 0
            books.complain(f"{case.name} ({turn.fault or 'no fault'})", complaint, lost=missing, wrong=not missing)
        elif turn.certain and not turn.sent:
            books.calls += case.delivered

    async def _talk(self, client: Client) -> None:
        """Send one request after another until the end, now and then over a new connection."""
        while not self.stop.is_set():
            await self._ask(client, plan(self._chance, next(self._cases)), self.books)
            if not client.multiplexed and self._chance.random() < 0.05:
                await client.close()

    async def _talk_by_socket(self) -> None:
        while not self.stop.is_set():
            sockets = self._recordings.sockets
            await converse(self.proxy.port, self._sockets, self._chance, sockets, self._tokens, self.books)

    async def _send_too_much(self) -> None:
        client = Http1(self.small.port, self.plain.url, None)
        while not self.stop.is_set():
            await self._ask(client, oversized(self._chance, next(self._tokens)), self.limits)
            await asyncio.sleep(0.2)
        await client.close()

    def _clients(self) -> list[Client]:
        context = ssl.create_default_context(cafile=str(self.proxy.ca))
        second = ssl.create_default_context(cafile=str(self.proxy.ca))
        second.set_alpn_protocols(["h2"])
        port, tls = self.proxy.port, self.tls.url
        shared = [Http2(port, tls, second) for _ in range(HTTP2)]
        return [
            *(Http1(port, self.plain.url, None) for _ in range(PLAIN)),
            *(Http1(port, tls, context) for _ in range(TLS)),
            *(client for client in shared for _ in range(STREAMS)),
        ]

    # Watching

    async def _watch(self) -> None:
        pause = max(0.5, min(5.0, self.seconds / 60))
        while not self.stop.is_set():
            await self._sample()
            self._progress()
            if len(self.books.collected) == 1 and self.elapsed > self.seconds / 2:
                await self._collect()
            await self._pause(pause)

    async def _sample(self) -> None:
        for one in self.watched:
            one.books.samples.append(json.loads(await fetch(one.proxy.port, PROBE)))

    async def _collect(self) -> None:
        """Note what is in use after a garbage collection."""
        for one in self.watched:
            one.books.collected.append(json.loads(await fetch(one.proxy.port, PROBE + "?collect")))

    def _progress(self) -> None:
        books, small = self.books, self.limits
        wrong = books.lost + books.wrong + small.lost + small.wrong
        alive = books.samples[-1]
        sys.stderr.write(
            f"\rsoak: {self.elapsed / 60:.1f} of {self.seconds / 60:g} min, {books.requests:,} requests, "
            f"{books.calls:,} calls, {books.faults.total():,} faults, {wrong} lost or wrong, "
            f"{books.exceptions} exceptions, RSS {alive['rss'] / 2**20:.0f} MiB, {alive['fds']} fds "
        )
        sys.stderr.flush()

    async def _pause(self, seconds: float) -> None:
        """Wait for this time, or until the soak is over."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.stop.wait(), seconds)

    async def _keep_room(self) -> None:
        while not self.stop.is_set():
            await self._pause(5)
            await asyncio.to_thread(self._prune)

    def _prune(self) -> None:
        """Delete all recordings but the newest, as a user with a small disk would; load one of them before that."""
        names = sorted(path for path in self.recorded.iterdir() if path.is_dir())
        old = names[:-KEPT_RECORDINGS]
        if old:
            store.load(old[0])
        for path in old:
            shutil.rmtree(path, ignore_errors=True)

    # The run

    async def run(self) -> list[str]:
        """Run the soak; return what is wrong, in words."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stop.set)
        await self._sockets.start()
        await self._collect()
        self.started = time.monotonic()
        loop.call_later(self.seconds, self.stop.set)
        clients = self._clients()
        async with asyncio.TaskGroup() as group:
            for client in clients:
                group.create_task(self._talk(client))
            for _ in range(SOCKETS):
                group.create_task(self._talk_by_socket())
            for work in (self._send_too_much, self._watch, self._keep_room):
                group.create_task(work())
        self.seconds = self.elapsed
        for client in clients:
            await client.close()
        sys.stderr.write("\n")
        await self._settle()
        self._sockets.stop()
        return [f"{one.name}: {problem}" for one in self.watched for problem in one.books.problems(self.seconds)]

    async def _settle(self) -> None:
        """Wait until mitmproxy has seen the end of everything, so that what is still left is a leak."""
        deadline = time.monotonic() + SETTLE_SECONDS
        await self._read_metrics()
        while any(one.books.unsettled() for one in self.watched) and time.monotonic() < deadline:
            await asyncio.sleep(1)
            await self._read_metrics()
        await self._collect()
        while any(one.books.left() for one in self.watched) and time.monotonic() < deadline:
            await asyncio.sleep(1)
            for one in self.watched:
                one.books.collected.pop()
            await self._collect()

    async def _read_metrics(self) -> None:
        for one in self.watched:
            one.books.metrics = read_metrics((await fetch(one.proxy.port, "/metrics")).decode())
