"""The shared corpus at five chunk sizes, with the table by format."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import json5
import pytest

from tests.textcalls.declared import back, calls_of, scan, text_of
from toolcalls.tools.declared import Tools

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "corpus" / "text-calls.jsonl").read_text("utf-8").splitlines()
]
SIZES = (0, 1, 2, 3, 7)


def read(arguments: str) -> Any:
    """Mending lives elsewhere: what is not strict is read as JSON5."""
    try:
        return json.loads(arguments)
    except ValueError:
        return json5.loads(arguments)


def right(case: dict[str, Any], size: int) -> bool:
    out = scan(case["text"], Tools.read({"tools": case["tools"]}), size)
    assert back(out) == case["text"]
    found = [{"name": call.name, "arguments": read(call.arguments)} for call in calls_of(out)]
    texts = [case["content"], *case.get("content_alt", ())]
    if case["content_cmp"] == "exact":
        same = text_of(out) in texts
    else:
        same = text_of(out).split() in [text.split() for text in texts]
    return same and found == case["expected"]


@pytest.mark.parametrize("size", SIZES)
def test_a_negative_comes_out_byte_identical_and_without_a_call(size: int) -> None:
    for case in CASES:
        if case["kind"] == "negative":
            out = scan(case["text"], Tools.read({"tools": case["tools"]}), size)
            assert out == ([case["text"]] if case["text"] else []), case["name"]


def test_every_case_is_right_at_every_chunk_size(
    capsys: pytest.CaptureFixture[str],
) -> None:
    good: Counter[tuple[str, int]] = Counter()
    count: Counter[str] = Counter()
    wrong: list[str] = []
    for case in CASES:
        count[case["format"]] += 1
        for size in SIZES:
            if right(case, size):
                good[case["format"], size] += 1
            else:
                wrong.append(f"{case['format']} {case['name']} at {size or 'whole'}")
    with capsys.disabled():
        print(f"\n{'format':20} {'cases':>5}" + "".join(f"{size or 'whole':>7}" for size in SIZES))
        for format, cases in count.items():
            print(f"{format:20} {cases:>5}" + "".join(f"{good[format, size]:>7}" for size in SIZES))
        print(f"{'all':20} {len(CASES):>5}" + "".join(f"{_sum(good, size):>7}" for size in SIZES))
    assert not wrong


def _sum(good: Counter[tuple[str, int]], size: int) -> int:
    return sum(count for (_, at), count in good.items() if at == size)
