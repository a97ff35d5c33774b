"""Messages: every block that the SDK declares, server tools, citations, thinking, compaction, unknown types."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from .sampling import Sampler, members
from .words import DESCRIPTION, SCHEMAS, Json, arguments, call, deltas, identity, often, said, some

BLOCK = "anthropic.types:ContentBlock"
BETA_BLOCK = "anthropic.types.beta:BetaContentBlock"
CITATION = "anthropic.types:TextCitation"
USAGE = "anthropic.types:Usage"
DELTA = "anthropic.types.beta:BetaRawMessageDeltaEvent"
TYPES = (BLOCK, BETA_BLOCK, CITATION, USAGE, DELTA)

PIECES = (
    "text",
    "text",
    "text",
    "thinking",
    "call",
    "call",
    "call",
    "server",
    "server",
    "block",
    "block",
    "unknown",
    "ping",
    "event",
)  # fmt: skipp
OWN = ("text", "thinking", "tool_use", "server_tool_use", "mcp_tool_use", "compaction", "fallback")
"""Blocks that are streamed in deltas, or that change the message."""


def pieces(chance: random.Random) -> list[Json]:
    beta = often(chance, 0.5)
    kinds = [chance.choice(PIECES) for _ in range(chance.randint(0, 7))]
    made = [{"is": kind, "beta": beta, "seed": chance.randrange(10**9)} for kind in kinds]
    return [*made, {"is": "finish", "beta": beta, "seed": chance.randrange(10**9)}]


def request(chance: random.Random, pieces: list[Json]) -> Json:
    tools: list[Json] = [
        {"name": name, "description": DESCRIPTION, "input_schema": schema} for name, schema in SCHEMAS.items()
    ]
    tools += [
        {"type": "web_search_20260318", "name": "web_search"},
        {"type": "code_execution_20260120", "name": "code_execution"},
    ]
    asked: Json = {"model": "m", "max_tokens": 9000, "messages": [{"role": "user", "content": "Go on."}]}
    if often(chance, 0.9) or any(piece["is"] == "call" for piece in pieces):
        asked["tools"] = tools
    return asked


def _block(piece: Json, sampler: Sampler) -> tuple[Json, list[Json], Json]:
    """How a block begins, its deltas, and how it looks in a document."""
    chance = random.Random(piece["seed"])
    sampler = Sampler(sampler.schemas, chance)
    union = BETA_BLOCK if piece["beta"] else BLOCK
    match piece["is"]:
        case "text":
            text = said(chance)
            parts: list[Json] = [{"type": "text_delta", "text": part} for part in deltas(chance, text)]
            end: Json = {"type": "text", "text": text}
            if often(chance, 0.3):
                kinds = list(members(sampler.schemas[CITATION]))
                found = [sampler.typed(CITATION, chance.choice(kinds)) for _ in range(chance.randint(1, 2))]
                for citation in found:
                    parts.insert(chance.randrange(len(parts) + 1), {"type": "citations_delta", "citation": citation})
                end["citations"] = [part["citation"] for part in parts if "citation" in part]
            begun: Json = {"type": "text", "text": ""}
            return {**begun, **some(chance, {"citations": lambda: None})}, parts, end
        case "thinking":
            text = said(chance)
            parts = [{"type": "thinking_delta", "thinking": part} for part in deltas(chance, text)]
            parts.append({"type": "signature_delta", "signature": "EqQBCgIYAhIM"})
            end = {"type": "thinking", "thinking": text, "signature": "EqQBCgIYAhIM"}
            if often(chance, 0.2):  # `display: omitted`
                parts, end["thinking"] = parts[-1:], ""
            return {**end, "thinking": "", "signature": ""}, parts, end
        case "call":
            name, value = call(chance)
            begin: Json = {"type": "tool_use", "id": identity(chance, "toolu_"), "name": name, "input": {}}
            begin |= some(chance, {"caller": lambda: {"type": "direct"}})
            return _with_input(chance, begin, value)
        case "server":
            kind = chance.choice(("server_tool_use", "mcp_tool_use") if piece["beta"] else ("server_tool_use",))
            begin = {**sampler.typed(union, kind), "id": identity(chance, "srvtoolu_"), "input": {}}
            return _with_input(chance, begin, chance.choice(({"query": said(chance, 2)}, {"code": "print(1)"}, {})))
        case "block":
            kinds = [kind for kind in members(sampler.schemas[union]) if kind not in OWN]
            if piece["beta"] and often(chance, 0.3):
                end = sampler.typed(union, "compaction")
                part = {"type": "compaction_delta", **{key: end.get(key) for key in ("content", "encrypted_content")}}
                return {**end, "content": None}, [part], end
            end = sampler.typed(union, chance.choice(kinds))
            return end, [], end
        case _:
            end = {"type": "x_future", "value": said(chance, 2), "input": {"a": 1}, "content": []}
            return end, [{"type": "x_future_delta", "value": part} for part in deltas(chance, "unknown")], end


def _with_input(chance: random.Random, begin: Json, value: Json) -> tuple[Json, list[Json], Json]:
    parts = deltas(chance, arguments(chance, value).lstrip())  # Leading white space alone is an error for the SDK.
    if not value:
        # Anthropic's own way to say `{}`.
        parts = chance.choice(([""], ["", "{}"], ["{}"], []))
    elif often(chance, 0.6):
        parts = ["", *parts]
    return begin, [{"type": "input_json_delta", "partial_json": part} for part in parts], {**begin, "input": value}


def _finish(pieces: list[Json], sampler: Sampler) -> tuple[Json, Json]:
    """The delta of the message, and what stands beside it."""
    last = next((piece for piece in pieces if piece["is"] == "finish"), {"seed": 0, "beta": False})
    chance = random.Random(last["seed"])
    sampler = Sampler(sampler.schemas, chance)
    kinds = [piece["is"] for piece in pieces]
    reason = chance.choice(("end_turn", "end_turn", "stop_sequence", "max_tokens", "refusal", "pause_turn"))
    if "call" in kinds:
        reason = "tool_use"
    delta: Json = {"stop_reason": reason, "stop_sequence": "</stop>" if reason == "stop_sequence" else None}
    if reason == "refusal":
        delta["stop_details"] = {"type": "refusal", "category": "cyber", "explanation": "no"}
    delta |= some(chance, {"container": lambda: {"id": "container_1", "expires_at": "2026-11-18T21:40:00Z"}}, 0.2)
    beside = {"usage": {"output_tokens": 42}}
    beside["usage"] |= some(
        chance, {"input_tokens": lambda: 9, "server_tool_use": lambda: {"web_search_requests": 1}}
    )
    if last["beta"]:
        sampled = sampler.value(DELTA)
        beside |= {key: sampled[key] for key in ("context_management", "input_transformations") if key in sampled}
    return delta, beside


def _message(chance: random.Random, sampler: Sampler) -> Json:
    usage = sampler.value(USAGE)
    usage |= {"input_tokens": 9, "output_tokens": 1}
    base = {"id": identity(chance, "msg_"), "type": "message", "role": "assistant", "model": "m", "content": []}
    return {**base, "stop_reason": None, "stop_sequence": None, "usage": usage}


def stream(chance: random.Random, pieces: list[Json], asked: Json, sampler: Sampler) -> list[tuple[str, Any]]:
    events = list(_events(chance, pieces, sampler))
    made: list[tuple[str, Any]] = []
    for event in events:
        made.append((event["type"], event))
        if often(chance, 0.03):
            made.append(("ping", {"type": "ping"}))
    return made


def _events(chance: random.Random, pieces: list[Json], sampler: Sampler) -> Iterator[Json]:
    yield {"type": "message_start", "message": _message(chance, sampler)}
    index = 0
    for piece in pieces:
        match piece["is"]:
            case "ping":
                yield {"type": "ping"}
            case "event":
                yield {
                    "type": "x_future_event",
                    "index": index,
                    "delta": {"text": said(random.Random(piece["seed"]), 2)},
                }
            case "finish":
                pass
            case _:
                begin, parts, _ = _block(piece, sampler)
                yield {"type": "content_block_start", "index": index, "content_block": begin}
                for part in parts:
                    yield {"type": "content_block_delta", "index": index, "delta": part}
                yield {"type": "content_block_stop", "index": index}
                index += 1
    delta, beside = _finish(pieces, sampler)
    yield {"type": "message_delta", "delta": delta, **beside}
    yield {"type": "message_stop"}


def document(chance: random.Random, pieces: list[Json], asked: Json, sampler: Sampler) -> Json:
    delta, beside = _finish(pieces, sampler)
    message = _message(chance, sampler)
    message["content"] = [
        _block(piece, sampler)[2] for piece in pieces if piece["is"] not in ("ping", "event", "finish")
    ]
    message["usage"] |= beside.pop("usage")
    return {**message, **delta, **beside}
