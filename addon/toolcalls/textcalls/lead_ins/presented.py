"""Recognises paragraphs that present a text, such as a page or a transcript, and lines of somebody in a dialogue."""

from __future__ import annotations

import re

_PEOPLE = "human|user|system|q|a|question|answer|customer|client|interviewer|teacher|student|admin|person \\w"

_SPOKEN = r"transcripts?|dialog(?:ue)?s?|conversations?|chats?|scratchpads?|stor(?:y|ies)|chapters?|scenes?|prompts?"
"""Names of texts in which someone speaks."""
_PRESENTED = (
    rf"(?:{_SPOKEN}|translations?|poems?|songs?|examples?|samples?|quot(?:es?|ations?)|excerpts?|readme|pages?"
    rf"|e-?mails?"
    r"|letters?|good answers?|bad answers?|texts?|tutorials?|exercises?|guides?|articles?|(?:blog\s)?posts?"
    r"|slides?|drafts?"
    r"|cop(?:y|ies))\b"
)
_WRITTEN = r"(?:i|we)(?:['’]ve)?\s(?:just\s)?(?:wrote|written|drafted|prepared|composed|sketched)"
_presents = re.compile(
    rf"\W{{0,6}}(?:(?:(?:for|as)\s[\w\s]{{1,24}},?\s)?(?:here(?:['’]s| is| are)|(?:below|what follows"
    rf"|the following|attached)"
    rf"\sis|{_WRITTEN})\s(?:[\w'’-]{{1,16}}\s){{0,3}}(?:answers?\b|repl(?:y|ies)\b|{_PRESENTED})[^.:!?]{{0,80}}[.:]"
    rf"|(?!\w{{1,12}}ed\b|(?:i|we)\s)(?:[\w'’-]{{1,16}}\s){{0,3}}{_PRESENTED}"
    r"(?:(?:\s(?:of|from|by|in|you)\b[^.:!?]{1,40})?:|[^.:!?]{1,30}\b(?:as follows|like this|below|follows)[.:])"
    rf"|(?:{_SPOKEN}|drafts?)\s(?:of|for|between|with)\b[^.:!?]{{1,60}}[.:]?|model [A-Z\d]:"
    rf"|scene \d{{1,3}}[:.]?)\W{{0,3}}\Z",
    re.IGNORECASE,
)
"""A whole paragraph that says which text the next paragraphs contain."""
_disclaims = re.compile(
    r"\b(?:do\snot|don['’]t|never|nothing|none|not)\b[^.!?]{0,40}\b(?:below|following|any\sof\s(?:this|it|these)"
    r"|what\sfollows|from\shere\son|in\sthis\s(?:message|answer|text|document|post))\b",
    re.IGNORECASE,
)
"""Words that say that nothing of what follows is meant."""
_spoken = re.compile(rf"\b(?:{_SPOKEN})\b", re.IGNORECASE)
_speaker = re.compile(rf"[*_#\s>-]{{0,6}}(?:{_PEOPLE})(?:\s?\d{{1,3}})?[*_]{{0,3}}:[*_]{{0,3}}\s\s?\S", re.IGNORECASE)


def somebody_speaks(line: str) -> bool:
    """Whether this line of a dialogue is spoken by anyone but the assistant."""
    return _speaker.match(line) is not None


def presents(paragraph: str) -> bool:
    """Whether this paragraph says that the next ones are a presented text, such as a page or a poem."""
    return _presents.match(paragraph) is not None or disclaims(paragraph)


def disclaims(paragraph: str) -> bool:
    """Whether the paragraph says that nothing of what follows is meant."""
    return _disclaims.search(paragraph) is not None


def presents_speech(paragraph: str) -> bool:
    """Whether someone speaks in the text that this paragraph presents, and may announce actions of their own."""
    return _spoken.search(paragraph) is not None or disclaims(paragraph)
