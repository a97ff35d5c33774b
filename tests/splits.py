"""Every stream test runs whole, byte by byte and at random cuts, and gives the same output."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator

from tests.sampling import WHOLE
from toolcalls.engine import Response
from toolcalls.policy import Policy
from toolcalls.request.request import Request


def cut(body: bytes, size: int) -> list[bytes]:
    return [body[start : start + size] for start in range(0, len(body), size)]


def cut_at_random(body: bytes, seed: int) -> list[bytes]:
    generator = random.Random(seed)
    pieces = []
    start = 0
    while start < len(body):
        end = start + generator.choice([1, 2, 3, 5, 17, 64, 200, 1000])
        pieces.append(body[start:end])
        start = end
    return pieces


def splits(body: bytes) -> Iterator[list[bytes]]:
    """The body whole, byte by byte, in pieces of a packet, and at random cuts: other ones for every body."""
    yield [body]
    for size in (1, 64):
        yield cut(body, size)
    for seed in range(4 if WHOLE else 1):
        yield cut_at_random(body, zlib.crc32(body) + seed)


def feed(answer: Response, pieces: list[bytes]) -> bytes:
    out = [sent for piece in pieces for sent in answer.feed(piece)]
    out += answer.close()
    assert all(out), "an empty chunk ends a chunked response"
    return b"".join(out)


def mend(
    body: bytes | str,
    *,
    protocol: str = "chat",
    question: Request | None = None,
    policy: Policy | None = None,
    may_fail: bool = False,
    few: bool = False,
) -> tuple[bytes, Response]:
    """What the client gets, the same for every split; and the answer of the whole run.

    `few`: a long body of tiny events, in a test that tries other bodies of the kind at every split.
    """
    raw = body.encode() if isinstance(body, str) else body
    whole = Response(protocol, question, policy)
    expected = feed(whole, [raw])
    _, *cuts = splits(raw)
    for pieces in [cut(raw, 7), cut_at_random(raw, 1)] if few else cuts:
        answer = Response(protocol, question, policy)
        assert feed(answer, pieces) == expected, f"another output when cut into {len(pieces)} pieces"
        assert answer.outcomes == whole.outcomes
        assert may_fail or answer.failure is None, answer.failure
        assert feed(answer, []) == b"", "closing twice sends something twice"
    return expected, whole
