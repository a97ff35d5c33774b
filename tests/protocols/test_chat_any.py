"""Chat: arbitrary interleavings and omissions, cut anywhere, always give a legal sequence that loses nothing."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.chat_client import read
from tests.protocols.test_chat import DONE, chunk, line, question
from tests.splits import cut_at_random, feed
from tests.validators import chat as validator
from toolcalls.engine import Response
from toolcalls.policy import Policy

NAMES = ("Bash", "Read", "read_file")
ASKED = question(*NAMES)
VALUE = st.text(max_size=12) | st.integers()
ARGUMENTS = st.fixed_dictionaries({"command": VALUE}, optional={"path": VALUE, "n": VALUE})
"""What the declared tools can take: of calls that only their order tells apart, one that lacks a field refuses all."""


class Upstream(RuleBasedStateMachine):
    """A server that forgets and shuffles: each step writes an event, the check is made when it ends."""

    def __init__(self) -> None:
        super().__init__()
        self.body: list[str] = []
        self.text = ""
        self.open: list[dict[str, Any]] = []
        self.calls: list[tuple[str, Any]] = []
        self.with_id: dict[str, bool] = {}
        self.finished = False

    @initialize(
        role=st.booleans(), index_style=st.sampled_from(["dense", "sparse", "missing"]), aggregate=st.booleans()
    )
    def begin(self, role: bool, index_style: str, aggregate: bool) -> None:
        self.index_style = index_style
        self.policy = Policy(aggregate=aggregate)
        if role:
            self.body.append(chunk({"role": "assistant", "content": ""}))

    @rule(text=st.text(alphabet="abc .,渐🎨", max_size=8), empty=st.booleans())
    def say(self, text: str, empty: bool) -> None:
        self.text += text
        self.body.append(chunk({"content": text, **({"tool_calls": None} if empty else {})}))

    @precondition(lambda self: self.index_style != "missing" or not self.open)
    @rule(name=st.sampled_from(NAMES), arguments=ARGUMENTS, identity=st.booleans(), late=st.booleans())
    def start(self, name: str, arguments: Any, identity: bool, late: bool) -> None:
        number = len(self.calls)
        # Of two equal calls of which one has an id, the other is that one, sent again without it.
        identity = self.with_id.setdefault(repr((name, arguments)), identity)
        call = {
            "index": number if self.index_style == "dense" else 3 * number + 2,
            "left": json.dumps(arguments, ensure_ascii=False),
            "name": name if late and self.index_style != "missing" else None,
        }
        self.calls.append((name, arguments))
        self.open.append(call)
        first: dict[str, Any] = {"function": {"arguments": ""} if call["name"] else {"name": name, "arguments": ""}}
        if identity or self.index_style == "missing":
            first |= {"id": f"call_{number}", "type": "function"}
        self._fragment(call, first)

    @precondition(lambda self: bool(self.open))
    @rule(which=st.integers(0, 5), size=st.integers(1, 40), text=st.sampled_from(["", "", "hm "]))
    def go_on(self, which: int, size: int, text: str) -> None:
        call = self.open[which % len(self.open)]
        part, call["left"] = call["left"][:size], call["left"][size:]
        function: dict[str, Any] = {"arguments": part}
        if call["name"]:
            function["name"], call["name"] = call["name"], None
        self.text += text
        self._fragment(call, {"function": function}, {"content": text} if text else {})
        if not call["left"]:
            self.open.remove(call)

    @rule()
    def comment(self) -> None:
        self.body.append(": ping\n\n")

    @rule(usage=st.sampled_from([{"choices": []}, {}]))
    def count(self, usage: Any) -> None:
        self.body.append(line({"id": "c1", "usage": {"total_tokens": 1}, **usage}))

    def _fragment(self, call: dict[str, Any], entry: dict[str, Any], more: dict[str, Any] | None = None) -> None:
        index = {} if self.index_style == "missing" else {"index": call["index"]}
        self.body.append(chunk({**(more or {}), "tool_calls": [{**index, **entry}]}))

    def teardown(self) -> None:
        if not hasattr(self, "policy"):
            return
        for call in list(self.open):
            while call in self.open:
                self.go_on(self.open.index(call), 1000, "")
        for finish, done in (("stop", True), ("tool_calls", True), (None, True), ("stop", False), ("length", True)):
            self._check(finish, done)

    def _check(self, finish: str | None, done: bool) -> None:
        body = "".join(self.body) + (chunk({}, finish) if finish else "") + (DONE if done else "")
        raw = body.encode()
        out = feed(Response("chat", ASKED, self.policy), [raw])
        for seed in range(2):
            assert feed(Response("chat", ASKED, self.policy), cut_at_random(raw, seed)) == out
        held = read(out)
        assert held.text == self.text
        if self.index_style == "missing" and len(self.calls) > 1 and finish in (None, "length"):
            # Only the order tells whose the fragments are, and nobody knows whether more of them were to come.
            return
        made = [(name, json.loads(text)) for name, text in held.call_list()]
        assert sorted(map(repr, made)) == sorted(map(repr, self.calls))
        if self.calls:
            validator.validate(out, complete=done)
            assert held.finishes == [finish if finish == "length" else "tool_calls"]


Upstream.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestAnyUpstream = Upstream.TestCase


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(0, 3))
@settings(deadline=None)
def test_any_bytes_at_all_come_through_without_a_failure(parts: list[bytes], seed: int) -> None:
    body = b"\n\n".join(b"data: " + part for part in parts)
    answer = Response("chat", ASKED)
    out = feed(answer, cut_at_random(body, seed))
    assert answer.failure is None
    assert out == feed(Response("chat", ASKED), [body])
