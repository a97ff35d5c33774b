"""Removes what a chat template leaves around the words of an answer: tokens, and the role or section they name."""

from __future__ import annotations

import re

_token = re.compile(
    r"(?:<\|[^<>|\n]{1,60}\|>|<(?:start_of_turn|seed:bos|bos|s)>|\]~b\]|\[/INST\])"
    r"(?:(?:assistant|model|ai|response|final|commentary|message(?:\srole=\"assistant\")?)"
    r"(?=[^\S\n]{0,4}(?:\n|<\||\Z)))?"
)
"""A token and, between two tokens or up to the end of the line, the model's role or a section of its answer."""


def without_template(paragraph: str) -> str:
    """The paragraph without the tokens that it begins and ends with."""
    tokens = list(_token.finditer(paragraph))
    begin, end = 0, len(paragraph)
    for token in tokens:
        if paragraph[begin : token.start()].strip():
            break
        begin = token.end()
    for token in reversed(tokens):
        if token.start() < begin or paragraph[token.end() : end].strip():
            break
        end = token.start()
    words = paragraph[begin:end].rstrip()
    return words.lstrip() if begin else words
