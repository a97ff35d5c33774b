"""The history of a request to Gemini: ids of ours go up as the upstream gave them, everything else keeps its values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcalls.ids import Ids
from toolcalls.policy import Policy
from toolcalls.request.mend import mend_request
from toolcalls.request.refusals import Refusals
from toolcalls.request.request import decode


def body(identity: Any, *, login: bool = False) -> bytes:
    call = {"functionCall": {"id": identity, "name": "ls", "args": {"n": 1.50}}, "thoughtSignature": "s=="}
    result = {"functionResponse": {"id": identity, "name": "ls", "response": {"output": "a"}}}
    contents = [{"role": "model", "parts": [{"text": "x"}, call]}, {"role": "user", "parts": [result]}, {}, None]
    asked: dict[str, Any] = {"contents": contents}
    return json.dumps({"model": "m", "request": asked} if login else asked).encode()


def sent(came: bytes, policy: Policy | None = None) -> bytes:
    changed = mend_request("gemini", came, decode(came), policy or Policy(), Refusals())
    return came if changed is None else changed.body


@pytest.mark.parametrize("login", [False, True])
def test_an_id_of_ours_goes_up_as_the_upstream_gave_it(login: bool) -> None:
    ours = Ids("seed").new("c1", "why")
    assert ours != "c1"
    for policy in (Policy(), Policy(request=False)):
        assert json.loads(sent(body(ours, login=login), policy)) == json.loads(body("c1", login=login))


@pytest.mark.parametrize("identity", ["c1", "", None, 5, "run_shell_command_1763251200000_0"])
def test_every_other_history_keeps_its_bytes(identity: Any) -> None:
    assert sent(body(identity)) == body(identity)
    assert sent(b'{"contents": []}') == b'{"contents": []}'
