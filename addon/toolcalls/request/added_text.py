"""Adds words to the content of a message, before or behind the existing ones, whose bytes stay."""

from __future__ import annotations

from ..mend.reading.strict import write

BETWEEN = "\n\n"


def with_text(content: str, *, before: str = "", behind: str = "", part: str = "text") -> str:
    """The JSON text of a content (a text or a list of parts) with words added before and behind it."""
    inside = content.strip()[1:-1]
    if content.lstrip().startswith("["):
        parts = (_part(before, part), inside.strip(), _part(behind, part))
        return f"[{','.join(filter(None, parts))}]"
    if inside:
        before, behind = before and before + BETWEEN, behind and BETWEEN + behind
    elif before and behind:
        before += BETWEEN
    return f'"{write(before)[1:-1]}{inside}{write(behind)[1:-1]}"'


def _part(text: str, kind: str) -> str:
    return write({"type": kind, "text": text}) if text else ""
