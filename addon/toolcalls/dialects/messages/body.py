"""A Messages answer that came as one JSON document."""

from __future__ import annotations

from typing import Any

from ...calls import Outcome
from ...mend.arguments import Finish
from ...mend.call import Mender
from ...policy import Policy
from ...request.request import Request
from ...turn import payload
from ...turn.text_search import SearchResult, search, searches
from ...turn.turn import Turn
from .calls import NO_USAGE, TOOL_USE, WORDS, Json, ToolUse, gathered, named_block


def mend_body(body: bytes, request: Request, policy: Policy, mender: Mender) -> bytes:
    """Mend the calls, the stop reason and missing usage; the same bytes when nothing changes."""
    answer = payload.read_strict(body)
    if not isinstance(answer, dict) or not isinstance(answer.get("content"), list) or answer.get("error"):
        return body
    if answer.get("type") != "message" and "stop_reason" not in answer:
        # Other protocols have messages with content too.
        return body
    changes = _mended(answer, _search(answer, request, policy), Turn(request.tools, mender, legal=True))
    if not changes:
        return body
    return payload.write({**answer, **changes}).encode("utf-8", "backslashreplace")


def _search(answer: Json, request: Request, policy: Policy) -> dict[int, SearchResult]:
    """The text blocks with calls in them, by their places: the last that says something, if only calls follow it."""
    if not searches(request, policy):
        return {}
    said = [
        (number, block)
        for number, block in enumerate(answer["content"])
        if isinstance(block, dict) and block.get("type") != TOOL_USE and not _is_blank(block)
    ]
    number, block = said[-1] if said else (0, {})
    if block.get("type") != "text" or block.get("citations"):
        return {}
    reason = answer.get("stop_reason")
    before = [other["text"] for _, other in said[:-1] if other.get("type") == "text"]
    found = search(block["text"], request, policy, Finish.of(reason), before)
    return {number: found} if found.calls else {}


def _is_blank(block: Json) -> bool:
    """Is this a text block that says nothing?"""
    text = block.get("text")
    return block.get("type") == "text" and (not isinstance(text, str) or not text.strip())


def _mended(answer: Json, found: dict[int, SearchResult], turn: Turn) -> Json:
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
    told = [gathered(call, finish, steps=_steps(call)) for call in calls.values()]
    for number, outcome in zip(calls, turn.complete(told, finish), strict=True):
        content[number] = [] if outcome is None or outcome.dropped else [_written(calls[number], outcome)]
    for number, said in found.items():
        turn.found(said.calls)
        content[number] = [{**blocks[number], "text": piece.text} for piece in said.pieces if piece.text.strip()]
        for outcome in turn.complete_found():
            if not outcome.dropped:
                value = payload.read_strict(outcome.arguments)
                content[number].append(named_block({}, outcome.id, outcome.name, value))
    written = [block for kept in content.values() for block in kept]
    written += [{"type": "text", "text": note} for note in turn.take_notes()]
    changes: Json = {}
    if len(written) != len(blocks) or any(new is not old for new, old in zip(written, blocks, strict=True)):
        changes["content"] = written
    other_tools = any(isinstance(kind, str) and kind != TOOL_USE and kind.endswith(TOOL_USE) for kind in kinds)
    truth = WORDS.true_reason(reason, calls=turn.sent > 0, other_tools=other_tools)
    if truth != reason:
        changes["stop_reason"] = truth
    if not isinstance(answer.get("usage"), dict):
        changes["usage"] = NO_USAGE
    return changes


def _call(block: Json, *, last: bool) -> ToolUse:
    """The call that a block tells. The whole input is here, so that a string stands for the deltas of a stream."""
    call = ToolUse(id=_text(block.get("id")), block=block, closed=True, followed=not last)
    if _text(block.get("name")):
        call.names.append(block["name"])
    given = block.get("input")
    if given is not None and given != {}:
        call.add(payload.text_of(given))
    return call


def _steps(call: ToolUse) -> tuple[str, ...]:
    return ("input as a string",) if isinstance(call.block.get("input"), str) else ()


def _written(call: ToolUse, outcome: Outcome) -> Json:
    """The block as it goes out: the very same one when it needs no change."""
    block = call.block
    given = block.get("input")
    value = payload.read_strict(outcome.arguments)
    if not isinstance(value, dict):
        value = given
    same = outcome.id == block.get("id") and outcome.name == block.get("name")
    if same and "input" in block and value == given and payload.write(value) == payload.write(given):
        return block
    return named_block(block, outcome.id, outcome.name, value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
