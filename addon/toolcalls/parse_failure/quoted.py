"""Finds the call that a server quotes in its error, because it could not read it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_MARKS = (b"tool_use_failed", b"error parsing tool call: raw=", b"Failed to parse input at pos ")
_ARGUMENTS = re.compile(r"error parsing tool call: raw='(.*)', err=(.*)", re.DOTALL)
"""Ollama, unescaped: from the first `raw='` to the last `', err=`. It must begin the message: an error with text
before it only quotes such an error of another server."""
_REST = re.compile(r"Failed to parse input at pos \d+: (.*)", re.DOTALL)
"""llama.cpp of spring 2026, as the whole message: the rest of the model's output, from where parsing failed."""
_CUT_OFF = "unexpected end of JSON input"


@dataclass(slots=True, frozen=True)
class Quoted:
    text: str
    nameless: bool = False
    """The text is only the arguments."""
    rest: bool = False
    """The text is only the end of the model's output; the error does not quote the beginning."""


def may_quote(body: bytes) -> bool:
    """Whether the body may quote a call and is worth parsing."""
    return any(mark in body for mark in _MARKS)


def quoted_in(body: bytes | str) -> Quoted | None:
    """The call that an error quotes; None if it quotes none, or says that the call was cut off."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(answer, dict) or ("choices" in answer and "error" not in answer):
        return None
    error = answer.get("error", answer)
    if isinstance(error, dict):
        generation = error.get("failed_generation")
        if error.get("code") == "tool_use_failed":
            return Quoted(generation) if isinstance(generation, str) and generation.strip() else None
        error = error.get("message")
    return _in_sentence(error)


def _in_sentence(message: Any) -> Quoted | None:
    if not isinstance(message, str):
        return None
    if found := _ARGUMENTS.match(message):
        return None if found[2].startswith(_CUT_OFF) else Quoted(found[1], nameless=True)
    if found := _REST.match(message):
        return Quoted(found[1], rest=True)
    return None
