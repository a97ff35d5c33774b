"""Only the calls that are meant may run: answers with a known set of calls, on every wire.

The calls are quoted, rehearsed in reasoning, read aloud from the request, written as text in every format, or
structured and sent in pieces, interleaved ("woven"), repeated, cut off at any byte, with markup in their values. The
calls that can run afterwards must be those that were meant, or fewer.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from toolcalls.engine import Response
from toolcalls.policy import Policy
from toolcalls.request.request import Request, read_request

from . import clients, plans, recipes
from .answers import run
from .meant_answers import answer_of
from .part import Part, chance_of, cuts, need
from .plans import Plan
from .recipes import TOOLS, Json, Key, key_of

DECLARED = [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in TOOLS.items()]


def written(recipe: Json) -> bytes:
    """A recipe as an input of the fuzzer."""
    return json.dumps(recipe, ensure_ascii=False).encode()


def smaller(data: bytes) -> Iterator[bytes]:
    for recipe in recipes.smaller(json.loads(data)):
        yield written(recipe)


def check(data: bytes) -> None:
    try:
        recipe = json.loads(data)
        plan = plans.plan(recipe)
        body = answer_of(recipe, plan)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return  # Not a recipe: atheris changes bytes. (A test makes sure that those of `make` are recipes.)
    chance = chance_of(data)
    question = question_of(recipe["request"], tuple(plan.requested))
    policy = Policy(aggregate=not recipe.get("live"))
    answer = Response(recipe["protocol"], question, policy, seed="s")
    out = run(answer, cuts(body, chance) if recipe["form"] == "stream" else [body])
    if chance.random() < 0.2:
        other = Response(recipe["protocol"], question, policy, seed="s")
        need(run(other, [body]) == out, "another output when it is cut otherwise")
    for calls in carriers(recipe, out):
        _only_meant(runnable(calls), plan, recipe, body)


def _only_meant(made: Counter[Key], plan: Plan, recipe: Json, body: bytes) -> None:
    for call in sorted(made):
        if made[call] > plan.allowed[call]:
            why = plan.origins.get(call) or _unknown(call, plan)
            if why == _NOBODY and not recipe.get("cut") and _valid_without_us(call, recipe, body):
                continue
            if (why == _NOBODY or why.endswith("two objects")) and _told_whole(call, recipe, body):
                continue
            kind, _, name = why.partition(" — ")
            allowed = [f"{each} {arguments}" for each, arguments in +plan.allowed]
            said = body.decode("utf-8", "replace")
            need(False, f"{kind} — {name}\n  {' '.join(call)}\n  may run: {allowed or 'nothing'}\n{said[:3000]}")


_NOBODY = "a value that nobody wrote"


def _unknown(call: Key, plan: Plan) -> str:
    if plan.allowed[call]:
        return "ran twice"
    return _NOBODY if +plan.allowed else "nothing was meant, another value ran"


def _valid_without_us(call: Key, recipe: Json, body: bytes) -> bool:
    """Whether two woven calls happen to be valid JSON as they arrived: every client reads that as one call."""
    if recipe["form"] != "stream":
        return False
    protocol = recipe["protocol"]
    calls = _zai_deltas(body) if protocol == "zai" else clients.CALLS[protocol](body)
    return runnable(calls)[call] > 0


def _told_whole(call: Key, recipe: Json, body: bytes) -> bool:
    """Whether this object is a whole fragment of a Chat stream, with an id and a name of its own: that is a call.

    Two objects in one call look like this if they are cut exactly between them: the same id with other arguments is
    another call.
    """
    if recipe["form"] != "stream" or recipe["protocol"] != "chat":
        return False
    deltas = [choice.get("delta") or {} for event in clients.payloads(body) for choice in event.get("choices") or []]
    entries = [entry for delta in deltas for entry in delta.get("tool_calls") or [] if entry.get("id")]
    told = [(entry["function"].get("name"), entry["function"].get("arguments")) for entry in entries]
    return runnable([(name, arguments) for name, arguments in told if name and arguments])[call] > 0


def _zai_deltas(body: bytes) -> list[clients.Call]:
    """The calls of Z.AI's own deltas; a fragment without a name belongs to the last call."""
    calls: list[list[str]] = []
    for event in clients.payloads(body):
        data = event.get("data") or {}
        if "delta_name" in data:
            calls.append([data["delta_name"], ""])
        if calls:
            calls[-1][1] += data.get("delta_arguments", "")
    return [(name, arguments) for name, arguments in calls]


# The question


def request_of(request: str, texts: tuple[str, ...]) -> Json:
    """The request of the answer, with these texts in the user's message."""
    asked: Json = {"tools": DECLARED, "stream": True}
    if request == "none":
        asked["tool_choice"] = "none"
    if texts:
        asked["messages"] = [{"role": "user", "content": "The page is:\n\n" + "\n".join(texts) + "\n\nRead it."}]
    return asked


@lru_cache(maxsize=64)
def question_of(request: str, texts: tuple[str, ...]) -> Request:
    return read_request(request_of(request, texts))


# What a client runs


def runnable(calls: list[clients.Call]) -> Counter[Key]:
    """The calls of declared tools whose arguments are not those of a refusal."""
    made: Counter[Key] = Counter()
    for name, text in calls:
        if name not in TOOLS:
            continue  # This includes the invalid tool of a refusal.
        try:
            arguments = json.loads(text) if isinstance(text, str) and text else text or {}
        except ValueError:
            continue
        if isinstance(arguments, dict) and (arguments or "required" not in TOOLS[name]):
            made[key_of(name, arguments)] += 1
    return made


def carriers(recipe: Json, out: bytes) -> Iterator[list[clients.Call]]:
    """The calls of an answer, once for each kind of event that a client may take them from."""
    if recipe["form"] == "document":
        yield _document_calls(recipe["protocol"], out)
        return
    yield clients.CALLS[recipe["protocol"]](out)
    if recipe["protocol"] == "responses":
        for event in clients.payloads(out):
            if isinstance(event.get("response"), dict):
                yield _items(event["response"].get("output"))


def _items(output: Any) -> list[clients.Call]:
    items = clients.entries(output)
    return [(item.get("name"), item.get("arguments")) for item in items if item.get("type") == "function_call"]


def _document_calls(protocol: str, out: bytes) -> list[clients.Call]:
    body = json.loads(out)
    if protocol == "responses":
        return _items(body.get("output"))
    if protocol in ("ollama", "gemini"):
        return clients.CALLS[protocol](out)
    if protocol == "messages":
        return [
            (block.get("name"), block.get("input"))
            for block in clients.entries(body.get("content"))
            if block.get("type") == "tool_use"
        ]
    return [
        (clients.inside(call, "function", "name"), clients.inside(call, "function", "arguments"))
        for choice in clients.entries(body.get("choices"))
        for call in clients.entries(clients.inside(choice, "message", "tool_calls"))
    ]


def _part(name: str, about: str, recipe: Callable[[random.Random], Json]) -> Part:
    def make(chance: random.Random) -> bytes:
        return written(recipe(chance))

    def seeds() -> list[bytes]:
        return [make(random.Random(number)) for number in range(20)]

    return Part(name, about, make, check, seeds, smaller)


_ONLY_MEANT = "what is meant comes out, or less; nothing else, and nothing twice"
PARTS = [
    _part(
        "meant",
        f"known calls, quoted, rehearsed, read aloud, resent, woven, cut, nested: {_ONLY_MEANT}",
        recipes.make,
    ),
    _part("meant-calls", "the same, two or more structured calls in every way to send them", recipes.make_calls),
    _part(
        "meant-text", "the same, quotations that are left open and thoughts before written calls", recipes.make_text
    ),
]
