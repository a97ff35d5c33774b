"""What the model is told in a tool result: why its call was refused or failed, that it repeats itself, what to do.

It depends only on the request and on what was refused, so that a history reads the same on every turn. Loops: only
consecutive turns with one call count, without words of the user between them. If the result changes, the model is
polling; if the client cleared results to save room, they may have changed. The sentence has the same position in
every later request, because only the history before it decides. `toolfix_hints` adds a line of advice to the
descriptions of shell-like tools, for models that break long commands.
"""

from __future__ import annotations

import re
from typing import Any

from ..ids import MARK, restore
from ..reasons import missing_sentence
from ..tools.declared import declared
from .calls import keys_of
from .change import Change
from .history import (
    BETWEEN,
    CANCELLED,
    History,
    Json,
    PastCall,
    PastResult,
    Turn,
    same,
    text_of,
    with_words,
)

_REFUSAL = re.compile(
    "|".join(
        (
            r"<tool_use_error>InputValidationError: .*</tool_use_error>",  # Claude Code 2.1
            r"failed to parse function arguments: [^\n]*",  # Codex 0.169
            r"The arguments provided to the tool are invalid: .*",  # the invalid tool of opencode 1.18
            r'Validation failed for tool "[^"\n]*":\n.*\n\nReceived arguments:\n\{.*\}',  # pi 0.73
            r"params(?:/\S*)? must [^\n]*",  # qwen-code 0.15 and 0.24, Gemini CLI 0.61
            r"Error: Invalid parameters provided\. Reason: [^\n]*",  # their sub-agents
            r"Invalid arguments: missing required field\(s\): [^\n]*",  # ours, repeated by an invalid tool
        )
    ),
    re.DOTALL,
)
"""The results, as a whole, in which agents say that they did not run a call because of its arguments.

Read in the named versions. Other words never count: a program may print them. opencode's own form already asks to
rewrite the input, so it needs no row.
"""

_CLEARED = re.compile(
    r"\b(?:clear|remov|prun|omit|elid|trim|truncat|compact|collaps|redact|hidden|mask)", re.IGNORECASE
)
_LONGEST_NOTICE = 200
"""Notices that replace a cleared result are short: `[Old tool result content cleared]` (Claude Code, opencode)."""

HINT = (
    "Give one complete command and no prose inside the arguments; "
    "for long patterns use several -e or -f - with a here-document; prefer rg to grep."
)

_ASKED = "satisfies the expected schema"
OURS = "[toolfix] This call "
_AGAIN = "send the call again; do not repeat it unchanged and do not give up."
_CORRECT = f"{OURS}failed. Correct the arguments and {_AGAIN}"
"""For a call that failed for another reason than its arguments."""
_NOT_ARGUMENTS = ("Unknown tool", "Not a tool name")
"""How the refusals of names begin."""


def rewrite(reason: str) -> str:
    """The sentence for a call whose arguments are missing or invalid."""
    why = f"{OURS}failed: {reason.rstrip('.')}." if reason else f"{OURS}failed."
    return f"{why} Rewrite the input so that it {_ASKED} and {_AGAIN}"


def looped(times: int) -> str:
    return (
        f"{OURS}was sent {times} times in a row with the same result; sending it again will not change that. "
        "Find another way, or say what is missing."
    )


def _texts(content: object) -> list[str]:
    """The texts of a result."""
    if isinstance(content, str):
        return [content]
    parts = content if isinstance(content, list) else []
    return [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]


def _contains(content: object, words: str) -> bool:
    return any(words in text for text in _texts(content))


def _ends_with_ours(content: object) -> bool:
    """Whether the result ends with a sentence of ours, because another proxy before this one added it."""
    return any(text.rpartition(BETWEEN)[2].startswith(OURS) for text in _texts(content)[-1:])


def mend_results(turn: Turn, history: History, change: Change) -> None:
    """Say in the results of a turn why calls were refused or failed, and give them the ids of their calls."""
    for result in turn.results:
        call, content = result.call, result.content
        if result.id and change.policy.request and not history.by_number:
            words = _sentence(result, change)
            if words and not _contains(content, words) and not _ends_with_ours(content):
                change.count("reason in a result")
                result.place[result.key] = with_words(content, words, history.part)
        if call is not None and call.named and "name" in result.body:
            result.body["name"] = call.name
        original = (call.id if call is not None else restore(result.id)) if MARK in result.id else None
        if original is not None and original != result.id:
            change.count("id")
            result.id = result.body[history.result_id] = original


def _sentence(result: PastResult, change: Change) -> str:
    """Why the call of a result was refused or failed, and what to do; empty if it was not, or the result says so."""
    call, content = result.call, result.content
    option, failed = change.policy.retry_guidance, result.body.get("is_error")
    # What the client calls a success never gets a sentence about the arguments.
    guides = option is not False and failed is not False
    reason = change.refusals.get(result.id)
    if reason is not None:
        change.reasons[result.id] = reason
        known = _contains(content, reason)
        of_arguments = "cut off" not in reason and not reason.startswith(_NOT_ARGUMENTS)
        if guides and (option is True or of_arguments or _is_refusal(content)):
            return rewrite("" if known else reason)
        return "" if known else f"{OURS}was refused: {reason}; send the call again."
    if not guides:
        return ""
    lacks = _lacking(call, change) if call is not None else ""
    refuses = _is_refusal(content) and not (call is not None and _ran(call, change))
    if refuses or (lacks and (option is True or failed)):
        words = rewrite(lacks)
    elif lacks:
        why = f"{OURS}does not fit its schema: {lacks.rstrip('.')}."
        words = f"{why} If it failed, rewrite the input so that it {_ASKED} and {_AGAIN}"
    else:
        words = _CORRECT if option is True and failed else ""
    return "" if words and _contains(content, _ASKED) else words


def _is_refusal(content: object) -> bool:
    """Whether the result is, as a whole, an agent's own refusal of the arguments."""
    texts = _texts(content)
    return bool(texts) and _REFUSAL.fullmatch(texts[0].strip()) is not None


def _ran(call: PastCall, change: Change) -> bool:
    """Whether a shell can take the call: its result is then what some program printed, whatever it looks like."""
    tool = change.tools.get(call.name) if isinstance(call.name, str) else None
    if tool is None or not tool.shell_like:
        return False
    given = change.meant(call.arguments)
    return bool(given) and tool.fits(given or {}) is True


def _lacking(call: PastCall, change: Change) -> str:
    """What a call lacks by its declared schema, or why it was sent to the invalid tool; empty if nothing."""
    name, given = call.name, call.arguments
    if not call.key or not isinstance(name, str):
        return ""
    needed = change.needed.get(name)
    if needed is None:
        tool = change.tools.get(name) if change.touches(name) else None
        needed = change.needed[name] = tool.missing({}) if tool is not None else ()
    if name == change.invalid:
        error = (change.meant(given) or {}).get("error") if change.touches(name) else None
        return error if isinstance(error, str) else ""
    keys = keys_of(given) if isinstance(given, str) and needed else given
    lacks = tuple(field for field in needed if field not in keys) if isinstance(keys, dict | frozenset) else ()
    return missing_sentence(lacks) if lacks else ""


# Loops


def mend_loops(history: History, change: Change) -> None:
    """Add the sentence to the results of calls that were sent too often in a row."""
    row = 0
    before: Turn | None = None
    for turn in history.turns:
        row = row + 1 if before is not None and _repeats(before, turn, history) else 1
        before = turn
        if row != change.policy.loops:
            continue
        [result] = turn.results
        content = result.content
        takes_words = result.key in result.place and (content is None or isinstance(content, str | list))
        if takes_words and content != CANCELLED and not _ends_with_ours(content):
            change.count("loop")
            result.place[result.key] = with_words(content, looped(row), history.part)


def _repeats(one: Turn, other: Turn, history: History) -> bool:
    """Whether both turns are one call and its result, and the same ones, with no words between them."""
    if one.spoken or not len(one.calls) == len(other.calls) == len(one.results) == len(other.results) == 1:
        return False
    first, second = one.calls[0], other.calls[0]
    if first.arguments != second.arguments or not same(first.compared, second.compared):
        return False
    results = one.results[0], other.results[0]
    if history.has_ids and (first.id, second.id) != (results[0].id, results[1].id):
        return False
    contents: list[Any] = [result.content for result in results]
    for number, content in enumerate(contents):
        # Another proxy before this one may have added the sentence.
        if _ends_with_ours(content):
            contents[number] = content.rpartition(BETWEEN)[0] if isinstance(content, str) else content[:-1]
    failed = [result.body.get("is_error") is True for result in results]
    if failed[0] != failed[1] or not same(*contents):
        return False
    words = text_of(contents[0]).strip()
    return len(words) > _LONGEST_NOTICE or "\n" in words or _CLEARED.search(words) is None


# Hints


def add_hints(request: Json, change: Change) -> None:
    for tool, entry in declared(request) if change.policy.hints else ():
        inner = entry.get("function")
        body = inner if isinstance(inner, dict) else entry
        said = body.get("description")
        if tool.shell_like and change.policy.touches(tool.name) and not (isinstance(said, str) and HINT in said):
            change.count("hint")
            body["description"] = f"{said}\n{HINT}" if said and isinstance(said, str) else HINT
