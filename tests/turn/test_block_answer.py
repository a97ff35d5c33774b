"""Calls that begin and end with events of their own, without a byte of a protocol."""

from __future__ import annotations

from typing import Any

import pytest

from toolcalls.ids import Ids
from toolcalls.mend.finish import Finish
from toolcalls.mend.mender import Mender
from toolcalls.policy import Policy
from toolcalls.request.request import Request, read_request
from toolcalls.turn.answer import CompletedCall
from toolcalls.turn.block_answer import BlockAnswer
from toolcalls.turn.parts import CallStart, Fragment

READ = {"name": "Read", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}
REQUEST: Request = read_request({"model": "m", "tools": [READ], "messages": []})


@pytest.fixture
def answer() -> BlockAnswer:
    policy = Policy()
    return BlockAnswer(REQUEST, policy, Mender(REQUEST.tools, policy, Ids("seed")))


def begin(answer: BlockAnswer, index: int, identity: str = "t1", given: Any = None) -> None:
    answer.assembler.begin(CallStart(index, identity, "Read", {} if given is None else given))


def add(answer: BlockAnswer, index: int, arguments: str, *, has_index: bool = True) -> None:
    answer.assembler.add(Fragment(index, "", "", arguments, has_index=has_index))


def complete_calls(answer: BlockAnswer) -> list[CompletedCall]:
    return [call for ready in answer.pop_ready() for call in answer.complete_calls([ready], Finish.COMPLETE)]


def test_a_valid_call_may_leave_at_its_own_end(answer):
    begin(answer, 0)
    add(answer, 0, '{"path":')
    add(answer, 0, '"a"}')
    assert complete_calls(answer) == []
    answer.assembler.end(0)
    [call] = complete_calls(answer)
    assert (call.outcome.status, call.outcome.arguments) == ("valid", '{"path":"a"}')


def test_a_broken_call_waits_for_the_finish_and_so_does_the_one_behind_it(answer):
    begin(answer, 0)
    add(answer, 0, '{"path":"a"')
    answer.assembler.end(0)
    begin(answer, 1, "t2")
    add(answer, 1, '{"path":"b"}')
    answer.assembler.end(1)
    assert complete_calls(answer) == []
    first, second = answer.complete(Finish.COMPLETE)
    assert (first.outcome.status, first.outcome.arguments) == ("repaired", '{"path":"a"}')
    assert (second.outcome.status, second.outcome.arguments) == ("valid", '{"path":"b"}')


def test_a_call_cut_off_with_the_answer_is_refused(answer):
    begin(answer, 0)
    add(answer, 0, '{"path":"a')
    [call] = answer.complete(Finish.CUT)
    assert call.outcome.status == "refused"
    assert answer.incomplete


def test_two_calls_that_are_open_at_one_index_count_all_or_none(answer):
    begin(answer, 0)
    begin(answer, 0, "t2")
    add(answer, 0, '{"path":"a"}')
    assert [call.outcome.status for call in answer.complete(Finish.COMPLETE)] == ["refused", "refused"]


def test_an_index_that_is_used_again_behind_an_end_is_another_call(answer):
    for identity, path in (("t1", "a"), ("t2", "b")):
        begin(answer, 0, identity)
        add(answer, 0, f'{{"path":"{path}"}}')
        answer.assembler.end(0)
    assert [call.outcome.arguments for call in complete_calls(answer)] == ['{"path":"a"}', '{"path":"b"}']


def test_arguments_of_the_beginning_count_where_no_fragment_comes(answer):
    begin(answer, 0, given={"path": "a"})
    answer.assembler.end(0)
    [call] = complete_calls(answer)
    assert call.outcome.arguments == '{"path":"a"}'
    assert "input from the start event" in call.outcome.steps


def test_a_beginning_and_fragments_that_contradict_each_other_are_refused(answer):
    begin(answer, 0, given={"path": "a"})
    add(answer, 0, '{"path":"b"}')
    answer.assembler.end(0)
    assert complete_calls(answer) == []
    [call] = answer.complete(Finish.COMPLETE)
    assert call.outcome.status == "refused"


def test_fragments_without_any_beginning_make_every_call_doubtful(answer):
    begin(answer, 0)
    add(answer, 0, '{"path":"a"}')
    add(answer, 7, '{"path":"b"}')
    assert {call.outcome.status for call in answer.complete(Finish.COMPLETE)} == {"refused"}


def test_a_call_that_went_out_takes_no_more_fragments(answer):
    begin(answer, 0)
    add(answer, 0, '{"path":"a"}')
    answer.assembler.end(0)
    assert len(complete_calls(answer)) == 1
    assert answer.assembler.add(Fragment(0, "", "", '{"path":"b"}')) is None
