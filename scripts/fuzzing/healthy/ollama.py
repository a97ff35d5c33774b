"""Ollama's own protocol: text, thinking, whole calls beside text or in the last line, logprobs, counts."""

from __future__ import annotations

import random

from .sampling import Sampler
from .words import DESCRIPTION, SCHEMAS, Json, call, deltas, identity, often, said, some

TYPES = ("ollama:ChatResponse",)
PIECES = ("text", "text", "thinking", "call", "call", "empty", "odd")


def pieces(chance: random.Random) -> list[Json]:
    kinds = [chance.choice(PIECES) for _ in range(chance.randint(0, 6))]
    return [{"is": kind, "seed": chance.randrange(10**9)} for kind in [*kinds, "finish"]]


def request(chance: random.Random, pieces: list[Json]) -> Json:
    tools = [
        {"type": "function", "function": {"name": name, "description": DESCRIPTION, "parameters": schema}}
        for name, schema in SCHEMAS.items()
    ]
    asked: Json = {"model": "m", "messages": [{"role": "user", "content": "Go on."}]}
    if often(chance, 0.9) or any(piece["is"] == "call" for piece in pieces):
        asked["tools"] = tools
    return asked


def stream(chance: random.Random, pieces: list[Json], asked: Json, sampler: Sampler) -> list[Json]:
    base = {"model": "m", "created_at": "2026-11-18T21:40:00.123456789Z"}
    base |= some(chance, {"remote_model": lambda: "x", "remote_host": lambda: "https://example.com"}, 0.1)
    logprobs = often(chance, 0.2)
    numbered = often(chance, 0.8)
    lines: list[Json] = []
    calls = 0
    for piece in pieces:
        dice = random.Random(piece["seed"])
        message: Json = {"role": "assistant", "content": ""}
        match piece["is"]:
            case "text":
                for text in deltas(dice, said(dice)):
                    entries = (
                        [{"token": text, "logprob": -0.1, "bytes": None, "top_logprobs": []}] if logprobs else None
                    )
                    more = {"logprobs": entries} if entries else {}
                    lines.append({**base, "message": {**message, "content": text}, "done": False, **more})
                continue
            case "thinking":
                texts = deltas(dice, said(dice))
                lines += [{**base, "message": {**message, "thinking": text}, "done": False} for text in texts]
                continue
            case "call":
                entries = []
                for _ in range(dice.choice((1, 1, 2))):
                    name, value = call(dice)
                    entry: Json = {"function": {"index": calls, "name": name, "arguments": value}}
                    if numbered:
                        entry = {"id": identity(dice, "call_"), **entry}
                    else:
                        del entry["function"]["index"]
                    entries.append(entry)
                    calls += 1
                beside = {key: said(dice, 2) for key in ("content", "thinking") if often(dice, 0.2)}
                message |= {"tool_calls": entries, **beside}
            case "odd":
                message["x_future"] = {"tool_calls": None}
            case "finish":
                break
        lines.append({**base, "message": message, "done": False})
    last: Json = {**base, "message": {"role": "assistant", "content": ""}}
    if lines and often(chance, 0.3):
        last = lines.pop()  # Harmony and native servers put their calls into the last line.
    reason = "stop" if calls else chance.choice(("stop", "stop", "length"))
    counts = {"total_duration": 1, "load_duration": 1, "prompt_eval_count": 1, "eval_count": 5, "eval_duration": 1}
    return [*lines, {**last, "done": True, "done_reason": reason, **counts}]


def document(chance: random.Random, pieces: list[Json], asked: Json, sampler: Sampler) -> Json:
    lines = stream(chance, pieces, asked, sampler)
    made = lines[-1]
    message: Json = {"role": "assistant", "content": "".join(line["message"]["content"] for line in lines)}
    for key in ("thinking", "tool_calls"):
        found = [line["message"][key] for line in lines if key in line["message"]]
        if found:
            message[key] = "".join(found) if key == "thinking" else [entry for entries in found for entry in entries]
    return {**made, "message": message}
