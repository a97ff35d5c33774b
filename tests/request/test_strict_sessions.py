"""Sessions of ten turns at hosts that want their reasoning back, with clients that keep their history in other ways.

A client here drops all reasoning. One also splits each turn into two messages, words and calls apart; one replaces
the beginning of its history by a summary of its own; one does both.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.validators import strict_hosts
from tests.validators.strict_hosts import Rejected
from toolcalls.outcome import Outcome
from toolcalls.policy import Policy
from toolcalls.request.mend import mend_request
from toolcalls.request.reasoning import ReasoningMemory
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode

Json = dict[str, Any]
TURNS = 10


def unique(number: int) -> str:
    """An id as DeepSeek, OpenAI and Anthropic make them."""
    return f"call_00_aB3dE5gH{number}jK8"


def counted(number: int) -> str:
    """An id as Kimi makes them: the same in every session."""
    return f"functions.read:{number}"


@dataclass
class Chat:
    """DeepSeek's rule, or another one of Chat."""

    host: Callable[[Json], None] = strict_hosts.wants_reasoning
    signed: bool = False
    key: str = "messages"
    protocol: str = "chat"

    def say(self, role: str, words: str) -> list[Json]:
        return [{"role": role, "content": words}]

    def _call(self, number: int, identity: str) -> Json:
        function = {"name": "read", "arguments": json.dumps({"path": f"/{number}"})}
        return {"id": identity, "type": "function", "function": function}

    def answer(self, number: int, identity: str) -> bytes:
        call = {"index": 0, **self._call(number, identity)}
        if self.signed:
            call["extra_content"] = {"google": {"thought_signature": f"c2ln{number}"}}
        thought = {} if self.signed else {"reasoning_content": f"Thought {number}."}
        deltas = [{"role": "assistant", **thought}, {"content": f"Step {number}."}, {"tool_calls": [call]}]
        events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)

    def keep(self, number: int, identity: str, *, split: bool) -> list[Json]:
        words: Json = {"role": "assistant", "content": f"Step {number}."}
        calls = [self._call(number, identity)]
        result = {"role": "tool", "tool_call_id": identity, "content": f"result {number}"}
        if split:
            return [words, {"role": "assistant", "content": None, "tool_calls": calls}, result]
        return [{**words, "tool_calls": calls}, result]


@dataclass
class Messages:
    host: Callable[[Json], None] = strict_hosts.wants_thinking
    plain: bool = False
    """The client writes words as a text, not as a block."""
    key: str = "messages"
    protocol: str = "messages"

    def say(self, role: str, words: str) -> list[Json]:
        return [{"role": role, "content": words}]

    def _blocks(self, number: int, identity: str) -> list[Json]:
        use = {"type": "tool_use", "id": identity, "name": "read", "input": {"path": f"/{number}"}}
        return [{"type": "text", "text": f"Step {number}."}, use]

    def answer(self, number: int, identity: str) -> bytes:
        thinking = {"type": "thinking", "thinking": f"Thought {number}.", "signature": f"c2ln{number}"}
        return json.dumps({"type": "message", "content": [thinking, *self._blocks(number, identity)]}).encode()

    def keep(self, number: int, identity: str, *, split: bool) -> list[Json]:
        words, use = self._blocks(number, identity)
        result = {"type": "tool_result", "tool_use_id": identity, "content": f"result {number}"}
        answered = {"role": "user", "content": [result]}
        if split:
            first = {"role": "assistant", "content": words["text"] if self.plain else [words]}
            return [first, {"role": "assistant", "content": [use]}, answered]
        return [{"role": "assistant", "content": [words, use]}, answered]


@dataclass
class Responses:
    host: Callable[[Json], None] = strict_hosts.wants_reasoning_items
    key: str = "input"
    protocol: str = "responses"

    def say(self, role: str, words: str) -> list[Json]:
        return [{"role": role, "content": words}]

    def _call(self, number: int, identity: str) -> Json:
        arguments = json.dumps({"path": f"/{number}"})
        return {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": identity,
            "name": "read",
            "arguments": arguments,
        }

    def answer(self, number: int, identity: str) -> bytes:
        thought = {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "gAAA"}
        return json.dumps({"output": [thought, self._call(number, identity)]}).encode()

    def keep(self, number: int, identity: str, *, split: bool) -> list[Json]:
        output = {"type": "function_call_output", "call_id": identity, "output": f"result {number}"}
        return [self._call(number, identity), output]


@dataclass
class Gemini:
    host: Callable[[Json], None] = strict_hosts.gemini
    key: str = "contents"
    protocol: str = "gemini"

    def say(self, role: str, words: str) -> list[Json]:
        return [{"role": "model" if role == "assistant" else role, "parts": [{"text": words}]}]

    def answer(self, number: int, identity: str) -> bytes:
        call = {"functionCall": {"name": "read", "args": {"path": f"/{number}"}}, "thoughtSignature": f"c2ln{number}"}
        parts = [{"text": f"Step {number}."}, call]
        return json.dumps({"candidates": [{"content": {"role": "model", "parts": parts}}]}).encode()

    def keep(self, number: int, identity: str, *, split: bool) -> list[Json]:
        words = {"text": f"Step {number}."}
        call = {"functionCall": {"name": "read", "args": {"path": f"/{number}"}}}
        result = {"functionResponse": {"name": "read", "response": {"output": str(number)}}}
        answered = {"role": "user", "parts": [result]}
        if split:
            return [{"role": "model", "parts": [words]}, {"role": "model", "parts": [call]}, answered]
        return [{"role": "model", "parts": [words, call]}, answered]


Kind = Chat | Messages | Responses | Gemini


@dataclass
class Session:
    kind: Kind
    memory: ReasoningMemory = field(default_factory=ReasoningMemory)
    split: bool = False
    summarized: int = 0
    """The turn before which the client replaces its first turns by a summary."""
    identity: Callable[[int], str] = unique
    sent: Json = field(default_factory=dict)
    turns: list[list[Json]] = field(default_factory=list)
    beginning: list[Json] = field(default_factory=list)

    def ask(self, number: int) -> None:
        """Send the history; the host rejects it, or answers with a call."""
        if number == self.summarized and number:
            self.beginning = self.kind.say("user", "Summary: steps 0 and 1 are done. Go on.")
            del self.turns[:2]
        history = [*(self.beginning or self.kind.say("user", "Go.")), *(one for turn in self.turns for one in turn)]
        request = {"model": "m", self.kind.key: history}
        body = json.dumps(request).encode()
        session = self.memory.session(self.kind.protocol, "host", "me", request)
        changed = mend_request(self.kind.protocol, body, decode(body), Policy(), Refusals(), session.recall)
        self.sent = json.loads(changed.body if changed else body)
        if changed:
            again = mend_request(self.kind.protocol, changed.body, self.sent, Policy(), Refusals())
            assert again is None, "what was mended is mended again"
        try:
            self.kind.host(self.sent)
        except Rejected as rejected:
            session.rejected(rejected.status, rejected.body)
            raise
        identity, arguments = self.identity(number), json.dumps({"path": f"/{number}"})
        outcome = Outcome("valid", "read", arguments, "read", arguments, id=identity)
        session.answered(self.kind.answer(number, identity), [outcome])
        session.over()
        self.turns.append(self.kind.keep(number, identity, split=self.split))

    def play(self) -> str:
        for number in range(TURNS):
            self.ask(number)
        return json.dumps(self.sent)


KINDS: dict[str, Kind] = {
    "DeepSeek": Chat(),
    "Kimi": Chat(strict_hosts.wants_reasoning_everywhere),
    "Gemini over Chat": Chat(strict_hosts.wants_signatures, signed=True),
    "Anthropic": Messages(),
    "Anthropic, words as a text": Messages(plain=True),
    "OpenAI": Responses(),
    "Gemini": Gemini(),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("identity", [unique, counted])
def test_a_turn_that_the_client_split_into_two_messages_is_taken_for_ten_turns(
    kind: str, identity: Callable[[int], str]
) -> None:
    sent = Session(KINDS[kind], split=True, identity=identity).play()
    signed = "Gemini" in kind
    assert all((f"c2ln{turn}" if signed or "Anthropic" in kind else "") in sent for turn in range(TURNS - 1))
    if isinstance(KINDS[kind], Chat) and not signed:
        assert all(sent.count(f"Thought {turn}.") == 1 for turn in range(TURNS - 1)), "once, not with both halves"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "Gemini"])
@pytest.mark.parametrize("split", [False, True])
def test_turns_behind_a_summary_of_the_client_keep_their_reasoning(kind: str, split: bool) -> None:
    """Gemini's own protocol has no ids, so there nobody knows whose call it was."""
    sent = Session(KINDS[kind], split=split, summarized=5).play()
    assert "Summary" in sent
    mark = {"Gemini over Chat": "c2ln", "OpenAI": "rs_"}.get(kind, "Thought ")
    assert f"{mark}4" in sent, "a turn from before the summary"
    assert f"{mark}1" not in sent


def test_behind_a_summary_ids_that_every_session_has_get_the_empty_text() -> None:
    """Kimi's ids name no session, so the real text may be another's; it was taken from us before, so "" is too."""
    sent = Session(KINDS["Kimi"], summarized=5, identity=counted).play()
    assert '"reasoning_content": ""' in sent
    assert "Thought 4." not in sent
    assert "Thought 8." in sent


@pytest.mark.parametrize("identity", [unique, counted])
def test_two_conversations_alike_but_for_the_reasoning_get_neither(identity: Callable[[int], str]) -> None:
    memory = ReasoningMemory()
    kinds = [Chat(), Chat()]
    kinds[1].answer = lambda number, identity: Chat.answer(kinds[1], number, identity).replace(b"Thought", b"Other")  # type: ignore[method-assign]
    sessions = [Session(kind, memory, identity=identity) for kind in kinds]
    for number in range(TURNS):
        for session in sessions:
            session.ask(number)
    for session in sessions:
        thoughts = [message.get("reasoning_content") for message in session.sent["messages"][1::2]]
        assert thoughts == [""] * (TURNS - 1), "the host still gets its field"


@pytest.mark.parametrize("identity", [unique, counted])
@pytest.mark.parametrize("order", [1, -1])
def test_a_conversation_without_reasoning_does_not_get_that_of_one_that_is_alike(
    order: int, identity: Callable[[int], str]
) -> None:
    memory = ReasoningMemory()
    kinds = [Chat(), Chat()]
    kinds[1].answer = lambda number, identity: (  # type: ignore[method-assign]
        Chat.answer(kinds[1], number, identity).replace(b'"reasoning_content"', b'"x"')
    )
    sessions = [Session(kind, memory, identity=identity) for kind in kinds]
    for number in range(4):
        for session in sessions[:: order if number else 1]:
            session.ask(number)
    for session in sessions:
        thoughts = [message.get("reasoning_content") for message in session.sent["messages"][1::2]]
        assert thoughts == [""] * 3, "the host still gets its field"


def test_of_two_conversations_alike_but_for_their_thinking_neither_gets_any() -> None:
    memory = ReasoningMemory()
    sessions = [Session(Messages(host=strict_hosts.anthropic), memory) for _ in range(2)]
    sessions[0].ask(0)
    sessions[1].kind.answer = lambda number, identity: (  # type: ignore[method-assign]
        Messages().answer(number, identity).replace(b"Thought", b"Other")
    )
    sessions[1].ask(0)
    for session in sessions:
        session.ask(1)
        assert "thinking" not in json.dumps(session.sent)


def test_two_conversations_with_the_same_reasoning_both_get_it() -> None:
    memory = ReasoningMemory()
    sessions = [Session(Chat(), memory, identity=counted) for _ in range(2)]
    for number in range(3):
        for session in sessions:
            session.ask(number)
    assert all("Thought 1." in json.dumps(session.sent) for session in sessions)


@pytest.mark.parametrize("filled", ["Its own words.", ""])
def test_a_client_that_keeps_the_reasoning_of_a_split_turn_with_the_calls_gets_the_empty_text(filled: str) -> None:
    session = Session(Chat(), split=True)
    for number in range(TURNS):
        session.ask(number)
        session.turns[-1][1]["reasoning_content"] = filled
    words = session.sent["messages"][1::3]
    assert [message["reasoning_content"] for message in words] == [""] * (TURNS - 1)
    assert [message["reasoning_content"] for message in session.sent["messages"][2::3]] == [filled] * (TURNS - 1)


def test_parallel_calls_that_the_client_sends_one_after_the_other_keep_their_reasoning() -> None:
    """DeepSeek answered with two calls; the client makes two turns of them."""
    kind = Chat()
    session = Session(kind)
    session.ask(0)
    first = session.turns.pop()
    for one in ("a", "b"):
        call, result = json.loads(json.dumps(first))
        if one == "b":
            call["tool_calls"][0]["id"] = result["tool_call_id"] = "call_01_zY9xW7vU5"
            call["content"] = None
        session.turns.append([call, result])
    session.ask(1)
    assert [message.get("reasoning_content") for message in session.sent["messages"]] == [
        None, "Thought 0.", None, "", None,
    ]  # fmt: skip


# Near misses


def test_a_client_that_sends_reasoning_itself_keeps_its_bytes_where_the_model_sent_none() -> None:
    session = Session(Chat(host=strict_hosts.openai_chat))
    for number in range(4):
        session.ask(number)
        if number != 2:
            session.turns[-1][0]["reasoning_content"] = f"Thought {number}."
    session.turns[2][0]["tool_calls"][0]["id"] = session.turns[2][1]["tool_call_id"] = "unknown"
    session.ask(4)
    assert "reasoning_content" not in session.sent["messages"][5]


def test_words_of_the_client_before_a_known_call_are_no_half_of_its_turn() -> None:
    session = Session(Chat(host=strict_hosts.openai_chat))
    session.ask(0)
    session.turns[0][0]["reasoning_content"] = "Thought 0."
    session.turns[0].insert(0, {"role": "assistant", "content": "Said by nobody."})
    session.ask(1)
    assert "reasoning_content" not in session.sent["messages"][1]


def test_thinking_does_not_come_back_before_words_that_are_not_those_of_its_turn() -> None:
    session = Session(Messages(host=strict_hosts.anthropic), split=True)
    session.ask(0)
    session.turns[0][0]["content"][0]["text"] = "Changed."
    session.ask(1)
    assert "thinking" not in json.dumps(session.sent)


def test_where_nothing_of_a_host_was_ever_taken_unknown_turns_go_up_as_they_came() -> None:
    memory = ReasoningMemory()
    Session(Chat(), memory).ask(0)
    other = Session(Chat(host=strict_hosts.openai_chat), memory, identity=counted)
    other.turns.append(other.kind.keep(7, counted(7), split=False))
    other.ask(1)
    assert "reasoning_content" not in json.dumps(other.sent)
