"""The text scanner: fragments of all formats in any order, among prose and quotes."""

from __future__ import annotations

import random

from tests.textcalls.declared import TWENTY, back, scan, scan_pieces
from tests.textcalls.test_any_split import FRAGMENTS

from .part import Part, chance_of, need

LONGEST = 20_000


def make(chance: random.Random) -> bytes:
    parts = []
    for _ in range(chance.randint(1, 24)):
        part = chance.choice(FRAGMENTS)
        if chance.random() < 0.2:
            part = part[: chance.randint(0, len(part))]
        if chance.random() < 0.02:
            part *= chance.choice((50, 500, 2000))
        parts.append(part)
    return "".join(parts)[:LONGEST].encode("utf-8", "surrogatepass")


def check(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    chance = chance_of(data)
    finished = chance.random() < 0.7
    most = chance.choice((1 << 24, 1 << 24, 1 << 24, 40, 400))
    whole = scan(text, finished=finished, max_held=most)
    need(back(whole) == text, "text was lost")
    pieces = []
    at = 0
    while at < len(text):
        size = chance.randint(1, chance.choice((1, 4, 12, 300)))
        pieces.append(text[at : at + size])
        at += size
    need(scan_pieces(pieces, TWENTY, finished, most) == whole, "another result when it is cut otherwise")


def _seeds() -> list[bytes]:
    return [fragment.encode() for fragment in FRAGMENTS]


PARTS = [Part("text", "the text scanner: nothing lost, same for every split", make, check, _seeds)]
