"""What both versions of the engine get to do: recordings at many splits, answers and requests made by chance."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

from scripts.fuzzing import answers, meant, plans, recipes
from scripts.fuzzing.part import corpus
from scripts.fuzzing.parts import PARTS

Job = dict[str, Any]

SIZES = (0, 1, 2, 3, 7, 64, 1000)
"""Bytes of a chunk; 0 is the whole body at once."""

OPTIONS: tuple[dict[str, str], ...] = (
    {},
    {"toolfix_aggregate": "false"},
    {"toolfix_text_calls": "false"},
    {"toolfix_null_content": "true", "toolfix_think": "true"},
    {"toolfix_fallback": "empty", "toolfix_preflight": "false"},
    {"toolfix_fallback": "original", "toolfix_arguments": "false"},
    {"toolfix_truncated": "complete"},
    {"toolfix_shape": "false", "toolfix_drop_empty": ""},
    {"toolfix_invalid_tool": "invalid"},
    {"toolfix_max_held_bytes": "400"},
    {"toolfix_zai": "on", "toolfix_zai_after_null": "forward_all"},
)
REQUEST_OPTIONS: tuple[dict[str, str], ...] = (
    {},
    {"toolfix_hints": "true"},
    {"toolfix_retry_guidance": "true"},
    {"toolfix_request": "false"},
)
STREAMS = ("chat", "messages", "responses", "zai")


def of_recordings(recordings: Path) -> Iterator[Job]:
    """Every recording at every size with the default options, and whole and in small chunks with the others."""
    for flow in sorted(recordings.rglob("flow.json")):
        directory = flow.parent
        told = json.loads(flow.read_text(encoding="utf-8"))
        request = _text(directory / "request.json")
        if request:
            for options in REQUEST_OPTIONS:
                yield _request(told["protocol"], request.encode(), options, directory.name)
        body = next((path.read_bytes() for path in sorted(directory.glob("before.*"))), b"")
        if not body or (directory / "before.jsonl").exists():
            continue
        for options in OPTIONS:
            for size in SIZES if not options else (0, 5):
                yield _answer(told["protocol"], request, body, {**told["policy"], **options}, size, directory.name)


def of_chance(inputs: int, seed: int) -> Iterator[Job]:
    """Mutated streams and documents, answers with known calls, and mutated requests."""
    chance = random.Random(seed)
    options = cycle(OPTIONS)
    requests = {name: [""] + [json.dumps(entry["request"]) for entry in corpus(name)] for name in STREAMS}
    for number in range(inputs):
        where = f"seed {seed}, input {number}"
        kind = chance.choice((*STREAMS, *STREAMS, "documents", "meant", "meant", "requests"))
        size = chance.choice((0, 0, 1, 5, 17, 64))
        if kind == "requests":
            body = PARTS["requests"].make(chance)
            yield _request(chance.choice(STREAMS[:3]), body, chance.choice(REQUEST_OPTIONS), where)
        elif kind == "meant":
            recipe = recipes.make(chance)
            plan = plans.plan(recipe)
            asked = json.dumps(meant.request_of(recipe["request"], tuple(plan.requested)))
            yield _answer(recipe["protocol"], asked, meant.answer_of(recipe, plan), next(options), size, where)
        elif kind == "documents":
            name = chance.choice(STREAMS[:3])
            body = answers.make_document(chance)
            yield _answer(name, chance.choice(requests[name]), body, next(options), size, where)
        else:
            body = answers.make_stream(kind, chance)
            yield _answer(kind, chance.choice(requests[kind]), body, next(options), size, where)


def _answer(protocol: str, request: str, body: bytes, options: dict[str, Any], size: int, where: str) -> Job:
    told = {name: value if isinstance(value, str) else json.dumps(value) for name, value in options.items()}
    return {
        "kind": "answer",
        "where": where,
        "protocol": protocol,
        "request": request,
        "body": base64.b64encode(body).decode("ascii"),
        "set": told,
        "size": size,
    }


def _request(protocol: str, body: bytes, options: dict[str, str], where: str) -> Job:
    encoded = base64.b64encode(body).decode("ascii")
    return {"kind": "request", "where": where, "protocol": protocol, "body": encoded, "set": options}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="surrogatepass") if path.exists() else ""
