"""Responses over a WebSocket through a real mitmdump, as Codex speaks it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Request, TextMessage

from toolcalls.cli.proxy_process import ProxyProcess

BROKEN = "{'command': 'ls', 'background': True,}"
MENDED = '{"command":"ls","background":true}'
CREATE = {"type": "response.create", "model": "m", "input": "Go on.", "tools": [{"type": "function", "name": "Bash"}]}


def frames(arguments: str = BROKEN) -> list[str]:
    """One response: a call with these arguments in two pieces."""
    call = {
        "id": "fc_1",
        "type": "function_call",
        "call_id": "call_1",
        "name": "Bash",
        "status": "in_progress",
        "arguments": "",
    }
    done = {**call, "status": "completed", "arguments": arguments}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "r", "object": "response", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": call},
        {
            "type": "response.function_call_arguments.delta",
            "item_id": "fc_1",
            "output_index": 0,
            "delta": arguments[:9],
        },
        {
            "type": "response.function_call_arguments.delta",
            "item_id": "fc_1",
            "output_index": 0,
            "delta": arguments[9:],
        },
        {
            "type": "response.function_call_arguments.done",
            "item_id": "fc_1",
            "output_index": 0,
            "arguments": arguments,
        },
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {
            "type": "response.completed",
            "response": {"id": "r", "object": "response", "status": "completed", "output": [done]},
        },
    ]
    return [json.dumps({**event, "sequence_number": number}) for number, event in enumerate(events)]


class Socket:
    """One end of a WebSocket over a plain socket."""

    def __init__(self, sock: socket.socket, kind: ConnectionType) -> None:
        self.sock = sock
        self.wire = WSConnection(kind)
        self._events: Iterator[Any] = iter(())

    def send(self, event: Any) -> None:
        self.sock.sendall(self.wire.send(event))

    def receive(self) -> Any:
        """The next event; messages are put together from their parts."""
        text = ""
        while True:
            for event in self._events:
                if isinstance(event, TextMessage):
                    text += event.data
                    if not event.message_finished:
                        continue
                    return TextMessage(text)
                return event
            data = self.sock.recv(65536)
            self.wire.receive_data(data or None)
            self._events = self.wire.events()


def serve(listener: socket.socket, seen: list[str], arguments: str = BROKEN, *, at_once: bool = False) -> None:
    sock, _ = listener.accept()
    with sock:
        end = Socket(sock, ConnectionType.SERVER)
        assert isinstance(end.receive(), Request)
        end.send(AcceptConnection())
        while isinstance(event := end.receive(), TextMessage):
            seen.append(event.data)
            sent = [end.wire.send(TextMessage(frame)) for frame in frames(arguments)]
            for data in [b"".join(sent)] if at_once else sent:
                sock.sendall(data)
        if isinstance(event, CloseConnection):
            end.send(event.response())


@pytest.fixture
def upstream() -> Iterator[tuple[int, list[str]]]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        seen: list[str] = []
        thread = threading.Thread(target=serve, args=(listener, seen), daemon=True)
        thread.start()
        yield listener.getsockname()[1], seen


def converse(proxy: ProxyProcess, port: int, ask: Callable[[Socket], list[str]]) -> list[str]:
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=20) as sock:
        sock.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        assert b" 200 " in sock.recv(65536)
        end = Socket(sock, ConnectionType.CLIENT)
        end.send(Request(host=f"127.0.0.1:{port}", target="/v1/responses"))
        assert isinstance(end.receive(), AcceptConnection)
        got = ask(end)
        end.send(CloseConnection(1000))
        return got


def one_turn(end: Socket) -> list[str]:
    end.send(TextMessage(json.dumps(CREATE)))
    return until_completed(end)


def until_completed(end: Socket) -> list[str]:
    got: list[str] = []
    while not got or "response.completed" not in got[-1]:
        event = end.receive()
        assert isinstance(event, TextMessage)
        got.append(event.data)
    return got


def test_a_broken_call_over_a_websocket_reaches_the_client_mended(
    upstream: tuple[int, list[str]], tmp_path: Path
) -> None:
    port, seen = upstream
    with ProxyProcess(tmp_path) as proxy:
        got = [json.loads(text) for text in converse(proxy, port, one_turn)]
    assert json.loads(seen[0]) == CREATE
    deltas = [event["delta"] for event in got if event["type"] == "response.function_call_arguments.delta"]
    assert deltas == [MENDED]
    carriers = [
        next(event["arguments"] for event in got if event["type"] == "response.function_call_arguments.done"),
        next(event["item"]["arguments"] for event in got if event["type"] == "response.output_item.done"),
        got[-1]["response"]["output"][0]["arguments"],
    ]
    assert carriers == [MENDED] * 3
    numbers = [event["sequence_number"] for event in got]
    assert numbers == sorted(set(numbers))


def test_the_end_of_an_answer_does_not_overtake_its_call(tmp_path: Path) -> None:
    """In one write: mitmproxy has read the last frame before it sends what is injected behind the first."""
    with socket.create_server(("127.0.0.1", 0)) as listener, ProxyProcess(tmp_path) as proxy:
        words = {"args": (listener, [], MENDED), "kwargs": {"at_once": True}}
        threading.Thread(target=serve, daemon=True, **words).start()

        def two_turns(end: Socket) -> list[str]:
            return [*one_turn(end), *one_turn(end)]

        got = converse(proxy, listener.getsockname()[1], two_turns)
    kinds = [json.loads(frame)["type"].removeprefix("response.") for frame in got]
    one = ["created", "output_item.added", "function_call_arguments.delta", "function_call_arguments.done"]
    assert kinds == [*one, "output_item.done", "completed"] * 2


def test_a_second_turn_without_tools_is_mended_too(upstream: tuple[int, list[str]], tmp_path: Path) -> None:
    def ask(end: Socket) -> list[str]:
        one_turn(end)
        end.send(TextMessage(json.dumps({"type": "response.create", "previous_response_id": "r", "input": []})))
        return until_completed(end)

    port, _ = upstream
    with ProxyProcess(tmp_path) as proxy:
        got = converse(proxy, port, ask)
    assert json.loads(got[-1])["response"]["output"][0]["arguments"] == MENDED


def test_in_observe_mode_every_frame_passes_as_it_came(upstream: tuple[int, list[str]], tmp_path: Path) -> None:
    port, _ = upstream
    with ProxyProcess(tmp_path, ("--set", "toolfix_mode=observe")) as proxy:
        assert converse(proxy, port, one_turn) == frames()
    assert "would have mended Bash" in proxy.output


def test_what_goes_up_has_the_upstreams_ids_and_no_poison(upstream: tuple[int, list[str]], tmp_path: Path) -> None:
    def call_of(got: list[str]) -> dict[str, Any]:
        item: dict[str, Any] = json.loads(got[-1])["response"]["output"][0]
        return item

    def ask(end: Socket) -> list[str]:
        first, second = call_of(one_turn(end)), call_of(one_turn(end))
        assert first["call_id"] == "call_1" != second["call_id"], "the upstream gave one id twice"
        answer = {"type": "function_call_output", "call_id": second["call_id"], "output": "ok"}
        items = [{**second, "arguments": BROKEN}, answer]
        end.send(TextMessage(json.dumps({"type": "response.create", "input": items})))
        return until_completed(end)

    port, seen = upstream
    with ProxyProcess(tmp_path) as proxy:
        converse(proxy, port, ask)
    call, answer = json.loads(seen[-1])["input"]
    assert call["call_id"] == answer["call_id"] == "call_1"
    assert call["arguments"] == MENDED
