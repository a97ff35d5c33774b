"""Limits on processor time that hold on a slow or busy machine too.

    with quick(0.3):
        …

A limit is in seconds of the machine that it was measured on, and is compared with a fixed piece of work of the same run.
What takes longer is tried again by `tests/conftest.py`: a busy machine makes a test slow now and then, a defect each time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.splits import cut
from toolcalls.engine import Response

READ: Final = 64 * 1024
"""What mitmproxy reads at a time."""
TRIES: Final = 4
"""How often a test may be too slow before it fails."""
_REFERENCE: Final = 0.0011
"""Seconds that `_work` takes on the machine that the limits were measured on, when nothing else runs there."""
_TEXT: Final = json.dumps([{"name": f"tool {number}", "values": list(range(20))} for number in range(250)])


class TookTooLong(AssertionError):
    """More processor time than a test allows."""


def check_quick(took: float, limit: float) -> None:
    """Raise `TookTooLong` if this processor time is over the limit."""
    allowed = limit * _pace()
    if took > allowed:
        raise TookTooLong(f"{took:.3f} s of processor time, for at most {allowed:.3f}")


def feed_timed(answer: Response, body: bytes) -> tuple[bytes, float]:
    """What the client gets of a body that arrives in reads, and the longest callback in seconds."""
    out: list[bytes] = []
    slowest = 0.0
    for piece in [*cut(body, READ), None]:
        begin = time.process_time()
        out += answer.close() if piece is None else answer.feed(piece)
        slowest = max(slowest, time.process_time() - begin)
    assert answer.failure is None
    return b"".join(out), slowest


@contextmanager
def quick(limit: float) -> Iterator[None]:
    """Raise `TookTooLong` if the block takes more processor time than the limit."""
    begin = time.process_time()
    yield
    check_quick(time.process_time() - begin, limit)


def _pace() -> float:
    """How many times as long as the reference this machine takes right now; at least 1."""
    return max(1.0, min(_work() for _ in range(3)) / _REFERENCE)


def _work() -> float:
    """The processor time of reading JSON and of a loop in Python."""
    begin = time.process_time()
    entries = json.loads(_TEXT)
    total = 0
    for entry in entries:
        for value in entry["values"]:
            total += value if value % 3 else len(entry["name"])
    json.dumps(entries)
    return time.process_time() - begin
