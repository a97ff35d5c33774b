"""Strings and brackets are followed as one character after the other would say, however the text is cut."""

from __future__ import annotations

import json
import random

import pytest

from toolcalls.mend.lexer import Lexer

ALPHABET = '\\\\\\"""{}[]a,\n'


def read_slowly(text: str) -> tuple[bool, bool]:
    """Whether the text ends inside a string, and whether its brackets are closed."""
    in_string = escaped = opened = False
    depth = 0
    for char in text:
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == '"':
            in_string = not in_string
        elif not in_string and char in "{[":
            opened, depth = True, depth + 1
        elif not in_string and char in "}]":
            depth -= 1
    return in_string, opened and depth <= 0 and not in_string


def follow(pieces: list[str]) -> tuple[bool, bool]:
    lexer = Lexer()
    for piece in pieces:
        lexer.follow(piece)
    return lexer.inside, lexer.closed


@pytest.mark.parametrize("seed", range(20))
def test_the_state_is_that_of_reading_every_character_at_every_split(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(300):
        text = "".join(chance.choices(ALPHABET, k=chance.randint(0, 16)))
        text = chance.choice((text, json.dumps({"a": text, "b": [text]}), "{" + text + "}"))
        cut = chance.randint(0, len(text))
        expected = read_slowly(text)
        for pieces in ([text], [text[:cut], text[cut:]], list(text)):
            assert follow(pieces) == expected, (text, pieces)
