"""Ways in which servers send whole calls: one by one, in one event, repeated; and Gemini's arguments in pieces.

Each way returns the calls in each event, and the calls in the last event, beside its reason.
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
"""How calls that arrive whole are sent."""


def _in_pieces(chance: random.Random, sent: Sent) -> list[Json]:
    """The parts of one call whose texts arrive in pieces; one part if its arguments are not an object of texts."""
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


def _in_disorder(parts: list[Json]) -> list[Json]:
    """The parts, with the last piece of the last value moved before its other pieces."""
    paths = [part["functionCall"].get("partialArgs", [{}])[0].get("jsonPath") for part in parts]
    places = [at for at, path in enumerate(paths) if path and path == paths[-2]]
    if len(places) < 2:
        return parts
    ordered = [parts[at] for at in (places[-1], *places[:-1])]
    return [*parts[: places[0]], *ordered, *parts[places[-1] + 1 :]]


IN_PIECES: dict[str, Callable[[random.Random, list[Sent]], list[Json]]] = {
    "in pieces": _one_by_one,
    "in pieces, again": lambda chance, calls: _one_by_one(chance, [*calls, *calls]),
    "in pieces, in disorder": lambda chance, calls: [
        part for sent in calls for part in _in_disorder(_in_pieces(chance, sent))
    ],
    "in pieces, woven": lambda chance, calls: woven(chance, [_in_pieces(chance, sent) for sent in calls]),
}
"""How Gemini sends arguments in pieces."""
