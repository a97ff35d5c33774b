"""The jobs for both versions of the engine: recordings in many splits, and random answers and requests."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Iterator
from itertools import count, cycle
from pathlib import Path
from typing import Any

from scripts.fuzzing import answers, meant, meant_answers, plans, recipes
from scripts.fuzzing.part import corpus
from scripts.fuzzing.parts import PARTS
from tests.splits import cut_at_random
from toolcalls.recording import store

Job = dict[str, Any]

SIZES = (0, 1, 2, 3, 7, 64, 1000)
"""The bytes of a chunk; 0 is the whole body at once."""

OPTIONS: tuple[dict[str, str], ...] = (
    {},
    {"toolfix_aggregate": "false"},
    {"toolfix_text_calls": "false"},
    {"toolfix_null_content": "true"},
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
SOCKET = "socket"
"""Responses over a WebSocket, one event per message."""
PROTOCOLS = (*STREAMS, SOCKET, "ollama", "gemini")


def kept_recordings(old: Path, new: Path) -> list[Path]:
    """The recordings that are the same in both versions; the others are new, or changed with the behaviour."""
    known = {flow.parent.name: flow.parent for flow in old.rglob("flow.json")}
    recordings = (flow.parent for flow in sorted(new.rglob("flow.json")))
    return [one for one in recordings if one.name in known and _contents(one) == _contents(known[one.name])]


def _contents(recording: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in recording.iterdir() if path.name != "flow.json"}


def of_recordings(recordings: list[Path]) -> Iterator[Job]:
    """Each recording in chunks of every size with the default options, and whole and in small chunks with others."""
    for directory in recordings:
        told = json.loads((directory / "flow.json").read_text(encoding="utf-8"))
        request = _text(directory / "request.json")
        if request:
            for options in REQUEST_OPTIONS:
                yield _request(told["protocol"], request.encode(), options, directory.name)
        body = next((path.read_bytes() for path in sorted(directory.glob("before.*"))), b"")
        if not body:
            continue
        messages = _recorded_messages(directory) if told["protocol"] == "responses" else []
        for options in OPTIONS:
            known = {**told["policy"], **options}
            for size in SIZES if not options else (0, 5):
                if not (directory / "before.jsonl").exists():
                    yield _answer(told["protocol"], request, body, known, size, directory.name)
            if messages:
                yield _socket(messages, known, directory.name)


def of_recordings_held(recordings: Path, protocols: list[str] | None) -> Iterator[Job]:
    """Each recording as it was recorded: whole, byte by byte and at random cuts, and as messages of a WebSocket."""
    for directory in store.find(recordings):
        recording = store.load(directory)
        if protocols and not {recording.protocol, SOCKET if recording.protocol == "responses" else ""} & {*protocols}:
            continue
        told, request = recording.flow, _text(directory / "request.json")
        after = recording.before if recording.after is None else recording.after
        more = {"untouched": recording.before == after, "status": told.get("status") or 200, "seed": recording.seed}
        more["open"] = recording.broken
        for size in (0, 1) if recording.suffix != ".jsonl" else ():
            yield _answer(recording.protocol, request, recording.before, told["policy"], size, directory.name) | more
        for seed in (1, 2, 3) if recording.suffix != ".jsonl" else ():
            cuts = [len(piece) for piece in cut_at_random(recording.before, seed)]
            job = _answer(recording.protocol, request, recording.before, told["policy"], 0, directory.name)
            yield {**job, **more, "cuts": cuts}
        if recording.protocol == "responses" and recording.suffix in (".sse", ".jsonl"):
            untouched = more["untouched"] and recording.suffix == ".jsonl"
            yield {**_socket(_recorded_messages(directory), told["policy"], directory.name), "untouched": untouched}


def of_chance(seed: int, protocols: list[str] | None) -> Iterator[Job]:
    """An endless sequence of mutated streams and documents, answers with known calls, and mutated requests."""
    chance = random.Random(seed)
    options = cycle(OPTIONS)
    requests = {name: [""] + [json.dumps(entry["request"]) for entry in corpus(name)] for name in STREAMS}
    asked = {"responses" if name == SOCKET else name for name in protocols or STREAMS}
    streams = [name for name in STREAMS if name in asked]
    kinds = streams if protocols == [SOCKET] else [*streams, *streams, "documents", "meant", "meant", "requests"]
    for number in count() if streams else ():
        where = f"seed {seed}, input {number}"
        kind = chance.choice(kinds)
        size = chance.choice((0, 0, 1, 5, 17, 64))
        if kind == "requests":
            body = PARTS["requests"].make(chance)
            yield _request(chance.choice(STREAMS[:3]), body, chance.choice(REQUEST_OPTIONS), where)
        elif kind == "meant":
            recipe = recipes.make(chance, STREAMS)
            plan = plans.plan(recipe)
            request = json.dumps(meant.request_of(recipe["request"], tuple(plan.requested)))
            yield _answer(
                recipe["protocol"], request, meant_answers.answer_of(recipe, plan), next(options), size, where
            )
        elif kind == "documents":
            name = chance.choice(STREAMS[:3])
            body = answers.make_document(chance)
            yield _answer(name, chance.choice(requests[name]), body, next(options), size, where)
        else:
            body = answers.make_stream(kind, chance)
            request = chance.choice(requests[kind])
            yield _answer(kind, request, body, next(options), size, where)
            if kind == "responses":
                yield _socket(_messages(request, body), next(options), where)


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


def _socket(messages: list[list[Any]], options: dict[str, Any], where: str) -> Job:
    return {**_answer(SOCKET, "", b"", options, 0, where), "kind": SOCKET, "messages": messages}


def _recorded_messages(directory: Path) -> list[list[Any]]:
    """The messages of a recording, each with whether the client sent it; for a recording over HTTP, its events."""
    frames = directory / "before.jsonl"
    if frames.exists():
        entries = [json.loads(line) for line in frames.read_text(encoding="utf-8").splitlines()]
        return [[entry["from"] == "client", entry["text"]] for entry in entries if "text" in entry]
    stream = directory / "before.sse"
    return _messages(_text(directory / "request.json"), stream.read_bytes()) if stream.exists() else []


def _messages(request: str, body: bytes) -> list[list[Any]]:
    """A request and the events of its answer, as messages of a WebSocket."""
    asked = json.loads(request) if request else {}
    events = re.findall(r"(?m)^data: ?(.*?)\r?$", body.decode("utf-8", "replace"))
    first = json.dumps({"type": "response.create", **(asked if isinstance(asked, dict) else {})})
    return [[True, first], *([False, event] for event in events)]


def _request(protocol: str, body: bytes, options: dict[str, str], where: str) -> Job:
    encoded = base64.b64encode(body).decode("ascii")
    return {"kind": "request", "where": where, "protocol": protocol, "body": encoded, "set": options}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="surrogatepass") if path.exists() else ""
