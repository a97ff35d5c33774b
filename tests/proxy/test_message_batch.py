"""Several messages in the place of one, and a mitmproxy that has no class to teach that to."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import ModuleType

import pytest
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.proxy.layers import websocket as layer
from mitmproxy.test import taddons, tflow
from mitmproxy.websocket import WebSocketMessage
from wsproto.frame_protocol import Opcode

from toolcalls.proxy import websocket_flows as several


@pytest.fixture
def untaught(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    known = layer.Fragmentizer
    monkeypatch.delattr(layer, "Fragmentizer")
    yield importlib.reload(several)
    layer.Fragmentizer = known  # type: ignore[misc]
    importlib.reload(several)


def message(text: str) -> WebSocketMessage:
    return WebSocketMessage(Opcode.TEXT, False, text.encode())


def test_several_leave_together_as_whole_messages() -> None:
    came = message("came")
    several.deliver(tflow.twebsocketflow(), came, ["one", "two"])
    sent = list(layer.Fragmentizer([], True)(came.content))
    assert [(part.data, part.message_finished) for part in sent] == [("one", True), ("two", True)]


def test_what_came_is_replaced_or_dropped() -> None:
    came, other = message("came"), message("came")
    several.deliver(tflow.twebsocketflow(), came, ["one"])
    several.deliver(tflow.twebsocketflow(), other, [])
    assert came.text == "one" and not came.dropped
    assert other.dropped


def test_without_the_class_the_rest_is_injected(untaught: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    flow, came, injected = tflow.twebsocketflow(), message("came"), []
    with taddons.context(Proxyserver()) as context:
        monkeypatch.setattr(context.master.addons.get("proxyserver"), "inject_event", injected.append)
        untaught.deliver(flow, came, ["one", "two \u00e4", "three"])
    assert came.text == "one"
    assert [event.message.content for event in injected] == ["two \u00e4".encode(), b"three"]
    assert not any(event.message.from_client for event in injected)
