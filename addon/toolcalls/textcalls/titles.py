"""Lines that stand above something that is shown: titles, and what somebody else says in a dialogue."""

from __future__ import annotations

import re

_OTHER = "begin|start of|forwarded|original|quoted|previous|earlier|old|raw|full|page|mail|sent|received"
_TEXTS = (
    "messages?|mails?|e-?mails?|texts?|contents?|versions?|attempts?|answers?|calls?|transcripts?|pages?|posts?|from"
)
_PEOPLE = "human|user|system|q|a|question|answer|customer|client|interviewer|teacher|student|admin|person \\w"

_TITLES = {
    "a numbered part": (
        r"(?:appendix|annex|exhibit|attachment|enclosure|figure|fig\.|listing|table|footnote|ps|p\.\s?s\.)"
        r"(?:\s[\w.]{1,6})?\W{0,3}(?:\Z|[:.–—-]\s)"
    ),
    "a text of another time": rf"[-=\s]{{0,8}}(?:(?:{_OTHER})\s){{1,2}}(?:{_TEXTS})\b[^.!?]{{0,40}}\Z",
    "what stands below": (
        r"(?:[\w-]{1,20}\s){1,4}(?:follows?|(?:is|are|stands?) below)\W{0,3}\Z|below (?:is|are|you)\b"
        r"|(?:\w{1,20}\s){1,5}(?:with|was|by|like) (?:this|these|the following)\W{0,3}\Z"
    ),
    "what happened": (
        r"th(?:is|at) (?:is|was) (?:what|how) (?:failed|happened|it|they|he|she|was|came|you (?:wrote|sent))\b"
    ),
}
_title = re.compile("|".join(_TITLES.values()), re.IGNORECASE)
_speaker = re.compile(rf"[*_#\s>-]{{0,6}}(?:{_PEOPLE})(?:\s?\d{{1,3}})?[*_]{{0,3}}:[*_]{{0,3}}\s\s?\S", re.IGNORECASE)


def is_title(line: str) -> bool:
    """Does this name what stands below it?"""
    return _title.match(line) is not None


def somebody_speaks(line: str) -> bool:
    """Does this line of a dialogue belong to anybody but the assistant?"""
    return _speaker.match(line) is not None
