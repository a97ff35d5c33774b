"""A stream that breaks off at any byte: never a call that the whole one would not have given, never half a value."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.protocols.zai_streams import convert, question, received
from tests.sampling import part

CORPUS = Path(__file__).parent / "corpus" / "zai"
STREAMS = (
    "02_single_tool_overlapping_edits_zh",
    "03_parallel_tool_calls",
    "15_new_style_delta_tool_calls",
    "18_tag_variants_and_markup_in_args",
    "22_thinking_then_tool_no_text",
)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_cut_at_any_byte_gives_no_call_but_those_of_the_whole_stream(name: str):
    stream = (CORPUS / f"{name}.sse").read_bytes()
    asked = question()
    whole = received(convert(stream, asked=asked))
    ends = set()
    for size in [*part(range(len(stream) - 1), 3, len(stream)), len(stream) - 1]:
        got = received(convert(stream[:size], asked=asked))
        assert got["tool_calls"] == whole["tool_calls"][: len(got["tool_calls"])]
        assert whole["content"].startswith(got["content"])
        assert whole["reasoning"].startswith(got["reasoning"])
        ends.add((len(got["tool_calls"]), got["finish_reason"]))
    calls = len(whole["tool_calls"])
    assert ends <= {(0, None), (0, "length"), *((count, "tool_calls") for count in range(1, calls + 1))}
    assert (calls, "tool_calls") in ends
