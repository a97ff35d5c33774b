"""Removes what a chat template leaves around the words of an answer: tokens, and the role or section they name."""

from __future__ import annotations

import re

_TOKEN = r"(?:<\|[^<>|\n]{1,60}\|>|<(?:start_of_turn|seed:bos|bos|s)>|\]~b\]|\[/INST\])"
_NAMED = (
    r"(?:assistant|model|ai|response|final|commentary|message(?:\srole=\"assistant\")?)(?=[^\S\n]{0,4}(?:\n|<\||\Z))"
)
"""The role of the model, or a section of its answer, between two tokens or at the end of the line."""
_tokens = rf"(?>\s{{0,8}}{_TOKEN}(?:{_NAMED})?)++"
_before = re.compile(_tokens)
_behind = re.compile(rf"{_tokens}\s{{0,8}}\Z")


def without_template(paragraph: str) -> str:
    """The paragraph without the tokens that it begins and ends with."""
    if before := _before.match(paragraph):
        paragraph = paragraph[before.end() :].lstrip()
    behind = _behind.search(paragraph)
    return paragraph[: behind.start()] if behind else paragraph
