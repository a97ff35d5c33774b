"""The history of a request to Gemini: ids of ours are given back. Nothing else is changed in it.

An id stands in the `functionCall` and in the `functionResponse` that answers it, where it has one at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .edits import Path
from .request_edit import RequestEdit

Json = dict[str, Any]


def mend(request: Json, revision: RequestEdit, at: Path = ()) -> None:
    inner = request.get("request")
    if isinstance(inner, dict) and "contents" in inner:
        request, at = inner, (*at, "request")
    for place, identity in ids_in(request):
        revision.restore_id((*at, *place), identity)


def ids_in(request: Json) -> Iterator[tuple[Path, str]]:
    """Every id of a call, and where it stands."""
    for number, turn in enumerate(_listed(request.get("contents"))):
        for index, part in enumerate(_listed(turn.get("parts") if isinstance(turn, dict) else None)):
            for key in ("functionCall", "functionResponse"):
                entry = part.get(key) if isinstance(part, dict) else None
                identity = entry.get("id") if isinstance(entry, dict) else None
                if isinstance(identity, str):
                    yield ("contents", number, "parts", index, key, "id"), identity


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
