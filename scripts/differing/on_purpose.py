"""Differences to `before-rebuild` that were made on purpose since, each with the commit that made it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

from .jobs import Job

TAG = "before-rebuild"
_MIXED = "the fragments of several calls cannot be told apart"
_TEXT = "written as text"
_TEXT_KEYS = tuple(re.compile(rf'"{key}": ?("(?:[^"\\]|\\.)*")') for key in ("content", "reasoning_content"))
_ORDER = "0f873c3 and issue 16: the same text, held text before what follows it"
_LOST = "[toolfix] The result of a call that is no longer part of this conversation"
_LOST_RESULTS = "request: a result that lost its call is told"


def reason_for(job: Job, old: Any, new: Any) -> str:
    """Why the results differ; empty where nobody has said."""
    if job["kind"] == "request":
        return _LOST_RESULTS if new is not None and _LOST in new[1] and (old is None or _LOST not in old[1]) else ""
    if job["kind"] != "answer":
        return ""
    same_text = old[1:] == new[1:] and _spoken(old[0]) == _spoken(new[0])
    found = (reason for reason, applies in _REASONS.items() if applies(job, old[1], new[1]))
    return next(found, _ORDER if same_text else "")


def _spoken(body: str) -> list[str]:
    """All text and all reasoning of a Chat stream, however they are cut into events, and its events with calls."""
    lines = base64.b64decode(body).decode("utf-8", "replace").splitlines()
    texts = ["".join(json.loads(found) for line in lines for found in key.findall(line)) for key in _TEXT_KEYS]
    return [*texts, *(line for line in lines if '"tool_calls"' in line)]


def _only_bytes(option: str) -> Callable[[Job, Any, Any], bool]:
    return lambda job, old, new: option in job["set"] and old == new


def _doubted(job: Job, old: Any, new: Any) -> bool:
    return _MIXED in {outcome.get("reason") for outcome in new if outcome not in old}


def _searched(job: Job, old: Any, new: Any) -> bool:
    changed = [outcome for outcome in (*old, *new) if (outcome in old) != (outcome in new)]
    return bool(changed) and all(_TEXT in outcome.get("steps", ()) for outcome in changed)


_REASONS: dict[str, Callable[[Job, Any, Any], bool]] = {
    "0f873c3: toolfix_null_content loses no text before a call": _only_bytes("toolfix_null_content"),
    "rebuild: at the limit, what is held goes out as it came": _only_bytes("toolfix_max_held_bytes"),
    "8281a55: a call whose name came twice, not with each fragment, counts only as strict JSON": _doubted,
    "issue 16: which text is a call": _searched,
}
