"""Why the model stopped: what decides whether text that is not closed was forgotten or cut off.

One rule for every protocol and for `toolfix repair`: only where the model itself said that it was finished may
something be missing (a bracket, the quote of a text that was encoded twice, the arguments as a whole). Where the
answer was cut off, or nobody knows, nothing is added to a call: `{"command": "rm -rf /"` may have been cut out of
`{"command": "rm -rf /"$BUILD"/out"}`, and a later key may be missing too. What is whole by itself needs no finish.

COMPLETE   Chat `stop`, `tool_calls`, `function_call`; Messages `end_turn`, `tool_use`; Responses a response that is
           `completed`; Z.AI `done` and the null patch; Gemini `STOP`
CUT        `length`, `max_tokens`, filters, refusals and errors of any protocol, a Responses item or response that is
           `incomplete` or failed, a stream that just ends
UNKNOWN    `[DONE]`, `message_stop` or a document without a reason, `stop_sequence`, a word that nobody knows, and
           `toolfix repair` without one

The finish is that of the answer, for each of its calls: that another call follows proves nothing where servers
interleave them. `toolfix_truncated=complete` closes all the same.
"""

from __future__ import annotations

from enum import Enum


class Finish(Enum):
    """Only COMPLETE admits that something is missing."""

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
        "tool_call",
        "tool_calls",
        "tool_use",
    }
)
_CUT = frozenset(
    {
        "abort",
        "aborted",
        "blocklist",
        "broken",
        "cancelled",
        "canceled",
        "content_filter",
        "cut",
        "error",
        "failed",
        "incomplete",
        "insufficient_system_resource",
        "language",
        "length",
        "malformed_function_call",
        "malformed_response",
        "max_length",
        "max_output_tokens",
        "max_tokens",
        "model_context_window_exceeded",
        "model_length",
        "pause_turn",
        "prohibited_content",
        "recitation",
        "refusal",
        "repetition",
        "safety",
        "sensitive",
        "spii",
        "time_limit",
        "timeout",
    }
)
