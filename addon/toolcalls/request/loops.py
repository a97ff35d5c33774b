"""Loops: if a call was sent again and again with the same result, one of the results gets a sentence that says so.

Only consecutive turns with one call count, without words of the user between them. If the result changes, the model
is polling; if the client cleared results to save room, they may have changed. The sentence has the same position in
every later request, because only the history before it decides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ..mend.reading.strict import write
from .added_text import BETWEEN, with_text
from .contents_as_messages import CALL, RESULT, entry_in, inner, parts_in
from .edits import Path
from .guidance import OURS, ends_with_ours
from .pairs import CANCELLED, text_of
from .request_edit import HistoryResult, RequestEdit, same

Json = dict[str, Any]
Turn = tuple[object, HistoryResult] | None
"""A call and its result; None for anything that ends a row of turns."""

_CLEARED = re.compile(
    r"\b(?:clear|remov|prun|omit|elid|trim|truncat|compact|collaps|redact|hidden|mask)", re.IGNORECASE
)
_LONGEST_NOTICE = 200
"""Notices that replace a cleared result are short: `[Old tool result content cleared]` (Claude Code, opencode)."""


def sentence(times: int) -> str:
    return (
        f"{OURS}was sent {times} times in a row with the same result; sending it again will not change that. "
        "Find another way, or say what is missing."
    )


def mend_loops(protocol: str, request: Json, edit: RequestEdit, at: Path) -> None:
    """Add the sentence to the results of calls that were sent too often in a row."""
    times = edit.policy.loops
    row = 0
    before: Turn = None
    for found in _TURNS[protocol](request, at):
        turn = None if found is None or _is_cleared(found[1]) else found
        row = row + 1 if turn is not None and before is not None and _same(turn, before) else 1
        before = turn
        if turn is not None and row == times:
            _add_sentence(turn[1], times, edit)


def _same(one: tuple[object, HistoryResult], other: tuple[object, HistoryResult]) -> bool:
    if one[0] != other[0] or one[1].failed != other[1].failed:
        return False
    first, second = (_without_our_sentence(turn[1].entry.get(turn[1].key)) for turn in (one, other))
    return same(first, second)


def _is_cleared(result: HistoryResult) -> bool:
    text = text_of(_without_our_sentence(result.entry.get(result.key))).strip()
    return len(text) <= _LONGEST_NOTICE and "\n" not in text and _CLEARED.search(text) is not None


def _without_our_sentence(content: Any) -> Any:
    """A result without the sentence that another proxy before this one added."""
    if not ends_with_ours(content):
        return content
    return content.rpartition(BETWEEN)[0] if isinstance(content, str) else content[:-1]


def _add_sentence(result: HistoryResult, times: int, edit: RequestEdit) -> None:
    content = result.entry.get(result.key)
    if ends_with_ours(content) or content == CANCELLED:
        return
    path = (*result.at, result.key)
    if isinstance(content, str | list):
        edit.edits.rewrite(path, partial(with_text, behind=sentence(times), part=result.part))
    elif content is None and result.key in result.entry:
        edit.edits.replace(path, write(sentence(times)))
    else:
        return
    edit.count("loop")


def _listed(request: Json, key: str) -> list[Any]:
    entries = request.get(key)
    return entries if isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries) else []


def _call(name: object, given: object) -> tuple[object, str]:
    return name, given if isinstance(given, str) else json.dumps(given)


def _single_calls(messages: list[Json]) -> Iterator[tuple[int, Json] | None]:
    """The number and the call of each message with exactly one function call; None for others that are no results."""
    for number, message in enumerate(messages):
        calls = message.get("tool_calls")
        if not isinstance(calls, list) or not calls:
            if message.get("role") != "tool":
                yield None
            continue
        one = calls[0] if len(calls) == 1 and isinstance(calls[0], dict) else {}
        yield (number, one) if isinstance(one.get("function"), dict) else None


def _chat(request: Json, at: Path) -> Iterator[Turn]:
    """The turns of Chat."""
    messages = _listed(request, "messages")
    for made in _single_calls(messages):
        number, call = made or (0, {})
        answer = messages[number + 1] if number + 1 < len(messages) else {}
        if made is None or answer.get("tool_call_id") != call.get("id"):
            yield None
            continue
        result = HistoryResult((*at, "messages", number + 1), "", "tool_call_id", answer, "content")
        yield _call(call["function"].get("name"), call["function"].get("arguments")), result


def _messages(request: Json, at: Path) -> Iterator[Turn]:
    """The turns of Messages."""
    messages = _listed(request, "messages")
    for number, message in enumerate(messages):
        uses = _blocks(message, "tool_use")
        results = _blocks(message, "tool_result")
        if not uses:
            if not results:
                yield None
            continue
        following = messages[number + 1] if number + 1 < len(messages) else {}
        answers = _blocks(following, "tool_result")
        if len(uses) != 1 or len(answers) != 1 or answers[0][1].get("tool_use_id") != uses[0][1].get("id"):
            yield None
            continue
        use, (index, block) = uses[0][1], answers[0]
        path = (*at, "messages", number + 1, "content", index)
        failed = block.get("is_error") is True
        result = HistoryResult(path, "", "tool_use_id", block, "content", failed=failed)
        yield _call(use.get("name"), use.get("input")), result
        if len(following["content"]) > 1:
            # The message also has words of the user.
            yield None


def _blocks(message: Json, kind: str) -> list[tuple[int, Json]]:
    content = message.get("content")
    blocks = enumerate(content if isinstance(content, list) else ())
    return [(index, block) for index, block in blocks if isinstance(block, dict) and block.get("type") == kind]


def _responses(request: Json, at: Path) -> Iterator[Turn]:
    """The turns of Responses."""
    items = [
        (number, item) for number, item in enumerate(_listed(request, "input")) if item.get("type") != "reasoning"
    ]
    for index, (_, item) in enumerate(items):
        kind = item.get("type")
        if kind not in ("function_call", "custom_tool_call"):
            if not str(kind).endswith("_output"):
                yield None
            continue
        number, answer = items[index + 1] if index + 1 < len(items) else (0, {})
        alone = index == 0 or items[index - 1][1].get("type") not in ("function_call", "custom_tool_call")
        if not alone or answer.get("type") != f"{kind}_output" or answer.get("call_id") != item.get("call_id"):
            yield None
            continue
        given = item.get("arguments") if kind == "function_call" else item.get("input")
        result = HistoryResult((*at, "input", number), "", "call_id", answer, "output", "input_text")
        yield _call(item.get("name"), given), result


def _ollama(request: Json, at: Path) -> Iterator[Turn]:
    """The turns of Ollama, whose results have no ids: the results of a turn follow it."""
    messages = _listed(request, "messages")
    roles = [message.get("role") for message in messages] + ["end", "end"]
    for made in _single_calls(messages):
        number, call = made or (0, {})
        if made is None or roles[number + 1] != "tool" or roles[number + 2] == "tool":
            yield None
            continue
        result = HistoryResult((*at, "messages", number + 1), "", "tool_call_id", messages[number + 1], "content")
        yield _call(call["function"].get("name"), call["function"].get("arguments")), result


def _gemini(request: Json, at: Path) -> Iterator[Turn]:
    """The turns of Gemini, whose results are objects: the sentence goes into the only value, if it is a text."""
    asked, inside = inner(request)
    contents = _listed(asked, "contents")
    for number, content in enumerate(contents):
        parts = parts_in(content)
        calls = [call for part in parts if (call := entry_in(part, CALL)) is not None]
        if not calls:
            if not any(entry_in(part, RESULT) for part in parts):
                yield None
            continue
        following = parts_in(contents[number + 1]) if number + 1 < len(contents) else []
        results = [(index, key) for index, part in enumerate(following) for key in RESULT if key in part]
        if len(calls) != 1 or len(results) != 1:
            yield None
            continue
        [(index, key)] = results
        response = following[index][key].get("response")
        if not isinstance(response, dict) or [*map(type, response.values())] != [str]:
            yield None
            continue
        [only] = response
        path = (*at, *inside, "contents", number + 1, "parts", index, key, "response")
        yield _call(calls[0].get("name"), calls[0].get("args")), HistoryResult(path, "", "id", response, only)
        if len(following) > 1:
            # The content also has words of the user.
            yield None


_TURNS: dict[str, Callable[[Json, Path], Iterator[Turn]]] = {
    "chat": _chat,
    "messages": _messages,
    "responses": _responses,
    "zai": _chat,
    "ollama": _ollama,
    "gemini": _gemini,
}
