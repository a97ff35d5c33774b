"""The history of a Gemini request: a turn with `functionCall` parts is followed by as many `functionResponse` parts.

Google counts them and rejects a history if the numbers differ. If they are equal, nothing is changed. Most calls have
no ids; then a result of the next turn answers the call with its tool's name, and a turn with two calls of one tool
stays unchanged.
"""

from __future__ import annotations

import json

from ..mend.strict import read
from .answered import SIGNATURE
from .blocks import BlockHistory
from .change import Change
from .given_back import GivenBack
from .history import CANCELLED, Json, PastCall, PastResult, Said, Turn, text

_CALL = ("functionCall", "function_call")
_RESULT = ("functionResponse", "function_response")


class GeminiHistory(BlockHistory):
    list_key = "contents"
    result_id = "id"
    content = "response"
    inside = "parts"
    model = "model"
    writes_arguments = False
    has_ids = False
    by_number = True

    def is_plain(self, message: Json) -> bool:
        return isinstance(message.get("parts"), list)

    def read_message(self, number: int, message: Json) -> Said:
        said = super().read_message(number, message)
        if isinstance(said.content, list):
            said.content = [part for part in said.content if not (isinstance(part, dict) and part.get("thought"))]
        return said

    def reasons(self, said: Said) -> bool:
        return not said.calls or self.is_signed(said.calls[0])

    def is_signed(self, call: PastCall) -> bool:
        return any(call.entry.get(key) for key in (SIGNATURE, "thought_signature"))

    def give_back(self, said: Said, back: GivenBack, change: Change) -> None:
        for number, signature in back.extras.items():
            change.count("signature given back")
            said.calls[number].entry[SIGNATURE] = read(signature)

    def call_in(self, block: Json, owner: list[Json]) -> PastCall | None:
        call = _entry_in(block, _CALL)
        if call is None:
            return None
        return PastCall(text(call.get("id")), block, call, "args" if call.get("args") is not None else "", owner)

    def set_id(self, call: PastCall, identity: str) -> None:
        call.id = call.body["id"] = identity

    def result_in(self, block: Json) -> PastResult | None:
        result = _entry_in(block, _RESULT)
        return None if result is None else PastResult(text(result.get("id")), block, result)

    def is_paired(self, turn: Turn) -> bool:
        """Google only counts them."""
        return len(turn.calls) == len(turn.results)

    def keys(self, turn: Turn) -> tuple[list[str], list[str]]:
        if self.is_paired(turn):
            keys = [f"{id(turn)}\0{number}" for number in range(len(turn.calls))]
            return keys, keys
        entries: list[PastCall | PastResult] = [*turn.calls, *turn.results]
        known = [one.id for one in entries]
        if not all(known):
            names = [one.body.get("name") for one in entries]
            known = [f"{id(turn)}\0{name}" if name else "" for name in names]
        return known[: len(turn.calls)], known[len(turn.calls) :]

    def can_stand_alone(self, block: Json) -> bool:
        return not block.get("thought")

    def words_of(self, result: PastResult) -> str:
        response = result.body.get("response")
        values = list(response.values()) if isinstance(response, dict) else []
        # This becomes part of a text, so a number that JSON does not have is no reason to fail.
        if len(values) == 1 and isinstance(values[0], str):
            return values[0]
        return json.dumps(response) if values else ""

    def words_at(self, result: PastResult) -> tuple[Json, str] | None:
        """The only value of the response, if that is a text."""
        response = result.body.get("response")
        if not isinstance(response, dict) or [*map(type, response.values())] != [str]:
            return None
        return response, next(iter(response))

    def cancelled(self, key: str, call: PastCall) -> Json:
        known = {"id": call.id} if call.id else {}
        return {"functionResponse": {**known, "name": call.name, "response": {"error": CANCELLED}}}

    def of_user(self, words: str) -> Json:
        return {"text": words}

    def arrange(self, change: Change) -> None:
        # With `cachedContent`, calls may be in the context that the server keeps.
        if not self.request.get("cachedContent"):
            super().arrange(change)


def _entry_in(part: Json, spellings: tuple[str, ...]) -> Json | None:
    """The object under one of these keys: Gemini's JSON has two spellings for each."""
    return next((part[key] for key in spellings if isinstance(part.get(key), dict)), None)
