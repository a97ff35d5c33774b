"""Request mending: mutated histories of each protocol."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

from toolcalls.ids import Ids
from toolcalls.policy import Policy
from toolcalls.request.mend import mend_request
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode, read_request
from toolcalls.websocket import ResponsesSocket

from .mutation import MAX_INPUT, mutated_bytes, mutated_value
from .part import Part, chance_of, corpus, need

OURS = Ids("seed").new("x:0", "why")
POLICIES = [
    Policy(),
    Policy(retry_guidance=False),
    Policy(hints=True),
    Policy(retry_guidance=True),
    Policy(request=False),
]
MAY_COME_AGAIN = {"repeated call", "repeated result"}
"""What a second mending may change: two broken calls with one id may be the same once both are mended."""
GUIDED = MAY_COME_AGAIN | {"reason in a result"}
"""What a second mending may change if the model is told why a call failed."""


@cache
def entries() -> list[dict[str, Any]]:
    return corpus("requests")


def make(chance: random.Random) -> bytes:
    request = json.loads(chance.choice(entries())["body"])
    for _ in range(chance.choice((1, 2, 3, 6))):
        request = mutated_value(chance, request)
    body = json.dumps(request, indent=chance.choice((None, None, 1)), ensure_ascii=chance.random() < 0.5)
    if chance.random() < 0.1:
        body = body.replace("call_1", OURS)
    raw = body.encode("utf-8", "surrogatepass")
    return mutated_bytes(chance, raw)[:MAX_INPUT] if chance.random() < 0.2 else raw


def refusals() -> Refusals:
    known = Refusals()
    known.add(OURS, "the arguments were cut off")
    for entry in entries():
        for identity, reason in entry["refusals"].items():
            known.add(identity, reason)
    return known


def check(body: bytes) -> None:
    chance = chance_of(body)
    policy = chance.choice(POLICIES)
    request = decode(body)
    read_request(request)
    for protocol in ("chat", "messages", "responses"):
        changed = mend_request(protocol, body, request, policy, refusals())
        need(request == decode(body), "the request itself was changed")
        if changed is None:
            continue
        need(request is not None, "a request that cannot be read was changed")
        need(changed.body != body, "changed into what it was")
        after = decode(changed.body)
        need(after is not None, "what goes up cannot be read")
        again = mend_request(protocol, changed.body, after, policy, refusals())
        allowed = GUIDED if policy.retry_guidance else MAY_COME_AGAIN
        # A call that turns out to be repeated is removed, and then its result is looked at again.
        fine = again is None or "repeated call" in again.steps or set(again.steps) <= allowed
        need(fine, f"changed twice: {again}")
    text = body.decode("utf-8", "replace")
    socket = ResponsesSocket(policy, refusals())
    socket.client_message(text)
    socket.client_message('{"type": "response.create", "response": ' + text + "}")
    need(socket.failure is None, f"a frame: {socket.failure!r}")


def _seeds() -> list[bytes]:
    return [entry["body"].encode() for entry in entries()]


PARTS = [
    Part("requests", "histories: never raises, readable again, nothing changed twice", make, check, _seeds),
]
