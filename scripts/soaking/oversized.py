"""Answers that exceed the limit of held bytes: an event without an end, and calls that are too large to be held.

They go through a mitmdump of their own with a small `toolfix_max_held_bytes`, and must pass unchanged.
"""

from __future__ import annotations

import json
import random

from tests.upstream import Play

from ..shared.answer_writers import Chat, Gemini, Messages, Ollama, Responses, Writer
from .case import EVENT_STREAM, Case, Turn

HELD_BYTES = 128 * 1024
WRITE = 64 * 1024
WIRES: dict[str, tuple[str, Writer]] = {
    "chat": ("/v1/chat/completions", Chat()),
    "messages": ("/v1/messages", Messages()),
    "responses": ("/v1/responses", Responses()),
    "ollama": ("/api/chat", Ollama()),
    "gemini": ("/v1beta/models/m:streamGenerateContent", Gemini()),
}


def oversized(chance: random.Random, token: str) -> Turn:
    """An answer that is larger than the limit."""
    protocol = chance.choice(list(WIRES))
    path, writer = WIRES[protocol]
    size = chance.randrange(4, 16) * HELD_BYTES
    if chance.random() < 0.5:
        start = b"" if protocol == "ollama" else b"data: "
        fault, body = "endless event", start + b'{"id":"' + token.encode() + b'","choices":[' + b" " * size
    else:
        # Nearly all of the call is in one delta, because only the number of bytes matters here.
        events = writer.call(f"call_{token}", "Bash", '{"command":"MANY"}', "")
        # What an event says beside a call goes out at once, and then the bytes are not the upstream's any more.
        alone = b"".join(events).replace(b'"role": "assistant", "content": null, "tool_calls"', b'"tool_calls"')
        fault, body = "call over the limit", alone.replace(b"MANY", b"x" * size)
    request = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "Go on."}]}).encode()
    content_type = "application/x-ndjson" if protocol == "ollama" else EVENT_STREAM
    case = Case(fault, token, protocol, path, request, body, body, content_type=content_type)
    chunks = [body[start : start + WRITE] for start in range(0, len(body), WRITE)]
    return Turn(case, Play(chunks, headers={"content-type": content_type}), fault=fault)
