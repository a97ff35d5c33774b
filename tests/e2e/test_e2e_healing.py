"""Sessions that are dead without us: 20 turns through a real mitmdump with real SDKs, at hosts as strict as the real ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.upstream import Play, Seen, Upstream
from tests.validators import strict_hosts
from tests.validators.strict_hosts import Rejected
from toolcalls.cli.proxy_process import ProxyProcess

from .stage import DOCUMENT, EVENT_STREAM, Clients, Plays, chat_event
from .talk import SPEECHES, Json, Said, Speech

TURNS = 20
HOSTS: dict[str, Callable[[Json], None]] = {
    "chat": strict_hosts.wants_reasoning,
    "messages": strict_hosts.wants_thinking,
    "responses": strict_hosts.openai_responses,
}


@dataclass
class StrictHost:
    """Rejects what the real hosts reject, sends reasoning and wants it back, and now and then cannot read its model."""

    speech: Speech
    complaints: list[str] = field(default_factory=list)
    turn: int = 0

    def __call__(self, seen: Seen) -> Play:
        try:
            HOSTS[self.speech.api](json.loads(seen.body))
        except Rejected as rejected:
            self.complaints.append(str(rejected))
            return Play([rejected.body], rejected.status, headers=DOCUMENT)
        self.turn += 1
        given = json.dumps({"filePath": f"/{self.turn}"})
        if self.speech.api == "responses" and self.turn % 5 == 0:
            error = {"code": "tool_use_failed", "failed_generation": f"<function=read>{given}</function>"}
            body = json.dumps({"error": {"message": "Failed to call a function.", **error}}).encode()
            # It says how long it is: an error of unknown length streams, and then the client has it already.
            return Play([body], 400, DOCUMENT, content_length=len(body))
        events = self.speech.answer(Said("read", given, f"call_{self.turn}"))
        return Play(_with_a_thought(self.speech.api, f"Thought {self.turn}.", events), headers=EVENT_STREAM)


def _with_a_thought(api: str, thought: str, events: list[bytes]) -> list[bytes]:
    if api == "chat":
        return [chat_event({"role": "assistant", "content": None, "reasoning_content": thought}), *events]
    if api != "messages":
        return events
    deltas = [{"type": "thinking_delta", "thinking": thought}, {"type": "signature_delta", "signature": "c2ln"}]
    block = {"type": "thinking", "thinking": "", "signature": ""}
    lines: list[Json] = [
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
    ]
    thinking = [f"event: {line['type']}\ndata: {json.dumps(line)}\n\n".encode() for line in lines]
    return [events[0], *thinking, *(event.replace(b'"index": 0', b'"index": 1') for event in events[1:])]


@pytest.mark.parametrize("api", sorted(SPEECHES))
def test_a_session_that_is_dead_without_us_goes_on_for_20_turns(
    api: str, plays: Plays, proxy: ProxyProcess, clients: Clients, upstream: Upstream, certificate: Path
) -> None:
    speech = SPEECHES[api]

    def session(name: str, through: ProxyProcess | None, **more: str) -> tuple[int, StrictHost]:
        """An agent that drops reasoning, and whose user cancels every fourth call. Gives the turns it came to."""
        host = StrictHost(speech)
        plays.add(name, host)
        history: list[Json] = []
        for number in range(TURNS):
            answer = clients.ask(
                speech.api,
                f"{upstream.url}/{name}{speech.suffix}",
                through,
                http2=False,
                stream=True,
                request=speech.request(history),
                **more,
            )
            if answer["error"]:
                return number, host
            [call] = answer["calls"]
            assert json.loads(call["arguments"]) == {"filePath": f"/{number + 1}"}
            said, result = speech.remember(call, f"result {number}")
            cancelled = number % 4 == 3
            history += [said, {"role": "user", "content": f"No, {number}."} if cancelled else result]
        return TURNS, host

    turns, host = session(f"healed-{api}", proxy)
    assert host.complaints == []
    assert turns == TURNS
    turns, host = session(f"dead-{api}", None, ca=str(certificate))
    assert turns < 6
