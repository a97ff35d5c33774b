"""How an answer of the soak is cut up and disturbed on its way."""

from __future__ import annotations

import itertools
import json
import os
import random
from collections.abc import Callable

from tests.upstream import Play, compressed

from .case import Case, Turn
from .client import Manner

GARBAGE = b"\xff" * 32
"""Bytes with which no deflate block begins."""


def cut_up(chance: random.Random, case: Case) -> list[bytes]:
    """The body in chunks: in one, as it was recorded, cut at random, or byte by byte."""
    body, kind = case.before, chance.random()
    if kind < 0.1 and case.cuts:
        places = list(case.cuts)
    elif kind < 0.3:
        places = []
    elif kind < 0.31 and len(body) < 3000:
        places = list(range(len(body)))
    else:
        places = [chance.randrange(len(body) + 1) for _ in range(chance.choice([1, 3, 10, 40]))]
    places = sorted({0, *places, len(body)})
    return [body[start:end] for start, end in itertools.pairwise(places)]


def plan(chance: random.Random, case: Case) -> Turn:
    """How a case is played: nine in ten without a fault, the others with one."""
    chunks, headers = cut_up(chance, case), {"content-type": case.content_type}
    if chance.random() < 0.15:
        encoding = chance.choice(["gzip", "br"])
        chunks, headers = compressed(chunks, encoding), {**headers, "content-encoding": encoding}
    turn = Turn(case, Play(chunks, case.status, headers), fault=case.fault)
    if chance.random() < 0.1:
        turn.fault, disturb = chance.choice(list(FAULTS.items()))
        disturb(chance, turn)
    return turn


def _cut(chance: random.Random, turn: Turn) -> None:
    """Keep the answer up to a random byte."""
    body = b"".join(turn.play.chunks)
    kept = body[: chance.randrange(len(body) + 1)]
    middle = len(kept) // 2
    turn.play.chunks = [kept[:middle], kept[middle:]]


def _breaks(chance: random.Random, turn: Turn) -> None:
    _cut(chance, turn)
    turn.play.breaks = True


def _resets(chance: random.Random, turn: Turn) -> None:
    _cut(chance, turn)
    turn.play.resets = True


def _stalls(chance: random.Random, turn: Turn) -> None:
    body = b"".join(turn.play.chunks)
    place = chance.randrange(len(body) + 1)
    turn.play.chunks = [body[:place], body[place:]]
    turn.play.pause = chance.uniform(0.2, 1.5)


def _leaves(chance: random.Random, turn: Turn) -> None:
    turn.manner = Manner(leaves_after=chance.randrange(1, len(turn.case.after) + 2), resets=chance.random() < 0.5)


def _reads_slowly(_chance: random.Random, turn: Turn) -> None:
    turn.manner = Manner(slow=True)


def _spoils(chance: random.Random, turn: Turn) -> None:
    """Send the answer as gzip up to a flush, and garbage after it."""
    # A converted stream (Z.AI) would end with an error event instead, and a document is decoded by mitmproxy itself.
    converted = turn.case.protocol == "chat" and turn.case.path.startswith("/api/")
    if not turn.case.streamed or converted:
        turn.fault = turn.case.fault
        return
    chunks = compressed(cut_up(chance, turn.case), "gzip")
    place = chance.randrange(1, len(chunks))
    spoilt = [*chunks[:place], GARBAGE + os.urandom(chance.randrange(200))]
    turn.sent = b"".join(spoilt)
    turn.play = Play(spoilt, headers={"content-type": turn.case.content_type, "content-encoding": "gzip"})


def _fails(_chance: random.Random, turn: Turn) -> None:
    error = json.dumps({"error": {"message": f"overloaded {turn.case.token}", "type": "server_error"}}).encode()
    turn.sent = error
    turn.play = Play([error], 529, {"content-type": "application/json"})


FAULTS: dict[str, Callable[[random.Random, Turn], None]] = {
    "connection ends": _breaks,
    "connection reset": _resets,
    "stall": _stalls,
    "client leaves": _leaves,
    "slow reader": _reads_slowly,
    "corrupt gzip": _spoils,
    "error status": _fails,
}
