"""A tag that two deltas bring, of the second block too: what ends the phase of calls comes behind a block that is over."""

from __future__ import annotations

import pytest

from tests.protocols.zai_streams import Backend, block, convert, received

FIRST, SECOND = block("Bash", '{"command":"ls"}'), block("Bash", '{"command":"pwd"}', "call_2")


@pytest.mark.parametrize("kind", ["delta", "edit"])
@pytest.mark.parametrize("tag", [1, 2, 3, 5, 9, 10, 12, 30])
@pytest.mark.parametrize("cut", [1, 5, 10, 40, len(FIRST) - 3])
@pytest.mark.parametrize("text", ["x", "\nx", ""])
def test_the_second_block_is_a_call_wherever_its_tag_is_cut(kind: str, tag: int, cut: int, text: str) -> None:
    backend = Backend()
    for piece in (FIRST[:cut], FIRST[cut:], SECOND[:tag], SECOND[tag:]):
        if kind == "delta":
            backend.delta(piece, "tool_call")
        else:
            backend.become(backend.document + piece, "tool_call")
    if text:
        backend.delta(text)
    got = received(convert(backend.usage().done().stream))
    assert [(call["id"], call["arguments"]) for call in got["tool_calls"]] == [
        ("call_1", {"command": "ls"}),
        ("call_2", {"command": "pwd"}),
    ]
    assert got["content"].strip() == text.strip()


@pytest.mark.parametrize("cut", [1, 2, 5, 9, 11])
def test_the_only_block_is_a_call_wherever_its_tag_is_cut(cut: int) -> None:
    backend = Backend().delta("Text.\n").delta(FIRST[:cut], "tool_call").delta(FIRST[cut:], "tool_call").delta("x")
    got = received(convert(backend.usage().done().stream))
    assert [call["id"] for call in got["tool_calls"]] == ["call_1"]
    assert "glm_block" not in got["content"]


def test_what_the_model_writes_behind_half_a_tag_is_no_call() -> None:
    backend = Backend().delta(FIRST, "tool_call").delta("<gl", "tool_call").delta(SECOND[3:])
    got = received(convert(backend.usage().done().stream))
    assert [call["id"] for call in got["tool_calls"]] == ["call_1"]
