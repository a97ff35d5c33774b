"""`toolfix_hints`: one line of advice in the description of shell-like tools, for models that break long commands."""

from __future__ import annotations

from typing import Any

from ..mend.reading.strict import write
from ..tools.declared import read_tool
from .edits import Path
from .request_edit import RequestEdit

HINT = (
    "Give one complete command and no prose inside the arguments; "
    "for long patterns use several -e or -f - with a here-document; prefer rg to grep."
)

MAX_NESTING = 4


def add_hints(request: dict[str, Any], revision: RequestEdit, at: Path = ()) -> None:
    for key in ("tools", "functions"):
        _hint_all(request.get(key), revision, (*at, key), 0)
    items = request.get("input")
    for number, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict) and item.get("type") == "additional_tools":
            _hint_all(item.get("tools"), revision, (*at, "input", number, "tools"), 0)


def _hint_all(entries: object, revision: RequestEdit, at: Path, depth: int) -> None:
    if not isinstance(entries, list) or depth > MAX_NESTING:
        return
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            continue
        if entry.get("type") == "namespace":
            _hint_all(entry.get("tools"), revision, (*at, number, "tools"), depth + 1)
            continue
        tool = read_tool(entry)
        if tool is not None and tool.shell_like and revision.policy.touches(tool.name):
            inner = entry.get("function")
            if isinstance(inner, dict):
                _hint(inner, revision, (*at, number, "function"))
            else:
                _hint(entry, revision, (*at, number))


def _hint(body: dict[str, Any], revision: RequestEdit, at: Path) -> None:
    description = body.get("description")
    if isinstance(description, str):
        if HINT in description:
            return
        revision.edits.replace((*at, "description"), write(f"{description}\n{HINT}" if description else HINT))
    elif "description" in body:
        revision.edits.replace((*at, "description"), write(HINT))
    else:
        revision.edits.add(at, "description", write(HINT))
    revision.count("hint")
