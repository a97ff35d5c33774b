"""The probe of the benches: measures what blocks mitmproxy's event loop, and for how long. Loaded last, with -s.

It measures the longest turn, which is everything that runs between two waits for the network, and the longest single
call of a stream callable or of a hook of the addon. Both are processor time of the loop's thread, so that other work
on the machine does not count. Python's garbage collection starts whenever an object is made and walks through
everything that mitmproxy has, so a call is measured both without and with it. `GET http://lag.invalid/` returns the
seconds and starts again from zero.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import Callable
from typing import Any

from mitmproxy import ctx, http

HOST = "lag.invalid"
HOOKS = ("request", "responseheaders", "response", "error")


class Lag:
    """The longest turn of the event loop and the longest call since the last request for them, in seconds."""

    def __init__(self) -> None:
        self.turn = self.call = self.collecting_call = self.began = 0.0
        self.collected = self.collection_began = 0.0

    def _collects(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self.collection_began = time.thread_time()
        else:
            self.collected += time.thread_time() - self.collection_began

    def running(self) -> None:
        gc.callbacks.append(self._collects)
        selector: Any = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]
        wait = selector.select

        def select(timeout: float | None = None) -> Any:
            self.turn = max(self.turn, time.thread_time() - self.began)
            ready = wait(timeout)
            self.began = time.thread_time()
            return ready

        self.began = time.thread_time()
        selector.select = select
        loaded: Any = ctx.master.addons  # its methods have no types
        addon = loaded.get("toolfix")
        for part in (addon, *addon.addons) if addon else ():
            for hook in filter(part.__class__.__dict__.__contains__, HOOKS):
                setattr(part, hook, self._timed(getattr(part, hook)))

    def _timed(self, work: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def timed(given: Any) -> Any:
            collected = self.collected
            began = time.thread_time()
            try:
                return work(given)
            finally:
                taken = time.thread_time() - began
                self.call = max(self.call, taken - (self.collected - collected))
                self.collecting_call = max(self.collecting_call, taken)

        return timed

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        if flow.response is not None and callable(flow.response.stream):
            flow.response.stream = self._timed(flow.response.stream)

    def request(self, flow: http.HTTPFlow) -> None:
        if flow.request.host == HOST:
            flow.response = http.Response.make(200, json.dumps(self._told()))

    def response(self, flow: http.HTTPFlow) -> None:
        if flow.request.host == HOST:
            self.turn = self.call = self.collecting_call = 0.0

    def _told(self) -> dict[str, float]:
        return {"turn": self.turn, "call": self.call, "collecting_call": self.collecting_call}


addons = [Lag()]
