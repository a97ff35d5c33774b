"""What a request costs on its way to the host: a 2 MB history that needs no change, compared with json.loads of it.

Everything that the script does with such a request counts: decoding it, reading its tools and ids, and looking for
what needs mending. An agent's next turn brings the same calls again (`known`). That all calls of 2 MB are `new`
happens only once, if the session began before the proxy; then their arguments, which are JSON inside JSON, are parsed
too. That is a second json.loads of their share of the body, so if the share is large this one request cannot meet the
goal: nothing in the standard library checks a text much faster than the C scanner (tried: removing escapes with
`replace` and a regular expression takes longer; SQLite's json_valid takes 0.75 of the time, but its grammar differs).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from typing import Any

from toolcalls.ids import Ids
from toolcalls.policy import Policy
from toolcalls.request.calls import known_keys
from toolcalls.request.mend import mend_request
from toolcalls.request.reasoning import ReasoningMemory, ReasoningSupport
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode, read_request

from ..measure import Row, best_ratio, in_turns

GOAL = 1.5
HEALING_GOAL = 1.15
"""The goal for keeping a host's reasoning and looking for loops, compared with both turned off."""
SIZE = 2_000_000
CODE = """def main(argv):
    value = table.get("key", 0)
    print(f"{value}\\n")
    return [x for x in argv if x]

"""
POLICY = Policy()
WITHOUT = Policy(reasoning="off", loops=0)

Json = dict[str, Any]


def chat(identity: str, name: str, arguments: str, result: str) -> list[Json]:
    call = {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}
    return [
        {"role": "assistant", "content": "Let me look at it.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": identity, "content": result},
    ]


def messages(identity: str, name: str, arguments: str, result: str) -> list[Json]:
    use = {"type": "tool_use", "id": identity, "name": name, "input": json.loads(arguments)}
    said = [{"type": "text", "text": "Let me look at it."}, use]
    answer = {"type": "tool_result", "tool_use_id": identity, "content": [{"type": "text", "text": result}]}
    return [{"role": "assistant", "content": said}, {"role": "user", "content": [answer]}]


def responses(identity: str, name: str, arguments: str, result: str) -> list[Json]:
    return [
        {"type": "function_call", "call_id": identity, "name": name, "arguments": arguments},
        {"type": "function_call_output", "call_id": identity, "output": result},
    ]


FORMS: dict[str, Callable[[str, str, str, str], list[Json]]] = {
    "chat": chat,
    "messages": messages,
    "responses": responses,
}


def body_of(protocol: str, writes: float, size: int = SIZE, broken: bool = False) -> bytes:
    """A history of commands and results. `writes`: the share of calls with a file in their arguments."""
    dice = random.Random(1)
    items: list[Json] = [{"role": "user", "content": "Please go on."}]
    length = number = 0
    while length < size:
        number += 1
        arguments: Json
        if dice.random() < writes:
            arguments = {"file_path": f"/src/module_{number}.py", "content": CODE * dice.randint(5, 60)}
        else:
            arguments = {"command": "rg -n main src | head", "timeout": 1000, "n": str(number)}
        made = FORMS[protocol](f"call_{number:024x}", "Write", json.dumps(arguments), CODE * dice.randint(5, 60))
        items += made
        length += len(json.dumps(made))
    if broken:
        items += FORMS[protocol](Ids("seed", ["x:0"]).unique("x:0"), "Write", "{}", "ok")
    schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
    tools = [{"type": "function", "function": {"name": f"tool_{at}", "parameters": schema}} for at in range(20)]
    key = "input" if protocol == "responses" else "messages"
    return json.dumps({"model": "m", "stream": True, "tools": tools, key: items}, ensure_ascii=False).encode()


def pass_on(protocol: str, body: bytes, refusals: Refusals, new: bool) -> object:
    if new:
        known_keys.clear()
    request = decode(body)
    read_request(request)
    return mend_request(protocol, body, request, POLICY, refusals)


def reasoned(body: bytes) -> bytes:
    """The history with the reasoning that a host sent: the client kept it, so nothing has to be given back."""
    request = json.loads(body)
    for message in request["messages"]:
        if message["role"] == "assistant":
            message["reasoning_content"] = "Let me think about that."
    return json.dumps(request, ensure_ascii=False).encode()


def pass_on_reasoned(body: bytes, memory: ReasoningMemory, policy: Policy = POLICY) -> object:
    request = decode(body)
    read_request(request)
    session = memory.session("chat", "host", "account", request)
    return mend_request("chat", body, request, policy, Refusals(), session.recall)


def share(protocol: str, body: bytes) -> float:
    if protocol == "messages":
        return 0.0
    request = json.loads(body)
    items = request.get("input") or [
        call["function"] for m in request["messages"] for call in m.get("tool_calls", ())
    ]
    return sum(len(json.dumps(item["arguments"])) for item in items if "arguments" in item) / len(body)


def run(quick: bool = False) -> list[Row]:
    rows: list[Row] = []
    size, rounds = (50_000, 2) if quick else (SIZE, 60)
    for protocol in FORMS:
        for writes in (0.1, 0.4):
            body = body_of(protocol, writes, size)
            held = share(protocol, body)
            part = f", {held:.0%} of it arguments as text" if held else f", {writes:.0%} of the calls write a file"
            refusals = Refusals()
            assert pass_on(protocol, body, refusals, True) is None
            works = [
                partial(json.loads, body),
                partial(pass_on, protocol, body, refusals, True),
                partial(pass_on, protocol, body, refusals, False),
            ]
            plain, *ours = in_turns(works, rounds)
            for name, taken in zip(("new", "known"), ours, strict=True):
                rows.append(
                    {
                        "name": f"{protocol} request of {len(body) / 1e6:.1f} MB{part}, calls {name}",
                        "figure": min(taken) * 1000,
                        "unit": "ms",
                        "ratio": best_ratio(taken, plain),
                        "goal": GOAL,
                    }
                )
    body = reasoned(body_of("chat", 0.1, size))
    memory = ReasoningMemory()
    memory.hosts.put(("host", "m"), ReasoningSupport())
    assert pass_on_reasoned(body, memory) is None
    asked = [partial(pass_on_reasoned, body, memory), partial(pass_on_reasoned, body, memory, WITHOUT)]
    plain, taken, without = in_turns([partial(json.loads, body), *asked], rounds)
    rows.append(
        {
            "name": f"chat request of {len(body) / 1e6:.1f} MB with reasoning, to a host that may want it back",
            "figure": min(taken) * 1000,
            "unit": "ms",
            "ratio": best_ratio(taken, plain),
            "goal": GOAL,
        }
    )
    rows.append(
        {
            "name": f"the same of {len(body) / 1e6:.1f} MB, against toolfix_reasoning=off and toolfix_loops=0",
            "figure": min(taken) * 1000,
            "unit": "ms",
            "ratio": best_ratio(taken, without),
            "goal": HEALING_GOAL,
        }
    )
    body = body_of("chat", 0.2, size, broken=True)
    plain, changed = in_turns([partial(json.loads, body), partial(pass_on, "chat", body, Refusals(), False)], rounds)
    rows.append(
        {
            "name": "chat request with one id to give back",
            "figure": min(changed) * 1000,
            "unit": "ms",
            "ratio": best_ratio(changed, plain),
            "goal": None,
        }
    )
    return rows
