"""What may differ where a stream breaks off: the call that was cut off, which we refuse, and the end we write."""

from __future__ import annotations

import json
from typing import Any

from .words import Json

ENDS = ("message_delta", "message_stop", "error", "response.completed", "response.failed", "response.incomplete")


def read(protocol: str, held: Json) -> Any:
    """What counts: the parts that the SDK has read so far."""
    return held["sdk"] if protocol in ("gemini", "ollama") else held["seen"]


def forget_unfinished(protocol: str, without: Any, withus: Any) -> None:
    """Leave out of both what nobody could finish, and out of ours the end.

    The design: nothing truncated runs, and complete calls come out with the end that was missing.
    """
    {"chat": _chat, "messages": _messages, "responses": _responses}.get(protocol, _whole_calls)(without, withus)


def _is_whole(arguments: object) -> bool:
    try:
        return isinstance(arguments, str) and isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _chat(without: Json, withus: Json) -> None:
    withus["beside"] = [entry for entry in withus["beside"] if entry in without["beside"]]
    for index, choice in without["choices"].items():
        ours = withus["choices"].setdefault(index, {})
        for one in (choice, ours):
            one.pop("finish_reason", None)
        delta, other = choice.get("delta") or {}, ours.get("delta") or {}
        calls = delta.get("tool_calls") or []
        cut = [
            call.get("index")
            for call in calls
            if "function" in call and not _is_whole(call["function"].get("arguments"))
        ]
        for one in (delta, other):
            if "tool_calls" in one:
                one["tool_calls"] = [call for call in one["tool_calls"] if call.get("index") not in cut]
                if not one["tool_calls"]:
                    del one["tool_calls"]
        if "function_call" in delta and not _is_whole(delta["function_call"].get("arguments")):
            del delta["function_call"]
            other.pop("function_call", None)


def _messages(without: Json, withus: Json) -> None:
    order, ours = without["order"], withus["order"]
    stopped = {event.get("index") for kind, event in order if kind == "content_block_stop"}
    begun = [event for kind, event in order if kind == "content_block_start"]
    # A call whose arguments have not come may be one that takes none, or one that was cut off.
    filled = {event.get("index") for _, event in order if event.get("delta", {}).get("partial_json")}
    cut = {event["index"] for event in begun if event["content_block"]["type"] == "tool_use"} - (stopped & filled)
    kinds = {kind for kind, _ in order}
    withus["order"] = [
        [kind, event]
        for kind, event in ours
        if event.get("index") not in cut
        and not (kind in ENDS and kind not in kinds)
        and not (kind == "content_block_stop" and event.get("index") not in stopped)
    ]
    without["order"] = [[kind, event] for kind, event in order if event.get("index") not in cut]


def _responses(without: Json, withus: Json) -> None:
    order = without["order"]
    done = {event.get("output_index") for kind, event in order if kind == "response.output_item.done"}
    begun = [event for kind, event in order if kind == "response.output_item.added"]
    calls = {
        event["output_index"] for event in begun if event["item"]["type"] in ("function_call", "custom_tool_call")
    }
    for one in (without, withus):
        one["order"] = [
            [kind, event]
            for kind, event in one["order"]
            if event.get("output_index") not in calls - done
            and not (one is withus and (kind in ENDS or _ends(kind, event, done)) and [kind, event] not in order)
        ]


def _ends(kind: str, event: Json, done: set[Any]) -> bool:
    """Whether an event ends what was open where the stream broke off."""
    return kind.endswith(".done") and event.get("output_index") not in done


def _whole_calls(without: Json, withus: Json) -> None:
    for held in (without, withus):
        held.pop("last", None)
        if len(without.get("candidates", ())) > 1:
            # What waited in one candidate leaves as it came, with the usage of then, behind events of the others.
            held["beside"].pop("usage_metadata", None)
    _without_last_call(
        without.get("message", {}).get("tool_calls"), withus.get("message", {}).get("tool_calls"), "function"
    )
    for key, value in without.get("candidates", {}).items():
        ours = withus["candidates"].get(key, {})
        if "finish_reason" not in value:
            ours.pop("finish_reason", None)
        calls = [[part for part in one.get("parts", ()) if "function_call" in part] for one in (value, ours)]
        if _without_last_call(calls[0], calls[1], "function_call"):
            for one in (value, ours):
                at = max(at for at, part in enumerate(one["parts"]) if "function_call" in part)
                del one["parts"][at]


def _without_last_call(calls: list[Json] | None, ours: list[Json] | None, key: str) -> bool:
    """Leave out the last call if we refused it: the half event may have said that it was cut off at a limit."""
    if not calls or not ours or len(calls) != len(ours) or calls[-1] == ours[-1]:
        return False
    arguments = ours[-1][key].get("args", ours[-1][key].get("arguments")) or {}
    if arguments and not {"tool", "error"} <= set(arguments):
        return False
    del calls[-1], ours[-1]
    return True
