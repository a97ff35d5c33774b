"""The sentences that are added to a tool result: why its call was refused or failed, and what to do now.

They depend only on the request and on what was refused, so that a history reads the same on every turn.
"""

from __future__ import annotations

import re
from typing import Any

from ..mend.shape.preflight import invalid_name, missing_required, missing_sentence
from ..policy import Policy
from ..tools.declared import Tools

_FAILED = re.compile(
    r"""\s*(?:
        <tool_use_error>
      | (?:tool\s+)?error\b
      | [A-Za-z_]*(?:Error|Exception)\b\s*[:(]
      | (?:invalid|missing)\s+(?:required\s+)?(?:tool\s+)?(?:arguments?|parameters?|input|fields?)\b
      | failed\s+to\s+parse\b
      | the\s+(?:\S+\s+tool\s+was\s+called\s+with\s+invalid|arguments\s+provided\s+to\s+the\s+tool\s+are\s+invalid)
      | \{\s*"error"\s*:
    )""",
    re.VERBOSE | re.IGNORECASE,
)
"""How a result begins if an agent reports that a call could not be run."""


_BLAMED = "|".join(
    (
        r"(?:invalid|missing) (?:required )?(?:tool )?(?:argument|param|parameter|field)s?\b",
        r"(?:invalid|missing) (?:required )?(?:tool )?(?:input|property|properties)\b",
        r"failed to parse (?:\w{1,20}+ )?(?:arguments|input)\b",
        r"the \S{1,80}+ tool was called with invalid arguments\b",
        r"the arguments provided to the tool are invalid\b",
        r"the required parameter\b",
        r"\b\w{1,80}+ failed due to the following issues?:",
        r"validation failed for tool\b",
        r"(?:params|input|arguments) must (?:have|be|match|not)\b",
    )
)
_BLAMES = re.compile(
    rf"\s{{0,8}}+(?:<tool_use_error>|(?:tool )?error: |[a-z_]{{1,50}}(?:error|exception): ){{0,4}}(?:{_BLAMED})",
    re.IGNORECASE,
)
"""How a result begins if Claude Code, Codex, opencode, qwen-code, pi or the invalid tool of another agent blames the
arguments."""
_BLAMES_WITHIN = re.compile(_BLAMED, re.IGNORECASE)
_NEAR = 400
"""In a result that is marked as an error, the arguments may be blamed within this many characters."""

_ASKED = "satisfies the expected schema"
OURS = "[toolfix] This call "
_AGAIN = "send the call again; do not repeat it unchanged and do not give up."


def refused(reason: str) -> str:
    return f"{OURS}was refused: {reason}; send the call again."


def rewrite(reason: str | None) -> str:
    """The sentence for a call whose arguments are missing or invalid."""
    why = f"{OURS}failed: {reason.rstrip('.')}." if reason else f"{OURS}failed."
    return f"{why} Rewrite the input so that it {_ASKED} and {_AGAIN}"


def correct() -> str:
    """The sentence for a call that failed for another reason."""
    return f"{OURS}failed. Correct the arguments and {_AGAIN}"


def concerns_arguments(reason: str) -> bool:
    """Whether a refusal is about the arguments, and not about a name or an answer that was cut off."""
    return "cut off" not in reason and not reason.startswith(("Unknown tool", "Not a tool name"))


def blames_arguments(content: object, *, failed: bool = False) -> bool:
    """Whether a result blames the arguments without saying what to do. `failed`: the result is marked as an error."""
    first = _first_text(content)
    if first is None:
        return False
    blames = _BLAMES.match(first) or (failed and _BLAMES_WITHIN.search(first, 0, _NEAR))
    return bool(blames) and not contains(content, _ASKED)


def contains(content: object, words: str) -> bool:
    """Whether the result contains these words already."""
    if isinstance(content, str):
        return words in content
    return isinstance(content, list) and any(words in text for text in _texts(content))


def ends_with_ours(content: object) -> bool:
    """Whether the result ends with a sentence of ours, because another proxy before this one added it."""
    texts = [content] if isinstance(content, str) else _texts(content) if isinstance(content, list) else []
    return bool(texts) and texts[-1].rpartition("\n\n")[2].startswith(OURS)


def plainly_failed(content: object) -> bool:
    """Whether a result that is not marked as failed begins like a failure."""
    first = _first_text(content)
    return first is not None and _FAILED.match(first) is not None


def _first_text(content: object) -> str | None:
    """The first text of a result. Needed for every result of every request, so no list of all texts is made."""
    if isinstance(content, str):
        return content
    for part in content if isinstance(content, list) else ():
        text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            return text
    return None


def lacking(name: str, value: dict[str, Any], tools: Tools, policy: Policy) -> str | None:
    """The sentence about what a call of the history lacks by its declared schema; None if nothing is missing."""
    if name == invalid_name(policy.invalid_tool, tools):
        # The payload for the client's invalid tool contains the reason.
        error = value.get("error")
        return error if isinstance(error, str) and error else None
    tool = tools.get(name)
    missing = missing_required(value, tool) if tool is not None else ()
    return missing_sentence(missing) if missing else None


def _texts(content: list[Any]) -> list[str]:
    parts = (part.get("text") if isinstance(part, dict) else None for part in content)
    return [text for text in parts if isinstance(text, str)]
