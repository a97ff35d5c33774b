"""The events of a response: their types, what is in one of them, and what a terminal event says of the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ...mend.finish import Finish
from ...parts import Json, Part, SourceEvent
from .items import MESSAGE, REASONING

ADDED: Final = "response.output_item.added"
ENDED: Final = "response.output_item.done"
CREATED: Final = "response.created"
ECHOES: Final = frozenset({CREATED, "response.in_progress", "response.queued"})
COMPLETED: Final = "response.completed"
TERMINAL: Final = frozenset(
    {COMPLETED, "response.incomplete", "response.failed", "response.cancelled", "response.done"}
)
FAILED: Final = ("failed", "cancelled")
ARGUMENTS: Final = "response.function_call_arguments"
INPUT: Final = "response.custom_tool_call_input"
PART: Final = "response.content_part"
OUTPUT_TEXT: Final = "response.output_text"
DELTA: Final = f"{OUTPUT_TEXT}.delta"
CITED: Final = f"{OUTPUT_TEXT}.annotation"
REFUSED: Final = "response.refusal"
TEXTS: Final = {
    PART: MESSAGE,
    OUTPUT_TEXT: MESSAGE,
    CITED: MESSAGE,
    REFUSED: MESSAGE,
    "response.reasoning_text": REASONING,
    "response.reasoning_summary_text": REASONING,
    "response.reasoning_summary_part": REASONING,
}
"""The events about texts, with the type of item that each is about."""
NUMBER: Final = "sequence_number"


@dataclass(slots=True, eq=False)
class Incoming(SourceEvent):
    """An event of the upstream: its parsed data, the type on its `event:` line, and its type.

    `item`, `response`: what is in it; empty if there is none.
    """

    message: Json
    line: str
    kind: str
    item: Json = field(init=False)
    response: Json = field(init=False)

    def __post_init__(self) -> None:
        told = (self.message.get("item"), self.message.get("response"))
        self.item, self.response = (one if isinstance(one, dict) else {} for one in told)

    def saying(self, parts: list[Part]) -> list[Part]:
        """These parts, which remember this event."""
        self.parts = parts
        for part in parts:
            part.source = self
        return parts

    def number(self, key: str) -> int | None:
        value = self.message.get(key)
        return value if type(value) is int and value >= 0 else None

    def how_ended(self) -> tuple[str, Finish]:
        """The status of the response, and what a terminal event says of the end.

        With `incomplete_details` or an error a response was cut off, whatever its status.
        """
        response, status = self.response, self.kind.removeprefix("response.")
        status = str(response.get("status") or status) if status in ("completed", "done") else status
        if response.get("incomplete_details") or response.get("error") or status in ("incomplete", *FAILED):
            return status, Finish.CUT
        # llama.cpp, whose responses have `timings`, says `completed` of answers that its limit cut off.
        complete = status == "completed" and not response.get("timings")
        return status, Finish.COMPLETE if complete else Finish.UNKNOWN
