"""Whether a mended text continues what was already sent: white space and escapes may differ, values may not."""

from __future__ import annotations

import json
import re
from typing import Any

# White space, a whole string, a string that is not closed yet, or any other run of JSON.
_TOKEN = re.compile(r'[ \t\n\r]+|"(?:[^"\\]|\\.)*"|"(?:[^"\\]|\\.)*\\?$|[^" \t\n\r]+', re.DOTALL)


def continued(sent: str, text: str, value: dict[str, Any] | list[Any] | None) -> str | None:
    """A text that begins with `sent` and means `value`; None if there is none. `text`: the mended text."""
    if text.startswith(sent):
        return text
    if value is None:
        return None
    compact = _write(value)
    spelt = _respelt(sent)
    if spelt is None or not compact.startswith(spelt):
        return None
    return sent + compact[len(spelt) :]


def _respelt(sent: str) -> str | None:
    """A strict prefix in the form of `_write`: without white space between tokens and without needless escapes."""
    parts = []
    for token in _TOKEN.findall(sent):
        if token[0] != '"':
            parts.append(token.strip(" \t\n\r"))
            continue
        whole = len(token) > 1 and token[-1] == '"' and not _escaped_end(token)
        try:
            written = _write(json.loads(token if whole else token + '"'))
        except ValueError:
            # The prefix ends inside an escape, so its character is not known.
            return None
        parts.append(written if whole else written[:-1])
    return "".join(parts)


def _escaped_end(token: str) -> bool:
    before = token[:-1]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _write(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
