"""The history of a Chat request: `messages[].tool_calls`, the older `function_call`, messages of role `tool`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .edits import Path
from .request_edit import HistoryCall, HistoryResult, RequestEdit

Json = dict[str, Any]
MendArguments = Callable[[Path, Json, str, object], None]


def mend(request: Json, edit: RequestEdit, at: Path = ()) -> None:
    mend_messages(request, edit, at, edit.mend_call_arguments)


def mend_messages(request: Json, edit: RequestEdit, at: Path, mend_call_arguments: MendArguments) -> None:
    """Mend the messages of a history. `mend_call_arguments`: mends the arguments of one call."""
    messages = request.get("messages")
    if not isinstance(messages, list):
        return
    at = (*at, "messages")
    results: list[HistoryResult] = []
    for number, message in enumerate(messages):
        if not isinstance(message, dict):
            continue
        if message.get("role") == "tool":
            identity = message.get("tool_call_id")
            if isinstance(identity, str):
                results.append(HistoryResult((*at, number), identity, "tool_call_id", message, "content"))
            continue
        if results:
            edit.mend_results(results)
            results = []
        calls = message.get("tool_calls")
        if isinstance(calls, list) and calls:
            _mend_calls(calls, edit, (*at, number, "tool_calls"), mend_call_arguments)
        old = message.get("function_call")
        if isinstance(old, dict):
            path = (*at, number, "function_call")
            name = edit.mend_call_name(path, old, "", old.get("arguments"))
            mend_call_arguments(path, old, "arguments", name)
    if results:
        edit.mend_results(results)


def _mend_calls(entries: list[Any], edit: RequestEdit, at: Path, mend_call_arguments: MendArguments) -> None:
    """Mend the calls of one message."""
    batch: list[HistoryCall] = []
    for number, entry in enumerate(entries):
        if isinstance(entry, dict):
            identity = entry.get("id")
            function = entry.get("function")
            content = function if isinstance(function, dict) else entry
            batch.append(HistoryCall((*at, number), identity if isinstance(identity, str) else "", entry, content))
    for call in edit.mend_calls(batch, "id"):
        function = call.entry.get("function")
        if isinstance(function, dict):
            path, given = (*call.at, "function"), function.get("arguments")
            name = edit.mend_call_name(path, function, call.id, given)
            edit.note_call(call.id, name, given)
            mend_call_arguments(path, function, "arguments", name)
