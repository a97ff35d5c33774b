"""A Chat answer that came as one JSON document."""

from __future__ import annotations

from typing import Any

from ...mend.arguments import Finish
from ...mend.call import Mender
from ...policy import Policy
from ...request.request import Request
from ...turn import payload
from ...turn.answer import Answer
from ...turn.assembled_call import Slot
from ...turn.finish import NEEDS_CALLS
from .reader import FOREIGN_REASONS, Json, finish_of, fragments_of, reasoning_in, says_something
from .think import split_message
from .writer import LEGACY_WORDS, WORDS, written_call


def mend_body(body: bytes, request: Request, policy: Policy, mender: Mender) -> bytes:
    """Mend the calls of every choice; the same bytes when nothing changes."""
    answer = payload.read_strict(body)
    if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list) or answer.get("error"):
        return body
    changed = request.choices == 1 and _merge_choices(answer["choices"])
    for choice in answer["choices"]:
        if isinstance(choice, dict) and isinstance(choice.get("message"), dict):
            before = payload.write(choice)
            _mend_choice(choice, choice["message"], request, policy, mender)
            changed = changed or before != payload.write(choice)
    return payload.write(answer).encode("utf-8", "backslashreplace") if changed else body


def _merge_choices(choices: list[Any]) -> bool:
    """One choice was asked for, text in the first, calls in another: the calls belong to the first."""
    first = choices[0].get("message") if choices and isinstance(choices[0], dict) else None
    if not isinstance(first, dict):
        return False
    moved: list[Any] = []
    for other in choices[1:]:
        message = other.get("message") if isinstance(other, dict) else None
        if isinstance(message, dict) and message.get("tool_calls"):
            calls = message.pop("tool_calls")
            moved += calls if isinstance(calls, list) else [calls]
            if not says_something(message):
                choices.remove(other)
    if moved:
        own = first.get("tool_calls")
        first["tool_calls"] = [*(own if isinstance(own, list) else []), *moved]
    return bool(moved)


def _mend_choice(choice: Json, message: Json, request: Request, policy: Policy, mender: Mender) -> None:
    fragments, legacy = fragments_of(message)
    if policy.think:
        split_message(message)
    reason = choice.get("finish_reason")
    reason = reason if isinstance(reason, str) else None
    if reason in FOREIGN_REASONS:
        reason = choice["finish_reason"] = FOREIGN_REASONS[reason]
    finish = Finish.CUT if message.get("refusal") else finish_of(choice)
    slots = [
        Slot(
            fragment.id,
            [fragment.name] if fragment.name else [],
            [fragment.arguments],
            fragment.extra,
            key=fragment.id,
        )
        for fragment in fragments
        if not fragment.empty
    ]
    answer = Answer(request, policy, mender)
    content = message.get("content")
    cited = message.get("refusal") or message.get("annotations")
    thought = "" if fragments else reasoning_in(message) or ""
    text = content or ""
    said = answer.search_whole(text, finish, thought) if isinstance(text, str) and not cited else None
    found = answer.turn.has_found
    if said is not None and said.text != text and not found and not fragments:
        message["content"] = said.text
    if not found and not fragments and reason not in NEEDS_CALLS:
        return
    calls = [
        written_call(call.outcome, call.outcome.arguments, call.extra)
        for call in answer.complete_whole(slots, finish)
        if not call.outcome.dropped
    ]
    legacy = legacy and request.legacy_functions
    choice["finish_reason"] = (LEGACY_WORDS if legacy else WORDS).true_reason(reason, calls=bool(calls)) or "stop"
    if found and said is not None:
        message["content"] = said.text
    if legacy and calls:
        message["function_call"] = calls[0]["function"]
    elif calls:
        message["tool_calls"] = _in_their_order(message.get("tool_calls"), calls)
        message.pop("function_call", None)
    else:
        message.pop("tool_calls", None)
        message.pop("function_call", None)
        message["content"] = message.get("content") or "\n".join(answer.turn.take_notes()) or None
    if calls and (policy.null_content or not message.get("content")):
        message["content"] = None


def _in_their_order(originals: Any, calls: list[Json]) -> list[Json]:
    """A call that needs no change keeps its own keys and their order, so that a valid body stays as it is."""
    if not isinstance(originals, list) or len(originals) != len(calls):
        return calls
    return [original if _same(original, call) else call for original, call in zip(originals, calls, strict=True)]


def _same(original: Any, call: Json) -> bool:
    """Is the call that came the one that goes out, but for the order and the extra keys?"""
    return isinstance(original, dict) and all(original.get(key) == value for key, value in call.items())
