"""The probe of the benches: what holds up mitmproxy's event loop, and for how long. Loaded with -s, as the last.

It takes the longest turn, which is all that runs between two waits for the network, and within it the longest single
call of a stream callable or of a hook of the addon. Both in processor time of the loop's thread, so that a busy
neighbour on the machine does not count. `GET http://lag.invalid/` gives them in seconds, and begins anew.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

from mitmproxy import ctx, http

HOST = "lag.invalid"
HOOKS = ("request", "responseheaders", "response", "error")


class Lag:
    def __init__(self) -> None:
        self.turn = self.call = self.began = 0.0

    def running(self) -> None:
        selector: Any = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]
        wait = selector.select

        def select(timeout: float | None = None) -> Any:
            self.turn = max(self.turn, time.thread_time() - self.began)
            ready = wait(timeout)
            self.began = time.thread_time()
            return ready

        self.began = time.thread_time()
        selector.select = select
        addon = ctx.master.addons.get("toolfix")
        for hook in HOOKS if addon else ():
            setattr(addon, hook, self._timed(getattr(addon, hook)))

    def _timed(self, work: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def timed(given: Any) -> Any:
            began = time.thread_time()
            try:
                return work(given)
            finally:
                self.call = max(self.call, time.thread_time() - began)

        return timed

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        if flow.response is not None and callable(flow.response.stream):
            flow.response.stream = self._timed(flow.response.stream)

    def request(self, flow: http.HTTPFlow) -> None:
        if flow.request.host == HOST:
            flow.response = http.Response.make(200, json.dumps({"turn": self.turn, "call": self.call}))

    def response(self, flow: http.HTTPFlow) -> None:
        if flow.request.host == HOST:
            self.turn = self.call = 0.0


addons = [Lag()]
