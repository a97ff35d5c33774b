"""Argument texts of the corpus of tests/mend, and random changes to them."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path

CORPUS = Path(__file__).parents[2] / "tests" / "mend" / "corpus" / "arguments.jsonl"
LONGEST = 2_000

PIECES = [
    *"{}[]()<>\"'`,:;/\\|#&%$=+-._*! \n\t\r\x00\x08",
    "“", "”", "‘", "’", "：", "，", "｛", "｝", "\ufeff",
    "\\n", '\\"', "\\'", "\\\\", "\\u00e9", "\\ud83d", "\\x41", "\\d",
    "0", "1", "-1.5e3", "1e999", "NaN", "true", "None", "True", "null",
    '"a":', "'a':", "a:", '", "', '"}', "'}", "```", "```json\n", "{}", "//", "/*", "*/",
    "</tool_call>", "<|im_end|>", '"""', "'''", "r'", "é", "\U0001f600", "\ud83d", "\u2028", "\xa0",
]  # fmt: skip
"""The pieces that are inserted into a text."""


@cache
def texts() -> list[str]:
    """The texts of the corpus, except for the longest."""
    inputs = (json.loads(line)["input"] for line in CORPUS.read_text(encoding="utf-8").splitlines())
    return [text for text in inputs if len(text) < LONGEST]


def mutated(chance: random.Random, corpus: list[str]) -> str:
    """A text of the corpus after one to six random changes."""
    text = chance.choice(corpus)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        at = chance.randint(0, len(text))
        to = min(len(text), at + chance.choice((1, 1, 2, 5, 20)))
        match chance.randrange(6):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:at] + chance.choice(PIECES) + text[at:]
            case 2:
                text = text[:at] + chance.choice(PIECES) + text[to:]
            case 3:
                text = text[:to] + text[at:]
            case 4:
                text = text[:at] + chance.choice(corpus)[chance.randrange(30) :]
            case _:
                text = text[:at]
    return text[:4_000]
