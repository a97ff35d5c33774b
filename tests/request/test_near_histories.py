"""Histories near those that strict hosts rejected: what goes up is accepted, keeps every word, and needs no second pass.

A word that has to stay is `W` and a number; `[toolfix]` may stand around it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.validators import strict_hosts
from toolcalls.policy import Policy
from toolcalls.request.mend import mend_request
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode

Json = dict[str, Any]
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
GIVEN = '{"command":"ls"}'


def user(words: str) -> Json:
    return {"role": "user", "content": words}


def said(words: str) -> Json:
    return {"role": "assistant", "content": words}


# Chat


def called(*ids: str, words: str | None = None) -> Json:
    function = {"name": "Bash", "arguments": GIVEN}
    calls = [{"id": identity, "type": "function", "function": function} for identity in ids]
    return {"role": "assistant", "content": words, "tool_calls": calls}


def result(identity: str, words: Any) -> Json:
    return {"role": "tool", "tool_call_id": identity, "content": words}


CUSTOM = {"id": "cu", "type": "custom", "custom": {"name": "apply_patch", "input": "W1"}}
PATCHED = {"role": "assistant", "content": None, "tool_calls": [CUSTOM]}
GO = user("W0")
CHAT: dict[str, list[Json]] = {
    "words of the model behind its calls": [GO, called("a"), said("W1"), result("a", "W2"), user("W3")],
    "another result behind the user": [GO, called("a"), result("a", "W1"), user("W2"), result("a", "W3"), user("W4")],
    "a lost result in parts": [GO, said("W1"), result("z", [{"type": "text", "text": "W2"}]), user("W3")],
    "it begins with a lost result": [result("z", "W1"), user("W2")],
    "it ends with a lost result": [GO, said("W1"), result("z", "W2")],
    "a lost result before another": [GO, called("a"), result("z", "W1"), result("a", "W2")],
    "a result before its call": [GO, result("a", "W1"), called("a"), user("W2")],
    "each call has two results": [
        *(GO, called("a", "b"), result("b", "W1"), result("a", "W2"), result("a", "W3"), result("b", "W4")),
    ],
    "a system message between": [
        *(GO, called("a", "b"), result("a", "W1"), {"role": "system", "content": "W2"}, result("b", "W3"), user("W4")),
    ],
    "an id in three turns": [
        *(GO, called("a"), result("a", "W1"), called("a"), result("a", "W2"), called("a"), result("a", "W3")),
    ],
    "an id twice in a message": [GO, called("a", "a"), result("a", "W1"), result("a", "W2")],
    "an id twice, and one result": [GO, called("a", "a"), result("a", "W1")],
    "it ends with a call": [GO, called("a", words="W1")],
    "a custom call without a result": [GO, PATCHED, user("W2")],
    "a custom call with two": [GO, PATCHED, result("cu", "W2"), result("cu", "W3"), user("W4")],
    "ten damaged turns": [GO, *(
        one for turn in range(10) for one in (
            said(f"W1{turn}"), called(f"c{turn}"), result(f"c{turn}", f"W2{turn}"), result(f"c{turn}", f"W3{turn}"),
            result(f"x{turn}", f"W4{turn}"),
        )
    )],
}  # fmt: skip

# Messages


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def use(identity: str) -> Json:
    return {"type": "tool_use", "id": identity, "name": "Bash", "input": {"command": "ls"}}


def got(identity: str, words: Any, **more: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": identity, "content": words, **more}


def model(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def back(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


SEARCHED = (
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
)
MESSAGES: dict[str, list[Json]] = {
    "a call twice in a turn": [GO, model(use("a"), use("a")), back(got("a", "W1"))],
    "a call twice in a turn, two results": [GO, model(use("a"), use("a")), back(got("a", "W1"), got("a", "W2"))],
    "an id in three turns": [
        *(GO, model(use("a")), back(got("a", "W1")), model(text("W2"), use("a")), back(got("a", "W3"))),
        *(model(use("a")), back(got("a", "W4"))),
    ],
    "words before a result": [GO, model(use("a")), back(text("W1"), got("a", "W2"))],
    "a lost result": [GO, model(text("W1")), back(got("z", [text("W2")]))],
    "two results, one an error": [GO, model(use("a")), back(got("a", "W1"), got("a", "W2", is_error=True))],
    "a result one turn late": [GO, model(use("a")), back(text("W1")), model(text("W2")), back(got("a", "W3"))],
    "turns split into two messages": [
        *(GO, model(text("W1")), model(use("a")), back(got("a", "W2"))),
        *(model(text("W3")), model(use("b"), use("c")), back(got("c", "W4"))),
    ],
    "a signed thought before a call without a result": [
        *(GO, model({"type": "thinking", "thinking": "x", "signature": "s"}, use("a")), back(text("W1"))),
    ],
    "what the host ran before a call": [GO, model(*SEARCHED, use("a")), back(got("a", "W1"))],
    "it ends with a call": [GO, model(text("W1"), use("a"))],
    "ten damaged turns": [GO, *(
        one for turn in range(10) for one in (
            model(text(f"W1{turn}")), model(use(f"c{turn}")),
            back(got(f"c{turn}", f"W2{turn}"), got(f"c{turn}", f"W3{turn}"), got(f"x{turn}", f"W4{turn}")),
        )
    )],
}  # fmt: skip

# Responses


def item(identity: str) -> Json:
    return {"type": "function_call", "call_id": identity, "name": "Bash", "arguments": GIVEN}


def output(identity: str, words: Any) -> Json:
    return {"type": "function_call_output", "call_id": identity, "output": words}


def thought(identity: str) -> Json:
    return {"type": "reasoning", "id": identity, "summary": [], "encrypted_content": "gAAA"}


ANSWER = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "W3"}]}
RESPONSES: dict[str, list[Json]] = {
    "two thoughts before a call": [GO, thought("rs_1"), thought("rs_2"), item("a"), output("a", "W1")],
    "a thought before an output": [GO, item("a"), thought("rs_1"), output("a", "W1"), user("W2")],
    "a thought at the end": [GO, item("a"), output("a", "W1"), thought("rs_1")],
    "a thought before the user": [GO, thought("rs_1"), user("W2"), ANSWER, user("W4")],
    "two outputs": [GO, item("a"), output("a", "W1"), output("a", "W2")],
    "two outputs in parts": [
        *(GO, item("a"), output("a", "W1"), output("a", [{"type": "input_text", "text": "W2"}])),
    ],
    "a lost output": [GO, output("a", "W1"), user("W2")],
    "a lost output of a custom tool": [
        *(GO, {"type": "custom_tool_call_output", "call_id": "q", "output": "W1"}, user("W2")),
    ],
    "a custom call without an output": [
        *(GO, {"type": "custom_tool_call", "call_id": "q", "name": "apply_patch", "input": "W1"}, user("W2")),
    ],
    "a thought before a call without an output": [GO, thought("rs_1"), item("a"), user("W2")],
}  # fmt: skip

# Gemini


def turn(role: str, *parts: Json) -> Json:
    return {"role": role, "parts": list(parts)}


def part(words: str) -> Json:
    return {"text": words}


ASKED = {"functionCall": {"name": "Bash", "args": {"command": "ls"}}, "thoughtSignature": "c2ln"}


def answered(words: str) -> Json:
    return {"functionResponse": {"name": "Bash", "response": {"output": words}}}


BEGIN = turn("user", part("W0"))
GEMINI: dict[str, list[Json]] = {
    "a call without a result": [BEGIN, turn("model", ASKED), turn("user", part("W1"))],
    "a lost result": [BEGIN, turn("model", part("W1")), turn("user", answered("W2")), turn("user", part("W3"))],
    "a call with two results": [
        *(BEGIN, turn("model", ASKED), turn("user", answered("W1"), answered("W2")), turn("model", part("W3"))),
    ],
    "results in two turns": [
        *(BEGIN, turn("model", ASKED, ASKED), turn("user", answered("W1")), turn("user", answered("W2"))),
    ],
    "turns split into two messages": [
        *(BEGIN, turn("model", part("W1")), turn("model", ASKED), turn("user", answered("W2"))),
        *(turn("model", ASKED), turn("model", part("W3")), turn("user", answered("W4"))),
    ],
    "words before a result": [BEGIN, turn("model", ASKED), turn("user", part("W1"), answered("W2"))],
}  # fmt: skip

FUNCTION = {"name": "Bash", "parameters": SCHEMA}
TOOLS: dict[str, list[Json]] = {
    "chat": [{"type": "function", "function": FUNCTION}],
    "messages": [{"name": "Bash", "input_schema": SCHEMA}],
    "responses": [{"type": "function", **FUNCTION}],
    "gemini": [{"functionDeclarations": [FUNCTION]}],
}
KEYS = {"chat": "messages", "messages": "messages", "responses": "input", "gemini": "contents"}


def mended(protocol: str, history: list[Json]) -> tuple[Json, Json]:
    """What came, and what goes up."""
    came = {"model": "m", "tools": TOOLS[protocol], KEYS[protocol]: history}
    body = json.dumps(came).encode()
    changed = mend_request(protocol, body, decode(body), Policy(), Refusals())
    if changed is None:
        return came, came
    assert mend_request(protocol, changed.body, decode(changed.body), Policy(), Refusals()) is None, "a second pass"
    return came, json.loads(changed.body)


def check(protocol: str, history: list[Json], *hosts: Callable[[Json], None]) -> None:
    came, sent = mended(protocol, history)
    for host in hosts:
        host(sent)
    words = re.findall(r"W\d+", json.dumps(came))
    assert [word for word in words if word not in json.dumps(sent)] == []


@pytest.mark.parametrize("name", CHAT)
def test_chat(name: str) -> None:
    check("chat", CHAT[name], strict_hosts.openai_chat)


@pytest.mark.parametrize("name", MESSAGES)
def test_messages(name: str) -> None:
    check("messages", MESSAGES[name], strict_hosts.anthropic, strict_hosts.minimax)


@pytest.mark.parametrize("name", RESPONSES)
def test_responses(name: str) -> None:
    check("responses", RESPONSES[name], strict_hosts.openai_responses)


@pytest.mark.parametrize("name", GEMINI)
def test_gemini(name: str) -> None:
    check("gemini", GEMINI[name], strict_hosts.gemini_pairs)
