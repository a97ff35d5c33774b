"""The sentences that a tool result gets: why its call was refused, and, if the user wants it, what to do now.

They depend on nothing but the request and what was refused, so that the same history reads the same every turn.
"""

from __future__ import annotations

import re
from typing import Any

from ..mend.arguments import Finish, mend_arguments
from ..mend.shape.preflight import invalid_tool, missing_required, missing_sentence
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
"""How results begin in which an agent reports that a call could not be run."""


OURS = "[toolfix] This call "


def refused(reason: str) -> str:
    return f"{OURS}was refused: {reason}; send the call again."


def correct(reason: str | None) -> str:
    why = f"{OURS}failed: {reason.rstrip('.')}." if reason else f"{OURS}failed."
    return f"{why} Correct the arguments and send the call again; do not repeat it unchanged and do not give up."


def says(content: object, line: str) -> bool:
    """Does the result say so already?"""
    if isinstance(content, str):
        return line in content
    return isinstance(content, list) and any(line in text for text in _texts(content))


def told(content: object) -> bool:
    """Does the result end with a sentence of ours? Another proxy before this one has told the model then."""
    texts = [content] if isinstance(content, str) else _texts(content) if isinstance(content, list) else []
    return bool(texts) and texts[-1].rpartition("\n\n")[2].startswith(OURS)


def plainly_failed(content: object, part: str) -> bool:
    """Does a result that carries no mark of failure begin as one?"""
    first = content if isinstance(content, str) else None
    if isinstance(content, list):
        first = next(iter(_texts(content)), None)
    return first is not None and _FAILED.match(first) is not None


def lacking(name: str, given: object, tools: Tools | None, policy: Policy) -> str | None:
    """What a call in the history lacks, as its declared schema has it; None when nothing."""
    if tools is None:
        return None
    value: Any = mend_arguments(given, Finish.UNKNOWN).value if isinstance(given, str) else given
    if not isinstance(value, dict):
        value = {}
    if name == invalid_tool(policy.invalid_tool, tools):
        # The payload of the client's tool for invalid calls says itself why the call went there.
        error = value.get("error")
        return error if isinstance(error, str) and error else None
    tool = tools.get(name)
    missing = missing_required(value, tool) if tool is not None else ()
    return missing_sentence(missing) if missing else None


def _texts(content: list[Any]) -> list[str]:
    parts = (part.get("text") if isinstance(part, dict) else None for part in content)
    return [text for text in parts if isinstance(text, str)]
