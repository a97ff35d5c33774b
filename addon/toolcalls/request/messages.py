"""The history of a Messages request: `tool_use` and `tool_result` blocks in `messages[].content`."""

from __future__ import annotations

from typing import Any

from .edits import Path
from .request_edit import HistoryCall, HistoryResult, RequestEdit

Json = dict[str, Any]


def mend(request: Json, edit: RequestEdit, at: Path = ()) -> None:
    messages = request.get("messages")
    if not isinstance(messages, list):
        return
    for number, message in enumerate(messages):
        blocks = message.get("content") if isinstance(message, dict) else None
        if isinstance(blocks, list):
            _mend_blocks(blocks, edit, (*at, "messages", number, "content"))


def _mend_blocks(blocks: list[Any], edit: RequestEdit, at: Path) -> None:
    """Mend the blocks of one message."""
    calls: list[HistoryCall] = []
    results: list[HistoryResult] = []
    empty: list[Path] = []
    for number, block in enumerate(blocks):
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "tool_use":
            identity = _text(block.get("id"))
            calls.append(HistoryCall((*at, number), identity, block, (block.get("name"), block.get("input"))))
        elif kind == "tool_result":
            identity = _text(block.get("tool_use_id"))
            failed = block.get("is_error") is True
            results.append(HistoryResult((*at, number), identity, "tool_use_id", block, "content", failed=failed))
        elif kind == "text" and block.get("text") == "":
            empty.append((*at, number))
    if empty and edit.mends and any(can_stand_alone(block) for block in blocks):
        # The API refuses empty texts. If a whole text was a call, the client still keeps its empty block.
        for path in empty:
            edit.edits.remove(path)
            edit.count("empty text")
    for call in edit.mend_calls(calls, "id") if calls else ():
        block = call.entry
        name = edit.mend_call_name(call.at, block, call.id, block.get("input"))
        edit.note_call(call.id, name, block.get("input"))
        edit.mend_call_object(call.at, block, "input", name)
    if results:
        edit.mend_results(results)


def can_stand_alone(block: object) -> bool:
    """Whether a message may consist of this block alone. Thinking alone is no message."""
    if not isinstance(block, dict):
        return False
    if block.get("type") == "text":
        return bool(block.get("text"))
    return block.get("type") not in (None, "thinking", "redacted_thinking")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
