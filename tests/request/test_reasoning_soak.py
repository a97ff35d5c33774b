"""What is remembered for hosts stays within its limits, however many sessions, hosts and models there are."""

from __future__ import annotations

import json
import random
import tracemalloc
from typing import Any

import pytest

from toolcalls.outcome import Outcome
from toolcalls.policy import Policy
from toolcalls.request import reasoning
from toolcalls.request.mend import HISTORIES, mend_request
from toolcalls.request.reasoning import MAX_BYTES, MAX_HOSTS, MAX_TURNS, ReasoningMemory
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode

Json = dict[str, Any]
WORDS = ("Let me think about the parser. ", "Затем тесты. ", "それから文書。", "And ship it 🚀. ")


def thought(dice: random.Random) -> str:
    """From a line to half a megabyte, in any alphabet."""
    return dice.choice(WORDS) * int(2 ** dice.uniform(0, 14))


def chat(dice: random.Random) -> tuple[str, Json, bytes]:
    question = {"role": "user", "content": f"Question {dice.random()}."}
    call = {"index": 0, "id": "functions.Bash:0", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}
    deltas = [{"reasoning_content": thought(dice)}, {"tool_calls": [call]}]
    lines = [json.dumps({"choices": [{"index": 0, "delta": delta}]}) for delta in deltas]
    return "chat", {"messages": [question]}, "".join(f"data: {line}\n\n" for line in lines).encode()


def messages(dice: random.Random) -> tuple[str, Json, bytes]:
    question = {"role": "user", "content": f"Question {dice.random()}."}
    thinking = {"type": "thinking", "thinking": thought(dice), "signature": "s" * dice.randint(10, 5000)}
    use = {"type": "tool_use", "id": "functions.Bash:0", "name": "Bash", "input": {}}
    return "messages", {"messages": [question]}, json.dumps({"type": "message", "content": [thinking, use]}).encode()


def ollama(dice: random.Random) -> tuple[str, Json, bytes]:
    question = {"role": "user", "content": f"Question {dice.random()}."}
    made = {"function": {"name": "Bash", "arguments": {}}}
    answer = {"message": {"role": "assistant", "content": "", "thinking": thought(dice), "tool_calls": [made]}}
    return "ollama", {"messages": [question]}, json.dumps(answer).encode()


def play(memory: ReasoningMemory, dice: random.Random, sessions: int) -> None:
    for _ in range(sessions):
        protocol, request, answer = dice.choice((chat, messages, ollama))(dice)
        request["model"] = f"model-{dice.randint(0, 40)}"
        session = memory.session(protocol, f"host-{dice.randint(0, 60)}.example", "me", request)
        session.recall(HISTORIES[protocol](request))
        session.answered(answer, [Outcome("valid", "Bash", "{}", "Bash", "{}", id="functions.Bash:0")])
        session.over()
        assert len(memory.turns) <= MAX_TURNS
        assert memory.turns.size <= MAX_BYTES


@pytest.mark.parametrize("seed", [1])
def test_entries_bytes_and_memory_stay_within_the_limits_under_a_soak(seed: int) -> None:
    memory = ReasoningMemory()
    dice = random.Random(seed)
    tracemalloc.start()
    try:
        play(memory, dice, 1200)
        assert memory.turns.size > MAX_BYTES // 2, "the limit is reached"
        filled, _ = tracemalloc.get_traced_memory()
        for _ in range(3):
            play(memory, dice, 800)
            now, _ = tracemalloc.get_traced_memory()
            assert now < MAX_BYTES * 1.25
            assert now < filled * 1.25, "it goes on growing"
    finally:
        tracemalloc.stop()
    assert len(memory.hosts) <= MAX_HOSTS


def test_many_short_thoughts_are_bounded_by_their_number_and_hosts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reasoning, "MAX_HOSTS", 50)
    memory = ReasoningMemory(most_turns=300)
    for number in range(2000):
        request = {"model": "m", "messages": [{"role": "user", "content": f"{number}"}]}
        session = memory.session("chat", f"host-{number}", "me", request)
        session.answered(b'{"choices":[{"message":{"reasoning_content":"Hm.","content":"Yes."}}]}', [])
        assert len(memory.turns) <= 300
        assert len(memory.hosts) <= 50


def test_another_instance_and_a_restart_lose_it_without_harm() -> None:
    """Behind a balancer the next request may reach another instance: it goes up as it came."""
    call = {"id": "c", "type": "function", "function": {"name": "Bash", "arguments": "{}"}}
    question = {"role": "user", "content": "Go."}
    history = [
        question,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "ok"},
    ]
    body = json.dumps({"model": "m", "messages": history}).encode()
    one, other = ReasoningMemory(), ReasoningMemory()
    session = one.session("chat", "host", "me", {"model": "m", "messages": [question]})
    session.answered(
        json.dumps({"choices": [{"message": {"reasoning_content": "Hm.", "tool_calls": [call]}}]}).encode(),
        [Outcome("valid", "Bash", "{}", "Bash", "{}", id="c")],
    )

    def goes_up(memory: ReasoningMemory) -> bytes | None:
        again = memory.session("chat", "host", "me", decode(body))
        changed = mend_request("chat", body, decode(body), Policy(), Refusals(), again.recall)
        return changed.body if changed else None

    assert b"Hm." in (goes_up(one) or b"")
    assert goes_up(other) is None
    assert goes_up(ReasoningMemory()) is None
