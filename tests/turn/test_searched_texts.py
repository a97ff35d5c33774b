"""The texts of an answer, searched one by one."""

from __future__ import annotations

import pytest

from toolcalls.ids import Ids
from toolcalls.mend.mender import Mender
from toolcalls.policy import Policy
from toolcalls.request.request import read_request
from toolcalls.turn.searched_texts import SearchedTexts


@pytest.mark.parametrize(("text", "has_text"), [("", False), (" \n", False), ("Hello", True)])
def test_an_empty_text_says_nothing(text: str, has_text: bool) -> None:
    request = read_request({"model": "m", "tools": [{"name": "Read", "input_schema": {}}], "messages": []})
    policy = Policy()
    texts = SearchedTexts(request, policy, Mender(request.tools, policy, Ids("seed")), find_calls=True)
    texts.search_of(None, text)
    assert texts.has_text is has_text
