"""Z.AI as its own web page gets it: no request of ours declares tools, so every byte stays."""

from __future__ import annotations

import random
from typing import Any

from .sampling import Sampler
from .words import Json, call, deltas, often, said

TYPES = ()
PIECES = ("thinking", "answer", "tool_call", "tool_response", "other", "search")


def pieces(chance: random.Random) -> list[Json]:
    kinds = [chance.choice(PIECES) for _ in range(chance.randint(0, 6))]
    return [{"is": kind, "seed": chance.randrange(10**9)} for kind in [*kinds, "finish"]]


def request(chance: random.Random, pieces: list[Json]) -> Json:
    return {
        "model": "glm",
        "stream": True,
        "messages": [{"role": "user", "content": "Go on."}],
        "features": {"web_search": True},
    }


def stream(chance: random.Random, pieces: list[Json], asked: Json, sampler: Sampler) -> list[tuple[str, Any]]:
    events: list[Json] = []
    length = 0
    for piece in pieces:
        dice = random.Random(piece["seed"])
        kind = piece["is"]
        match kind:
            case "finish":
                events.append({"phase": "other", "usage": {"total_tokens": 9}, "delta_content": ""})
                events.append({"phase": "done", "done": True})
            case "tool_call":
                name, value = call(dice)
                data = f'{{"type": "mcp", "data": {{"metadata": {{"name": "{name}", "arguments": ""}}}}}}'
                block = f'<glm_block view="" >{data}</glm_block>'
                for text in deltas(dice, block):
                    events.append({"phase": kind, "edit_index": length, "edit_content": text})
                    length += len(text)
                events.append({"phase": kind, "delta_name": name, "delta_arguments": str(value)})
            case _:
                for text in deltas(dice, said(dice)):
                    edit = (
                        {"edit_index": length, "edit_content": text} if often(dice, 0.2) else {"delta_content": text}
                    )
                    events.append({"phase": kind, **edit})
                    length += len(text)
    return [("", {"type": "chat:completion", "data": event}) for event in events]
