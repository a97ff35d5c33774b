"""What the model is told in a tool result: why its call was refused or failed, that it repeats itself, what to do.

It depends only on the request and on what was refused, so that a history reads the same on every turn. Loops: only
consecutive turns with one call count, without words of the user between them. If the result changes, the model is
polling; if the client cleared results to save room, they may have changed. The sentence has the same position in
every later request, because only the history before it decides. `toolfix_hints` adds a line of advice to the
descriptions of shell-like tools, for models that break long commands.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, field
from typing import Any

from ..ids import MARK, restore
from ..reasons import missing_sentence
from ..tools.check import Check, Exhausted
from ..tools.declared import INVALID, declared
from .calls import known_arguments
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

_FIRST = frozenset("<fTVpEI" + string.whitespace)
"""The first character of any of them, by which nearly all other results are told at once."""
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


def refused(reason: str) -> str:
    return f"{OURS}was refused: {reason}; send the call again."


def rewrite(reason: str | None) -> str:
    """The sentence for a call whose arguments are missing or invalid."""
    why = f"{OURS}failed: {reason.rstrip('.')}." if reason else f"{OURS}failed."
    return f"{why} Rewrite the input so that it {_ASKED} and {_AGAIN}"


def unfit(reason: str) -> str:
    """The sentence for a call that does not fit its schema, if nothing else shows that it failed."""
    why = f"{OURS}does not fit its schema: {reason.rstrip('.')}."
    return f"{why} If it failed, rewrite the input so that it {_ASKED} and {_AGAIN}"


def looped(times: int) -> str:
    return (
        f"{OURS}was sent {times} times in a row with the same result; sending it again will not change that. "
        "Find another way, or say what is missing."
    )


def _texts(content: object) -> list[str]:
    """The texts of a result."""
    if isinstance(content, list):
        content = [part.get("text") if isinstance(part, dict) else None for part in content]
    return [text for text in (content if isinstance(content, list) else [content]) if isinstance(text, str)]


def contains(content: object, words: str) -> bool:
    """Whether the result contains these words already."""
    return any(words in text for text in _texts(content))


def ends_with_ours(content: object) -> bool:
    """Whether the result ends with a sentence of ours, because another proxy before this one added it."""
    return any(text.rpartition(BETWEEN)[2].startswith(OURS) for text in _texts(content)[-1:])


@dataclass(slots=True)
class Guidance:
    """The results of one history, turn by turn, after the calls that they answer."""

    history: History
    change: Change
    needed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The fields that each tool needs."""
    option: bool | str = field(init=False)
    """`toolfix_retry_guidance`."""
    invalid: str = field(init=False)
    """The name of the client's tool for calls that are invalid."""

    def __post_init__(self) -> None:
        self.option = self.change.policy.retry_guidance
        self.invalid = self.change.tools.invalid(self.change.policy.invalid_tool) or INVALID

    def mend_results(self, turn: Turn) -> None:
        """Say in the results of a turn why calls were refused or failed, and give them the ids of their calls."""
        speaks = self.change.policy.request and not self.history.by_number
        for result in turn.results:
            if result.id and speaks:
                self._add_sentence(result)
            if result.call is not None and result.call.named and "name" in result.body:
                result.body["name"] = result.call.name
            if MARK in result.id:
                self._give_back_id(result)

    def _give_back_id(self, result: PastResult) -> None:
        original = result.call.id if result.call is not None else restore(result.id)
        if original is not None and original != result.id:
            self.change.count("id")
            result.id = result.body[self.history.result_id] = original

    def _add_sentence(self, result: PastResult) -> None:
        """Add the sentence that says why the call was refused or failed, if there is one."""
        key = self.history.content
        content = result.body.get(key)
        reason = self.change.refusals.reason(result.id)
        if reason is None:
            words = self._for_failed(result, content)
        else:
            self.change.reasons[result.id] = reason
            words = self._for_refused(result, reason, content)
        if words and not contains(content, words) and not ends_with_ours(content):
            self.change.count("reason in a result")
            result.body[key] = with_words(content, words, self.history.part)

    def _for_refused(self, result: PastResult, reason: str, content: object) -> str:
        """The sentence for the result of a call that we refused; empty if the result says the reason already."""
        of_arguments = "cut off" not in reason and not reason.startswith(_NOT_ARGUMENTS)
        guides = self.option is not False and result.body.get("is_error") is not False
        if guides and (self.option is True or of_arguments or _is_refusal(content)):
            return rewrite(None if contains(content, reason) else reason)
        return "" if contains(content, reason) else refused(reason)

    def _for_failed(self, result: PastResult, content: object) -> str:
        """The sentence for the result of a call that failed or does not fit its schema; empty if there is none."""
        failed, every = result.body.get("is_error"), self.option is True
        if self.option is False or failed is False:
            # What the client calls a success never gets a sentence.
            return ""
        refuses = _is_refusal(content) and not self._ran(result.call)
        lacks = self._lacking(result.call)
        if not (refuses or lacks or (every and failed)) or contains(content, _ASKED):
            return ""
        if refuses or (lacks and (every or failed)):
            return rewrite(lacks)
        return unfit(lacks) if lacks else _CORRECT

    def _ran(self, call: PastCall | None) -> bool:
        """Whether a shell can take the call: its result is then what some program printed, whatever it looks like."""
        tool = self.change.tools.get(call.name) if call is not None and isinstance(call.name, str) else None
        if call is None or tool is None or tool.prepared is None or not tool.shell_like:
            return False
        given = self.change.meant(call.arguments)
        try:
            return bool(given) and tool.takes(given or {}) and Check().violations(tool.prepared, given) == 0
        except Exhausted:
            return False

    def _lacking(self, call: PastCall | None) -> str | None:
        """What a call lacks by its declared schema, or why it was sent to the invalid tool; None if nothing."""
        if call is None or not call.key or not isinstance(name := call.name, str):
            return None
        needed = self.needed.get(name)
        if needed is None:
            tool = self.change.tools.get(name) if self.change.touches(name) else None
            needed = self.needed[name] = tool.missing({}) if tool is not None else ()
        if name == self.invalid:
            error = (self.change.meant(call.arguments) or {}).get("error") if self.change.touches(name) else None
            return error if isinstance(error, str) and error else None
        given = call.arguments
        keys = known_arguments.keys_of(given) if isinstance(given, str) and needed else given
        if not needed or not isinstance(keys, dict | frozenset):
            return None
        lacks = tuple(field for field in needed if field not in keys)
        return missing_sentence(lacks) if lacks else None


def _is_refusal(content: object) -> bool:
    """Whether the result is, as a whole, an agent's own refusal of the arguments."""
    first = content if isinstance(content, str) else next(iter(_texts(content)), "")
    return first[:1] in _FIRST and _REFUSAL.fullmatch(first.strip()) is not None


# Loops


def mend_loops(history: History, change: Change) -> None:
    """Add the sentence to the results of calls that were sent too often in a row."""
    row = 0
    before: Turn | None = None
    for turn in history.turns:
        again = before is not None and not before.spoken and _repeats(before, turn, history)
        row = row + 1 if again else 1
        if row == change.policy.loops and again:
            _say_looped(turn, row, history, change)
        before = turn


def _repeats(one: Turn, other: Turn, history: History) -> bool:
    """Whether both turns are one call and its result, and the same ones."""
    if not len(one.calls) == len(other.calls) == len(one.results) == len(other.results) == 1:
        return False
    first, second = one.calls[0], other.calls[0]
    if first.arguments != second.arguments or not same(first.content, second.content):
        return False
    if history.has_ids and (first.id != one.results[0].id or second.id != other.results[0].id):
        return False
    failed = [turn.results[0].body.get("is_error") is True for turn in (one, other)]
    words = [_own_words(turn, history) for turn in (one, other)]
    return failed[0] == failed[1] and same(*words) and not _is_cleared(words[0])


def _own_words(turn: Turn, history: History) -> Any:
    """The content of a result without the sentence that another proxy before this one added."""
    at = history.words_at(turn.results[0])
    content: Any = at[0].get(at[1]) if at is not None else None
    if not ends_with_ours(content):
        return content
    return content.rpartition(BETWEEN)[0] if isinstance(content, str) else content[:-1]


def _is_cleared(content: Any) -> bool:
    words = text_of(content).strip()
    return len(words) <= _LONGEST_NOTICE and "\n" not in words and _CLEARED.search(words) is not None


def _say_looped(turn: Turn, times: int, history: History, change: Change) -> None:
    at = history.words_at(turn.results[0])
    if at is None or at[1] not in at[0]:
        return
    body, key = at
    content = body[key]
    if not ends_with_ours(content) and content != CANCELLED and (content is None or isinstance(content, str | list)):
        change.count("loop")
        body[key] = with_words(content, looped(times), history.part)


# Hints


def add_hints(request: Json, change: Change) -> None:
    for tool, entry in declared(request) if change.policy.hints else ():
        inner = entry.get("function")
        body = inner if isinstance(inner, dict) else entry
        said = body.get("description")
        if tool.shell_like and change.policy.touches(tool.name) and not (isinstance(said, str) and HINT in said):
            change.count("hint")
            body["description"] = f"{said}\n{HINT}" if said and isinstance(said, str) else HINT
