"""The books: whatever way the bytes come in, each of them is in the block or in the rest, cut where events end."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.splits import cut
from toolcalls.wire import sse
from toolcalls.wire.ledger import Ledger

BLANK_LINE = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")
PARTS = st.sampled_from(
    [b"}", b"\n", b"\n\n", b"\r", b"\r\n", b"}\n\n", b"]\n\n", b"event: e\n", b"data: {", b"x" * 9000]
)


def end_in(buffer: bytes) -> int:
    """The end of the last event, by the standard and nothing else."""
    return max((match.end() for match in BLANK_LINE.finditer(buffer)), default=0)


@given(st.lists(PARTS, max_size=8), st.lists(PARTS, max_size=8))
def test_a_block_ends_where_the_last_event_ends(first: list[bytes], second: list[bytes]) -> None:
    ledger = Ledger()
    for data in (b"".join(first), b"".join(second)):
        body = bytes(ledger.rest) + data
        block = ledger.push(data)
        end = max(0, sse.end_of_last_event(body))
        assert (block, bytes(ledger.rest)) == (body[:end], body[end:])
        assert end == end_in(body) or b"\r" in body
        if block:
            assert (ledger.block, ledger.consumed, ledger.searched, ledger.coming) == (block, 0, 0, b"")


@given(st.lists(PARTS, max_size=20), st.integers(1, 40) | st.integers(1000, 3000))
def test_every_byte_is_in_a_block_or_in_the_rest(parts: list[bytes], size: int) -> None:
    body = b"".join(parts)[: size * 200]
    ledger = Ledger()
    blocks = [ledger.push(piece) for piece in cut(body, size)]
    assert b"".join(blocks) + bytes(ledger.rest) == body
    assert all(BLANK_LINE.search(block) for block in blocks if block)


@pytest.mark.parametrize("run", range(2, 9))
def test_of_a_run_of_line_feeds_the_odd_one_belongs_to_the_next_event_here_too(run: int) -> None:
    ledger = Ledger()
    data = b"data: {}" + b"\n" * run
    assert len(ledger.push(data)) == len(data) - run % 2


def test_a_long_event_in_small_pieces_is_searched_only_where_a_line_ends() -> None:
    ledger = Ledger()
    for _ in range(200):
        assert ledger.push(b"y" * 100) == b""
    assert ledger.searched == len(ledger.rest) - 3
    assert ledger.push(b"}\n") == b""
    assert ledger.push(b"\ndata") == b"y" * 20_000 + b"}\n\n"
    assert ledger.rest == b"data"
