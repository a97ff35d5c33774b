"""The wire: event-stream framing against the standard's own steps, and content encodings cut anywhere and damaged."""

from __future__ import annotations

import gzip
import random
import re
import zlib
from collections.abc import Callable
from contextlib import suppress

import brotli

from toolcalls.engine import Response
from toolcalls.wire import sse
from toolcalls.wire.encoding import Corrupt, decode_whole, decoder

from ..shared import zstd_writer
from .answers import bodies
from .clients import is_sound
from .mutation import RAW, mutated_bytes
from .part import Part, chance_of, cuts, need

ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda data: bytes(brotli.compress(data, quality=2)),
    "zstd": zstd_writer.compress,
}


def make(chance: random.Random) -> bytes:
    if chance.random() < 0.5:
        pieces = [*RAW, b"a", b"data: x\n\n", b"event: y\n", b"data: {}\r\n\r\n", b"data:1\rdata:2\r\r"]
        return b"".join(chance.choices(pieces, k=chance.randint(1, 30)))
    body = chance.choice(bodies("chat"))
    for _ in range(chance.randint(1, 4)):
        body = mutated_bytes(chance, body, chance.choice(bodies("messages")))
    return body[:8_000]


def check(data: bytes) -> None:
    chance = chance_of(data)
    _framing(data)
    _passes(data, chance)
    _encoded(data, chance)


def _framing(data: bytes) -> None:
    end = max(0, sse.cut(data)[1])
    raws = sse.split(data[:end]) if end else []
    need(b"".join(raws) == data[:end], "bytes were lost")
    if sse.BOM in data[1:]:
        return  # We skip a byte order mark before any event, because some servers write one before each.
    said = [event for raw in raws if (event := sse.read_event(raw)).data is not None]
    mine = [(event.type, event.data) for event in said]
    need(mine == _by_the_book(data[:end]), f"events {mine} are {_by_the_book(data[:end])} by the standard")


def _by_the_book(data: bytes) -> list[tuple[str, str]]:
    """The events by https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation."""
    found = []
    kind = ""
    lines: list[bytes] = []
    for line in re.split(rb"\r\n|\n|\r", data.removeprefix(sse.BOM)):
        if not line:
            if lines:
                found.append((kind, b"\n".join(lines).decode("utf-8", "replace")))
            kind, lines = "", []
            continue
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            lines.append(value)
        elif field == b"event":
            kind = value.decode("utf-8", "replace")
    return found


def _passes(data: bytes, chance: random.Random) -> None:
    """Without anything that could be a call every byte must pass, however the stream is cut.

    This does not hold for data that is not JSON: it may be mended, and an event without data breaks some clients.
    """
    whole = data[: max(0, sse.cut(data)[1])]
    quiet = whole.replace(b"tool", b"t00l").replace(b"function", b"f_nction")
    sound = is_sound(quiet)
    for pieces in ([quiet], cuts(quiet, chance)):
        answer = Response("chat")
        out = [sent for piece in pieces for sent in answer.feed(piece)]
        out += answer.close()
        need(answer.failure is None, f"failed open: {answer.failure!r}")
        need(not sound or b"".join(out) == quiet, "an answer without a call was changed")


def _encoded(data: bytes, chance: random.Random) -> None:
    name = chance.choice(sorted(ENCODINGS))
    packed = ENCODINGS[name](data)
    undo = decoder(name)
    need(undo is not None and b"".join(map(undo.decode, cuts(packed, chance))) == data, f"{name}: decoded otherwise")
    need(decode_whole(packed, name) == data, f"{name}: decoded otherwise as a whole")
    damaged = mutated_bytes(chance, packed)
    with suppress(Corrupt):
        decode_whole(damaged, name)
    answer = Response("chat", encoding=name)
    sent = [sent for piece in cuts(damaged, chance) for sent in answer.feed(piece)]
    need(all([*sent, *answer.close()]), "an empty chunk ends a chunked answer")
    need(answer.failure is None or isinstance(answer.failure, Corrupt), f"failed open: {answer.failure!r}")


def _seeds() -> list[bytes]:
    return [body[:1_000] for body in bodies("chat")]


_PROMISES = "events as the standard says, every byte passes, encodings at any cut, damaged ones too"
PARTS = [Part("wire", _PROMISES, make, check, _seeds)]
