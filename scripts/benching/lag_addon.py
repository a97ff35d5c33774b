"""The probe of the benches: what holds up mitmproxy's event loop, and for how long. Loaded with -s, as the last.

It takes the longest turn, which is all that runs between two waits for the network, and within it the longest single
call of a stream callable or of a hook of the addon. Both in processor time of the loop's thread, so that a busy
neighbour on the machine does not count. Python's garbage collection begins wherever the next object is made and walks
through all that mitmproxy has: a call is taken without it, and with it too. `GET http://lag.invalid/` gives the
seconds, and begins anew.
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
    """The longest turn of the event loop and the longest call, in seconds since they were asked for."""

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
        for hook in HOOKS if addon else ():
            setattr(addon, hook, self._timed(getattr(addon, hook)))

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
