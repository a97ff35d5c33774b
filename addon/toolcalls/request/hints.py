"""`toolfix_hints`: one line of advice in the description of shell-like tools, for models that break long commands."""

from __future__ import annotations

from typing import Any

from ..mend.reading.strict import write
from .declared_entries import declared_entries
from .edits import Path
from .request_edit import RequestEdit

HINT = (
    "Give one complete command and no prose inside the arguments; "
    "for long patterns use several -e or -f - with a here-document; prefer rg to grep."
)


def add_hints(request: dict[str, Any], edit: RequestEdit, at: Path = ()) -> None:
    for tool, body, path in declared_entries(request, at):
        if tool.shell_like and edit.policy.touches(tool.name):
            _hint(body, edit, path)


def _hint(body: dict[str, Any], edit: RequestEdit, at: Path) -> None:
    description = body.get("description")
    if isinstance(description, str):
        if HINT in description:
            return
        edit.edits.replace((*at, "description"), write(f"{description}\n{HINT}" if description else HINT))
    elif "description" in body:
        edit.edits.replace((*at, "description"), write(HINT))
    else:
        edit.edits.add(at, "description", write(HINT))
    edit.count("hint")
