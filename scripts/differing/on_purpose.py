"""Differences from the engine before its rebuild that were made on purpose, each with its commit or issue."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

from .jobs import Job

TAG = "83a7ba1f"
"""The last commit before Messages, Responses and Z.AI moved to `turn/`: `scripts/differ --tag 83a7ba1f`."""
_MIXED = "the fragments of several calls cannot be told apart"
_TEXT = "written as text"
_TEXT_KEYS = tuple(re.compile(rf'"{key}": ?("(?:[^"\\]|\\.)*")') for key in ("content", "reasoning_content"))
_ORDER = "0f873c3 and issue 16: the same text, held text before what follows it"
_LOST = "[toolfix] The result of a call that is no longer part of this conversation"
_LOST_RESULTS = "request: a result that lost its call is told"
_OTHER = "[toolfix] Another result of a call that has one already"
_OTHER_RESULTS = "request: a second result of a call that says something else is kept as text"
_CHOICE = "one choice was asked for, and another one has calls too"
_SENT_WHOLE = "the same call was sent as a whole while this one was arriving"
_RESPONSES_PAIRS = "issue 20: Responses items are paired with their results by what hosts accept"
_LIMIT = "rebuild: what is held is counted in one place, so that the limit is met a little earlier or later"
_NOT_JSON = "rebuild: WebSocket messages are events, and one that is not JSON, or has line ends, is treated as in SSE"
_RENAMED = "issue 16: a Responses call whose ids change between its events runs once"


def reason_for(job: Job, old: Any, new: Any) -> str:
    """Why the results differ; "" if no reason is known."""
    if job["kind"] == "request":
        if job["protocol"] == "responses" and old is not None:
            return _RESPONSES_PAIRS
        if new is not None and _OTHER in new[1]:
            return _OTHER_RESULTS
        return _LOST_RESULTS if new is not None and new[1].count(_LOST) > (old[1].count(_LOST) if old else 0) else ""
    if "toolfix_max_held_bytes" in job["set"]:
        return _LIMIT
    if job["kind"] == "socket":
        if any("\r" in text or not _is_json(text) for _, text in job["messages"]):
            return _NOT_JSON
        return _RENAMED if _runs_once(job, old[1], new[1]) else ""
    same_text = old[1:] == new[1:] and _spoken(old[0]) == _spoken(new[0])
    found = (reason for reason, applies in _REASONS.items() if applies(job, old[1], new[1]))
    return next(found, _ORDER if same_text else "")


def _spoken(body: str) -> list[str]:
    """All text and all reasoning of a Chat stream, however they are split into events, and its events with calls."""
    lines = base64.b64decode(body).decode("utf-8", "replace").splitlines()
    texts = ["".join(json.loads(found) for line in lines for found in key.findall(line)) for key in _TEXT_KEYS]
    return [*texts, *(line for line in lines if '"tool_calls"' in line)]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _runs_once(job: Job, old: Any, new: Any) -> bool:
    """Are there fewer calls on Responses than before, and none that runs now and did not?"""
    before = [[call.get("name"), call.get("arguments")] for call in old]
    now = [[call.get("name"), call.get("arguments")] for call in new if call["status"] != "refused"]
    return job["protocol"] in ("responses", "socket") and len(new) < len(old) and all(call in before for call in now)


def _refuses_cut(job: Job, old: Any, new: Any) -> bool:
    """Whether the only change is that inner quotes are no longer mended in a value that may be cut off."""
    changed = [(one, other) for one, other in zip(old, new, strict=False) if one != other]
    return (
        len(old) == len(new)
        and bool(changed)
        and all(
            "quotes inside a string" in one.get("steps", ()) and other["status"] == "refused"
            for one, other in changed
        )
    )


def _only_bytes(option: str) -> Callable[[Job, Any, Any], bool]:
    return lambda job, old, new: option in job["set"] and old == new


def _doubted(job: Job, old: Any, new: Any) -> bool:
    return _MIXED in {outcome.get("reason") for outcome in new if outcome not in old}


def _refused_because(reason: str) -> Callable[[Job, Any, Any], bool]:
    return lambda job, old, new: reason in {outcome.get("reason") for outcome in new}


def _searched(job: Job, old: Any, new: Any) -> bool:
    changed = [outcome for outcome in (*old, *new) if (outcome in old) != (outcome in new)]
    return bool(changed) and all(_TEXT in outcome.get("steps", ()) for outcome in changed)


_REASONS: dict[str, Callable[[Job, Any, Any], bool]] = {
    "0f873c3: toolfix_null_content loses no text before a call": _only_bytes("toolfix_null_content"),
    _RENAMED: _runs_once,
    "issue 16: inner quotes are not mended where the value may have been cut": _refuses_cut,
    "8281a55: a call whose name came twice, not with each fragment, counts only as strict JSON": _doubted,
    "calls of a further choice, where one was asked for, are refused": _refused_because(_CHOICE),
    "a call that is sent while it arrives is refused if the same call was sent whole": _refused_because(_SENT_WHOLE),
    "issue 16: which text is a call": _searched,
}
