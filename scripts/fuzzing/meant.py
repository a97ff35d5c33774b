"""The calls that are meant, and no others: answers with a known set of calls, on every wire.

Quoted, rehearsed, read aloud, written as text in every format, structured and sent in pieces, woven, again, cut off
at any byte, with markup in their values: what comes out runnable are the calls that were meant, or fewer of them.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from tests.dialects import messages_wire
from tests.dialects.responses_wire import Upstream
from tests.dialects.test_chat import DONE, chunk
from tests.dialects.zai_streams import Backend
from tests.must_not_run.parts import pieces
from tests.must_not_run.wires import FINISHES
from toolcalls.engine import Response
from toolcalls.request.request import Request, read_request

from . import clients, plans, recipes, resent
from .answers import run
from .part import Part, chance_of, cuts, need
from .plans import Plan
from .recipes import TOOLS, Json, Key, key_of
from .resent import Sent

DECLARED = [{"type": "function", "function": {"name": name, "parameters": schema}} for name, schema in TOOLS.items()]


def written(recipe: Json) -> bytes:
    """A recipe as the input of a part."""
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
        return  # No recipe: a driver that changes bytes makes such. A test builds many of those that `make` makes.
    chance = chance_of(data)
    question = question_of(recipe["request"], tuple(plan.requested))
    answer = Response(recipe["protocol"], question, seed="s")
    out = run(answer, cuts(body, chance) if recipe["form"] == "stream" else [body])
    if chance.random() < 0.2:
        other = Response(recipe["protocol"], question, seed="s")
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
    """Two woven calls that are valid JSON as they came, by chance: that is one call for everyone who reads it."""
    if recipe["form"] != "stream":
        return False
    protocol = recipe["protocol"]
    calls = _zai_deltas(body) if protocol == "zai" else clients.CALLS[protocol](body)
    return runnable(calls)[call] > 0


def _told_whole(call: Key, recipe: Json, body: bytes) -> bool:
    """Is this object the whole fragment of a Chat stream, with an id and a name of its own? Then that is a call.

    Two objects of one call look so where they are cut just between them: an id with other arguments is another call.
    """
    if recipe["form"] != "stream" or recipe["protocol"] != "chat":
        return False
    deltas = [choice.get("delta") or {} for event in clients.payloads(body) for choice in event.get("choices") or []]
    entries = [entry for delta in deltas for entry in delta.get("tool_calls") or [] if entry.get("id")]
    told = [(entry["function"].get("name"), entry["function"].get("arguments")) for entry in entries]
    return runnable([(name, arguments) for name, arguments in told if name and arguments])[call] > 0


def _zai_deltas(body: bytes) -> list[clients.Call]:
    """The calls of Z.AI's own deltas, each fragment without an id taken for one of the last call."""
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
    """The request that the answer answers, with these texts on the page that the user sent."""
    asked: Json = {"tools": DECLARED, "stream": True}
    if request == "none":
        asked["tool_choice"] = "none"
    if texts:
        asked["messages"] = [{"role": "user", "content": "The page is:\n\n" + "\n".join(texts) + "\n\nRead it."}]
    return asked


@lru_cache(maxsize=64)
def question_of(request: str, texts: tuple[str, ...]) -> Request:
    return read_request(request_of(request, texts))


# The answer


def answer_of(recipe: Json, plan: Plan) -> bytes:
    """The bytes of the answer, cut where the recipe cuts it."""
    where, share = recipe.get("cut") or ("", 1000)
    if where == "said" and plan.parts:
        last = plan.parts[-1]
        if last.sent:
            text = last.sent[-1].text
            last.sent[-1] = Sent(last.sent[-1].id, last.sent[-1].name, text[: len(text) * share // 1000])
        else:
            last.text = last.text[: len(last.text) * share // 1000]
    write = _DOCUMENTS if recipe["form"] == "document" else _STREAMS
    body = write[recipe["protocol"]](recipe, plan, random.Random(recipe["seed"]))
    return body[: len(body) * share // 1000] if where == "bytes" else body


def _deltas(recipe: Json, text: str) -> list[str]:
    return pieces(text, recipe["size"], recipe["seed"])


def _chat(recipe: Json, plan: Plan, chance: random.Random) -> bytes:
    said: list[str] = []
    last: Json = {}
    for part in plan.parts:
        if part.sent:
            calls = resent.CHAT[part.how](chance, part.sent)
            said += [chunk({"tool_calls": [entry]}) for entry in calls.chunks]
            last = calls.last
        else:
            key = "reasoning_content" if part.kind == "reasoning" else "content"
            said += [chunk({key: text}) for text in _deltas(recipe, part.text)]
    reason = FINISHES[recipe["finish"]][0]
    if reason:
        choice = {"index": 0, "delta": {}, "finish_reason": reason, **last}
        said.append(
            f"data: {json.dumps({'id': 'c1', 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n{DONE}"
        )
    return "".join(said).encode()


def _messages(recipe: Json, plan: Plan, chance: random.Random) -> bytes:
    wire = messages_wire
    out, behind, at = wire.begin(), b"", 0
    for part in plan.parts:
        if part.sent:
            calls = resent.MESSAGES[part.how](chance, at, part.sent)
            out, behind, at = out + calls.blocks, calls.behind, at + 2 * len(part.sent)
        else:
            write = wire.thinking if part.kind == "reasoning" else wire.text
            out += write(at, *_deltas(recipe, part.text))
            at += 1
    reason = FINISHES[recipe["finish"]][1]
    return out + (wire.reason(reason) + behind + wire.MESSAGE_STOP if reason else behind)


def _responses(recipe: Json, plan: Plan, chance: random.Random) -> bytes:
    upstream = _upstream(recipe, plan, chance)
    reason = FINISHES[recipe["finish"]][2]
    return (upstream.end(reason) if reason else upstream).bytes()


def _upstream(recipe: Json, plan: Plan, chance: random.Random) -> Upstream:
    upstream = Upstream()
    for part in plan.parts:
        if part.sent:
            # An answer that was completed and then cut off: the first of the two ends counts.
            twice = part.how == "ended twice" and recipe["finish"] in recipes.CUT
            resent.RESPONSES["one after the other" if twice else part.how](chance, upstream, part.sent)
        elif part.kind == "reasoning":
            upstream.reasoning(part.text)
        else:
            upstream.message(*_deltas(recipe, part.text))
    return upstream


def _zai(recipe: Json, plan: Plan, chance: random.Random) -> bytes:
    backend = Backend()
    for part in plan.parts:
        if part.sent:
            resent.ZAI[part.how](chance, backend, part.sent)
        elif part.kind == "reasoning":
            backend.say(delta_content=part.text, phase="thinking")
        else:
            for text in _deltas(recipe, part.text):
                backend.delta(text)
    return (backend.done() if recipe["finish"] in ("stop", "calls") else backend).stream


def _sent(plan: Plan) -> list[Sent]:
    return [sent for part in plan.parts if part.sent for sent in part.sent * resent.DOCUMENT[part.how]]


def _chat_document(recipe: Json, plan: Plan, chance: random.Random) -> bytes:
    message: Json = {"role": "assistant", "content": "".join(p.text for p in plan.parts if p.kind == "text")}
    message["reasoning_content"] = "".join(p.text for p in plan.parts if p.kind == "reasoning")
    message["tool_calls"] = [
        {"id": sent.id, "type": "function", "function": {"name": sent.name, "arguments": sent.text}}
        for sent in _sent(plan)
    ]
    choice = {"index": 0, "message": message, "finish_reason": FINISHES[recipe["finish"]][0]}
    return json.dumps({"object": "chat.completion", "choices": [choice]}).encode()


def _messages_document(recipe: Json, plan: Plan, chance: random.Random) -> bytes:
    content: list[Json] = []
    for part in plan.parts:
        content += [
            {"type": "tool_use", "id": sent.id, "name": sent.name, "input": sent.value}
            for sent in part.sent * (resent.DOCUMENT[part.how] if part.sent else 0)
        ]
        if part.kind == "reasoning":
            content.append({"type": "thinking", "thinking": part.text, "signature": "EqQB"})
        elif part.text:
            content.append({"type": "text", "text": part.text})
    whole = {"id": "msg_01", "type": "message", "role": "assistant", "model": "m", "content": content}
    ends = {"stop_reason": FINISHES[recipe["finish"]][1], "stop_sequence": None}
    return json.dumps({**whole, **ends, "usage": {"input_tokens": 1, "output_tokens": 1}}).encode()


def _responses_document(recipe: Json, plan: Plan, chance: random.Random) -> bytes:
    upstream = _upstream(recipe, Plan([part for part in plan.parts if not part.sent]), chance)
    for sent in _sent(plan):
        upstream.call(sent.name, sent.text, call_id=sent.id)
    upstream.end(FINISHES[recipe["finish"]][2] or "incomplete")
    return json.dumps(upstream.events[-1]["response"]).encode()


_STREAMS = {"chat": _chat, "messages": _messages, "responses": _responses, "zai": _zai}
_DOCUMENTS = {"chat": _chat_document, "messages": _messages_document, "responses": _responses_document}


# What a client runs


def runnable(calls: list[clients.Call]) -> Counter[Key]:
    """The calls of declared tools with arguments that are more than a refusal."""
    made: Counter[Key] = Counter()
    for name, text in calls:
        if name not in TOOLS:
            continue  # The invalid tool among them.
        try:
            arguments = json.loads(text) if isinstance(text, str) and text else text or {}
        except ValueError:
            continue
        if isinstance(arguments, dict) and (arguments or "required" not in TOOLS[name]):
            made[key_of(name, arguments)] += 1
    return made


def carriers(recipe: Json, out: bytes) -> Iterator[list[clients.Call]]:
    """The calls of an answer, from each place that a client may take them from."""
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
