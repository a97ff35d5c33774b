"""Differences to `before-rebuild` that were made on purpose since, each with the commit that made it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .jobs import Job

TAG = "before-rebuild"
_MIXED = "the fragments of several calls cannot be told apart"
_TEXT = "written as text"


def reason_for(job: Job, old: Any, new: Any) -> str:
    """Why the results differ; empty where nobody has said."""
    if job["kind"] != "answer":
        return ""
    return next((reason for reason, applies in _REASONS.items() if applies(job, old[1], new[1])), "")


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
