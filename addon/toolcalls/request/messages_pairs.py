"""Pairs in a Messages history: `tool_use` blocks, and the `tool_result` blocks with which the next turn begins.

Moved results get a message of their own if text would follow them: MiniMax rejects text behind a result in the same
message, and accepts it in the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..mend.reading.strict import write
from .block_form import BlockForm
from .block_pairs import BlockPairs
from .edits import Path
from .messages import can_stand_alone
from .pairs import CANCELLED, SERVER_CALLS, text_of
from .request_edit import RequestEdit

Json = dict[str, Any]


def mend_pairs(request: Json, edit: RequestEdit, at: Path, body: bytes) -> None:
    messages = request.get("messages")
    if isinstance(messages, list) and all(map(_is_plain, messages)):
        BlockPairs(_MessagesForm(), messages, edit, (*at, "messages"), body).mend()


def _is_plain(message: object) -> bool:
    if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
        return False
    content = message.get("content")
    return isinstance(content, str) or (
        isinstance(content, list) and all(isinstance(block, dict) for block in content)
    )


class _MessagesForm(BlockForm):
    blocks = "content"
    results_lead = True
    ids_are_unique = True

    def is_of_model(self, message: Json) -> bool:
        return bool(message["role"] == "assistant")

    def call_in(self, block: Json) -> Json | None:
        return block if block.get("type") == "tool_use" else None

    def is_result(self, block: Json) -> bool:
        return block.get("type") == "tool_result"

    def result_in(self, block: Json) -> Json | None:
        identity = block.get("tool_use_id")
        ours = isinstance(identity, str) and not identity.startswith(SERVER_CALLS)
        return block if ours and self.is_result(block) else None

    def can_stand_alone(self, block: Json) -> bool:
        return can_stand_alone(block)

    def id_of(self, entry: Json) -> str:
        identity = entry.get("tool_use_id" if self.is_result(entry) else "id")
        return identity if isinstance(identity, str) else ""

    def words_of(self, result: Json) -> str:
        return text_of(result.get("content"))

    def ids(self, calls: Sequence[Json], results: Sequence[Json]) -> tuple[list[str], list[str]]:
        given = [call.get("id") for call in calls]
        return [one if isinstance(one, str) else "" for one in given], [one["tool_use_id"] for one in results]

    def cancelled(self, identity: str, call: Json) -> str:
        return write({"type": "tool_result", "tool_use_id": identity, "content": CANCELLED, "is_error": True})

    def text(self, words: str) -> Json:
        return {"type": "text", "text": words}
