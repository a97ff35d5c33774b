"""How an answer of the soak is cut up and disturbed on its way, and whether what came back is right all the same.

An answer that breaks off is right when what the client has is a beginning of the answer that it would have had:
every event in it was final when it was sent, so no call in it is half a call.
"""

from __future__ import annotations

import itertools
import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from soak_cases import Case
from soak_client import Got, Manner
from soak_reading import texts_of

from toolcalls.cli.upstream import Play, compressed
from toolcalls.proxy.body_stream import KEEP_ALIVE

GARBAGE = b"\xff" * 32
"""No deflate block begins so, wherever it stands after a flush."""


@dataclass(slots=True)
class Turn:
    """One request of the soak, as it is played."""

    case: Case
    play: Play
    manner: Manner = field(default_factory=Manner)
    fault: str = ""
    sent: bytes = b""
    """The raw bytes of the upstream, where they were spoilt."""
    complaint: str = ""
    """What the upstream has to say of the request that reached it."""

    @property
    def certain(self) -> bool:
        """Is it known what mitmdump saw of it? A broken connection throws away what nobody has read yet."""
        return not (self.play.breaks or self.play.resets or self.manner.leaves_after is not None)


def cut_up(chance: random.Random, case: Case) -> list[bytes]:
    """The body in chunks: in one, as it was recorded, at random places, or byte by byte."""
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
    """Nine in ten are played as they are; the others meet a fault."""
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
    """Everything up to a random byte."""
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
    """gzip up to a flush, then garbage."""
    # A stream that is being converted (Z.AI) ends with an error event then; a document is mitmproxy's own to decode.
    if not turn.case.streamed or not asks_for_a_stream(turn.case) or turn.case.name.startswith("zai-"):
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


def asks_for_a_stream(case: Case) -> bool:
    return b'"stream"' in case.request and json.loads(case.request).get("stream") is True


# Judging


def verdict(turn: Turn, got: Got) -> str:
    """What is wrong with what the client got; empty when nothing is."""
    if turn.complaint:
        return turn.complaint
    broken = turn.play.breaks or turn.play.resets
    if broken and (got.status == 502 or (got.error and not got.body)):
        return ""  # mitmproxy says that the upstream broke, or had nothing to pass on yet
    if got.error and not broken:
        return f"the transfer broke: {got.error}"
    if got.status != turn.play.status:
        return f"status {got.status}"
    if turn.fault == "error status":
        return "" if got.body == turn.sent else "the error is not the upstream's"
    if turn.fault == "corrupt gzip":
        return _as_it_came(turn, got.body)
    partial = bool(got.error) or got.left
    body = got.body if partial else got.decoded()
    if "content-encoding" in got.headers and partial:
        return ""  # an answer that is not ours to decode, cut off
    body = body.replace(KEEP_ALIVE, b"")
    whole = turn.case.after
    if (partial and not whole.startswith(body)) or (not partial and not broken and body != whole):
        return f"other bytes: {_difference(whole, body)}"
    return "" if partial or body == whole else f"it ended early, as if complete: {len(body)} of {len(whole)} bytes"


def _as_it_came(turn: Turn, body: bytes) -> str:
    """A beginning of the right answer, then what was held, as it came, then the bytes that nobody can decode."""
    same = _common(body, turn.case.after)
    raw = _common(body[same:][::-1], turn.sent[::-1])
    held = body[same : len(body) - raw]
    if raw >= len(GARBAGE) and (held in turn.case.before or _same_text(turn.case, body[: len(body) - raw], same)):
        return ""
    return f"a corrupt body did not pass as it came: {held[:300]!r}"


def _same_text(case: Case, body: bytes, same: int) -> bool:
    """Text that was held as a possible call is written anew when it is let go: the words count, not the bytes."""
    held = body[body.rfind(b"\n\n", 0, same) + 1 : body.rfind(b"\n\n") + 2]
    try:
        return texts_of(case.protocol, held) in texts_of(case.protocol, case.before)
    except (ValueError, KeyError):
        return False


def _common(one: bytes, other: bytes) -> int:
    """How many bytes they begin with that are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))


def _difference(expected: bytes, body: bytes) -> str:
    place = _common(expected, body)
    start = max(0, place - 40)
    return f"at {place}: {body[start : place + 120]!r}, expected {expected[start : place + 120]!r}"
