"""A Messages answer that came as one JSON document."""

from __future__ import annotations

from typing import Any

from ...calls import Outcome
from ...mend.arguments import Finish
from ...mend.call import Mender
from ...policy import Policy
from ...request.request import Request
from .. import payload
from ..resent import Resent
from ..text_search import SearchResult, TextPiece, mend_found, repeated, search, searches
from .calls import NO_USAGE, TOOL_USE, Json, ToolUse, mend_call, named_block, true_reason


def mend_body(body: bytes, request: Request, policy: Policy, mender: Mender) -> bytes:
    """Mend the calls, the stop reason and missing usage; the same bytes when nothing changes."""
    answer = payload.read_strict(body)
    if not isinstance(answer, dict) or not isinstance(answer.get("content"), list) or answer.get("error"):
        return body
    if answer.get("type") != "message" and "stop_reason" not in answer:
        # Other protocols have messages with content too.
        return body
    changes = _mended(answer, _search(answer, request, policy), mender, Resent(request.tools))
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


def _mended(answer: Json, found: dict[int, SearchResult], mender: Mender, resent: Resent) -> Json:
    """What has to be said differently. Structured calls first: one that repeats a text wins."""
    reason = answer.get("stop_reason")
    mended: dict[int, list[Any]] = {}
    told: list[Outcome] = []
    notes: list[str] = []
    other_tools = False
    blocks = answer["content"]
    calls: dict[int, ToolUse] = {}
    for number, block in enumerate(blocks):
        kind = block.get("type") if isinstance(block, dict) else None
        other_tools = other_tools or (isinstance(kind, str) and kind != TOOL_USE and kind.endswith(TOOL_USE))
        if kind == TOOL_USE:
            calls[number] = _call(block, last=number == len(blocks) - 1)
    kept = resent.once(call.told for call in calls.values())
    for (number, call), once in zip(calls.items(), kept, strict=True):
        written, outcome = _mend_block(call, mender, reason) if once else (None, None)
        mended[number] = [] if written is None else [written]
        if outcome is not None:
            told.append(outcome)
            notes += [outcome.note] if outcome.dropped else []
    sent = sum(map(len, mended.values()))
    for number, said in found.items():
        mended[number] = []
        for part in said.parts:
            if isinstance(part, TextPiece):
                mended[number] += [{**blocks[number], "text": part.text}] if part.text.strip() else []
            elif not repeated(part.name, part.arguments, told):
                outcome = mend_found(part, mender, legal=True)
                if outcome.dropped:
                    notes.append(outcome.note)
                    continue
                value = payload.read_strict(outcome.arguments)
                mended[number].append(named_block({}, outcome.id, outcome.name, value))
                sent += 1
    content = [new for number, block in enumerate(blocks) for new in mended.get(number, [block])]
    if not sent:
        content += [{"type": "text", "text": note} for note in notes if note]
    changes: Json = {}
    if len(content) != len(answer["content"]) or any(
        new is not old for new, old in zip(content, answer["content"], strict=True)
    ):
        changes["content"] = content
    truth = true_reason(reason, calls=sent > 0, other_tools=other_tools)
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


def _mend_block(call: ToolUse, mender: Mender, reason: Any) -> tuple[Json | None, Outcome | None]:
    """The block as it goes out, the very same one when it needs no change; None when it is dropped."""
    block = call.block
    given = block.get("input")
    if call.empty and given is None:
        return None, None
    steps = ("input as a string",) if isinstance(given, str) else ()
    outcome = mend_call(call, mender, Finish.of(reason if isinstance(reason, str) else None), steps=steps)
    if outcome.dropped:
        return None, outcome
    value = payload.read_strict(outcome.arguments)
    if not isinstance(value, dict):
        value = given
    same = outcome.id == block.get("id") and outcome.name == block.get("name")
    if same and "input" in block and value == given and payload.write(value) == payload.write(given):
        return block, outcome
    return named_block(block, outcome.id, outcome.name, value), outcome


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
