"""The work that quoting does grows with the text, however many spans it has."""

from __future__ import annotations

from typing import Any

import pytest

from toolcalls.textcalls.quoting import Quoting


class Counted(str):
    """A text that counts how many of its characters are copied."""

    copied = 0

    def __getitem__(self, key: Any) -> str:
        piece = super().__getitem__(key)
        self.copied += len(piece)
        return piece


@pytest.mark.parametrize("span", ["<code>x</code> ", "'''x''' ", "<!-- x -->", "<code>x\n", "`x` ", "<pre>x</pre>\n"])
def test_many_spans_in_one_long_text_are_not_quadratic(span: str) -> None:
    text = Counted(span * 2000)
    Quoting().advance(text)
    assert text.copied < 100 * len(text)


@pytest.mark.parametrize("size", [1, 7, 255, 256, 257, 262, 263, 264, 600, 2000])
def test_a_span_of_any_length_ends_where_it_ends(size: int) -> None:
    for behind, quoted in (("", True), ("</pr", True), ("</pre>", False), ("</pre> a", False)):
        quoting = Quoting()
        quoting.advance(f"a <pre>{'x' * size}{behind}")
        assert quoting.quoted is quoted
