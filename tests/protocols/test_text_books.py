"""Whatever fails while text is searched, the client gets every character of it, once."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.protocols.text_protocols import PROTOCOLS, Protocol, deltas
from tests.splits import feed
from toolcalls.engine import Response
from toolcalls.mend.mender import Mender
from toolcalls.request.request import read_request
from toolcalls.textcalls.search import Search

CALL = '<tool_call>{"name": "Read", "arguments": {"file_path": "/a.py"}}</tool_call>'
TEXT = f"One.\n{CALL}\n{CALL.replace('/a', '/b')}\nTwo <tool\nThree <tool_cal"
AT_THE_END = f"One <tool\n\nI do it.\n{CALL}\n{CALL.replace('/a', '/b')}\n"
QUESTION = read_request({"tools": [{"name": "Read", "input_schema": {"type": "object"}}], "stream": True})

every_protocol = pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)


def said(body: bytes) -> str:
    """What all text deltas say, legal or not, and a mark for each call."""
    out = []
    for line in re.findall(rb"^data: (\{.*)$", body, re.MULTILINE):
        message: dict[str, Any] = json.loads(line)
        delta = message.get("delta") or {}
        if message.get("type") == "response.output_text.delta":
            out.append(message["delta"])
        elif message.get("type") == "content_block_delta":
            out.append(delta.get("text") or ("CALL" if "partial_json" in delta else ""))
        elif message.get("type") == "response.function_call_arguments.done":
            out.append("CALL")
        spoken = [choice["delta"] for choice in message.get("choices") or []]
        out += [delta.get("content") or "CALL" * len(delta.get("tool_calls") or []) for delta in spoken]
    return "".join(out)


class Boom(Exception):
    pass


@every_protocol
@pytest.mark.parametrize("size", [4, 1000])
def test_an_exception_in_the_search_loses_nothing(
    protocol: Protocol, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = protocol.stream(deltas(TEXT, size), False)
    real = Search.feed
    for fatal in range(0, len(TEXT) // size + 1, 3):
        count = 0

        def feed_scanner(self: Any, text: str, fatal: int = fatal) -> Any:
            nonlocal count
            count += 1
            if count > fatal:
                raise Boom
            return real(self, text)

        monkeypatch.setattr(Search, "feed", feed_scanner)
        answer = Response(protocol.name, QUESTION)
        out = said(feed(answer, [body]))
        monkeypatch.setattr(Search, "feed", real)
        assert isinstance(answer.failure, Boom) or count <= fatal
        assert out == TEXT, "every character once, and in its place"


@every_protocol
def test_an_exception_in_the_mending_loses_nothing(protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    def mend(*_: Any, **__: Any) -> None:
        raise Boom

    monkeypatch.setattr(Mender, "decide", mend)
    for size in (1, 5, 1000):
        answer = Response(protocol.name, QUESTION)
        out = said(feed(answer, [protocol.stream(deltas(AT_THE_END, size), False)]))
        assert isinstance(answer.failure, Boom)
        assert out == AT_THE_END, "every character once, and in its place"
