"""Mending a Messages answer that arrived as one JSON document: blocks → parts → mended blocks."""

from __future__ import annotations

from typing import Any

from ...mend.finish import Finish
from ...mend.mender import Mender
from ...policy import Policy
from ...request.request import Request
from ...turn import payload
from ...turn.answer import CompletedCall
from ...turn.block_answer import BlockAnswer
from ...turn.parts import (
    BlockStart,
    Fragment,
    OtherDelta,
    Part,
    ReadEvent,
    ReasoningDelta,
    Stop,
    TextDelta,
    shown_text,
    string_of,
)
from ...turn.whole_answer import MendedAnswer, mend_answer
from .reader import call_start
from .wire import NO_USAGE, TEXT, THINKING, TOOL_USE, WORDS, Json, tool_use


def mend_body(body: bytes, request: Request, policy: Policy, mender: Mender) -> bytes:
    """Mend the calls, the stop reason and missing usage; the same bytes if nothing changes."""
    message = payload.object_in(body)
    if message is None or not isinstance(message.get("content"), list) or message.get("error"):
        return body
    if message.get("type") != "message" and "stop_reason" not in message:
        # Other protocols have messages with content too.
        return body
    for block in message["content"]:
        request.read_by_model.add_results(block)
    read = _read(body, message)
    mended = mend_answer(read, BlockAnswer(request, policy, mender), WORDS)
    changes = _changes(read, mended) if mended is not None else {}
    if not isinstance(message.get("usage"), dict):
        changes["usage"] = NO_USAGE
    if not changes:
        return body
    return payload.write({**message, **changes}).encode("utf-8", "backslashreplace")


_REASONING = (THINKING, "redacted_thinking")


def _read(body: bytes, message: Json) -> ReadEvent:
    """The parts of a whole message."""
    parts: list[Part] = []
    for number, block in enumerate(message["content"]):
        parts += _parts(number, block)
    reason = message.get("stop_reason")
    if isinstance(reason, str | None):
        parts.append(Stop(reason or "", Finish.of(reason)))
    return ReadEvent(body, message, parts)


def _parts(number: int, block: Any) -> list[Part]:
    """The parts of a block. `number`: its index in the message."""
    kind = string_of(block.get("type")) if isinstance(block, dict) else ""
    if kind == TOOL_USE:
        # The whole input is here, so a string is treated like the joined deltas of a stream.
        given = block.get("input")
        steps = ("input as a string",) if isinstance(given, str) else ()
        whole = (
            [] if given is None or given == {} else [Fragment(number, "", "", payload.text_of(given), steps=steps)]
        )
        return [call_start(block, number), *whole]
    parts: list[Part] = [BlockStart(number, kind, calls=kind.endswith(TOOL_USE))]
    if kind in _REASONING:
        return [*parts, ReasoningDelta(string_of(block.get(THINKING)))]
    if not isinstance(block, dict):
        return [*parts, OtherDelta(shown=shown_text(block))] if block else parts
    shown = shown_text(block.get(TEXT))
    if kind != TEXT or shown is None:
        return [*parts, OtherDelta(shown=shown)]
    if shown.strip():
        parts.append(OtherDelta(shown=shown) if block.get("citations") else TextDelta(shown, number))
    return parts


def _changes(read: ReadEvent, mended: MendedAnswer) -> Json:
    """The fields of the message that change."""
    blocks = read.payload["content"]
    searched = [part.block for part in read.parts if isinstance(part, TextDelta)]
    texts = dict(zip(searched, mended.texts, strict=True))
    calls = {call.assembled.index: call for call in mended.calls if call.assembled is not None}
    written: list[Any] = []
    for number, block in enumerate(blocks):
        if isinstance(block, dict) and block.get("type") == TOOL_USE:
            written += [_written(calls[number])] if number in calls else []
        elif number not in texts or texts[number] == block[TEXT]:
            written.append(block)
        elif texts[number].strip():
            written.append({**block, TEXT: texts[number]})
        if searched and number == searched[-1]:
            written += [_written(call) for call in mended.calls if call.assembled is None]
    if not searched:
        written += [_written(call) for call in mended.calls if call.assembled is None]
    written += [{"type": TEXT, TEXT: note} for note in mended.notes]
    changes: Json = {}
    if len(written) != len(blocks) or any(new is not old for new, old in zip(written, blocks, strict=True)):
        changes["content"] = written
    if mended.reason and mended.reason != read.payload.get("stop_reason"):
        changes["stop_reason"] = mended.reason
    return changes


def _written(call: CompletedCall) -> Json:
    """A call as a block: the same object if it needs no change."""
    block, outcome = call.extra, call.outcome
    given = block.get("input")
    value = payload.read_strict(outcome.arguments)
    if not isinstance(value, dict):
        value = given
    same = outcome.id == block.get("id") and outcome.name == block.get("name")
    if same and "input" in block and value == given and payload.write(value) == payload.write(given):
        return block
    return tool_use(block, outcome.id, outcome.name, value)
