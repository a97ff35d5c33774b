"""A part of the fuzzer: how its inputs are made, and the check that each input must pass."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parents[2] / "tests" / "fuzz" / "corpus"


class Broken(AssertionError):
    """A promise that an input broke."""


@dataclass(slots=True, frozen=True)
class Part:
    name: str
    about: str
    """The promises, for the table."""
    make: Callable[[random.Random], bytes]
    check: Callable[[bytes], None]
    """Raises if a promise is broken; all its random choices are derived from the input."""
    seeds: Callable[[], list[bytes]]
    """The inputs of the corpus as they are, which the tests check too."""
    smaller: Callable[[bytes], Iterator[bytes]] | None = None
    """Inputs with something left out, if leaving out bytes makes no sense for this part."""


def need(condition: object, promise: str) -> None:
    if not condition:
        raise Broken(promise)


def chance_of(data: bytes) -> random.Random:
    """Random choices that depend on the input only."""
    return random.Random(zlib.crc32(data))


def corpus(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def cuts(data: bytes, chance: random.Random) -> list[bytes]:
    """The data in random pieces, some of them long."""
    longest = chance.choice((1, 3, 17, 64, 400) if len(data) < 3_000 else (64, 400, 4_000))
    pieces = []
    start = 0
    while start < len(data):
        end = start + chance.randint(1, longest)
        pieces.append(data[start:end])
        start = end
    return pieces
