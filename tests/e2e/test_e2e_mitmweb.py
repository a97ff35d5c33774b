"""A real mitmweb with the addon: the content view and the command, through its own API."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import version

from tests.upstream import Play, Upstream
from toolcalls.cli.proxy_process import SCRIPT, ProxyProcess

from .stage import CHAT, EVENT_STREAM, PATIENCE, Clients, Plays, broken_call, free_port

TOKEN = "a-token-for-this-test"
MITMWEB = "from mitmproxy.tools.main import mitmweb; mitmweb()"
HAS_PASSWORD = int(version.VERSION.split(".")[0]) >= 12


class Web:
    """mitmweb's API, and enough of a proxy for the clients."""

    def __init__(self, confdir: Path, arguments: tuple[str, ...]) -> None:
        self.port = free_port()
        self.web_port = free_port()
        self.ca = confdir / "mitmproxy-ca-cert.pem"
        password = ("--set", f"web_password={TOKEN}") if HAS_PASSWORD else ()
        self._process = subprocess.Popen(
            [
                sys.executable, "-c", MITMWEB, "--set", f"confdir={confdir}", "--no-web-open-browser",
                "--listen-host", "127.0.0.1", "--listen-port", str(self.port),
                "--set", f"web_port={self.web_port}", *password, "-s", str(SCRIPT), *arguments,
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        deadline = time.monotonic() + 2 * PATIENCE
        while True:
            try:
                self.get("/flows")
                return
            except OSError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    self.close()
                    raise
                time.sleep(0.1)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, method: str = "GET") -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.web_port, timeout=PATIENCE)
        headers = {"authorization": f"Bearer {TOKEN}", "cookie": "_xsrf=x; _mitmproxy_xsrf=x", "x-xsrftoken": "x"}
        try:
            connection.request(method, path, headers=headers)
            response = connection.getresponse()
            body = response.read()
            assert response.status == 200, body
            return json.loads(body)
        finally:
            connection.close()

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)


@pytest.fixture(scope="module")
def web(confdir: Path, trusting: tuple[str, ...], proxy: ProxyProcess) -> Iterator[Web]:
    web = Web(confdir, trusting)
    yield web
    web.close()


def shown(web: Web, flow: dict[str, Any], message: str = "response") -> str:
    view = web.get(f"/flows/{flow['id']}/{message}/content/toolfix.json")
    if "text" in view:  # mitmproxy 12
        assert view["view_name"] == "toolfix"
        text: str = view["text"]
        return text
    return "\n".join("".join(text for _, text in line) for line in view["lines"])


def test_the_content_view_shows_before_and_after(
    web: Web, plays: Plays, upstream: Upstream, clients: Clients
) -> None:
    plays.add("viewed", Play(broken_call(), headers=EVENT_STREAM))
    process: Any = web
    for http2 in (False, True):
        received = clients.fetch(f"{upstream.url}/viewed{CHAT}", process, http2=http2)
        assert not received.error
    flows = [flow for flow in web.get("/flows") if "/viewed/" in flow["request"]["path"]]
    assert len(flows) == 2
    for flow in flows:
        text = shown(web, flow)
        assert text.startswith("chat: 1 tool call (0 unchanged, 1 mended, 0 refused)")
        assert "call 1: Bash, mended: single quotes" in text
        assert "  before   {'command': 'ls', 'background': True,}" in text
        assert '  after    {"command":"ls","background":true}' in text
        before, after = text.split("── after: ")
        assert "{'comma" in before.split("── before: ")[1]
        assert '{\\"command\\":\\"ls\\",\\"background\\":true}' in after
        assert "toolfix has nothing to show for this message" in shown(web, flow, "request")


def test_the_view_is_chosen_by_itself_where_a_call_was_changed_and_nowhere_else(
    web: Web, plays: Plays, upstream: Upstream, clients: Clients
) -> None:
    plays.add("plain", Play([b'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'], headers=EVENT_STREAM))
    plays.add("changed", Play(broken_call(), headers=EVENT_STREAM))
    process: Any = web
    for name in ("plain", "changed"):
        assert not clients.fetch(f"{upstream.url}/{name}{CHAT}", process, http2=False).error
    flows = {flow["request"]["path"].split("/")[1]: flow for flow in web.get("/flows")}
    for name in ("plain", "changed"):
        assert _chosen(web, flows[name], "response") is (name == "changed")
        assert _chosen(web, flows[name], "request") is False


def _chosen(web: Web, flow: dict[str, Any], message: str) -> bool:
    view = web.get(f"/flows/{flow['id']}/{message}/content/auto.json")
    return "toolfix" in str(view.get("view_name", view.get("description"))).lower()


def test_the_command_prints_the_numbers(web: Web, plays: Plays, upstream: Upstream, clients: Clients) -> None:
    plays.add("counted", Play(broken_call(), headers=EVENT_STREAM))
    process: Any = web
    before = _repaired(web)
    assert not clients.fetch(f"{upstream.url}/counted{CHAT}", process, http2=False).error
    assert _repaired(web) == before + 1


def _repaired(web: Web) -> int:
    text = web.get("/commands/toolfix.stats", "POST")["value"]
    found = re.search(r'^toolfix_calls_total\{protocol="chat",status="repaired"\} (\d+)$', text, re.MULTILINE)
    return int(found[1]) if found else 0
