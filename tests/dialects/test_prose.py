"""The cheap looks at events that are not read: they let nothing pass that the scanner would have to see."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.textcalls.declared import TWENTY
from toolcalls.dialects.text_search import TextPiece, TextSearch
from toolcalls.mend.finish import Finish
from toolcalls.policy import Policy
from toolcalls.request.request import Request
from toolcalls.unread.passed_text import Field

CONTENT = Field("content")
ASKED = Request(tools=TWENTY)
PIECES = [
    "a",
    " b",
    "\n",
    "<",
    "=",
    "=f",
    "=functions.",
    "'",
    "''",
    '"',
    '"""',
    "`",
    "[",
    "]",
    "”",
    "「",
    "é",
    "漢",
    "\\",
    "c's",
]
TEXTS = st.lists(st.sampled_from([*PIECES, "<tool_call>", "x = 1", "Read"]), max_size=6).map("".join)


def events(texts: list[str]) -> bytes:
    return b"".join(
        b"data: " + json.dumps({"content": text}, ensure_ascii=False).encode() + b"\n\n" for text in texts
    )


def passes(prose: TextSearch, block: bytes, count: int) -> bool:
    """As the dialects ask: the cheapest look first."""
    return prose.repeats(block) or prose.passes(block, count)


@settings(max_examples=400, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_what_passes_unread_is_what_passes_when_it_is_taken(texts: list[str]) -> None:
    prose, plain = TextSearch(ASKED, Policy(), CONTENT), TextSearch(ASKED, Policy(), CONTENT)
    for each in (prose, plain):
        each.take("Some words to begin with. ")
    told: list[Any] = []
    if not passes(prose, events(texts), len(texts)):
        for text in texts:
            event = events([text])
            if not passes(prose, event, 1):
                told += prose.take(text).parts if text else ()
            elif text:
                told.append((text, None))
    else:
        told = [(text, None) for text in texts if text]
    expected = [part for text in texts if text for part in plain.take(text).parts]
    assert told == expected
    assert prose.held == plain.held
    assert prose.close(Finish.COMPLETE) == plain.close(Finish.COMPLETE)


def test_where_another_text_is_told_than_was_searched_the_search_begins_anew() -> None:
    """The text of an event that cannot be read after all: found by the fuzzer, it made the whole answer fail open."""
    prose = TextSearch(ASKED, Policy(), CONTENT)
    prose.take("Words. ")
    assert not prose.passes(events(["a <tool_"]), 1)
    told = [prose.take("b <"), prose.take("tool_"), prose.close(Finish.COMPLETE)]
    assert "".join(piece.text for said in told for piece in said.parts if isinstance(piece, TextPiece)) == "b <tool_"
