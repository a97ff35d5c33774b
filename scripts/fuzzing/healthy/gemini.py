"""Gemini: every part and candidate field that the SDK declares, several candidates, signatures, grounding, usage."""

from __future__ import annotations

import random
from typing import Any

from .sampling import Sampler
from .words import DESCRIPTION, SCHEMAS, Json, call, deltas, identity, often, said

PART = "google.genai.types:Part"
CANDIDATE = "google.genai.types:Candidate"
ANSWER = "google.genai.types:GenerateContentResponse"
TYPES = (PART, CANDIDATE, ANSWER)

PIECES = ("text", "text", "thought", "call", "call", "call", "part", "signature", "metadata", "usage", "empty", "odd")
PARTS = ("codeExecutionResult", "executableCode", "fileData", "inlineData", "toolCall", "toolResponse")
METADATA = (
    "citationMetadata",
    "groundingMetadata",
    "safetyRatings",
    "logprobsResult",
    "urlContextMetadata",
    "avgLogprobs",
    "tokenCount",
)  # fmt: skipp


def pieces(chance: random.Random) -> list[Json]:
    made: list[Json] = []
    named = often(chance, 0.5)  # Hosts give all calls of an answer ids, or none.
    for choice in range(chance.choice((1, 1, 1, 1, 2))):
        kinds = [chance.choice(PIECES) for _ in range(chance.randint(0, 6))]
        made += [{"is": kind, "choice": choice, "seed": chance.randrange(10**9)} for kind in [*kinds, "finish"]]
    return [{**piece, "named": named} if piece["is"] == "call" else piece for piece in made]


def request(chance: random.Random, pieces: list[Json]) -> Json:
    asked: Json = {"contents": [{"role": "user", "parts": [{"text": "Go on."}]}]}
    declared = [
        {"name": name, "description": DESCRIPTION, "parametersJsonSchema": schema} for name, schema in SCHEMAS.items()
    ]
    if often(chance, 0.9) or any(piece["is"] == "call" for piece in pieces):
        asked["tools"] = [{"functionDeclarations": declared}, {"googleSearch": {}}]
    return asked


def _parts(chance: random.Random, piece: Json, sampler: Sampler) -> list[list[Json]]:
    """The parts of a piece, a list for each event."""
    signed = {"thoughtSignature": "c2lnbmF0dXJl"}
    match piece["is"]:
        case "text":
            return [[{"text": text}] for text in deltas(chance, said(chance))]
        case "thought":
            return [[{"text": text, "thought": True}] for text in deltas(chance, said(chance))]
        case "call":
            made = []
            named = piece["named"]
            for number in range(chance.choice((1, 1, 1, 2, 3)) if named else 1):
                name, value = call(chance)
                inner: Json = {"name": name, "args": value, **({"id": identity(chance, "call_")} if named else {})}
                made.append({"functionCall": inner, **(signed if not number and often(chance, 0.6) else {})})
            return [made] if often(chance, 0.6) else [[part] for part in made]
        case "part":
            kind = chance.choice(PARTS)
            return [[{kind: sampler.value(PART).get(kind) or {}}]]
        case "signature":
            return [[{"text": "", **signed}]]
        case "odd":
            return [[{"xFuturePart": {"text": said(chance, 1)}}]]
        case _:
            return [[]]


def stream(chance: random.Random, pieces: list[Json], asked: Json, sampler: Sampler) -> list[tuple[str, Any]]:
    base = {"modelVersion": "m", "responseId": identity(chance, "r")}
    usage = {"promptTokenCount": 5, "totalTokenCount": 5}
    waiting: dict[int, list[Json]] = {}
    for piece in pieces:
        dice = random.Random(piece["seed"])
        inner = Sampler(sampler.schemas, dice)
        entries = waiting.setdefault(piece["choice"], [])
        candidate: Json = {}
        if piece["is"] == "metadata":
            sampled = inner.value(CANDIDATE)
            candidate = {key: sampled[key] for key in METADATA if sampled.get(key) is not None}
        if piece["is"] == "finish":
            reason = dice.choice(("STOP", "STOP", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION"))
            called = any(one["is"] == "call" and one["choice"] == piece["choice"] for one in pieces)
            candidate["finishReason"] = "STOP" if called else reason
            if entries and often(dice, 0.5):
                entries[-1].update(candidate)
                continue
        for parts in _parts(dice, piece, inner):
            content = {"parts": parts, "role": "model"}
            if not parts:
                empty: list[Json] = [{"role": "model"}, {"parts": [], "role": "model"}]
                content = dice.choice([*empty, {"parts": [{"text": ""}], "role": "model"}])
            entries.append({"content": content, **candidate})
        if piece["is"] == "usage" and often(dice, 0.5):
            entries[-1] = {}
    if often(chance, 0.3):  # Some events carry several parts of one candidate.
        for entries in waiting.values():
            _merge(chance, entries)
    events: list[tuple[str, Any]] = []
    while any(waiting.values()):
        usage = {**usage, "candidatesTokenCount": len(events), "totalTokenCount": 5 + len(events)}
        ready = [index for index, entries in waiting.items() if entries]
        chosen = ready if often(chance, 0.2) else [chance.choice(ready)]
        found = [(index, waiting[index].pop(0)) for index in chosen]
        candidates = [{**entry, "index": index} for index, entry in found if entry]
        if len(waiting) == 1 and often(chance, 0.2):
            candidates = [{key: value for key, value in entry.items() if key != "index"} for entry in candidates]
        event = {"candidates": candidates, "usageMetadata": usage, **base}
        if not candidates and often(chance, 0.5):
            del event["candidates"]
        if often(chance, 0.05):
            event["promptFeedback"] = {
                "safetyRatings": [{"category": "HARM_CATEGORY_HATE_SPEECH", "probability": "LOW"}]
            }
        if often(chance, 0.05):
            event["xFuture"] = {"functionCall": None}
        events.append(("", event))
    return events


def _merge(chance: random.Random, entries: list[Json]) -> None:
    at = 0
    while at + 1 < len(entries):
        first, second = entries[at], entries[at + 1]
        parts = [one.get("content", {}).get("parts") for one in (first, second)]
        if parts[0] and parts[1] and set(first) == {"content"} and often(chance, 0.5):
            entries[at : at + 2] = [{**second, "content": {"parts": parts[0] + parts[1], "role": "model"}}]
        else:
            at += 1


def document(chance: random.Random, pieces: list[Json], asked: Json, sampler: Sampler) -> Json:
    candidates: dict[int, Json] = {}
    for _, event in stream(chance, pieces, asked, sampler):
        for entry in event.get("candidates", ()):
            held = candidates.setdefault(entry.get("index", 0), {"content": {"parts": [], "role": "model"}})
            held["content"]["parts"] += entry.get("content", {}).get("parts") or []
            held.update({key: value for key, value in entry.items() if key != "content"})
    answer = sampler.value(ANSWER)
    answer = {
        key: answer[key] for key in ("createTime", "modelVersion", "responseId", "usageMetadata") if key in answer
    }
    return {"candidates": list(candidates.values()), **answer}
