"""One choice was asked for: of several that have calls, only those of the first one run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.chat_client import read
from tests.must_not_run.wires import TOOLS
from tests.protocols.test_chat import DONE, chunk, piece
from tests.splits import mend
from toolcalls.engine import Response, mend_whole
from toolcalls.policy import Policy
from toolcalls.request.request import read_request

LS, RM = '{"command":"ls"}', '{"command":"rm -rf build"}'
BOTH: dict[str, str] = {
    "one after the other": chunk(piece(0, "a", "Bash", LS)) + chunk(piece(0, "b", "Bash", RM), index=1),
    "woven": chunk(piece(0, "a", "Bash", LS[:9]))
    + chunk(piece(0, "b", "Bash", RM[:9]), index=1)
    + chunk(piece(0, None, None, LS[9:]))
    + chunk(piece(0, None, None, RM[9:]), index=1),
    "the same call": chunk(piece(0, "a", "Bash", LS)) + chunk(piece(0, "b", "Bash", LS), index=1),
    "without ids": chunk(piece(0, None, "Bash", LS)) + chunk(piece(0, None, "Bash", RM), index=1),
    "behind the end of the first": chunk(piece(0, "a", "Bash", LS))
    + chunk({}, "tool_calls")
    + chunk(piece(0, "b", "Bash", RM), index=1),
    "both behind the text of the first": chunk({"content": "Let me see."})
    + chunk(piece(0, "a", "Bash", LS), index=1)
    + chunk(piece(0, "b", "Bash", RM), index=2),
    "the second choice first": chunk(piece(0, "a", "Bash", LS), index=1) + chunk(piece(0, "b", "Bash", RM)),
}


def run(body: str, **policy: Any) -> list[Any]:
    """The values with which calls run in the first choice."""
    ended = body + "".join(chunk({}, "tool_calls", index=number) for number in (0, 1)) + DONE
    out, _ = mend(ended, question=read_request({"tools": TOOLS, "stream": True}), policy=Policy(**policy))
    calls = [text for name, text in read(out).call_list() if name == "Bash"]
    return [value for text in calls if (value := _object(text))]


def _object(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


@pytest.mark.parametrize("aggregate", [True, False])
@pytest.mark.parametrize("name", BOTH)
def test_calls_of_two_choices_are_two_answers_to_one_question(name: str, aggregate: bool) -> None:
    assert run(BOTH[name], aggregate=aggregate) == [{"command": "ls"}]


def test_calls_of_the_only_choice_that_has_some_run() -> None:
    """The near miss: text in the first choice, calls in another one."""
    calls = chunk(piece(0, "a", "Bash", LS), index=1) + chunk(piece(1, "b", "Bash", RM), index=1)
    assert run(chunk({"content": "Let me see."}) + calls) == [{"command": "ls"}, {"command": "rm -rf build"}]


def test_a_choice_without_its_index_is_no_other_one() -> None:
    line = chunk(piece(0, None, None, LS[9:])).replace('"index": 0, "delta"', '"delta"', 1)
    assert '"choices": [{"delta"' in line
    assert run(chunk(piece(0, "a", "Bash", LS[:9])) + line) == [{"command": "ls"}]


def message(text: str | None, *calls: tuple[str, str]) -> dict[str, Any]:
    entries = [
        {"id": identity, "type": "function", "function": {"name": "Bash", "arguments": said}}
        for identity, said in calls
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": entries} if entries else {})}


def run_whole(*messages: dict[str, Any]) -> list[Any]:
    choices = [{"index": at, "message": said, "finish_reason": "stop"} for at, said in enumerate(messages)]
    out = mend_whole(Response("chat", read_request({"tools": TOOLS})), json.dumps({"choices": choices}).encode())
    calls = json.loads(out)["choices"][0]["message"].get("tool_calls") or []
    return [json.loads(call["function"]["arguments"]) for call in calls]


def test_a_document_with_calls_in_two_choices_is_two_answers_to_one_question() -> None:
    assert run_whole(message(None, ("a", LS)), message(None, ("b", RM))) == [{"command": "ls"}]
    assert run_whole(message("Hm."), message(None, ("a", LS)), message(None, ("b", RM))) == [{"command": "ls"}]
    assert run_whole(message("Hm."), message(None, ("a", LS), ("b", RM))) == [
        {"command": "ls"},
        {"command": "rm -rf build"},
    ]
