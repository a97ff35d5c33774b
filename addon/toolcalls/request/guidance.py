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
from collections.abc import Iterator, Sequence
from typing import Any

from ..ids import MARK, restore
from ..reasons import missing_sentence
from ..tools.check import Check, Exhausted
from ..tools.declared import INVALID, Tool, read_tool
from .calls import Calls, known_arguments
from .change import Change
from .history import BETWEEN, CANCELLED, History, Json, PastResult, Turn, objects_in, same, text_of, with_words

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
_MAX_NESTING = 4
"""How deep namespaces of tools are looked into."""

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


class Results:
    """The results of one history, turn by turn, after the calls that they answer."""

    def __init__(self, history: History, change: Change, calls: Calls) -> None:
        self._history = history
        self._change = change
        self._calls = calls
        self._invalid = change.tools.invalid(change.policy.invalid_tool) or INVALID
        self._needed: dict[str, tuple[str, ...]] = {}
        """The fields that each tool needs."""
        self._guides = change.policy.request and change.policy.retry_guidance is not False
        self._every = change.policy.retry_guidance is True
        self._says = change.policy.request and not history.by_number

    def mend(self, results: Sequence[PastResult]) -> None:
        """Mend the results of a turn, which the client sent in one message or more."""
        for result in results:
            if result.id:
                if self._says:
                    self._add_sentence(result)
                if MARK in result.id or self._calls.named:
                    self._give_back_id(result)

    def _give_back_id(self, result: PastResult) -> None:
        """Give a result the id and the name that its call has now."""
        change, identity = self._change, result.id
        if identity in self._calls.named and "name" in result.body:
            change.begin()
            result.body["name"] = self._calls.named[identity]
        original = change.given.get(identity) or restore(identity)
        if original is not None and original != identity:
            change.count("id")
            result.id = result.body[self._history.result_id] = original

    def _add_sentence(self, result: PastResult) -> None:
        """Add the sentence that says why the call was refused or failed, if there is one."""
        key = self._history.content
        content = result.body.get(key)
        reason = self._change.refusals.reason(result.id)
        if reason is not None:
            self._change.reasons[result.id] = reason
        words = self._sentence(result, reason, content)
        if words and not contains(content, words) and not ends_with_ours(content):
            self._change.count("reason in a result")
            result.body[key] = with_words(content, words, self._history.part)

    def _sentence(self, result: PastResult, reason: str | None, content: object) -> str:
        """The sentence to add to a result; empty if there is none."""
        failed = result.body.get("is_error")
        guides = self._guides and failed is not False
        first = content if isinstance(content, str) else next(iter(_texts(content)), "")
        refuses = guides and first[:1] in _FIRST and _REFUSAL.fullmatch(first.strip()) is not None
        refuses = refuses and (reason is not None or not self._ran(result.id))
        if reason is not None:
            of_arguments = "cut off" not in reason and not reason.startswith(_NOT_ARGUMENTS)
            if guides and (self._every or refuses or of_arguments):
                return rewrite(None if contains(content, reason) else reason)
            return "" if contains(content, reason) else refused(reason)
        lacks = self._lacking(result.id) if guides else None
        if not guides or not (refuses or lacks or (self._every and failed)) or contains(content, _ASKED):
            return ""
        if refuses or (lacks and (self._every or failed)):
            return rewrite(lacks)
        return unfit(lacks) if lacks else _CORRECT

    def _ran(self, identity: str) -> bool:
        """Whether a shell can take the call: its result is then what some program printed, whatever it looks like."""
        call = self._calls.noted.get(identity)
        tool = self._change.tools.get(call.name) if call is not None and isinstance(call.name, str) else None
        if call is None or tool is None or tool.prepared is None or not tool.shell_like:
            return False
        given = self._calls.meant(call.given)
        try:
            return bool(given) and tool.takes(given or {}) and Check().violations(tool.prepared, given) == 0
        except Exhausted:
            return False

    def _lacking(self, identity: str) -> str | None:
        """What a call of the history lacks by its declared schema; None if nothing. `identity`: the client's id."""
        call = self._calls.noted.get(identity)
        if call is None or not call.key or not isinstance(name := call.name, str):
            return None
        needed = self._needed.get(name)
        if needed is None:
            tool = self._change.tools.get(name) if self._change.touches(name) else None
            needed = self._needed[name] = tool.missing({}) if tool is not None else ()
        given = call.given
        if name == self._invalid and self._change.touches(name):
            # The payload for the client's invalid tool contains the reason.
            error = (self._calls.meant(given) or {}).get("error")
            return error if isinstance(error, str) and error else None
        if not needed:
            return None
        keys = known_arguments.keys_of(given) if isinstance(given, str) else given
        if not isinstance(keys, dict | frozenset):
            return None
        for field in needed:
            if field not in keys:
                return missing_sentence(tuple(field for field in needed if field not in keys))
        return None


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
    if first.given != second.given or not same(first.content, second.content):
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
    added = (item.get("tools") for item in objects_in(request.get("input")) if item.get("type") == "additional_tools")
    for entries in (request.get("tools"), request.get("functions"), *added):
        for tool, body in _declared(entries):
            said = body.get("description")
            if tool.shell_like and change.policy.touches(tool.name) and not (isinstance(said, str) and HINT in said):
                change.count("hint")
                body["description"] = f"{said}\n{HINT}" if said and isinstance(said, str) else HINT


def _declared(entries: Any, namespace: str | None = None, depth: int = 0) -> Iterator[tuple[Tool, Json]]:
    """The declared tools, each with the object that has its name, description and schema."""
    for entry in objects_in(entries) if depth <= _MAX_NESTING else ():
        if entry.get("type") == "namespace":
            yield from _declared(entry.get("tools"), str(entry.get("name")), depth + 1)
        elif (tool := read_tool(entry, namespace)) is not None:
            inner = entry.get("function")
            yield tool, inner if isinstance(inner, dict) else entry
