"""Calls that come whole, as servers send them: one by one, in one event, again; and Gemini's arguments in pieces.

Each way makes of the calls what the events carry, and what the last event carries beside its reason.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from .resent import Sent, fragments, woven

Json = dict[str, Any]
Events = tuple[list[list[Json]], list[Json]]


def _without_its_id(call: Json) -> Json:
    if "functionCall" in call:
        return {"functionCall": {key: value for key, value in call["functionCall"].items() if key != "id"}}
    return {key: value for key, value in call.items() if key != "id"}


WAYS: dict[str, Callable[[random.Random, list[Json]], Events]] = {
    "one by one": lambda chance, calls: ([[call] for call in calls], []),
    "all in one event": lambda chance, calls: ([calls], []),
    "all in the last event": lambda chance, calls: ([], calls),
    "again": lambda chance, calls: ([[call] for call in (*calls, *calls)], []),
    "again in one event": lambda chance, calls: ([[*calls, *calls]], []),
    "again in the last event": lambda chance, calls: ([[call] for call in calls], calls),
    "again, each at once": lambda chance, calls: ([[call, call] for call in calls], []),
    "again without ids": lambda chance, calls: ([[call] for call in calls], list(map(_without_its_id, calls))),
    "an empty event between": lambda chance, calls: ([each for call in calls for each in ([call], [])], []),
}
"""How calls that come whole are sent."""


def _in_pieces(chance: random.Random, sent: Sent) -> list[Json]:
    """The parts of one call whose texts come in pieces; whole where its arguments are no object of texts."""
    value = sent.value
    head = {"id": sent.id, "name": sent.name}
    if not isinstance(value, dict) or not all(isinstance(said, str) for said in value.values()):
        return [{"functionCall": {**head, "args": value}}]
    parts: list[Json] = [{**head, "willContinue": True}]
    for key, said in value.items():
        texts = fragments(chance, said)
        for number, text in enumerate(texts, 1):
            piece = {"jsonPath": f"$.{key}", "stringValue": text, "willContinue": number < len(texts)}
            parts.append({"partialArgs": [piece], "willContinue": True})
    return [{"functionCall": part} for part in (*parts, {})]


def _one_by_one(chance: random.Random, calls: list[Sent]) -> list[Json]:
    return [part for sent in calls for part in _in_pieces(chance, sent)]


IN_PIECES: dict[str, Callable[[random.Random, list[Sent]], list[Json]]] = {
    "in pieces": _one_by_one,
    "in pieces, again": lambda chance, calls: _one_by_one(chance, [*calls, *calls]),
    "in pieces, woven": lambda chance, calls: woven(chance, [_in_pieces(chance, sent) for sent in calls]),
}
"""How Gemini sends arguments in pieces."""
