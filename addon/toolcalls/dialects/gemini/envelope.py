"""Everything around the parts of a Gemini event: the candidate, fields of the whole answer, the login wrapper.

    {"candidates": [{"content": {"parts": […], "role": "model"}, "finishReason": "STOP"}], "usageMetadata": …}
    {"response": {"candidates": …}, "traceId": …}          the same with a Google login (cloudcode-pa)

Writes events in the framing of their stream: SSE with the upstream's line ends, or items of a JSON array.
"""

from __future__ import annotations

from typing import Any, Final

from ...mend.reading.strict import write
from ...turn import payload
from ...wire.events import Event

Json = dict[str, Any]

_WRAPPER: Final = "response"
_CANDIDATES: Final = "candidates"
_REASONS: Final = ("finishReason", "finish_reason")
_ENDS: Final = (*_REASONS, "finishMessage", "finish_message")
_NUMBERED: Final = {1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION"}
"""The first values of Google's enum. Vertex and the Gemini API number the others differently."""
_OF_THE_END: Final = ("usageMetadata",)
EMPTY_TEXT: Final[Json] = {"text": ""}


def answer_of(data: Json) -> Json:
    """The answer without the login wrapper."""
    inner = data.get(_WRAPPER)
    return inner if isinstance(inner, dict) and _CANDIDATES not in data else data


def is_gemini(data: Json) -> bool:
    """Whether an event or a body looks like Gemini's."""
    answer = answer_of(data)
    return isinstance(answer.get(_CANDIDATES), list) or isinstance(answer.get("promptFeedback"), dict)


def candidates_of(data: Json) -> list[Any]:
    found = answer_of(data).get(_CANDIDATES)
    return found if isinstance(found, list) else []


def entries_of(candidate: Json) -> list[Any]:
    """Everything in the place of a candidate's parts, whatever its form."""
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, dict) else content
    return [part for part in (parts if isinstance(parts, list) else [parts]) if part is not None]


def parts_of(candidate: Json) -> list[Json]:
    return [part for part in entries_of(candidate) if isinstance(part, dict)]


def is_first(candidate: Any) -> bool:
    """Whether this is the first candidate, the only one that is parsed. Its index 0 may be left out."""
    return isinstance(candidate, dict) and candidate.get("index") in (None, 0)


def reason_of(candidate: Json) -> str:
    """The finish reason, which some servers send as a number; "" if there is none."""
    reason = next((candidate[key] for key in _REASONS if candidate.get(key)), "")
    if isinstance(reason, str):
        return reason
    return write(reason) if isinstance(reason, bool | list | dict) else _NUMBERED.get(reason, str(reason))


class Envelope:
    """Writes the events of one answer, modelled on the last event that arrived."""

    __slots__ = ("_crlf", "_last", "_sse")

    def __init__(self, *, sse: bool = True) -> None:
        self._sse = sse
        self._crlf = False
        self._last: Json = {_CANDIDATES: [{"content": {"parts": [], "role": "model"}, "index": 0}]}

    def read(self, event: Event) -> Any:
        """Decode an event and remember it as the model for the events that are written from now on."""
        data = payload.read_twice(event.data or "")[0]
        candidates = candidates_of(data) if isinstance(data, dict) else []
        if len(candidates) == 1 and is_first(candidates[0]):
            self._last = data
            self._crlf = event.raw.endswith(b"\r\n")
        return data

    def like(self, data: Json | None, parts: list[Json], *, ends: bool = False, reason: str = "") -> Json:
        """A copy of an event (None: the last one) with these parts.

        `ends`: keep the finish reason and the usage; otherwise both are left out. `reason`: the finish reason to set.
        """
        data = self._last if data is None else data
        answer = answer_of(data)
        known = candidates_of(data)
        candidate = dict(known[0]) if known and isinstance(known[0], dict) else {}
        differs = bool(reason) and reason != reason_of(candidate)
        if not ends or differs:
            for key in _ENDS:
                candidate.pop(key, None)
        content = candidate.get("content")
        role = content.get("role") if isinstance(content, dict) else None
        candidate = {
            "content": {"parts": parts or [EMPTY_TEXT], "role": role or "model"},
            **_without_content(candidate),
        }
        if differs:
            candidate["finishReason"] = reason
        kept = {key: value for key, value in answer.items() if ends or key not in _OF_THE_END}
        written = {**kept, _CANDIDATES: [candidate]}
        return written if answer is data else {**data, _WRAPPER: written}

    def write(self, data: Json) -> bytes:
        """The event in the framing of the stream. With SSE every client needs `data: ` and a blank line."""
        text = write(data)
        if not self._sse:
            return text.encode()
        end = "\r\n\r\n" if self._crlf else "\n\n"
        return f"data: {text}{end}".encode()


def _without_content(candidate: Json) -> Json:
    return {key: value for key, value in candidate.items() if key != "content"}
