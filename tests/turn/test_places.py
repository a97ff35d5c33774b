"""The places of one answer, and the ids of one call, without a byte of a protocol."""

from __future__ import annotations

from toolcalls.turn.assembled_call import AssembledCall
from toolcalls.turn.calls_at_index import CallsByIndex, refuse


def call(arguments: str) -> AssembledCall:
    return AssembledCall(fragments=[arguments])


def test_a_place_is_a_new_one_when_each_call_that_began_there_has_ended() -> None:
    places: CallsByIndex[AssembledCall] = CallsByIndex()
    first, second = call("{"), call("{}")
    places.begin(0, first)
    places.end(0)
    places.begin(0, second)
    assert places.at(0).calls == places.without_index.calls == [second]
    assert not first.all_or_none and not second.all_or_none


def test_a_call_that_begins_beside_one_that_has_not_ended_shares_its_place() -> None:
    places: CallsByIndex[AssembledCall] = CallsByIndex()
    first, second, other = call("{"), call("{}"), call("{}")
    places.begin(0, first)
    places.begin(1, other)
    places.begin(0, second)
    assert places.at(0).calls == [first, second]
    assert places.without_index.calls == [first, other, second]
    assert first.all_or_none and second.all_or_none and not other.all_or_none
    for place in places.all:
        place.judge(complete=True)
    assert first.refusal_reason and second.refusal_reason and not other.refusal_reason


def test_an_id_comes_back_only_where_another_took_its_place() -> None:
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
