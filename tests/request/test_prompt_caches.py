"""Prompt caches hold: what went up for a history goes up again, byte for byte, at the head of every later request."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.validators import strict_hosts
from toolcalls.policy import Policy
from toolcalls.request.mend import mend_request
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode

Json = dict[str, Any]


def user(text: str = "Go.") -> Json:
    return {"role": "user", "content": text}


def calls(*ids: str) -> Json:
    made = [
        {"id": one, "type": "function", "function": {"name": "read", "arguments": f'{{"p":"{one}"}}'}} for one in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(identity: str) -> Json:
    return {"role": "tool", "tool_call_id": identity, "content": f"result of {identity}"}


def turn(dice: random.Random, number: int) -> list[Json]:
    """Some turns are whole; others were cancelled, compacted, doubled, re-ordered, or have somebody else's result."""
    ids = [f"c{number}_{at}" for at in range(dice.randint(1, 3))]
    results = [result(one) for one in ids]
    return dice.choice(
        [
            [calls(*ids), *results],
            [calls(*ids), *results, {"role": "assistant", "content": "Done."}, user(f"And {number}?")],
            [calls(*ids), *results[:-1], user("Stop.")],
            results,
            [calls(*ids), *results, results[-1]],
            [calls(*ids), user("Hm."), *results],
            [calls(*ids), result(f"gone{number}"), *results],
        ]
    )


def up(messages: list[Json]) -> list[Json]:
    body = json.dumps({"messages": messages}).encode()
    changed = mend_request("chat", body, decode(body), Policy(), Refusals())
    after: list[Json] = json.loads(changed.body)["messages"] if changed else messages
    strict_hosts.openai_chat({"messages": after})
    return after


@pytest.mark.parametrize("seed", range(4))
def test_a_mended_history_is_the_head_of_the_next_one(seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(60):
        messages = [user()]
        for number in range(dice.randint(2, 6)):
            messages += turn(dice, number)
        roles = [message["role"] for message in messages]
        # A request is sent behind a user or behind the last result of a turn.
        asked = [
            at
            for at in range(1, len(messages) + 1)
            if roles[at - 1] != "assistant" and "tool" not in roles[at : at + 1]
        ]
        before: list[Json] = []
        for end in asked:
            after = up(messages[:end])
            assert after[: len(before)] == before
            before = after
