"""A cheap check of every request: most histories need no change.

A needless `False` only costs time: a history that is not exactly as expected is examined in full.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ids import MARK
from .arguments import KnownGoodArguments
from .contents_as_messages import CALL, RESULT, entry_in, inner
from .guidance import blames_arguments
from .refusals import Refusals
from .request_edit import is_name

Json = dict[str, Any]


def needs_no_change(
    protocol: str,
    request: Json,
    known: KnownGoodArguments,
    refusals: Refusals,
    *,
    guides: bool = False,
    loops: int = 0,
) -> bool:
    """Whether every call is sound and has a name and a result, no id is ours, and no result is of a refused call.

    `guides`: also no result blames the arguments. `loops`: also no call is sent this many times in a row (0: any).
    """
    check = _CHECKS.get(protocol, _chat)
    results: list[Any] = []
    try:
        fine = check(request, known, refusals, results, loops)
        return fine and not (guides and any(map(_blames, results)))
    except (AttributeError, IndexError, KeyError, TypeError):
        return False


def _blames(result: Json) -> bool:
    failed = result.get("is_error") is True
    return blames_arguments(result["output"] if "output" in result else result.get("content"), failed=failed)


def _chat(request: Json, known: KnownGoodArguments, refusals: Refusals, results: list[Json], loops: int) -> bool:
    ids: list[str] = []
    names: set[str] = set()
    texts: list[str] = []
    answered: list[str] = []
    # The calls without a result so far: a message with calls is followed by one result for each of them.
    waiting: set[str] = set()
    for message in request["messages"]:
        if message.get("tool_calls"):
            if waiting:
                return False
            calls = message["tool_calls"]
            for call in calls:
                ids.append(call["id"])
                function = call["function"]
                names.add(function["name"])
                texts.append(function["arguments"])
                waiting.add(call["id"])
            if len(waiting) < len(calls):
                return False
            if message.get("function_call"):
                return False
        elif "tool_call_id" in message and message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            answered.append(message["tool_call_id"])
            results.append(message)
        elif waiting or "function_call" in message or message.get("tool_calls") == [] or message["role"] == "tool":
            return False
    if waiting or _in_a_row(texts, loops) or not all(map(is_name, names)) or MARK in "\n".join(ids):
        return False
    return _are_foreign(answered, refusals) and known.are_objects(texts)


def _messages(request: Json, known: KnownGoodArguments, refusals: Refusals, results: list[Json], loops: int) -> bool:
    ids: list[str] = []
    names: set[str] = set()
    given: list[Json] = []
    answered: list[str] = []
    # The calls without a result so far: the message after theirs begins with their results.
    waiting: set[str] = set()
    for message in request["messages"]:
        blocks = message["content"]
        if type(blocks) is str:
            if waiting:
                return False
            continue
        before = len(ids)
        for block in blocks:
            kind = block["type"]
            if kind == "tool_use":
                if type(block["input"]) is not dict or message["role"] != "assistant":
                    return False
                ids.append(block["id"])
                given.append(block["input"])
                names.add(block["name"])
            elif kind == "tool_result" and message["role"] == "user":
                waiting.remove(block["tool_use_id"])
                answered.append(block["tool_use_id"])
                results.append(block)
            elif waiting or kind == "tool_result" or (kind == "text" and not block["text"]):
                return False
        if waiting:
            return False
        if len(ids) > before:
            waiting.update(ids[before:])
            if len(waiting) < len(ids) - before:
                return False
    if waiting or _in_a_row(given, loops) or not all(map(is_name, names)):
        return False
    return MARK not in "\n".join(ids) and _are_foreign(answered, refusals)


def _responses(request: Json, known: KnownGoodArguments, refusals: Refusals, results: list[Json], loops: int) -> bool:
    items = request["input"]
    if type(items) is str:
        return True
    ids: list[str] = []
    names: set[str] = set()
    texts: list[str] = []
    given: list[object] = []
    answered: list[str] = []
    stateless = not (request.get("previous_response_id") or request.get("conversation"))
    waiting: set[str] = set()
    reasoned = False
    item_ids: list[str] = []
    for item in items:
        if "call_id" not in item:
            kind = item.get("type")
            if item.get("id"):
                item_ids.append(item["id"])
            if kind == "function_call" or (reasoned and item.get("role", "assistant") != "assistant"):
                return False
            reasoned = kind == "reasoning"
            continue
        if item["type"].endswith("_output"):
            if reasoned and stateless:
                return False
            if stateless:
                waiting.remove(item["call_id"])
            answered.append(item["call_id"])
            results.append(item)
            continue
        waiting.add(item["call_id"])
        reasoned = False
        ids.append(item["call_id"])
        if item["type"] == "function_call":
            names.add(item["name"])
            texts.append(item["arguments"])
        elif "input" in item:
            given.append(item["input"])
    if (stateless and (waiting or reasoned)) or _in_a_row(texts, loops) or _in_a_row(given, loops):
        return False
    if (
        not all(map(is_name, names))
        or len(set(ids)) < len(ids)
        or len(set(item_ids)) < len(item_ids)
        or MARK in "\n".join(ids)
    ):
        return False
    return _are_foreign(answered, refusals) and known.are_objects(texts)


def _ollama(request: Json, known: KnownGoodArguments, refusals: Refusals, results: list[Json], loops: int) -> bool:
    ids: list[str] = []
    names: set[str] = set()
    given: list[object] = []
    answered: list[str] = []
    for message in request["messages"]:
        before = len(ids)
        for call in message.get("tool_calls") or ():
            if type(call["function"]["arguments"]) is not dict:
                return False
            names.add(call["function"]["name"])
            given.append(call["function"]["arguments"])
            if call.get("id"):
                ids.append(call["id"])
        if len(set(ids[before:])) < len(ids) - before:
            return False
        if "tool_call_id" in message:
            answered.append(message["tool_call_id"])
            results.append(message)
    if _in_a_row(given, loops) or not all(map(is_name, names)):
        return False
    return MARK not in "\n".join(ids) and _are_foreign(answered, refusals)


def _are_foreign(ids: list[str], refusals: Refusals) -> bool:
    """Whether these ids are the upstream's own, each has one result, and none is of a call that we refused."""
    unique = set(ids)
    return len(unique) == len(ids) and MARK not in "\n".join(ids) and not refusals.know_any(unique)


def _in_a_row(given: Sequence[object], times: int) -> bool:
    """Whether the same arguments appear this many times in a row."""
    if times < 2 or len(given) < times:
        return False
    # The last of such a row equals the first, so nearly always one comparison is enough.
    return any(
        one == other and all(one == between for between in given[at + 1 : at + times - 1])
        for at, (one, other) in enumerate(zip(given, given[times - 1 :], strict=False))
    )


def _gemini(request: Json, known: KnownGoodArguments, refusals: Refusals, results: list[Json], loops: int) -> bool:
    asked = inner(request)[0]
    given: list[object] = []
    waiting = 0
    for content in asked["contents"]:
        calls = answers = 0
        for part in content["parts"]:
            call = entry_in(part, CALL)
            if call is not None:
                calls += 1
                given.append(call.get("args"))
                if type(call.get("args") or {}) is not dict or MARK in call.get("id", ""):
                    return False
            elif (result := entry_in(part, RESULT)) is not None:
                answers += 1
                if MARK in result.get("id", ""):
                    return False
        # A turn with calls is followed by one with as many results.
        if answers != waiting:
            return False
        waiting = calls
    return not waiting and not _in_a_row(given, loops)


_CHECKS: dict[str, Callable[[Json, KnownGoodArguments, Refusals, list[Json], int], bool]] = {
    "messages": _messages,
    "responses": _responses,
    "gemini": _gemini,
    "ollama": _ollama,
}
