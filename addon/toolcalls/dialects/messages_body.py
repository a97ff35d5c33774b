"""A Messages answer that came as one JSON document."""

from __future__ import annotations

from typing import Any

from ..mend.arguments import Finish
from ..mend.call import Mender
from . import payload
from .messages_calls import NO_USAGE, TOOL_USE, Call, Json, mend_call, named_block, true_reason


def mend_body(body: bytes, mender: Mender) -> bytes:
    """Mend the calls, the stop reason and missing usage; the same bytes when nothing changes."""
    answer = payload.read_strict(body)
    if not isinstance(answer, dict) or not isinstance(answer.get("content"), list) or answer.get("error"):
        return body
    if answer.get("type") != "message" and "stop_reason" not in answer:
        # Other protocols have messages with content too.
        return body
    changes = _mended(answer, mender)
    if not changes:
        return body
    return payload.write({**answer, **changes}).encode("utf-8", "backslashreplace")


def _mended(answer: Json, mender: Mender) -> Json:
    """What has to be said differently."""
    reason = answer.get("stop_reason")
    content, sent, other_tools, notes = [], 0, False, []
    for number, block in enumerate(answer["content"]):
        kind = block.get("type") if isinstance(block, dict) else None
        other_tools = other_tools or (isinstance(kind, str) and kind != TOOL_USE and kind.endswith(TOOL_USE))
        if kind != TOOL_USE:
            content.append(block)
            continue
        mended, note = _mend_block(block, mender, reason, last=number == len(answer["content"]) - 1)
        if mended is None:
            notes.append(note)
        else:
            content.append(mended)
            sent += 1
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


def _mend_block(block: Json, mender: Mender, reason: Any, *, last: bool) -> tuple[Json | None, str]:
    """The block as it goes out, the very same one when it needs no change; None and a note when it is dropped."""
    call = Call(id=_text(block.get("id")), block=block, closed=True, followed=not last)
    if _text(block.get("name")):
        call.names.append(block["name"])
    given = block.get("input")
    if isinstance(given, str):
        # The whole input is here, so that a string stands for the deltas of a stream.
        call.add(given)
    elif given is not None and given != {}:
        call.add(payload.write(given))
    if call.empty and given is None:
        return None, ""
    steps = ("input as a string",) if isinstance(given, str) else ()
    outcome = mend_call(call, mender, Finish.of(reason if isinstance(reason, str) else None), steps=steps)
    if outcome.dropped:
        return None, outcome.note
    value = payload.read_strict(outcome.arguments)
    if not isinstance(value, dict):
        value = given
    same = outcome.id == block.get("id") and outcome.name == block.get("name")
    if same and "input" in block and value == given and payload.write(value) == payload.write(given):
        return block, ""
    return named_block(block, outcome.id, outcome.name, value), ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
