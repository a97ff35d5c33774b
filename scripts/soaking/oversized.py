"""Answers that exceed the limit of held bytes: an event without an end, and calls that are too large to be held.

They go through a mitmdump of their own with a small `toolfix_max_held_bytes`, and must pass unchanged.
"""

from __future__ import annotations

import random

from toolcalls.cli.upstream import Play

from .case import EVENT_STREAM, PATHS, STREAMS, Case
from .made_up import WRITERS, question
from .turn import Turn

HELD_BYTES = 128 * 1024
WRITE = 64 * 1024


def oversized(chance: random.Random, token: str) -> Turn:
    """An answer that is larger than the limit."""
    protocol = chance.choice(list(PATHS))
    size = chance.randrange(4, 16) * HELD_BYTES
    if chance.random() < 0.5:
        start = b"" if protocol in STREAMS else b"data: "
        fault, body = "endless event", start + b'{"id":"' + token.encode() + b'","choices":[' + b" " * size
    else:
        fault, body = "call over the limit", _call(protocol, token, size)
    content_type = STREAMS.get(protocol, EVENT_STREAM)
    case = Case(
        fault, token, protocol, PATHS[protocol], question(protocol), body, body, (), 0, content_type=content_type
    )
    chunks = [body[start : start + WRITE] for start in range(0, len(body), WRITE)]
    return Turn(case, Play(chunks, headers={"content-type": content_type}), fault=fault)


def _call(protocol: str, token: str, size: int) -> bytes:
    """A call with valid arguments, nearly all in one delta, because only the number of bytes matters here."""
    events = WRITERS[protocol].call(f"call_{token}", "Bash", '{"command":"MANY"}', "")
    return b"".join(events).replace(b"MANY", b"x" * size)
