"""The calls of one answer by index, and the ids of one call, without a byte of a protocol."""

from __future__ import annotations

from toolcalls.turn.assembled_call import AssembledCall
from toolcalls.turn.calls_at_index import CallsByIndex, refuse


def call(arguments: str) -> AssembledCall:
    return AssembledCall(fragments=[arguments])


def test_an_index_begins_anew_when_each_call_that_began_there_has_ended() -> None:
    by_index = CallsByIndex()
    first, second = call("{"), call("{}")
    by_index.begin(0, first)
    by_index.end(0)
    by_index.begin(0, second)
    assert by_index.at(0).calls == by_index.without_index.calls == [second]
    assert not first.all_or_none and not second.all_or_none


def test_a_call_that_begins_at_the_index_of_one_that_has_not_ended_shares_its_fate() -> None:
    by_index = CallsByIndex()
    first, second, other = call("{"), call("{}"), call("{}")
    by_index.begin(0, first)
    by_index.begin(1, other)
    by_index.begin(0, second)
    assert by_index.at(0).calls == [first, second]
    assert by_index.without_index.calls == [first, other, second]
    assert first.all_or_none and second.all_or_none and not other.all_or_none
    for at_index in by_index.all:
        at_index.judge(complete=True)
    assert first.refusal_reason and second.refusal_reason and not other.refusal_reason


def test_an_id_returns_only_after_another_one() -> None:
    one = call("{")
    for identity in ("a", "a", "b", "b"):
        assert not one.id_returns(identity)
        one.note_id(identity)
    assert one.id_returns("a")


def test_a_reason_to_refuse_a_call_is_not_overwritten() -> None:
    one = call("{}")
    one.refusal_reason = "another reason"
    refuse([one])
    assert one.refusal_reason == "another reason"
