"""A strict reader of a Messages stream, written from the protocol's documentation and not from our engine.

    message_start · (content_block_start · content_block_delta* · content_block_stop)* · message_delta+ · message_stop

Blocks are numbered 0, 1, 2 … and only one is open. `ping` may come anywhere, `error` ends the stream.
(https://docs.anthropic.com/en/docs/build-with-claude/streaming)
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
_FITS = {
    "text_delta": {"text"},
    "citations_delta": {"text"},
    "thinking_delta": {"thinking"},
    "signature_delta": {"thinking"},
    "input_json_delta": {"tool_use", "server_tool_use", "mcp_tool_use"},
}
_ENDS = {"message_stop", "error"}


class Illegal(AssertionError):
    """The stream is not what the protocol allows."""


@dataclass
class Message:
    """What a client holds in the end."""

    start: dict[str, Any] = field(default_factory=dict)
    content: list[dict[str, Any]] = field(default_factory=list)
    stop_reason: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        return "".join(block["text"] for block in self.content if block["type"] == "text")

    @property
    def thinking(self) -> str:
        return "".join(block["thinking"] for block in self.content if block["type"] == "thinking")

    @property
    def calls(self) -> list[tuple[str, Any]]:
        return [(block["name"], block["input"]) for block in self.content if block["type"] == "tool_use"]

    @property
    def ids(self) -> list[str]:
        return [block["id"] for block in self.content if block["type"] == "tool_use"]


def events(body: bytes) -> list[tuple[str, str]]:
    """Event name and data of each event; comments are skipped."""
    found = []
    for piece in re.split(r"\r\n\r\n|\n\n|\r\r", body.decode("utf-8").removeprefix("\ufeff")):
        name, data = "", None
        for line in re.split(r"\r\n|\n|\r", piece):
            key, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if key == "event":
                name = value
            elif key == "data":
                data = value if data is None else f"{data}\n{value}"
        if data is not None:
            found.append((name, data))
    return found


def read(body: bytes, *, fragments: bool = False, unfinished_calls: bool = False) -> Message:
    """Read a whole stream or say what is illegal about it.

    `fragments`: the input of a call may come in several deltas. `unfinished_calls`: input that is no JSON,
    which a client must reject, is allowed (both only with aggregation off).
    """
    message = Message()
    state = _Reader(message, fragments, unfinished_calls)
    for name, data in events(body):
        if data == "[DONE]" and not name:
            continue
        try:
            said = json.loads(data)
        except ValueError:
            raise Illegal(f"data is no JSON: {data!r}") from None
        _need(isinstance(said, dict) and said.get("type") == name, f"event {name!r} with data {data!r}")
        state.take(name, said)
    _need(state.ended, "the stream has no end")
    return message


def _need(condition: object, why: str) -> None:
    if not condition:
        raise Illegal(why)


class _Reader:
    def __init__(self, message: Message, fragments: bool, unfinished_calls: bool) -> None:
        self.message = message
        self.fragments = fragments
        self.unfinished_calls = unfinished_calls
        self.started = self.finished = self.ended = False
        self.open: int | None = None
        self.json: list[str] = []

    def take(self, name: str, said: dict[str, Any]) -> None:
        if name == "ping":
            return
        _need(not self.ended, f"{name} after the end")
        if name == "error":
            self.message.error = said["error"]
            self.ended = True
            return
        _need(self.started != (name == "message_start"), f"{name} at the wrong time")
        reader: Any = getattr(self, name, None)
        _need(reader, f"unknown event {name}")
        reader(said)

    def message_start(self, said: dict[str, Any]) -> None:
        message = said["message"]
        _need(message["content"] == [], "content in message_start")
        _need(isinstance(message["usage"]["input_tokens"], int), "no usage in message_start")
        self.message.start = message
        self.message.usage = dict(message["usage"])
        self.started = True

    def content_block_start(self, said: dict[str, Any]) -> None:
        _need(self.open is None, "a block opened while another is open")
        _need(not self.finished, "a block after message_delta")
        _need(said["index"] == len(self.message.content), f"index {said['index']} is not the next")
        block = dict(said["content_block"])
        if block["type"] == "tool_use":
            _need(_ID.match(block["id"]), f"illegal id {block['id']!r}")
            _need(block["id"] not in self.message.ids, f"id {block['id']} twice")
            _need(isinstance(block["name"], str), "no name")
            _need(block["input"] == {}, "input in content_block_start")
        if block["type"] == "text":
            _need(isinstance(block["text"], str), "no text")
        if block["type"] == "thinking":
            _need(isinstance(block["thinking"], str), "no thinking")
        self.message.content.append(block)
        self.open = said["index"]
        self.json = []

    def content_block_delta(self, said: dict[str, Any]) -> None:
        _need(said["index"] == self.open, f"delta for block {said['index']}, open is {self.open}")
        block, delta = self.message.content[-1], said["delta"]
        kind = delta["type"]
        _need(isinstance(kind, str) and kind, f"a delta of the type {kind!r}")
        _need(block["type"] in _FITS.get(kind, {block["type"]}), f"{kind} in a block of {block['type']}")
        if kind == "text_delta":
            block["text"] += delta["text"]
        elif kind == "thinking_delta":
            block["thinking"] += delta["thinking"]
        elif kind == "signature_delta":
            block["signature"] = block.get("signature", "") + delta["signature"]
        elif kind == "input_json_delta":
            self.json.append(delta["partial_json"])

    def content_block_stop(self, said: dict[str, Any]) -> None:
        _need(said["index"] == self.open, f"stop of block {said['index']}, open is {self.open}")
        block = self.message.content[-1]
        self.open = None
        if block["type"] == "tool_use":
            _need(self.fragments or len(self.json) == 1, f"{len(self.json)} deltas in one call")
        if self.json:
            text = "".join(self.json)
            try:
                block["input"] = json.loads(text) if text else {}
            except ValueError:
                _need(self.unfinished_calls, f"input is no JSON: {text!r}")
                block["input"] = None
            _need(isinstance(block["input"], dict | None), f"input is no object: {text!r}")

    def message_delta(self, said: dict[str, Any]) -> None:
        _need(self.open is None, "message_delta while a block is open")
        _need(isinstance(said["usage"]["output_tokens"], int), "no usage in message_delta")
        self.message.usage.update(said["usage"])
        self.message.stop_reason = reason = said["delta"]["stop_reason"]
        _need(reason is None or isinstance(reason, str), f"stop_reason {reason!r}")
        kinds = {block["type"] for block in self.message.content}
        if reason == "tool_use":
            _need(any(kind.endswith("tool_use") for kind in kinds), "tool_use without a call")
        if "tool_use" in kinds:
            _need(reason not in (None, "", "end_turn"), f"stop_reason {reason!r} with a call")
        self.finished = True

    def message_stop(self, said: dict[str, Any]) -> None:
        _need(self.open is None, "message_stop while a block is open")
        _need(self.finished, "message_stop without message_delta")
        self.ended = True
