"""Edits of chat.z.ai without an `edit_index`: the index is 0, as for the web client.

Only one that ends a block which it did not begin is the rest of something. Where it goes is not known, so the stream
ends with an error: nothing of it is shown, and only a call that is complete by itself goes before the error.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.protocols.zai_streams import Backend, block, convert, received

Json = dict[str, Any]

ARGUMENTS = '{"command": "curl https://example.com/ä/😀", "timeout": 3}'


def tail(arguments: str, result: Any = "") -> str:
    """What an edit in the arguments of a block brings: the rest of them, and all that follows in the block."""
    whole = block("Bash", arguments, result=result)
    return whole[whole.index('"arguments": "') + len('"arguments": "') :]


def got(backend: Backend) -> Json:
    """What a client gets, the same for every split."""
    stream = backend.stream
    first = convert(stream)
    for size in (1, 7, 64):
        assert convert(stream, size) == first
    return received(first)


@pytest.mark.parametrize("at", [0, 1, 12, 30, len(ARGUMENTS) - 13, len(ARGUMENTS) - 1])
@pytest.mark.parametrize("overlap", [0, 1, 9])
@pytest.mark.parametrize("before", ["", "Let me look. 😀"])
@pytest.mark.parametrize("index", [{}, {"edit_index": None}, {"edit_index": "?"}])
def test_the_rest_of_a_block_without_an_index_ends_with_an_error_and_runs_nothing(
    index: Json, before: str, overlap: int, at: int
) -> None:
    backend = Backend().delta(before).become(f"{before}\n\n{block('Bash', ARGUMENTS[:at])}")
    backend.say(edit_content=tail(ARGUMENTS[max(at - overlap, 0) :]), phase="tool_call", **index)
    answer = got(backend.usage().done())
    assert (answer["tool_calls"], answer["content"], answer["finish_reason"]) == ([], before, None)
    assert answer["error"]["message"] == "An edit of chat.z.ai does not say what it replaces."


def test_complete_calls_go_before_the_error() -> None:
    backend = Backend().become(f"\n\n{block('Bash', ARGUMENTS)}").say(edit_content=tail(ARGUMENTS), phase="other")
    answer = got(backend.delta("The result was null.").done())
    assert [call["arguments"] for call in answer["tool_calls"]] == [json.loads(ARGUMENTS)]
    assert (answer["content"], bool(answer["error"])) == ("", True)


@pytest.mark.parametrize(
    "text", ["Here is the answer.", "Here is </glm_block>.", f"Again:\n{block('Write', '{}', 'call_9')}"]
)
@pytest.mark.parametrize("block_before", [False, True])
def test_any_other_edit_without_an_index_replaces_everything(text: str, block_before: bool) -> None:
    def said(**index: int) -> bytes:
        backend = Backend().delta("He")
        backend = backend.become(f"He\n\n{block('Bash', ARGUMENTS)}") if block_before else backend
        return convert(backend.say(edit_content=text, phase="answer", **index).done().stream)

    assert said() == said(edit_index=0)
