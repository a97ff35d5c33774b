"""The history of a Responses request: the items of `input`, over HTTP and as frames of a WebSocket.

Free text is never examined: a `custom_tool_call` has no JSON, so only its id is restored.
"""

from __future__ import annotations

from typing import Any

from .edits import Path
from .request_edit import HistoryCall, HistoryResult, RequestEdit

Json = dict[str, Any]

_FUNCTION = "function_call"
_OUTPUT = "_output"


def mend(request: Json, edit: RequestEdit, at: Path = ()) -> None:
    items = request.get("input")
    if not isinstance(items, list):
        return
    at = (*at, "input")
    calls: list[HistoryCall] = []
    results: list[HistoryResult] = []
    for number, item in enumerate(items):
        kind = item.get("type") if isinstance(item, dict) else None
        identity = item.get("call_id") if isinstance(item, dict) else None
        if not isinstance(kind, str) or (not isinstance(identity, str) and kind != _FUNCTION):
            if kind != "reasoning":
                _mend_turn(calls, results, edit)
            continue
        path = (*at, number)
        known = identity if isinstance(identity, str) else ""
        if kind.endswith(_OUTPUT):
            results.append(HistoryResult(path, known, "call_id", item, "output", "input_text"))
            continue
        if results:
            _mend_turn(calls, results, edit)
        content = {key: value for key, value in item.items() if key not in ("id", "status")}
        calls.append(HistoryCall(path, known, item, content))
    _mend_turn(calls, results, edit)


def _mend_turn(calls: list[HistoryCall], results: list[HistoryResult], edit: RequestEdit) -> None:
    """Mend a finished turn: its calls, then the results that answer them."""
    for call in edit.mend_calls(calls, "call_id") if calls else ():
        item = call.entry
        if item.get("type") == _FUNCTION:
            name = edit.mend_call_name(call.at, item, call.id, item.get("arguments"))
            edit.note_call(call.id, name, item.get("arguments"))
            edit.mend_call_arguments(call.at, item, "arguments", name)
    if results:
        edit.mend_results(results)
    calls.clear()
    results.clear()
