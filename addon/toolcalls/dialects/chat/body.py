"""Mending a Chat answer that arrived as one JSON document."""

from __future__ import annotations

from typing import Any

from ...mend.arguments import Finish
from ...mend.mender import Mender
from ...policy import Policy
from ...request.request import Request
from ...turn import payload
from ...turn.fragment_answer import FragmentAnswer
from ...turn.parts import Fragment, OtherDelta, Part, ReadEvent, ReasoningDelta, Stop, TextDelta
from ...turn.whole_answer import mend_answer
from ...wire.events import MOST_CALLS, LimitReached
from ...work import ANSWER
from .leaked_reasoning import split_message
from .reader import (
    FOREIGN_REASONS,
    TRAITS,
    Json,
    finish_of,
    fragments_of,
    has_content,
    odd_content,
    odd_reasoning,
    reasoning_in,
)
from .writer import LEGACY_WORDS, WORDS, written_call


def mend_body(body: bytes, request: Request, policy: Policy, mender: Mender) -> bytes:
    """Mend the calls of every choice; the same bytes if nothing changes."""
    answer = payload.object_in(body)
    if answer is None or not isinstance(answer.get("choices"), list) or answer.get("error"):
        return body
    if len(answer["choices"]) > MOST_CALLS:
        raise LimitReached
    changed = request.choices == 1 and _merge_choices(answer["choices"])
    for choice in answer["choices"]:
        if isinstance(choice, dict) and isinstance(choice.get("message"), dict):
            mender.work.spend(ANSWER)
            before = payload.write(choice)
            _mend_choice(choice, choice["message"], request, policy, mender)
            changed = changed or before != payload.write(choice)
    return payload.write(answer).encode("utf-8", "backslashreplace") if changed else body


def _merge_choices(choices: list[Any]) -> bool:
    """Give the first choice the calls of the next choice that has some: only one choice was requested.

    If the first choice has calls itself, those of the others are other answers and stay there. So do the calls of
    any further choice.
    """
    first = choices[0].get("message") if choices and isinstance(choices[0], dict) else None
    if not isinstance(first, dict):
        return False
    moved: list[Any] = []
    kept: list[Any] = choices[:1]
    if first.get("tool_calls") or first.get("function_call"):
        return False
    for other in choices[1:]:
        message = other.get("message") if isinstance(other, dict) else None
        if isinstance(message, dict) and message.get("tool_calls") and not moved:
            calls = message.pop("tool_calls")
            moved += calls if isinstance(calls, list) else [calls]
            if not has_content(message):
                continue
        kept.append(other)
    choices[:] = kept
    if moved:
        first["tool_calls"] = moved
    return bool(moved)


def _mend_choice(choice: Json, message: Json, request: Request, policy: Policy, mender: Mender) -> None:
    """Mend one choice in place."""
    if policy.think:
        split_message(message)
    reason = choice.get("finish_reason")
    if isinstance(reason, str) and reason in FOREIGN_REASONS:
        choice["finish_reason"] = FOREIGN_REASONS[reason]
    fragments = fragments_of(message)
    legacy = bool(fragments) and not message.get("tool_calls") and request.legacy_functions
    read = _read(choice, message, fragments)
    words = LEGACY_WORDS if legacy else WORDS
    mended = mend_answer(read, FragmentAnswer(request, policy, mender, TRAITS), words, rewrite=bool(fragments))
    if mended is None:
        return
    if mended.texts and (mended.found or not fragments):
        message["content"] = mended.texts[0]
    if not (mended.found or fragments or (read.stop is not None and words.needs_calls(read.stop.reason))):
        return
    choice["finish_reason"] = mended.reason or words.stop
    calls = [written_call(call.outcome, call.outcome.arguments, call.extra) for call in mended.calls]
    if legacy and calls:
        message["function_call"] = calls[0]["function"]
    elif calls:
        message["tool_calls"] = _in_their_order(message.get("tool_calls"), calls)
        message.pop("function_call", None)
    else:
        message.pop("tool_calls", None)
        message.pop("function_call", None)
        message["content"] = message.get("content") or "\n".join(mended.notes) or None
    if calls and (policy.null_content or not message.get("content")):
        message["content"] = None


def _read(choice: Json, message: Json, fragments: list[Fragment]) -> ReadEvent:
    """The parts of a whole message. Text with citations, audio or a refusal is not searched for calls."""
    parts: list[Part] = []
    if reasoning := reasoning_in(message):
        parts += [ReasoningDelta(reasoning), *odd_reasoning(message)]
    content, refusal = message.get("content"), bool(message.get("refusal"))
    if refusal or message.get("annotations") or message.get("audio"):
        parts.append(OtherDelta(refusal))
    elif not isinstance(content, str):
        parts += odd_content(message)
    elif content:
        parts.append(TextDelta(content))
    reason = choice.get("finish_reason")
    finish = Finish.CUT if refusal else finish_of(choice)
    return ReadEvent(b"", choice, [*parts, *fragments, Stop(reason if isinstance(reason, str) else "", finish)])


def _in_their_order(originals: Any, calls: list[Json]) -> list[Json]:
    """The calls, with the original objects for those that did not change, so that a valid body stays identical."""
    if not isinstance(originals, list) or len(originals) != len(calls):
        return calls
    return [original if _same(original, call) else call for original, call in zip(originals, calls, strict=True)]


def _same(original: Any, call: Json) -> bool:
    """Whether the original call equals the one to send, apart from key order and extra keys."""
    return isinstance(original, dict) and all(original.get(key) == value for key, value in call.items())
