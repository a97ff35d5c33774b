"""docs/options.md: the table of all options, made from the code."""

from __future__ import annotations

import re
from pathlib import Path

from toolcalls.policy import OPTIONS

TARGET = Path(__file__).parents[2] / "docs" / "options.md"
_TABLE = re.compile(r"(<!-- options -->\n).*?(\n<!-- /options -->)", re.DOTALL)


def table() -> str:
    """All options with their defaults and meanings."""
    rows = [f"| `{option.full_name}` | `{option.default or '(empty)'}` | {option.help} |" for option in OPTIONS]
    head = ["| option | default | meaning |", "| --- | --- | --- |"]
    return "\n".join([*head, *rows]).replace("<think>", "`<think>`")


def page() -> str:
    """The page, with the table renewed."""
    return _TABLE.sub(lambda found: found[1] + table() + found[2], TARGET.read_text(encoding="utf-8"))
