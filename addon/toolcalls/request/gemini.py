"""The history of a request to Gemini: our ids are turned back into the upstream's, and arguments become objects.

A `functionCall` and the `functionResponse` that answers it have the same id, if they have one at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .contents_as_messages import CALL, RESULT, inner, parts_in
from .edits import Path
from .request_edit import RequestEdit

Json = dict[str, Any]


def mend(request: Json, edit: RequestEdit, at: Path = ()) -> None:
    asked, inside = inner(request)
    for path, call in _entries(asked):
        identity = call.get("id")
        if isinstance(identity, str):
            edit.restore_id((*at, *inside, *path, "id"), identity)
        if path[-1] in CALL and call.get("args") is not None:
            edit.mend_call_object((*at, *inside, *path), call, "args", call.get("name"))


def _entries(request: Json) -> Iterator[tuple[Path, Json]]:
    """Every call and result, with its path."""
    contents = request.get("contents")
    for number, turn in enumerate(contents if isinstance(contents, list) else ()):
        for index, part in enumerate(parts_in(turn) if isinstance(turn, dict) else ()):
            for key in (*CALL, *RESULT):
                if isinstance(part.get(key), dict):
                    yield ("contents", number, "parts", index, key), part[key]
