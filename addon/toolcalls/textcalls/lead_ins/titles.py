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
        r"(?:(?:note|definition|theorem|lemma|exercise|scene)(?=\s\d)|appendix|annex|exhibit|attachment|enclosure|figure|fig\."
        r"|listing|table|footnote|ps|p\.\s?s\.)"
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
_ACTIVITIES = (
    r"now|next|then|first|finally|ok|okay|sure|done|continu\w{1,4}|tests?\Z|fix(?:es)?|steps?|phase|tasks?|parts?"
    r"|stage|round"
    r"|iteration|action|goal|plan|todo|commands?|tool ?calls?\Z|function calls?\Z|court|course|call\Z|clean\w{0,4}"
    r"|set-?up"
    r"|baseline|benchmarks?|builds?\Z|checks?|again|retry|ready|lint|deploy|verify|verif\w{1,8}"
    r"|(?!descrip|comple|instruc|solu|ques|conversa|quota|transla|cita|documenta|defini|informa|loca|sec)\w{2,14}tion"
    r"|(?!com|docu|attach|frag|state|argu|ele)\w{2,12}ment|(?!listing|string|warning|docstring|heading)\w{2,14}ing"
    r"|\w{2,12}(?:ando|endo|ieren)|lesen|suchen|starten|auflisten|anzeigen|bauen"
)
"""Words for what is done, in the title of a step."""
_AGREED = (
    r"on it|got it|will do|right|right away|of course|no problem|sounds good|absolutely|certainly|alright|thanks"
    r"|thank you|great"
    r"|perfect|understood|yes|yep|yeah|sure thing|you got it|good|good idea|makes sense|fair enough|hm+|correct"
    r"|excellent|nice"
    r"|fixed|almost there|all good|one moment|just a moment|roger|cool|awesome|agreed|exactly|indeed|noted|same here"
)
_STATED = (
    r"i|we|is|are|was|were|has|have|works?|worked|fails?|pass(?:es|ed)?|looks?|exists?|found|installed|needs?"
    r"|seems?|missing"
    r"|added|removed|created|updated|deleted|to|please"
)
"""Words of a sentence that only lacks its full stop."""
_step = re.compile(rf"(?:{_AGREED})\W{{0,3}}\Z|(?:\w{{1,16}}\s){{0,2}}(?:{_ACTIVITIES})\b", re.IGNORECASE)
_stated = re.compile(rf"[^(]{{0,60}}\b(?:{_STATED})\b", re.IGNORECASE)
_bare = re.compile(
    r"(?=[^A-Za-z]{0,12}[A-Za-z])(?:[\w ()/#+&'’·—–,@-]|\.(?=\d)){1,48}\Z|\W{0,6}(?:示?例|范例|範例|例文)\W{0,3}\Z",
    re.ASCII,
)
_number = re.compile(r"\d{1,3}[.)]\s")
_MOST_WORDS = 5
_LEFT_OVER = frozenset(
    ("assistant", "commentary", "analysis", "tool_call", "tool_calls", "json", "xml", "bash", "go")
)
"""What is left of the tokens of a template where somebody took them away."""
_NAMES = re.compile(
    r"(?:copy(?: code)?|steps to reproduce|tests? (?:inputs?|strings?|data|\d{1,3})|runs? \d{1,3}\b[^.]{0,20}"
    r"|listing|(?:\w{1,12} ){0,2}(?:tool|function) call (?:format|syntax)"
    r"|[^.!?]{0,30}\b(?:minutes?|hours?|days?) ago)\Z",
    re.IGNORECASE,
)
"""Titles that would pass for a step."""
_LABELS = re.compile(
    r"(?:(?:final|full|raw|complete|whole|exact) )?(?:files?|listings?|results?|outputs?|examples?|samples?|wrong"
    r"|bad|before|after"
    r"|transcripts?|texts?|contents?|quot(?:e|ation))\.\Z",
    re.IGNORECASE,
)
"""Labels with a full stop."""
_PRESENTED = (
    r"(?:translations?|poems?|stor(?:y|ies)|songs?|transcripts?|dialog(?:ue)?s?|examples?|samples?|quot(?:es?"
    r"|ations?)"
    r"|excerpts?|readme|pages?|e-?mails?|letters?|prompts?|good answers?|bad answers?|texts?)\b"
)
_presents = re.compile(
    rf"\W{{0,6}}(?:(?:here(?:['’]s| is| are)|below is)\s(?:[\w'’-]{{1,16}}\s){{0,3}}{_PRESENTED}[^.:!?]{{0,50}}[.:]"
    rf"|(?!\w{{1,12}}ed\b|(?:i|we)\s)(?:[\w'’-]{{1,16}}\s){{0,3}}{_PRESENTED}"
    r"(?:(?:\s(?:of|from|by|in|you)\b[^.:!?]{1,40})?:|[^.:!?]{1,30}\b(?:as follows|like this|below|follows)[.:])"
    r"|model [A-Z\d]:|scene \d{1,3}[:.]?)\W{0,3}\Z",
    re.IGNORECASE,
)
"""A paragraph of its own that says which text stands in the next ones."""
_speaker = re.compile(rf"[*_#\s>-]{{0,6}}(?:{_PEOPLE})(?:\s?\d{{1,3}})?[*_]{{0,3}}:[*_]{{0,3}}\s\s?\S", re.IGNORECASE)


def is_title(line: str) -> bool:
    """Does this name what stands below it?"""
    return _title.match(line) is not None


def somebody_speaks(line: str) -> bool:
    """Does this line of a dialogue belong to anybody but the assistant?"""
    return _speaker.match(line) is not None


def is_bare(paragraph: str, *, announced: bool) -> bool:
    """Is this paragraph nothing but a title that names no step: a thing, a person, a time?

    `announced`: there are words of announcing in it, which are none only in a few titles.
    """
    last = paragraph.strip().rpartition("\n")[2].strip()
    if last.lower() == "copy code":
        return True
    if last != paragraph.strip():
        return False
    line = last.strip("#*_~=[]()■●▶※①§ \t")
    numbered = _number.match(line)
    if numbered is not None:
        if last[0] != "#":
            return False  # It is an item of a list.
        line = line[numbered.end() :]
    if line in _LEFT_OVER:
        return False
    if _NAMES.match(line) is not None or _LABELS.match(line) is not None:
        return True
    if announced or len(line.split()) > _MOST_WORDS or _bare.match(line) is None:
        return False
    return _step.match(line) is None and _stated.match(line) is None


def presents(paragraph: str) -> bool:
    """Does this paragraph say that the next ones are a text of somebody, such as a page or a poem?"""
    return _presents.match(paragraph) is not None
