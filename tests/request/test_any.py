"""Any request at all: mending never raises, changes nothing that is sound, and changes nothing twice."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from toolcalls.ids import Ids
from toolcalls.outcome import Outcome
from toolcalls.policy import Policy
from toolcalls.request.mend import mend_request
from toolcalls.request.reasoning import ReasoningMemory, ReasoningSupport
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode, read_request
from toolcalls.websocket import ResponsesSocket

PROTOCOLS = ("chat", "messages", "responses", "ollama", "gemini")
WORDS = [
    "messages",
    "input",
    "tool_calls",
    "function",
    "arguments",
    "id",
    "tool_call_id",
    "tool_use_id",
    "call_id",
    "content",
    "output",
    "name",
    "role",
    "tool",
    "type",
    "tool_use",
    "tool_result",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "assistant",
    "user",
    "text",
    "input_text",
    "is_error",
    "tools",
    "description",
    "parameters",
    "properties",
    "command",
    "string",
    "object",
    "functions",
    "response",
    "response.create",
    "reasoning",
    "parts",
    "contents",
    "model",
    "functionCall",
    "functionResponse",
    "args",
    "thinking",
    "thoughtSignature",
]
SECRET = Ids("seed").new("x:0", "why")
ODD = [SECRET, Ids("a", safe=True).unique("x:0"), "x:0", "{", "{'a': 1}", '{"a": 1}']
texts = st.sampled_from([*WORDS, *ODD]) | st.text(max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS) | texts, inner, max_size=6),
    max_leaves=25,
)

calls = st.builds(
    lambda identity, arguments, name: {"id": identity, "function": {"name": name, "arguments": arguments}},
    texts,
    values | texts,
    texts,
)
chat = st.builds(
    lambda messages: {"messages": messages},
    st.lists(
        st.builds(lambda made: {"role": "assistant", "tool_calls": made}, st.lists(calls | values, max_size=3))
        | st.builds(lambda who, said: {"role": "tool", "tool_call_id": who, "content": said}, texts, values)
        | values,
        max_size=6,
    ),
)
blocks = st.builds(
    lambda i, v, n: {"type": "tool_use", "id": i, "name": n, "input": v}, texts, values, texts
) | st.builds(
    lambda i, v, e: {"type": "tool_result", "tool_use_id": i, "content": v, "is_error": e},
    texts,
    values,
    st.booleans(),
)
messages = st.builds(
    lambda made: {"messages": made},
    st.lists(
        st.builds(lambda said: {"role": "user", "content": said}, st.lists(blocks | values, max_size=4)), max_size=5
    ),
)
items = st.builds(
    lambda i, v, n: {"type": "function_call", "call_id": i, "name": n, "arguments": v}, texts, values | texts, texts
) | st.builds(lambda i, v: {"type": "function_call_output", "call_id": i, "output": v}, texts, values)
responses = st.builds(lambda made: {"input": made}, st.lists(items | values, max_size=6))
parts = st.builds(
    lambda i, v, n: {"functionCall": {"id": i, "name": n, "args": v}}, texts, values, texts
) | st.builds(lambda i, v, n: {"functionResponse": {"id": i, "name": n, "response": v}}, texts, values, texts)
contents = st.builds(
    lambda made: {"contents": made},
    st.lists(
        st.builds(
            lambda who, said: {"role": who, "parts": said},
            st.sampled_from(["user", "model"]),
            st.lists(parts | values, max_size=4),
        ),
        max_size=5,
    ),
)
requests = contents | chat | messages | responses | st.dictionaries(texts, values, max_size=4)
policies = st.builds(
    Policy, request=st.booleans(), hints=st.booleans(), retry_guidance=st.sampled_from([True, False, "auto"])
)


def refusals() -> Refusals:
    known = Refusals()
    known.add(SECRET, "the arguments were cut off")
    return known


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(PROTOCOLS), requests, policies, st.sampled_from([None, 1]))
def test_any_request_is_mended_without_an_exception_and_only_once(
    protocol: str, request: Any, policy: Policy, indent: int | None
) -> None:
    body = json.dumps(request, indent=indent).encode()
    decoded = decode(body)
    read_request(decoded)
    changed = mend_request(protocol, body, decoded, policy, refusals())
    assert decoded == decode(body), "the decoded request is not ours to change"
    if changed is None:
        return
    assert changed.body != body
    after = decode(changed.body)
    assert after is not None
    again = mend_request(protocol, changed.body, after, policy, refusals())
    # Two different poisoned calls that share an id look alike when both are emptied; nothing else changes twice.
    assert again is None or "repeated call" in again.steps or set(again.steps) <= {"repeated result"}
    socket = ResponsesSocket(policy, refusals())
    socket.client_message(json.dumps({"type": "response.create", **request}))
    assert socket.failure is None


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(PROTOCOLS), requests, values, st.sampled_from([200, 400, 422]))
def test_any_request_and_any_answer_can_be_remembered(protocol: str, request: Any, answer: Any, status: int) -> None:
    memory = ReasoningMemory()
    memory.hosts.put(("host", ""), ReasoningSupport("reasoning_content"))
    session = memory.session(protocol, "host", "me", request)
    body = json.dumps(request).encode()
    changed = mend_request(protocol, body, decode(body), Policy(), refusals(), session.recall)
    assert changed is None or decode(changed.body) is not None
    said = {"choices": answer, "content": answer, "candidates": answer, "message": answer, "thoughtSignature": 1}
    got = [Outcome("valid", "read", "{", "read", "{", id=SECRET)]
    session.answered(json.dumps({**said, "reasoning": "thinking"}).encode(), got)
    session.rejected(status, json.dumps(answer).encode())
    session.over()


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PROTOCOLS), st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_pass(protocol: str, body: bytes) -> None:
    assert mend_request(protocol, body, decode(body), Policy(), Refusals()) is None


def test_a_request_that_is_nested_too_deeply_passes() -> None:
    body = b'{"messages":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    assert mend_request("chat", body, decode(body), Policy(), Refusals()) is None
