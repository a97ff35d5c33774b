"""The parts of Chat that its streamed and its whole answers share: fragments in, calls out."""

from __future__ import annotations

from typing import Any

from ...calls import Outcome
from ...mend.arguments import Finish
from ...turn import payload
from ...turn.assembled_call import Fragment, index_of
from ...turn.finish import FinishWords

Json = dict[str, Any]

WORDS = FinishWords("tool_calls", "stop", frozenset({"other", "unknown"}))
LEGACY_WORDS = FinishWords("function_call", "stop", frozenset({"other", "unknown"}))

FOREIGN_REASONS = {"sensitive": "content_filter", "model_context_window_exceeded": "length"}
"""What api.z.ai and open.bigmodel.cn say where OpenAI has a word for it."""
FAILURES = frozenset({"network_error"})
"""Finish reasons of the same endpoints that are no end of an answer but a failure of the server."""


def finish_of(choice: Json) -> Finish:
    """How a choice ended, by its finish reason and by the one that a router kept of its upstream."""
    native = choice.get("native_finish_reason")
    cut = Finish.of(native) is Finish.CUT
    return Finish.CUT if cut else Finish.of(choice.get("finish_reason"))


def true_reason(reason: str | None, *, calls: bool, legacy: bool) -> str:
    """The finish reason that fits the calls that really went out."""
    return str((LEGACY_WORDS if legacy else WORDS).true_reason(reason, calls=calls) or "stop")


def calls_in(delta: Json) -> bool:
    return bool(delta.get("tool_calls") or delta.get("function_call"))


def said_in(choice: Json) -> tuple[Json, list[Fragment], bool]:
    """What a choice says: its delta, the fragments of calls in it, and whether they came in the old form.

    Some servers put a whole `message` into the last chunk, in the place of a delta or beside an empty one. Its calls
    are whole, and most often the ones that the deltas told.
    """
    delta, message = choice.get("delta"), choice.get("message")
    told = message if isinstance(message, dict) else {}
    if isinstance(delta, dict) and (calls_in(delta) or not calls_in(told)):
        return delta, *fragments_of(delta)
    calls = {key: told[key] for key in _CALLS if told.get(key)}
    fragments, legacy = fragments_of(calls)
    for fragment in fragments:
        fragment.whole = True
    return {**delta, **calls} if isinstance(delta, dict) else told, fragments, legacy


_CALLS = ("tool_calls", "function_call")


def fragments_of(delta: Json) -> tuple[list[Fragment], bool]:
    """The fragments of calls in a delta or a message; True when they came in the old `function_call` form."""
    calls = delta.get("tool_calls")
    if calls:
        entries = calls if isinstance(calls, list) else [calls]
        return [_fragment(entry) for entry in entries if isinstance(entry, dict)], False
    old = delta.get("function_call")
    if isinstance(old, dict):
        return [_fragment({"function": old})], True
    return [], False


def _fragment(entry: Json) -> Fragment:
    function = entry.get("function")
    body = function if isinstance(function, dict) else entry
    identity, name = entry.get("id"), body.get("name")
    extra: Json = {}
    if body is not entry and not entry.keys() <= _KNOWN:
        extra = {key: value for key, value in entry.items() if key not in _KNOWN and value is not None}
    return Fragment(
        index_of(entry.get("index")),
        identity if isinstance(identity, str) else "",
        name if isinstance(name, str) else "",
        payload.text_of(body.get("arguments")),
        extra,
    )


_KNOWN = frozenset({"index", "id", "type", "function"})


def written_call(outcome: Outcome, arguments: str, extra: Json) -> Json:
    function = {"name": outcome.name, "arguments": arguments}
    return {"id": outcome.id, "type": "function", "function": function, **extra}


def says_something(delta: Json) -> bool:
    return any(value for key, value in delta.items() if key not in ("role", "index", "type"))


_REASONING = ("reasoning_content", "reasoning", "thinking")
"""Where a delta or a message has its reasoning as text; servers that use two of them say the same in both."""
_DETAILS = "reasoning_details"
REASONING_KEYS = (*_REASONING, _DETAILS)
_OTHER_WORDS = ("refusal", "audio", "annotations")
"""Where a delta or a message says something that is neither its text nor its reasoning."""


def reasoning_in(said: Json) -> str | None:
    """The reasoning of a delta or a message, "" where it has no text; None where there is none."""
    words = [said.get(key) for key in _REASONING]
    text = next((word for word in words if word and isinstance(word, str)), "")
    if text or any(words):
        return text
    details = said.get(_DETAILS)
    if not details:
        return None
    entries = details if isinstance(details, list) else []
    texts = (entry.get("text") or entry.get("summary") for entry in entries if isinstance(entry, dict))
    return "".join(word for word in texts if isinstance(word, str))


def says_otherwise(said: Json) -> bool:
    """Is something said besides the text and the reasoning, or in another form: a refusal, citations?"""
    words = (said.get(key) for key in _OTHER_WORDS)
    if any(word.strip() if isinstance(word, str) else word for word in words):
        return True
    return bool(said.get("content")) and not isinstance(said["content"], str)
