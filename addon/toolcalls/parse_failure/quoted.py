"""What a server quotes in the error that says that it could not read a call."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_MARKS = (b"tool_use_failed", b"error parsing tool call: raw=", b"Failed to parse input at pos ")
_ARGUMENTS = re.compile(r"error parsing tool call: raw='(.*)', err=(.*)", re.DOTALL)
"""Ollama, unescaped: from the first `raw='` to the last `', err=`. Nothing stands before it: an error that says more
quotes somebody else, who has seen such an error."""
_REST = re.compile(r"Failed to parse input at pos \d+: (.*)", re.DOTALL)
"""llama.cpp of spring 2026, all of it: the rest of the model's output, from where the server could not go on."""
_CUT_OFF = "unexpected end of JSON input"


@dataclass(slots=True, frozen=True)
class Quoted:
    text: str
    nameless: bool = False
    """It is the arguments alone."""
    rest: bool = False
    """The model said something before it that the error does not quote."""


def may_quote(body: bytes) -> bool:
    """Is this worth reading?"""
    return any(mark in body for mark in _MARKS)


def quoted_in(body: bytes | str) -> Quoted | None:
    """The call that an error quotes; None where it quotes none, or says that it was cut off."""
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
