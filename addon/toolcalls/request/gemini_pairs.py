"""Pairs in a Gemini history: a turn with `functionCall` parts is followed by as many `functionResponse` parts.

Google counts them and rejects a history if the numbers differ. If they are equal, nothing is changed. Most calls have
no ids; then a result of the next turn answers the call with its tool's name, and a turn with two calls of one tool
stays unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..mend.reading.strict import write
from .block_form import BlockForm
from .block_pairs import BlockPairs
from .contents_as_messages import CALL, RESULT, entry_in, inner
from .edits import Path
from .pairs import CANCELLED
from .request_edit import RequestEdit

Json = dict[str, Any]


def mend_pairs(request: Json, edit: RequestEdit, at: Path, body: bytes) -> None:
    asked, inside = inner(request)
    contents = asked.get("contents")
    # With `cachedContent`, calls may be in the context that the server keeps.
    if isinstance(contents, list) and all(map(_is_plain, contents)) and not asked.get("cachedContent"):
        BlockPairs(_GeminiForm(), contents, edit, (*at, *inside, "contents"), body).mend()


def _is_plain(content: object) -> bool:
    if not isinstance(content, dict) or not isinstance(content.get("parts"), list):
        return False
    return all(isinstance(part, dict) for part in content["parts"])


class _GeminiForm(BlockForm):
    blocks = "parts"
    results_lead = False
    ids_are_unique = False

    def __init__(self) -> None:
        self._turn = 0

    def is_of_model(self, message: Json) -> bool:
        return bool(message.get("role") == "model")

    def call_in(self, block: Json) -> Json | None:
        return entry_in(block, CALL)

    def is_result(self, block: Json) -> bool:
        return entry_in(block, RESULT) is not None

    def result_in(self, block: Json) -> Json | None:
        return entry_in(block, RESULT)

    def can_stand_alone(self, block: Json) -> bool:
        return not block.get("thought")

    def id_of(self, entry: Json) -> str:
        return str(entry.get("id") or "")

    def words_of(self, result: Json) -> str:
        response = result.get("response")
        values = list(response.values()) if isinstance(response, dict) else []
        # This becomes part of a text, so a number that JSON does not have is no reason to fail.
        if len(values) == 1 and isinstance(values[0], str):
            return values[0]
        return json.dumps(response) if values else ""

    def ids(self, calls: Sequence[Json], results: Sequence[Json]) -> tuple[list[str], list[str]]:
        self._turn += 1
        if len(calls) == len(results):
            keys = [f"{self._turn}\0{number}" for number in range(len(calls))]
            return keys, keys
        given = [self.id_of(entry) for entry in (*calls, *results)]
        if not all(given):
            names = [entry.get("name") for entry in (*calls, *results)]
            given = [f"{self._turn}\0{name}" if name else "" for name in names]
        return given[: len(calls)], given[len(calls) :]

    def cancelled(self, identity: str, call: Json) -> str:
        known = {"id": call["id"]} if isinstance(call.get("id"), str) and call["id"] else {}
        return write({"functionResponse": {**known, "name": call.get("name"), "response": {"error": CANCELLED}}})

    def text(self, words: str) -> Json:
        return {"text": words}
