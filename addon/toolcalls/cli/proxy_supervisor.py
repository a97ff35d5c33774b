"""Keeps the proxy of a session alive: if it dies, the user is told, and it is started again on the same port."""

from __future__ import annotations

import threading
from collections.abc import Callable

from .proxy_process import ProxyFailed, ProxyProcess

MAX_RESTARTS = 3


class Keeper:
    """Restarts a proxy that dies. `make(port)` makes one for that port (0: any free one); `say` tells the user."""

    def __init__(self, make: Callable[[int], ProxyProcess], say: Callable[[str], None]) -> None:
        self._make = make
        self._say = say
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="toolfix-keeper", daemon=True)
        self.proxy: ProxyProcess | None = None
        self.died = 0

    def start(self, port: int = 0) -> ProxyProcess:
        self.proxy = self._make(port)
        self.proxy.start()
        self._thread.start()
        return self.proxy

    def stop(self) -> None:
        self._stopping.set()
        if self.proxy:
            self.proxy.stop()
        if self._thread.is_alive():
            self._thread.join(40)

    def _watch(self) -> None:
        while self.proxy:
            status = self.proxy.wait()
            if self._stopping.is_set():
                return
            self.died += 1
            how = f"signal {-status}" if status < 0 else f"exit status {status}"
            if self.died > MAX_RESTARTS:
                self._say(f"the proxy has ended again ({how}): requests of the agent will fail from now on.")
                return
            self._say(f"the proxy has ended ({how}); answers under way are lost. Starting it again.")
            try:
                again = self._make(self.proxy.port)
                again.start()
            except ProxyFailed as failed:
                self._say(f"it did not start: {failed.sentence} Requests of the agent will fail from now on.")
                return
            self.proxy = again
            if self._stopping.is_set():
                again.stop()
