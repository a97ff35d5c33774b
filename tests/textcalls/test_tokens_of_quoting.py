"""Finding the next token passes over most characters without a look at the patterns; it must find what they would."""

from __future__ import annotations

import random

from toolcalls.textcalls.quotation_marks import BLOCKS, MARKS, SPANS, SPANS_AT_HEAD, TOKEN, next_token

_PIECES = [
    *"abRrq #-=/*(){}[]<>|\"'`\\~^&$@!:;.,?_0\n◁▷⟨⟩＜＞",
    *MARKS,
    *SPANS,
    *SPANS_AT_HEAD,
    *BLOCKS,
    *("think", "</think>", "<|user|>", "[INST]", "]~b]user", "<<EOF", 'R"x(', 'r#"', "<pre>", "&lt;think&gt;"),
    *("‹｜hy_user｜>", "<start_of_turn>user", "[|user|]", "[THINK]", "<|channel|>analysis", "\\<think>"),
]


def test_the_next_token_is_the_one_that_the_pattern_finds() -> None:
    chance = random.Random(17)
    found = 0
    for _ in range(20_000):
        text = "".join(chance.choices(_PIECES, k=chance.randint(1, 20)))
        at = chance.randint(0, len(text))
        expected, token = TOKEN.search(text, at), next_token(text, at)
        assert (token and (token.span(), token.groupdict())) == (expected and (expected.span(), expected.groupdict()))
        found += token is not None
    assert found > 10_000


def test_no_token_begins_with_what_is_passed_over() -> None:
    for piece in (
        *MARKS,
        *SPANS,
        *SPANS_AT_HEAD,
        *BLOCKS,
        "[THINK]",
        "◁think▷",
        "<think>",
        "&lt;think&gt;",
        "[INST]",
    ):
        assert next_token(f"some words, {piece}", 0) is not None
