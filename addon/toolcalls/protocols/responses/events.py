"""The events of a response: their types, what is in one of them, and what a terminal event says of the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...mend.finish import Finish
from ...parts import Json, SourceEvent
from ...payload import string_of
from .items import MESSAGE, REASONING, REASONING_TEXT, REFUSAL, SUMMARY, TEXT

ADDED: Final = "response.output_item.added"
ENDED: Final = "response.output_item.done"
CREATED: Final = "response.created"
ECHOES: Final = frozenset({CREATED, "response.in_progress", "response.queued"})
COMPLETED: Final = "response.completed"
TERMINAL: Final = frozenset(
    {COMPLETED, "response.incomplete", "response.failed", "response.cancelled", "response.done"}
)
FAILED: Final = frozenset({"failed", "cancelled"})
ARGUMENTS: Final = "response.function_call_arguments"
INPUT: Final = "response.custom_tool_call_input"
DELTA: Final = "response.output_text.delta"
CITED: Final = "response.output_text.annotation"
FAMILIES: Final = {
    "response.output_text": (MESSAGE, TEXT),
    CITED: (MESSAGE, TEXT),
    "response.refusal": (MESSAGE, REFUSAL),
    "response.content_part": (MESSAGE, TEXT),
    "response.reasoning_text": (REASONING, REASONING_TEXT),
    "response.reasoning_summary_text": (REASONING, SUMMARY),
    "response.reasoning_summary_part": (REASONING, SUMMARY),
}
"""The events about texts, with the type of item and the kind of part that each is about."""
NUMBER: Final = "sequence_number"


@dataclass(slots=True, eq=False)
class Incoming(SourceEvent):
    """An event of the upstream: its parsed data, the type on its `event:` line, and its type."""

    message: Json
    line: str
    kind: str

    @property
    def item(self) -> Json:
        """The item in the event; empty if there is none."""
        item = self.message.get("item")
        return item if isinstance(item, dict) else {}

    @property
    def response(self) -> Json:
        """The response in the event; empty if there is none."""
        response = self.message.get("response")
        return response if isinstance(response, dict) else {}

    def text(self, key: str) -> str:
        return string_of(self.message.get(key))

    def number(self, key: str) -> int | None:
        value = self.message.get(key)
        return value if type(value) is int and value >= 0 else None

    @property
    def status(self) -> str:
        """How the response ended: by the type of a terminal event, or by the response in it."""
        status = self.kind.removeprefix("response.")
        return str(self.response.get("status") or status) if status in ("completed", "done") else status

    @property
    def finish(self) -> Finish:
        """With `incomplete_details`, an error or a refusal a response was cut off, whatever its status."""
        response, status = self.response, self.status
        output = response.get("output")
        contents = (
            [item.get("content") for item in output if isinstance(item, dict)] if isinstance(output, list) else []
        )
        parts = [part for content in contents if isinstance(content, list) for part in content]
        refused = any(isinstance(part, dict) and part.get("refusal") for part in parts)
        broken = refused or response.get("incomplete_details") or response.get("error")
        if broken or status == "incomplete" or status in FAILED:
            return Finish.CUT
        # llama.cpp, whose responses have `timings`, says `completed` of answers that its limit cut off.
        return Finish.COMPLETE if status == "completed" and not response.get("timings") else Finish.UNKNOWN
