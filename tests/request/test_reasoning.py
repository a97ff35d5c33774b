"""Reasoning that a host wants back: sessions whose client drops it go on, and nobody gets what is not theirs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.pace import quick
from tests.validators import strict_hosts
from tests.validators.strict_hosts import Rejected
from toolcalls.outcome import Outcome
from toolcalls.policy import Policy
from toolcalls.request.answered import read_answer
from toolcalls.request.mend import Changed, mend_request
from toolcalls.request.reasoning import MAX_BYTES, ReasoningMemory, ReasoningSession
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode
from toolcalls.request.responses import ResponsesHistory

Json = dict[str, Any]


def stream(*deltas: Json) -> bytes:
    events = [{"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n"


def call(identity: str = "functions.read:0", **more: Any) -> Json:
    return {"id": identity, "type": "function", "function": {"name": "read", "arguments": "{}"}, **more}


def answer(thought: str, *calls: Json, field: str = "reasoning_content") -> bytes:
    half = len(thought) // 2
    pieces = [{"role": "assistant", "content": None, field: thought[:half]}, {field: thought[half:]}]
    return stream(*pieces, *({"tool_calls": [{"index": at, **one}]} for at, one in enumerate(calls)))


def got(*ids: str, arguments: str = "{}") -> list[Outcome]:
    """The calls of an answer as the client got them."""
    return [Outcome("valid", "read", arguments, "read", arguments, id=identity) for identity in ids]


class Client:
    """An agent that drops the reasoning of every answer, and one turn after the other."""

    def __init__(self, memory: ReasoningMemory, host: Callable[[Json], None], account: str = "me") -> None:
        self.memory = memory
        self.host = host
        self.account = account
        self.address = "host"
        self.messages: list[Json] = [{"role": "user", "content": "Go."}]
        self.sent: Json = {}
        self.changed: Changed | None = None
        self.more: Json = {}

    def ask(self, reply: bytes = b"", ids: tuple[str, ...] = ("functions.read:0",)) -> None:
        """Send the history; the host rejects it, or answers."""
        request = {"model": "m", **self.more, "messages": self.messages}
        body = json.dumps(request).encode()
        session = self.memory.session(self.protocol, self.address, self.account, request)
        self.changed = mend_request(self.protocol, body, decode(body), Policy(), Refusals(), session.recall)
        self.sent = json.loads(self.changed.body if self.changed else body)
        try:
            self.host(self.sent)
        except Rejected as rejected:
            session.rejected(rejected.status, rejected.body)
            raise
        self.hear(session, reply, ids)

    protocol = "chat"

    def say(self, *words: str) -> Client:
        """What was said before the open turn, and the last words of the user."""
        self.messages = [
            entry
            for one in words
            for entry in ({"role": "user", "content": one}, {"role": "assistant", "content": "ok"})
        ][:-1]
        return self

    def hear(self, session: ReasoningSession, reply: bytes, ids: tuple[str, ...]) -> None:
        session.answered(reply, got(*ids))
        session.over()

    def take(self, *calls: Json, text: str | None = None) -> None:
        """The calls of an answer as the client keeps them, and their results."""
        entry: Json = {"role": "assistant", "content": text}
        if calls:
            entry["tool_calls"] = [{key: one[key] for key in ("id", "type", "function")} for one in calls]
        self.messages.append(entry)
        self.messages += [
            {"role": "tool", "tool_call_id": one["id"], "content": f"{len(self.messages)}"} for one in calls
        ]


def test_a_client_that_drops_it_goes_on_for_20_turns() -> None:
    client = Client(ReasoningMemory(), strict_hosts.wants_reasoning)
    for number in range(20):
        one = call(f"functions.read:{number}")
        client.ask(answer(f"Thought {number}.", one), (one["id"],))
        client.take(one)
    thoughts = [message["reasoning_content"] for message in client.sent["messages"] if message["role"] == "assistant"]
    assert thoughts == [f"Thought {number}." for number in range(19)]
    assert client.changed is not None
    assert client.changed.steps == {"reasoning given back": 19}


def test_a_client_that_does_it_right_has_its_own_bytes() -> None:
    client = Client(ReasoningMemory(), strict_hosts.wants_reasoning)
    for number in range(5):
        one = call(f"functions.read:{number}")
        client.ask(answer(f"Thought {number}.", one), (one["id"],))
        assert client.changed is None
        client.take(one)
        client.messages[-2]["reasoning_content"] = "its own words"


def test_it_comes_back_in_the_field_it_came_in() -> None:
    """Cerebras sends `reasoning`, takes it, and refuses `reasoning_content`."""
    client = Client(ReasoningMemory(), strict_hosts.refuses_reasoning_content)
    client.ask(answer("Hm.", call(), field="reasoning"))
    client.take(call())
    client.ask()
    assert client.sent["messages"][1]["reasoning"] == "Hm."
    assert "reasoning_content" not in client.sent["messages"][1]


@pytest.mark.parametrize(
    ("host", "field"),
    [
        (strict_hosts.refuses_reasoning_content, "reasoning_content"),
        (strict_hosts.forbids_extra_fields, "reasoning_content"),
        (strict_hosts.refuses_reasoning, "reasoning"),
    ],
)
def test_after_a_refusal_the_request_goes_up_as_it_came(host: Callable[[Json], None], field: str) -> None:
    memory = ReasoningMemory()
    client = Client(memory, host)
    client.ask(answer("Hm.", call(), field=field))
    client.take(call())
    with pytest.raises(Rejected):
        client.ask()
    client.ask(answer("Hm, hm.", call("functions.read:1"), field=field), ("functions.read:1",))
    assert client.changed is None
    client.take(call("functions.read:1"))
    client.ask()
    assert client.changed is None


def test_from_a_cold_start_the_empty_text_goes_where_the_host_asked_for_it() -> None:
    client = Client(ReasoningMemory(), strict_hosts.wants_reasoning)
    client.take(call())
    client.take(text="Said.")
    with pytest.raises(Rejected):
        client.ask()
    assert client.changed is None, "nobody asked for it before"
    one = call("functions.read:1")
    client.ask(answer("Now I know.", one), (one["id"],))
    assert [message.get("reasoning_content") for message in client.sent["messages"]] == [None, "", None, ""]
    client.take(one)
    client.ask()
    assert client.sent["messages"][4]["reasoning_content"] == "Now I know."


def test_where_the_empty_text_is_not_taken_it_is_not_sent_again() -> None:
    def reseller(request: Json) -> None:
        for message in request["messages"]:
            if message["role"] == "assistant" and not message.get("reasoning_content"):
                raise Rejected("The `reasoning_content` in the thinking mode must be passed back to the API.")

    client = Client(ReasoningMemory(), reseller)
    client.take(call())
    for changed in (False, True, False, False):
        with pytest.raises(Rejected):
            client.ask()
        assert (client.changed is not None) is changed


def test_earlier_turns_get_it_back_where_the_host_asks_for_them() -> None:
    client = Client(ReasoningMemory(), strict_hosts.wants_reasoning_everywhere)
    client.ask(answer("First.", call()))
    client.take(call())
    client.ask(stream({"content": "Done.", "reasoning_content": "Over."}), ())
    client.take(text="Done.")
    client.messages.append({"role": "user", "content": "And now?"})
    with pytest.raises(Rejected, match="index 1"):
        client.ask()
    client.ask(answer("Second.", call("functions.read:1")), ("functions.read:1",))
    assert client.sent["messages"][1]["reasoning_content"] == "First."


def test_nobody_gets_what_another_session_thought() -> None:
    memory = ReasoningMemory()
    one = Client(memory, strict_hosts.openai_chat)
    one.ask(answer("Secret.", call()))
    others: list[Client] = []
    for other in (
        Client(memory, strict_hosts.openai_chat, account="somebody else"),
        Client(memory, strict_hosts.openai_chat),
        Client(memory, strict_hosts.openai_chat),
    ):
        others.append(other)
        if len(others) == 2:
            other.messages[0]["content"] = "Another question."
        if len(others) == 3:
            other.address = "another host"
        other.take(call())
        other.ask()
        assert other.changed is None
    forgetful = Client(ReasoningMemory(), strict_hosts.openai_chat)
    forgetful.take(call())
    forgetful.ask()
    assert forgetful.changed is None, "a restart loses it without harm"
    one.take(call())
    for more in ({"model": "another"}, {"thinking": {"type": "disabled"}}, {"enable_thinking": False}):
        one.more = more
        one.ask()
        assert one.changed is None
    one.more = {}
    one.ask()
    assert one.changed is not None


def test_signatures_come_back_to_the_calls_that_had_them() -> None:
    signed = call("a", extra_content={"google": {"thought_signature": "c2ln"}})
    client = Client(ReasoningMemory(), strict_hosts.wants_signatures)
    client.ask(
        stream({"tool_calls": [{"index": 0, **signed}]}, {"tool_calls": [{"index": 1, **call("b")}]}), ("a", "b")
    )
    client.take(signed, call("b"))
    client.ask()
    first, second = client.sent["messages"][1]["tool_calls"]
    assert first == signed
    assert second == call("b")
    assert client.changed is not None
    assert client.changed.steps == {"signature given back": 1}


def test_the_pieces_of_reasoning_details_are_put_together() -> None:
    deltas = [
        {"reasoning": "Hm", "reasoning_details": [{"type": "reasoning.text", "text": "Hm", "index": 0}]},
        {
            "reasoning": ".",
            "reasoning_details": [{"type": "reasoning.text", "text": ".", "index": 0, "signature": "s"}],
        },
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "xyz", "index": 1}]},
        {"tool_calls": [{"index": 0, **call()}]},
    ]
    turn = read_answer("chat", stream(*deltas))
    assert turn is not None
    assert json.loads(turn.back.fields["reasoning_details"]) == [
        {"type": "reasoning.text", "text": "Hm.", "index": 0, "signature": "s"},
        {"type": "reasoning.encrypted", "data": "xyz", "index": 1},
    ]
    client = Client(ReasoningMemory(), strict_hosts.openai_chat)
    client.ask(stream(*deltas))
    client.take(call())
    client.ask()
    assert "reasoning" not in client.sent["messages"][1], "one field is enough"
    assert client.sent["messages"][1]["reasoning_details"][1]["data"] == "xyz"


@pytest.mark.parametrize("streamed", [True, False])
def test_a_thinking_block_comes_back_as_it_was_and_first(streamed: bool) -> None:
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    use = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
    events: list[Json] = [
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}},
        {"type": "content_block_start", "index": 1, "content_block": use},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
    ]
    reply = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    if not streamed:
        reply = json.dumps({"type": "message", "content": [thinking, use]}).encode()
    client = Client(ReasoningMemory(), strict_hosts.wants_thinking)
    client.protocol = "messages"
    client.ask(reply, ("toolu_1",))
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
    client.messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    client.ask()
    assert client.sent["messages"][1]["content"] == [thinking, use]
    client.messages[1]["content"] = [{"type": "text", "text": "changed"}, use]
    with pytest.raises(Rejected):
        client.ask()
    assert client.changed is None, "other blocks changed"


@pytest.mark.parametrize("streamed", [True, False])
def test_a_reasoning_item_comes_back_right_before_its_call(streamed: bool) -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    made = {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "read", "arguments": "{}"}
    lines = [
        {"type": "response.output_item.done", "output_index": index, "item": item}
        for index, item in enumerate((thought, made))
    ]
    reply = b"".join(b"data: " + json.dumps(line).encode() + b"\n\n" for line in lines)
    if not streamed:
        reply = json.dumps({"object": "response", "output": [thought, made]}).encode()
    question = {"role": "user", "content": "Go."}
    memory = ReasoningMemory()

    def ask(items: list[Json], **more: Any) -> list[Json]:
        body = json.dumps({"model": "m", "input": items, **more}).encode()
        session = memory.session("responses", "host", "me", decode(body))
        changed = mend_request("responses", body, decode(body), Policy(), Refusals(), session.recall)
        session.answered(reply, got("c"))
        sent: list[Json] = json.loads(changed.body if changed else body)["input"]
        return sent

    ask([question])
    output = {"type": "function_call_output", "call_id": "c", "output": "ok"}
    with pytest.raises(Rejected):
        strict_hosts.wants_reasoning_items({"input": [question, made, output]})
    sent = ask([question, made, output])
    assert sent == [question, thought, made, output]
    strict_hosts.wants_reasoning_items({"input": sent})
    assert ask(sent) == sent, "a client that does it right"
    bare = {key: value for key, value in made.items() if key != "id"}
    assert ask([question, bare, output]) == [question, bare, output], "a call without an id needs none"
    assert ask([made, output], previous_response_id="r") == [made, output]
    assert ask([{**question, "content": "Else."}, made, output])[1:] == [made, output], "another session"


def test_the_memory_is_bounded_in_turns_and_bytes() -> None:
    memory = ReasoningMemory(most_turns=50, most_bytes=100_000)
    for number in range(300):
        client = Client(memory, strict_hosts.openai_chat)
        client.messages[0]["content"] = f"Question {number}."
        client.ask(answer("x" * (number * 10), call()))
        assert len(memory.turns) <= 50
        assert memory.turns.size <= 100_000
    client.ask(answer("x" * 20_000, call()))
    assert memory.turns.size <= 100_000
    assert MAX_BYTES <= 64 * 2**20


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'data: {"choices":[{"delta":{"reasoning":1',
        b'data: {"choices":7,"reasoning":1}\n\n',
        b'{"choices":[],"reasoning":""}',
        b'{"choices":[{"message":{"reasoning":"a"}},{"message":{}}]}',
        b'data: {"type":"x","index":9,"delta":{},"thinking":"","reasoning":1}\n\n',
    ],
)
@pytest.mark.parametrize("protocol", ["chat", "messages", "responses", "zai"])
def test_an_answer_that_cannot_be_read_is_nothing_to_remember(protocol: str, body: bytes) -> None:
    assert read_answer(protocol, body) is None


def test_sessions_whose_users_say_the_same_last_words_do_not_share_their_thoughts() -> None:
    memory = ReasoningMemory()
    first = Client(memory, lambda _: None).say("Mend the parser.", "Go on.")
    second = Client(memory, lambda _: None).say("Plan my wedding.", "Go on.")
    for client, thought in ((first, "The parser …"), (second, "The wedding …")):
        client.ask(answer(thought, call()))
        client.take(call())
    for client, thought in ((first, "The parser …"), (second, "The wedding …")):
        client.ask(answer("More", call("functions.read:1")), ("functions.read:1",))
        assert client.sent["messages"][3]["reasoning_content"] == thought


def test_sessions_that_begin_with_the_same_words_are_told_apart_by_their_calls() -> None:
    """One prompt in many places at once, with one key for all: ids such as `functions.read:0` are the same too."""
    memory = ReasoningMemory()
    clients = []
    for path in ("/parser", "/wedding"):
        arguments = json.dumps({"path": path, "n": 1.0})
        made = {**call(), "function": {"name": "read", "arguments": arguments}}
        client = Client(memory, lambda _: None)
        session = memory.session("chat", "host", "me", {"model": "m", "messages": client.messages})
        session.answered(answer(f"About {path}.", made), got("functions.read:0", arguments=arguments))
        # Agents read the arguments and write them again.
        client.take({**made, "function": {"name": "read", "arguments": json.dumps({"n": 1, "path": path})}})
        clients.append((client, path))
    for client, path in clients:
        client.ask()
        assert client.sent["messages"][1]["reasoning_content"] == f"About {path}."


def test_a_call_of_a_custom_tool_is_known_by_its_id() -> None:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    made = {
        "type": "custom_tool_call",
        "id": "ctc_1",
        "call_id": "call_aB3dE5gH7",
        "name": "patch",
        "input": "*** Begin",
    }
    output = {"type": "custom_tool_call_output", "call_id": "call_aB3dE5gH7", "output": "ok"}
    question = {"role": "user", "content": "Go."}
    memory = ReasoningMemory()
    session = memory.session("responses", "host", "me", {"model": "m", "input": [question]})
    session.answered(json.dumps({"output": [thought, made]}).encode(), [])
    request = {"model": "m", "input": [question, made, output]}
    given = memory.session("responses", "host", "me", request).recall(ResponsesHistory(request))
    assert [json.loads(block) for block in given[1].blocks] == [thought]


@pytest.mark.parametrize("kind", ["reasoning", "item_reference", None])
def test_reasoning_that_the_client_only_refers_to_is_not_sent_twice(kind: str | None) -> None:
    memory = ReasoningMemory()
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    made = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "read", "arguments": "{}"}
    asked: Json = {"model": "m", "input": [{"role": "user", "content": "Go."}]}
    session = memory.session("responses", "host", "me", asked)
    session.answered(json.dumps({"output": [thought, made]}).encode(), got("a"))
    output = {"type": "function_call_output", "call_id": "a", "output": "x"}
    for before, given in (([], 1), ([{"type": kind, "id": "rs_1"}], 0)):
        asked = {"model": "m", "input": [{"role": "user", "content": "Go."}, *before, made, output]}
        assert len(memory.session("responses", "host", "me", asked).recall(ResponsesHistory(asked))) == given


@pytest.mark.parametrize(
    "error",
    [
        "Additional properties are not allowed ('reasoning_content' was unexpected)",
        "messages.2.tool_calls.0.extra_content: Extra inputs are not permitted",
        "Corrupted thought signature.",
    ],
)
def test_other_words_for_a_field_that_is_refused(error: str) -> None:
    memory = ReasoningMemory()
    client = Client(memory, lambda _: None)
    client.ask(stream({"tool_calls": [call(extra_content={"google": {"thought_signature": "s"}})]}))
    client.take(call())

    def host(request: Json) -> None:
        if "extra_content" in json.dumps(request):
            raise Rejected(error)

    client.host = host
    with pytest.raises(Rejected):
        client.ask()
    client.ask()
    assert client.changed is None


@pytest.mark.parametrize("protocol", ["chat", "messages", "ollama"])
def test_a_thought_in_many_pieces_is_read_in_linear_time(protocol: str) -> None:
    pieces = 4_000
    block = {"type": "thinking", "thinking": "", "signature": ""}
    head, one = {
        "chat": (
            b"",
            {"choices": [{"delta": {"reasoning_details": [{"type": "reasoning.text", "text": "x" * 999}]}}]},
        ),
        "messages": (
            b"data: " + json.dumps({"type": "content_block_start", "index": 0, "content_block": block}).encode(),
            {"type": "content_block_delta", "index": 0, "delta": {"thinking": "x" * 999}},
        ),
        "ollama": (b"", {"message": {"content": "x" * 999, "thinking": "x"}}),
    }[protocol]
    event = json.dumps(one).encode()
    body = (
        (event + b"\n") * pieces if protocol == "ollama" else head + b"\n\n" + (b"data: " + event + b"\n\n") * pieces
    )
    with quick(0.4):
        turn = read_answer(protocol, body)
        assert turn is not None
        assert turn.size > pieces


@pytest.mark.parametrize(
    "rest",
    [b"\n", b"data: {}\n\n", b"data:\r\r", b'data: {"x":[' + b"{}," * 400_000 + b"{}]}\n\n"],
    ids=["lines", "events", "events of nothing", "objects"],
)
def test_an_answer_that_would_take_long_to_read_is_not_remembered(rest: bytes) -> None:
    """All of it is read at once when it is over, while every other stream waits: one of these took a second."""
    thought = b'data: {"choices":[{"delta":{"reasoning_content":"I think."}}]}\n\n'
    body = thought + rest * (2**20 // len(rest) or 1)
    with quick(0.1):
        assert read_answer("chat", body) is None


def test_the_name_of_a_model_takes_little_room() -> None:
    memory = ReasoningMemory()
    asked = {"model": "m" * 1_000_000, "messages": [{"role": "user", "content": "Go."}]}
    memory.session("chat", "host", "me", asked).answered(answer("x", call()), got("functions.read:0"))
    assert all(len(model) <= 256 for _, model in memory.hosts._entries)
    assert len(memory.turns) == 1
