"""What the model is told in a tool result: why its call was refused or failed, that it repeats itself, what to do.

It depends only on the request and on what was refused, so that a history reads the same on every turn. Loops: only
consecutive turns with one call count, without words of the user between them. If the result changes, the model is
polling; if the client cleared results to save room, they may have changed. The sentence has the same position in
every later request, because only the history before it decides. `toolfix_hints` adds a line of advice to the
descriptions of shell-like tools, for models that break long commands.
"""

from __future__ import annotations

import re

from ..ids import MARK, restore
from ..reasons import missing_sentence
from ..tools.declared import declared
from .calls import Change, keys_of
from .history import BETWEEN, CANCELLED, History, Json, PastCall, PastResult, Turn, text_of, with_words

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


def rewrite(reason: str) -> str:
    """The sentence for a call whose arguments are missing or invalid."""
    why = f"{OURS}failed: {reason.rstrip('.')}." if reason else f"{OURS}failed."
    return f"{why} Rewrite the input so that it {_ASKED} and {_AGAIN}"


def looped(times: int) -> str:
    return (
        f"{OURS}was sent {times} times in a row with the same result; sending it again will not change that. "
        "Find another way, or say what is missing."
    )


def _ends_with_ours(words: str) -> bool:
    """Whether a result ends with a sentence of ours, because another proxy before this one added it."""
    return words.rpartition("\n")[2].startswith(OURS)


def mend_results(turn: Turn, history: History, change: Change) -> None:
    """Say in the results of a turn why calls were refused or failed, and give them the ids of their calls."""
    for result in turn.results:
        call = result.call
        if result.id and change.policy.request and not history.by_number and result.content != CANCELLED:
            said = result.words
            words = _sentence(result, said, change)
            if words and words not in said and not _ends_with_ours(said):
                change.count("reason in a result")
                result.place[result.key] = with_words(result.content, words, history.part)
        original = (call.id if call is not None else restore(result.id)) if MARK in result.id else None
        if original is not None and original != result.id:
            change.count("id")
            result.id = result.body[history.result_id] = original


def _sentence(result: PastResult, said: str, change: Change) -> str:
    """Why the call of a result was refused or failed, and what to do; empty if it was not, or the result says so."""
    call, option, failed = result.call, change.policy.retry_guidance, result.body.get("is_error")
    # What the client calls a success never gets a sentence about the arguments.
    guides = option is not False and failed is not False
    refuses = guides and _REFUSAL.fullmatch(said.strip()) is not None
    reason = change.refusals.get(result.id)
    if reason is not None:
        change.reasons[result.id] = reason
        of_arguments = "cut off" not in reason and not reason.startswith(("Unknown tool", "Not a tool name"))
        if guides and (option is True or of_arguments or refuses):
            return rewrite("" if reason in said else reason)
        return "" if reason in said else f"{OURS}was refused: {reason}; send the call again."
    if not guides:
        return ""
    lacks = _lacking(call, change) if call is not None else ""
    if refuses and call is not None and isinstance(call.name, str):
        # If a shell can take the call, the result is what some program printed, whatever it looks like.
        tool, given = change.tools.get(call.name), change.meant(call.arguments)
        refuses = not (given and tool is not None and tool.shell_like and tool.fits(given))
    if not (refuses or lacks or (option is True and failed)) or _ASKED in said:
        return ""
    if refuses or (lacks and (option is True or failed)):
        return rewrite(lacks)
    if lacks:
        why = f"{OURS}does not fit its schema: {lacks.rstrip('.')}."
        return f"{why} If it failed, rewrite the input so that it {_ASKED} and {_AGAIN}"
    return f"{OURS}failed. Correct the arguments and {_AGAIN}"


def _lacking(call: PastCall, change: Change) -> str:
    """What a call lacks by its declared schema, or why it was sent to the invalid tool; empty if nothing."""
    name, given = call.name, call.arguments
    if not (call.key and isinstance(name, str) and change.touches(name)):
        return ""
    if name == change.invalid:
        error = (change.meant(given) or {}).get("error")
        return error if isinstance(error, str) else ""
    tool = change.tools.get(name)
    keys = keys_of(given) if isinstance(given, str) and tool is not None else given
    keys = dict.fromkeys(keys) if isinstance(keys, frozenset) else keys
    lacks = tool.missing(keys) if tool is not None and isinstance(keys, dict) else ()
    return missing_sentence(lacks) if lacks else ""


# Loops


def mend_loops(history: History, change: Change) -> None:
    """Add the sentence to the results of calls that were sent too often in a row."""
    row, before = 0, Turn({}, {}, spoken=True)
    for turn in history.turns:
        asked = [call.arguments for call in turn.calls]
        again = not before.spoken and asked == [call.arguments for call in before.calls]
        row = row + 1 if again and _sent(before, history) == _sent(turn, history) else 1
        before = turn
        if row != change.policy.loops:
            continue
        [result] = turn.results
        content = result.content
        takes_words = result.key in result.place and (content is None or isinstance(content, str | list))
        if takes_words and content != CANCELLED and not _ends_with_ours(result.words):
            change.count("loop")
            result.place[result.key] = with_words(content, looped(row), history.part)


def _sent(turn: Turn, history: History) -> object:
    """The one call of a turn and its result; equal to nothing else if there are others, or the result was cleared."""
    if not len(turn.calls) == len(turn.results) == 1:
        return object()
    [call], [result] = turn.calls, turn.results
    if history.has_ids and call.id != result.id:
        return object()
    content = result.content
    if _ends_with_ours(result.words):
        # Another proxy before this one may have added the sentence.
        content = content.rpartition(BETWEEN)[0] if isinstance(content, str) else content[:-1]
    words = text_of(content).strip()
    cleared = len(words) <= _LONGEST_NOTICE and "\n" not in words and _CLEARED.search(words) is not None
    return object() if cleared else (call.compared, content, result.body.get("is_error") is True)


# Hints


def add_hints(request: Json, change: Change) -> None:
    for tool, entry in declared(request) if change.policy.hints else ():
        inner = entry.get("function")
        body = inner if isinstance(inner, dict) else entry
        said = body.get("description")
        if tool.shell_like and change.policy.touches(tool.name) and not (isinstance(said, str) and HINT in said):
            change.count("hint")
            body["description"] = f"{said}\n{HINT}" if said and isinstance(said, str) else HINT
