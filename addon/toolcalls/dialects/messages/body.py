"""A Messages answer that came as one JSON document."""

from __future__ import annotations

from typing import Any

from ...calls import Outcome
from ...mend.call import Mender
from ...mend.finish import Finish
from ...policy import Policy
from ...request.request import Request
from ...turn import payload
from ...turn.block_answer import BlockAnswer
from ...turn.block_call import BlockCall
from ...turn.text_search import SearchResult
from .reader import call_start
from .wire import NO_USAGE, TEXT, TOOL_USE, WORDS, Json, tool_use


def mend_body(body: bytes, request: Request, policy: Policy, mender: Mender) -> bytes:
    """Mend the calls, the stop reason and missing usage; the same bytes when nothing changes."""
    answer = payload.read_strict(body)
    if not isinstance(answer, dict) or not isinstance(answer.get("content"), list) or answer.get("error"):
        return body
    if answer.get("type") != "message" and "stop_reason" not in answer:
        # Other protocols have messages with content too.
        return body
    state = BlockAnswer(request, policy, mender)
    changes = _mended(answer, _search(answer, state), state)
    if not changes:
        return body
    return payload.write({**answer, **changes}).encode("utf-8", "backslashreplace")


def _search(answer: Json, state: BlockAnswer) -> dict[int, SearchResult]:
    """The text blocks with calls in them, by their places: the last that says something, if only calls follow it."""
    if not state.searches:
        return {}
    said = [
        (number, block)
        for number, block in enumerate(answer["content"])
        if isinstance(block, dict) and block.get("type") != TOOL_USE and not _is_blank(block)
    ]
    number, block = said[-1] if said else (0, {})
    if block.get("type") != "text" or block.get("citations"):
        return {}
    for _, other in said[:-1]:
        if other.get("type") == TEXT:
            state.say_in(None, other[TEXT], None)
            state.pass_text_on()
    found = state.search_in(number, block[TEXT], Finish.of(answer.get("stop_reason")))
    return {number: found} if found.calls else {}


def _is_blank(block: Json) -> bool:
    """Is this a text block that says nothing?"""
    text = block.get("text")
    return block.get("type") == "text" and (not isinstance(text, str) or not text.strip())


def _mended(answer: Json, found: dict[int, SearchResult], state: BlockAnswer) -> Json:
    """What has to be said differently. Structured calls first: one that repeats a text wins."""
    reason = answer.get("stop_reason")
    blocks = answer["content"]
    content: dict[int, list[Any]] = {number: [block] for number, block in enumerate(blocks)}
    kinds = [block.get("type") if isinstance(block, dict) else None for block in blocks]
    calls = {
        number: _call(blocks[number], last=number == len(blocks) - 1)
        for number, kind in enumerate(kinds)
        if kind == TOOL_USE
    }
    finish = Finish.of(reason)
    outcomes = {id(call.slot): call.outcome for call in state.leave(list(calls.values()), finish)}
    for number, call in calls.items():
        outcome = outcomes.get(id(call))
        content[number] = [] if outcome is None or outcome.dropped else [_written(call, outcome)]
    for number, said in found.items():
        content[number] = [{**blocks[number], "text": piece.text} for piece in said.pieces if piece.text.strip()]
        for outcome in state.turn.complete_found():
            if not outcome.dropped:
                value = payload.read_strict(outcome.arguments)
                content[number].append(tool_use({}, outcome.id, outcome.name, value))
    written = [block for kept in content.values() for block in kept]
    written += [{"type": "text", "text": note} for note in state.turn.take_notes()]
    changes: Json = {}
    if len(written) != len(blocks) or any(new is not old for new, old in zip(written, blocks, strict=True)):
        changes["content"] = written
    other_tools = any(isinstance(kind, str) and kind != TOOL_USE and kind.endswith(TOOL_USE) for kind in kinds)
    truth = WORDS.true_reason(reason, calls=state.turn.sent > 0, other_tools=other_tools)
    if truth != reason:
        changes["stop_reason"] = truth
    if not isinstance(answer.get("usage"), dict):
        changes["usage"] = NO_USAGE
    return changes


def _call(block: Json, *, last: bool) -> BlockCall:
    """The call that a block tells. The whole input is here, so that a string stands for the deltas of a stream."""
    call = BlockCall.of_start(call_start(block, None))
    call.ended, call.followed = True, not last
    given = block.get("input")
    if given is not None and given != {}:
        call.add(payload.text_of(given))
    if isinstance(given, str):
        call.steps = ("input as a string",)
    return call


def _written(call: BlockCall, outcome: Outcome) -> Json:
    """The block as it goes out: the very same one when it needs no change."""
    block = call.extra
    given = block.get("input")
    value = payload.read_strict(outcome.arguments)
    if not isinstance(value, dict):
        value = given
    same = outcome.id == block.get("id") and outcome.name == block.get("name")
    if same and "input" in block and value == given and payload.write(value) == payload.write(given):
        return block
    return tool_use(block, outcome.id, outcome.name, value)
