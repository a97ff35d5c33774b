"""Several messages in the place of one."""

from __future__ import annotations

from mitmproxy.proxy.layers import websocket as layer

from toolcalls.proxy.websocket_flows import MessageBatch


def sent(content: bytes) -> list[tuple[object, bool]]:
    return [(part.data, part.message_finished) for part in layer.Fragmentizer([], True)(content)]


def test_several_leave_together_as_whole_messages() -> None:
    assert sent(MessageBatch(["one", "two"])) == [("one", True), ("two", True)]
    assert sent(MessageBatch(["one"])) == [("one", True)]


def test_a_message_of_others_leaves_as_it_is() -> None:
    assert sent(b"one\ntwo") == [("one\ntwo", True)]


def test_a_batch_is_shown_as_its_messages_one_per_line() -> None:
    assert MessageBatch(["one", "two \u00e4"]) == "one\ntwo \u00e4".encode()
