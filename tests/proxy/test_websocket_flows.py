"""The hooks of a WebSocket: while a call is held the client hears an event of the protocol now and then."""

from __future__ import annotations

import json

from mitmproxy.test import tflow
from mitmproxy.websocket import WebSocketMessage
from wsproto.frame_protocol import Opcode

from tests.faults.streams import BROKEN, PROTOCOLS, RIGHT
from toolcalls.proxy.body_stream import KEEP_ALIVE_SECONDS, HeldBytes
from toolcalls.proxy.reporting import Reporter
from toolcalls.proxy.settings import Settings
from toolcalls.proxy.websocket_flows import WebSocketFlows
from toolcalls.request.refusals import Refusals
from toolcalls.wire import sse


def delivered(message: WebSocketMessage) -> list[str]:
    if message.dropped:
        return []
    return [one.decode() for one in getattr(message.content, "messages", (message.content,))]


def test_while_a_call_is_held_the_client_of_a_websocket_hears_of_us() -> None:
    """Codex counts the messages of a socket as it counts events: silence ends its session."""
    now = 0.0
    settings = Settings()
    settings.mode = "repair"
    flows = WebSocketFlows(Reporter(settings), Refusals(), HeldBytes(), clock=lambda: now)
    flow = tflow.twebsocketflow()
    assert flow.websocket
    flow.websocket.messages.clear()
    flows.start(flow)

    def send(text: str, *, from_client: bool = False) -> list[str]:
        flow.websocket.messages.append(WebSocketMessage(Opcode.TEXT, from_client, text.encode()))
        flows.websocket_message(flow)
        return delivered(flow.websocket.messages[-1])

    send(json.dumps({"type": "response.create", **json.loads(PROTOCOLS["responses"].request())}), from_client=True)
    got: list[str] = []
    for raw in PROTOCOLS["responses"].write("", BROKEN):
        now += KEEP_ALIVE_SECONDS
        got += send(sse.read_event(raw).data or "")
    kinds = [json.loads(text)["type"] for text in got]
    assert kinds[:3] == ["response.created", "response.in_progress", "response.in_progress"]
    assert kinds.count("response.in_progress") == kinds.index("response.output_item.added") - 1
    body = b"".join(sse.write(text, json.loads(text)["type"]) for text in got)
    assert [json.loads(arguments) for _, arguments in PROTOCOLS["responses"].calls(body)] == [RIGHT]


def test_a_socket_passes_what_comes_if_the_process_holds_enough() -> None:
    settings, held = Settings(), HeldBytes(lambda: 10**12)
    settings.mode = "repair"
    held.fits(WebSocketFlows, 10**12)
    flows = WebSocketFlows(Reporter(settings), Refusals(), held)
    flow = tflow.twebsocketflow()
    assert flow.websocket
    flow.websocket.messages.clear()
    flows.start(flow)
    create = {"type": "response.create", **json.loads(PROTOCOLS["responses"].request())}
    flow.websocket.messages.append(WebSocketMessage(Opcode.TEXT, True, json.dumps(create).encode()))
    flows.websocket_message(flow)
    for raw in PROTOCOLS["responses"].write("", BROKEN):
        said = sse.read_event(raw).data or ""
        flow.websocket.messages.append(WebSocketMessage(Opcode.TEXT, False, said.encode()))
        flows.websocket_message(flow)
        if "response.created" not in said:
            assert delivered(flow.websocket.messages[-1]) == [said]
    flows.websocket_end(flow)
    assert held.total == 10**12


def test_mitmproxy_keeps_the_messages_of_a_socket_only_if_somebody_looks_at_them() -> None:
    settings = Settings()
    flows = WebSocketFlows(Reporter(settings), Refusals(), HeldBytes())
    flow = tflow.twebsocketflow()
    assert flow.websocket
    messages = flow.websocket.messages
    for wanted, kept in ((False, 1), (True, 10)):
        settings.bodies_are_wanted = wanted
        messages.clear()
        for number in range(10):
            messages.append(WebSocketMessage(Opcode.TEXT, False, b"%d" % number))
            flows.websocket_message(flow)
        assert len(messages) == kept and messages[-1].content == b"9"
