"""Why the model stopped: what decides whether text that is not closed was forgotten or cut off."""

from __future__ import annotations

from enum import Enum


class Finish(Enum):
    COMPLETE = "complete"
    CUT = "cut"
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, reason: object) -> Finish:
        """From a wire word of any protocol; a word that nobody knows, and what is no word, says nothing."""
        word = reason.strip().lower() if isinstance(reason, str) else ""
        if word in _COMPLETE:
            return cls.COMPLETE
        return cls.CUT if word in _CUT else cls.UNKNOWN


_COMPLETE = frozenset(
    {
        "complete",
        "completed",
        "end_turn",
        "eos",
        "function_call",
        "stop",
        "stop_sequence",
        "tool_call",
        "tool_calls",
        "tool_use",
    }
)
_CUT = frozenset(
    {
        "abort",
        "aborted",
        "broken",
        "cancelled",
        "canceled",
        "content_filter",
        "cut",
        "error",
        "failed",
        "incomplete",
        "insufficient_system_resource",
        "length",
        "max_output_tokens",
        "max_tokens",
        "model_context_window_exceeded",
        "pause_turn",
        "refusal",
        "safety",
        "sensitive",
    }
)
