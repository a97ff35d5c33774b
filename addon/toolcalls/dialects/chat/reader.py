"""Turns a choice of a Chat chunk, or of a whole answer, into parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...mend.finish import Finish
from ...turn import payload
from ...turn.parts import (
    Fragment,
    OtherDelta,
    Part,
    ReadEvent,
    ReasoningDelta,
    Stop,
    TextDelta,
    index_of,
    shown_text,
    string_of,
)
from ..answer_io import ProtocolTraits
from ..listed_content import read_content

Json = dict[str, Any]

TRAITS = ProtocolTraits(end_always_waits=True, text_key="content", arguments_key="arguments")

FOREIGN_REASONS = {"sensitive": "content_filter", "model_context_window_exceeded": "length"}
"""Finish reasons of single servers that OpenAI clients do not know, in their exact spelling, and the word that
clients get instead. Both are Z.AI's."""
FAILURES = frozenset({"network_error"})
"""Finish reasons that mean a failure of the server."""
_FAILED = "error"
"""The finish reason with which routers report that their upstream failed."""

CALLS = ("tool_calls", "function_call")
_CALL_KEYS = frozenset({"index", "id", "type", "function"})
_NO_WORDS = ("role", "index", "type")
_REASONING = ("reasoning_content", "reasoning", "thinking")
"""Keys that hold the reasoning of a delta or message as text; servers that use two of them repeat the same text."""
_DETAILS = "reasoning_details"
REASONING_KEYS = (*_REASONING, _DETAILS)
_OTHER_WORDS = ("refusal", "audio", "annotations")
"""Keys of a delta or message whose content is neither its text nor its reasoning."""


@dataclass(slots=True)
class ReadChoice(ReadEvent):
    """A parsed choice; `payload` is the chunk that contains it."""

    choice: Json = field(default_factory=dict)
    delta: Json = field(default_factory=dict)

    @classmethod
    def of(
        cls, raw: bytes, chunk: Json, choice: Json, delta: Json, fragments: list[Fragment], index: int
    ) -> ReadChoice:
        """A parsed choice with this delta and these fragments, which may differ from those in `choice`.

        `index`: the choice that the event is counted to.
        """
        parts: list[Part] = []
        text = string_of(delta.get("content"))
        has_other_content = bool(chunk.get("usage") or choice.get("logprobs"))
        besides = [key for key, value in delta.items() if value and key not in _NO_WORDS and key not in CALLS]
        if besides and (besides != ["content"] or not text):
            has_other_content = True
            parts += _besides_text(delta)
        if text:
            parts.append(TextDelta(text))
        parts += fragments
        reason = choice.get("finish_reason")
        if reason:
            parts.append(Stop(str(reason), finish_of(choice), failed=reason == _FAILED))
        answer_id, reassigned = string_of(chunk.get("id")), choice.get("index") != index
        return cls(raw, chunk, parts, has_other_content, reassigned, answer_id, choice=choice, delta=delta)


def finish_of(choice: Json) -> Finish:
    """How a choice ended: by its finish reason, and by the original one that a router kept from its upstream."""
    native = choice.get("native_finish_reason")
    cut = Finish.of(native) is Finish.CUT
    return Finish.CUT if cut else Finish.of(choice.get("finish_reason"))


def delta_of(choice: Json) -> tuple[Json, list[Fragment]]:
    """The delta of a choice, and the fragments of calls in it.

    Some servers put a whole `message` into the last chunk, instead of a delta or beside an empty one. Its calls are
    complete, and usually the same as those in the deltas.
    """
    delta, message = choice.get("delta"), choice.get("message")
    if isinstance(delta, dict):
        fragments = fragments_of(delta)
        if message is None or delta.get("tool_calls") or delta.get("function_call"):
            return delta, fragments
    whole = message if isinstance(message, dict) else {}
    calls = {key: whole[key] for key in CALLS if whole.get(key)}
    if isinstance(delta, dict) and not calls:
        return delta, []
    fragments = fragments_of(calls)
    for fragment in fragments:
        fragment.repeats_answer = True
    return {**delta, **calls} if isinstance(delta, dict) else whole, fragments


def fragments_of(delta: Json) -> list[Fragment]:
    """The fragments of calls in a delta or a message: in `tool_calls`, or else in the old form, `function_call`."""
    calls = delta.get("tool_calls")
    if calls:
        entries = calls if isinstance(calls, list) else [calls]
        return [_fragment(entry) for entry in entries if isinstance(entry, dict)]
    old = delta.get("function_call")
    return [_fragment({"function": old})] if isinstance(old, dict) else []


def _fragment(entry: Json) -> Fragment:
    """The fragment in an entry of `tool_calls`, or in a `function_call`."""
    function = entry.get("function")
    body = function if isinstance(function, dict) else entry
    extra: Json = {}
    if body is not entry and not entry.keys() <= _CALL_KEYS:
        extra = {key: value for key, value in entry.items() if key not in _CALL_KEYS and value is not None}
    return Fragment(
        index_of(entry.get("index")),
        string_of(entry.get("id")),
        string_of(body.get("name")),
        payload.text_of(body.get("arguments")),
        extra,
    )


def has_content(delta: Json) -> bool:
    """Whether the delta contains anything that the client should get."""
    return any(value for key, value in delta.items() if key not in _NO_WORDS)


def _besides_text(delta: Json) -> list[Part]:
    """The parts of a delta besides its text and its calls."""
    parts: list[Part] = []
    reasoning = reasoning_in(delta)
    if reasoning is not None:
        keys = [key for key in REASONING_KEYS if delta.get(key)]
        alone = len(keys) == 1 and isinstance(delta[keys[0]], str)
        parts += [ReasoningDelta(reasoning, keys[0] if alone else ""), *odd_reasoning(delta)]
    words = (delta.get(key) for key in _OTHER_WORDS)
    other = any(word.strip() if isinstance(word, str) else word for word in words)
    if other or delta.get("refusal"):
        parts.append(OtherDelta(bool(delta.get("refusal")), shown=_spoken(delta)))
    return parts + odd_content(delta)


def odd_content(message: Json) -> list[OtherDelta]:
    """The parts of a delta's or a message's content, if that is not a string."""
    content = message.get("content")
    return [] if isinstance(content, str) else read_content(content)


def _spoken(message: Json) -> str | None:
    """The transcript of the audio in a delta or a message."""
    audio = message.get("audio")
    return shown_text(audio.get("transcript")) if isinstance(audio, dict) else ""


def odd_reasoning(message: Json) -> list[OtherDelta]:
    """A part that rules out calls in the reasoning, if a delta or a message has reasoning that is not a string."""
    return [OtherDelta()] if any(word and not isinstance(word, str) for word in map(message.get, _REASONING)) else []


def reasoning_in(message: Json) -> str | None:
    """The reasoning of a delta or a message, "" if it has no text; None if there is no reasoning."""
    words = [message.get(key) for key in _REASONING]
    text = next((word for word in words if word and isinstance(word, str)), "")
    if text or any(words):
        return text
    details = message.get(_DETAILS)
    if not details:
        return None
    entries = details if isinstance(details, list) else []
    texts = (entry.get("text") or entry.get("summary") for entry in entries if isinstance(entry, dict))
    return "".join(word for word in texts if isinstance(word, str))
