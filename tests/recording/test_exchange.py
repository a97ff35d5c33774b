"""The bodies of an exchange: what arrived and what was sent."""

from __future__ import annotations

from toolcalls.recording.record import MAX_KEPT, Captured, Exchange


def filled(*steps: tuple[bytes, list[bytes]], limit: int = MAX_KEPT) -> Exchange:
    exchange = Exchange(before=Captured(limit), after=Captured(limit))
    for number, (chunk, out) in enumerate(steps):
        exchange.add(chunk, out, float(number))
    return exchange


def test_what_is_held_was_not_sent() -> None:
    exchange = filled((b"one", [b"one"]), (b"two", []), (b"three", [b"tw"]))
    assert exchange.before.joined() == b"onetwothree"
    assert exchange.after.joined() == b"onetw"
    assert exchange.before.times == [0.0, 1.0, 2.0]


def test_one_chunk_is_one_copy_for_both_bodies_if_they_are_the_same() -> None:
    same, other = filled((b"one", [b"one"]), (b"two", [b"two"])), filled((b"one", [b"1"]), (b"two", [b"two"]))
    body = same.as_one_chunk(same.after)
    assert same.before.chunks[0] is same.after.chunks[0] is body == b"onetwo"
    assert other.as_one_chunk(other.after) == b"1two"
    assert other.before.chunks == [b"one", b"two"]


def test_what_is_sent_at_the_end_is_no_chunk_that_arrived() -> None:
    exchange = filled((b"one", [b"one"]), (b"", [b"end"]))
    assert (exchange.before.chunks, exchange.after.chunks) == ([b"one"], [b"one", b"end"])


def test_each_body_has_a_limit_of_its_own() -> None:
    exchange = filled((b"12345", [b"12345"]), (b"678901", []), (b"", [b"x"]), limit=10)
    assert (exchange.before.joined(), exchange.before.complete) == (b"12345", False)
    assert (exchange.after.joined(), exchange.after.complete) == (b"12345x", True)
