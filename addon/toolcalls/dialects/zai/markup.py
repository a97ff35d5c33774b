"""Recognises the tags in the document of chat.z.ai: a tag, no tag, or undecided until more text follows."""

from __future__ import annotations

import re
from typing import Final

BLOCK_TAG: Final = "<glm_block"
BLOCK_END: Final = "</glm_block>"
WRAPPER_TAG: Final = "<details"
WRAPPER_END: Final = "</details>"
SUMMARY: Final = "<summary>"
SUMMARY_END: Final = "</summary>"

MAX_TAG: Final = 1024
"""A longer tag is text, and so is a longer run of white space before a tag."""
MORE: Final = -1
"""Instead of an offset: the result depends on what follows."""
NO: Final = 0
"""Instead of an offset: nothing opens here."""

_TAG_REST: Final = re.compile(r'>|[^\S\n](?>[^">\n]|"[^"\n]*")*+>')
_REASONING: Final = re.compile(r'\stype="reasoning"[\s>]')
_BLANK: Final = re.compile(r"\s*+")


def skip_blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _tag_end(text: str, at: int, name: str) -> int:
    """The position after the `>` of an opening tag; MORE if it may still become a tag, NO if it is none."""
    tag = text[at : at + MAX_TAG]
    if not tag.startswith(name):
        return MORE if name.startswith(tag) else NO
    match = _TAG_REST.match(tag, len(name))
    if match:
        return at + match.end()
    rest = tag[len(name) :]
    may_close = len(tag) < MAX_TAG and "\n" not in rest and (not rest or rest[0].isspace())
    return MORE if may_close else NO


def _next_mark(text: str, at: int) -> int:
    """The position after the white space at `at`; MORE if the text ends there, NO if there is too much of it."""
    mark = skip_blank(text, at)
    if mark - at >= MAX_TAG:
        return NO
    return MORE if mark == len(text) else mark


def block_opening(text: str, at: int) -> int:
    """The position where the JSON of a block begins, if a block opens here."""
    end = _tag_end(text, at, BLOCK_TAG)
    start = _next_mark(text, end) if end > 0 else end
    if start <= 0:
        return start
    if text[start] != "{":
        return NO
    key = _next_mark(text, start + 1)
    if key <= 0:
        return key
    return start if text[key] in '"}' else NO


def wrapper_opening(text: str, at: int) -> int:
    """The position after the tag of a reasoning wrapper, if one opens here. A plain `<details>` is text."""
    end = _tag_end(text, at, WRAPPER_TAG)
    if end <= 0:
        return end
    return end if _REASONING.search(text, at, end) else NO
