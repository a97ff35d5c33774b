"""From the answer in which a call is refused to the request in which its result comes up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcalls.engine import Response, mend_whole
from toolcalls.ids import restore
from toolcalls.policy import Policy
from toolcalls.request.mend import mend_request
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import Request, decode

CUT = '{"path": "/a", "content": "half a fi'


def document(protocol: str, identity: str) -> bytes:
    if protocol == "chat":
        call = {"id": identity, "type": "function", "function": {"name": "write", "arguments": CUT}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "length"}]}).encode()
    if protocol == "messages":
        block = {"type": "tool_use", "id": identity, "name": "write", "input": CUT}
        return json.dumps({"type": "message", "content": [block], "stop_reason": "max_tokens"}).encode()
    item = {"type": "function_call", "id": "fc_1", "call_id": identity, "name": "write", "arguments": CUT}
    return json.dumps({"object": "response", "status": "completed", "output": [item]}).encode()


def request(protocol: str, identity: str) -> dict[str, Any]:
    if protocol == "chat":
        call = {"id": identity, "type": "function", "function": {"name": "write", "arguments": "{}"}}
        said = {"role": "assistant", "content": None, "tool_calls": [call]}
        return {"messages": [said, {"role": "tool", "tool_call_id": identity, "content": "no"}]}
    if protocol == "messages":
        use = {"type": "tool_use", "id": identity, "name": "write", "input": {}}
        block = {"type": "tool_result", "tool_use_id": identity, "content": "no"}
        return {"messages": [{"role": "assistant", "content": [use]}, {"role": "user", "content": [block]}]}
    item = {"type": "function_call", "call_id": identity, "name": "write", "arguments": "{}"}
    return {"input": [item, {"type": "function_call_output", "call_id": identity, "output": "no"}]}


@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
def test_a_refusal_is_told_to_the_one_whose_call_it_was(protocol: str) -> None:
    refusals = Refusals()
    answers = [Response(protocol, seed=user, on_outcome=refusals.remember) for user in ("one", "two")]
    after = [mend_whole(answer, document(protocol, "x:0")) for answer in answers]
    ids = [answer.outcomes[0].id for answer in answers]
    assert len(set(ids)) == 2, "two users whose upstream gave the same id"
    for identity, body in zip(ids, after, strict=True):
        assert restore(identity) == "x:0"
        assert identity.encode() in body
        sent = json.dumps(request(protocol, identity)).encode()
        changed = mend_request(protocol, sent, decode(sent), Policy(), refusals)
        assert changed is not None
        assert b"[toolfix] This call was refused: the arguments were cut off inside `content`" in changed.body
        assert identity.encode() not in changed.body
    own = json.dumps(request(protocol, "x:0")).encode()
    assert mend_request(protocol, own, decode(own), Policy(), refusals) is None, "an id that is everybody's"


@pytest.mark.parametrize("protocol", ["chat", "messages", "responses"])
def test_with_the_option_off_a_refused_call_keeps_its_id(protocol: str) -> None:
    answer = Response(protocol, Request(), Policy(request=False))
    assert b'"call_1"' in mend_whole(answer, document(protocol, "call_1"))
    assert answer.outcomes[0].status == "refused"
