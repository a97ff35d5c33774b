"""The history of a Chat request: `messages[].tool_calls`, the older `function_call`, messages of role `tool`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .edits import Path
from .request_edit import HistoryCall, HistoryResult, RequestEdit

Json = dict[str, Any]


TakeArguments = Callable[[Path, Json, str, object], None]


def mend(request: Json, revision: RequestEdit, at: Path = ()) -> None:
    mend_messages(request, revision, at, revision.mend_call_arguments)


def mend_messages(request: Json, revision: RequestEdit, at: Path, mend_call_arguments: TakeArguments) -> None:
    """Like `mend`, with `mend_call_arguments` for the arguments of a call."""
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
            revision.mend_results(results)
            results = []
        calls = message.get("tool_calls")
        if isinstance(calls, list) and calls:
            _mend_calls(calls, revision, (*at, number, "tool_calls"), mend_call_arguments)
        old = message.get("function_call")
        if isinstance(old, dict):
            place = (*at, number, "function_call")
            name = revision.mend_call_name(place, old, "", old.get("arguments"))
            mend_call_arguments(place, old, "arguments", name)
    if results:
        revision.mend_results(results)


def _mend_calls(entries: list[Any], revision: RequestEdit, at: Path, mend_call_arguments: TakeArguments) -> None:
    batch: list[HistoryCall] = []
    for number, entry in enumerate(entries):
        if isinstance(entry, dict):
            identity = entry.get("id")
            function = entry.get("function")
            said = function if isinstance(function, dict) else entry
            batch.append(HistoryCall((*at, number), identity if isinstance(identity, str) else "", entry, said))
    for call in revision.mend_calls(batch, "id"):
        function = call.entry.get("function")
        if isinstance(function, dict):
            place, given = (*call.at, "function"), function.get("arguments")
            name = revision.mend_call_name(place, function, call.id, given)
            revision.note_call(call.id, name, given)
            mend_call_arguments(place, function, "arguments", name)
