"""A real Chromium, driven over the WebDriver protocol with nothing but the standard library."""

from __future__ import annotations

import base64
import http.client
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
]
PATIENCE = 60.0


class Browser:
    """`with Browser() as browser:` is an empty window. Raises AssertionError when Chromium refuses a command."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="toolfix-chromium-")
        self._driver: subprocess.Popen[str] | None = None
        self._port = 0
        self._session = ""

    @staticmethod
    def is_installed() -> bool:
        return all(map(shutil.which, ("chromium", "chromedriver")))

    def __enter__(self) -> Browser:
        self._driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._driver.stdout
        for line in self._driver.stdout:
            if "started successfully on port" in line:
                self._port = int(line.rsplit(" ", 1)[1].strip(" .\n"))
                break
        options = {
            "binary": shutil.which("chromium"),
            "args": [*FLAGS, f"--user-data-dir={self._folder.name}"],
            "perfLoggingPrefs": {"enableNetwork": True},
        }
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        answer = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = answer["sessionId"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._session:
                self._send("DELETE", f"/session/{self._session}")
        finally:
            if self._driver:
                self._driver.terminate()
                self._driver.wait(10)
            time.sleep(0.2)
            shutil.rmtree(self._folder.name, ignore_errors=True)

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            value = json.loads(response.read())["value"]
            assert response.status == 200, value
            return value
        finally:
            connection.close()

    def _do(self, path: str, body: Any) -> Any:
        return self._send("POST", f"/session/{self._session}{path}", body)

    def open(self, page: Path, fragment: str = "") -> None:
        self._do("/url", {"url": "about:blank"})
        self._do("/url", {"url": page.resolve().as_uri() + fragment})

    def run(self, script: str) -> Any:
        """Run JavaScript in the page; what it returns."""
        return self._do("/execute/sync", {"script": script, "args": []})

    def type(self, keys: str) -> None:
        """Press keys, wherever the focus is."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._do("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def look(self, width: int, height: int, *, dark: bool = False, phone: bool = False) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self._develop("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._develop("Emulation.setEmulatedMedia", {"features": [scheme]})

    def _develop(self, command: str, parameters: dict[str, Any]) -> Any:
        return self._do("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def screenshot(self, target: Path) -> None:
        target.write_bytes(base64.b64decode(self._send("GET", f"/session/{self._session}/screenshot")))

    def complaints(self) -> list[str]:
        """What the console says, since the last time it was asked."""
        return [str(entry["message"]) for entry in self._do("/se/log", {"type": "browser"})]

    def requests(self) -> list[str]:
        """Every address that was asked for, since the last time."""
        events = [json.loads(entry["message"])["message"] for entry in self._do("/se/log", {"type": "performance"})]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [str(parameters["request"]["url"]) for parameters in sent]
