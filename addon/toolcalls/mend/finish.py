"""Why the model stopped, which decides whether a missing bracket was forgotten or cut off.

One rule for every protocol and for `toolfix repair`: something missing (a bracket, the quote behind a text that was
encoded twice, the arguments as a whole) is added only if the model reported that it was finished. If the answer was
cut off, or if that is not known, nothing is added to a call: `{"command": "rm -rf /"` may be the beginning of
`{"command": "rm -rf /"$BUILD"/out"}`, and a later key may be missing too. Complete JSON is valid after any finish.

COMPLETE   Chat `stop`, `tool_calls`, `function_call`; Messages `end_turn`, `tool_use`; Responses a response that is
           `completed`; Z.AI `done` and the null patch; Gemini `STOP`
CUT        `length`, `max_tokens`, filters, refusals and errors of any protocol, a Responses item or response that is
           `incomplete` or failed, a stream that just ends
UNKNOWN    `[DONE]`, `message_stop` or a document without a reason, `stop_sequence`, an unknown word, and
           `toolfix repair` without a reason

An answer whose usage reaches the limit that the request set was cut off, whatever its reason says
(`End.note_tokens`).

The finish of the answer counts for each of its calls: that another call follows does not prove that a call is
complete, because some servers interleave calls. `toolfix_truncated=complete` closes calls in any case. But nothing is
ever added behind a bare number or word: `3` may be the beginning of `300`.
"""

from __future__ import annotations

from enum import Enum


class Finish(Enum):
    """How an answer ended. Something missing may be added only after COMPLETE."""

    COMPLETE = "complete"
    CUT = "cut"
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, reason: object) -> Finish:
        """The finish for a reason of any protocol; UNKNOWN for an unknown word or a value that is no string."""
        word = reason.strip().lower() if isinstance(reason, str) else ""
        if word in _COMPLETE:
            return cls.COMPLETE
        return cls.CUT if word in _CUT else cls.UNKNOWN


def words_in(text: str) -> frozenset[str]:
    return frozenset(text.split())


_COMPLETE = words_in("complete completed end_turn eos function_call stop tool_call tool_calls tool_use")
_CUT = words_in(
    """
    abort aborted blocklist broken cancelled canceled content_filter cut error failed incomplete
    insufficient_system_resource language length malformed_function_call malformed_response max_length
    max_output_tokens max_tokens model_context_window_exceeded model_length pause_turn prohibited_content
    recitation refusal repetition safety sensitive spii time_limit timeout
    """
)
