"""Finds values that have yet to be filled in, such as `<your command here>`: a call with one is a template."""

from __future__ import annotations

import json
import re

_LONGEST = 2_000
"""The arguments of a template are not longer than this, in characters."""
_COMMANDS = frozenset(("command", "cmd"))

_WORD, _WORDS = r"[a-z][a-z\d]{0,20}", r"(?:[ _-][a-z\d]{1,20})"
_whole = re.compile(
    rf"\s{{0,8}}(?:\.{{3,6}}|…|<{_WORD}{_WORDS}{{1,6}}>|\{{{{1,2}} ?{_WORD}{_WORDS}{{0,6}} ?\}}{{1,2}}"
    r"|(?:[a-z]:)?[/\\]path[/\\]to[/\\]\S{0,200})\s{0,8}",
    re.IGNORECASE,
)
"""A value that is only a placeholder."""
_in_quotes = re.compile(r"'[^']{0,2000}'|\"[^\"]{0,2000}\"")
_in_command = re.compile(
    rf"(?:(?<=[\s/:=@])|\A)(?:<(?i:{_WORD}{_WORDS}{{1,4}})>|\{{[a-z][a-z\d]{{2,20}}{_WORDS}{{0,3}}\}})(?=[\s/:@.,]|\Z)"
    r"|\b[A-Z]{3,12}@[A-Z]{3,12}\b|(?:\A|\s)/path/to/"
)
"""A placeholder in a command. Several words in angle brackets make no sense to a shell; a single word may."""
_yours = re.compile(r"\bYOUR[_-][A-Z]")
_searches = re.compile(r"\b(?:grep|rg|ag|sed|awk|perl)\b")
"""A command that may search for placeholders."""


def are_left(arguments: str) -> bool:
    """Whether a value in these arguments, which are JSON, has yet to be filled in."""
    if len(arguments) > _LONGEST:
        return False
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return isinstance(values, dict) and any(
        isinstance(value, str) and (_whole.fullmatch(value) is not None or (key in _COMMANDS and _has_one(value)))
        for key, value in values.items()
    )


def _has_one(command: str) -> bool:
    """Whether a command of one line contains a placeholder."""
    if "\n" in command:
        return False
    if _yours.search(command) is not None:
        return _searches.search(command) is None
    return _in_command.search(_in_quotes.sub("''", command)) is not None
