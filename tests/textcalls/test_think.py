"""Reasoning that leaked into the text, moved out of it."""

from __future__ import annotations

import pytest

from toolcalls.textcalls import ThinkSplitter


def split(text: str, size: int = 0) -> tuple[str, str]:
    splitter = ThinkSplitter()
    size = size or len(text) or 1
    out = [item for at in range(0, len(text), size) for item in splitter.feed(text[at : at + size])]
    out += splitter.close()
    reasoning = "".join(part for kind, part in out if kind == "reasoning")
    return reasoning, "".join(part for kind, part in out if kind == "text")


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7])
@pytest.mark.parametrize(
    ("text", "reasoning", "rest"),
    [
        ("<think>hm, let me see</think>\n\nThe answer.", "hm, let me see", "The answer."),
        ("\n<think>\nhm\n</think>Answer", "\nhm\n", "Answer"),
        ("</think>\nAnswer", "", "Answer"),
        ("<think></think>Answer", "", "Answer"),
        ("<think>it never ends </thi", "it never ends </thi", ""),
        ("Answer <think>x</think>", "", "Answer <think>x</think>"),
        ("let me see</think>\nAnswer", "", "let me see</think>\nAnswer"),
        ("<thinking>x", "", "<thinking>x"),
        ("<think>a</think>b</think>c", "a", "b</think>c"),
        ("  plain", "", "  plain"),
        ("<th", "", "<th"),
        ("", "", ""),
    ],
)
def test_only_a_leading_block_or_a_stray_close_is_moved(text: str, reasoning: str, rest: str, size: int) -> None:
    assert split(text, size) == (reasoning, rest)


def test_reasoning_and_text_come_out_as_they_arrive() -> None:
    splitter = ThinkSplitter()
    assert splitter.feed("<think>so") == [("reasoning", "so")]
    assert splitter.feed(" far</") == [("reasoning", " far")]
    assert splitter.text_held == "</"
    assert splitter.feed("think>\nHere") == [("text", "Here")]
    assert splitter.done
    assert splitter.feed(" it is") == [("text", " it is")]
    assert splitter.close() == []


def test_an_answer_that_begins_with_anything_else_is_text_from_its_first_character() -> None:
    splitter = ThinkSplitter()
    assert splitter.feed("H") == [("text", "H")]
    assert splitter.done
