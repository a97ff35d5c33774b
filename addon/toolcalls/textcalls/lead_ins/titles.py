"""Recognises lines above a text that is only presented: titles, labels, and speakers of a dialogue."""

from __future__ import annotations

import re

from ..line_heads import list_item
from . import findings

_PEOPLE = "human|user|system|q|a|question|answer|customer|client|interviewer|teacher|student|admin|person \\w"

_ACTIVITIES = (
    r"now|next|then|first|finally|ok|okay|sure|done|continu\w{1,4}|tests?\Z|fix(?:es)?|steps?|phase|tasks?|parts?"
    r"|stage|round"
    r"|iteration|action|goal|plan|todo|commands?|tool ?calls?\Z|function calls?\Z|court|course|call\Z|clean\w{0,4}"
    r"|set-?up"
    r"|baseline\Z|benchmarks?\Z|builds?\Z|checks?|again|retry|ready|lint|deploy|verify|verif\w{1,8}"
    r"|(?!descrip|comple|instruc|solu|ques|reproduc|demonstra|simula|injec|invoca|conversa|quota|transla|cita"
    r"|documenta|defini|informa|loca|sec)\w{2,14}tion"
    r"|(?!com|docu|attach|frag|state|argu|ele)\w{2,12}ment|(?!listing|string|warning|docstring|heading|training"
    r"|tuning|failing|passing|resulting)\w{2,14}ing"
    r"|(?!cuando|quando)\w{2,12}(?:ando|endo|ieren)|lesen|suchen|starten|auflisten|anzeigen|bauen"
)
"""Words for an activity, in the title of a step."""
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
    r"|added|removed|created|updated|deleted|to(?!\s(?:the|an?|be)\b)|please"
)
"""Words that show that a line is a sentence which only lacks its full stop."""
_step = re.compile(rf"(?:{_AGREED})\W{{0,3}}\Z|(?:\w{{1,16}}\s){{0,2}}(?:{_ACTIVITIES})\b", re.IGNORECASE)
_stated = re.compile(rf"[^(]{{0,60}}\b(?:{_STATED})\b", re.IGNORECASE)
_example = re.compile(r"\W{0,6}(?:示?例|范例|範例|例文)\W{0,3}\Z")
_code = re.compile(r"`[^`]{0,80}`|[^\s/\\(){}=→]{0,80}[/\\(){}=→]\S{0,80}|\b[\w-]{1,40}\.[a-z]{1,4}\b")
"""Code and paths between the words of a line."""
_word = re.compile(r"[^\W\d_]{1,40}")
_without_spaces = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
"""Letters of languages that put no spaces between words."""
_DECORATION = "#*_~=[]()■●▶※①§<>!-–— \t"
_not_now = re.compile(r"\b(?:not|never|don['’]t|to be done|later|when|once|if|after|waits?)\b", re.IGNORECASE)
_number = re.compile(r"\d{1,3}[.)]\s")
_LEFT_OVER = frozenset(
    ("assistant", "commentary", "analysis", "tool_call", "tool_calls", "json", "xml", "bash", "go")
)
"""Words that remain if the tokens of a template were removed."""
_NAMES = re.compile(
    r"(?:copy(?: code)?|steps to reproduce|tests? (?:inputs?|strings?|data|\d{1,3})|runs? \d{1,3}\b[^.]{0,20}"
    r"|listing|(?:\w{1,12} ){0,2}(?:tool|function) call (?:format|syntax)"
    r"|[^.!?]{0,30}\b(?:minutes?|hours?|days?) ago)\Z",
    re.IGNORECASE,
)
"""Titles that would otherwise be taken for a step."""
_LABELS = re.compile(
    r"(?:(?:final|full|raw|complete|whole|exact) )?(?:files?|listings?|results?|outputs?|examples?|samples?|wrong"
    r"|bad|before|after"
    r"|transcripts?|texts?|contents?|quot(?:e|ation))\.\Z",
    re.IGNORECASE,
)
"""Labels with a full stop."""
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
    rf"\sis|{_WRITTEN})\s(?:[\w'’-]{{1,16}}\s){{0,3}}{_PRESENTED}[^.:!?]{{0,80}}[.:]"
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

_tokens = re.compile(r"(?><[^<>\s]{1,40}>\s{0,4})++")
"""Only tags, such as the token that begins a text."""


def somebody_speaks(line: str) -> bool:
    """Whether this line of a dialogue is spoken by anyone but the assistant."""
    return _speaker.match(line) is not None


def is_label(paragraph: str) -> bool:
    """Whether this paragraph is only a title or a label that would otherwise be taken for a step or a finding."""
    *above, line = paragraph.strip().split("\n")
    if line.strip().lower() == "copy code":
        return True
    line = line.strip(_DECORATION)
    return not above and any(known.match(line) is not None for known in (_NAMES, _LABELS, _example))


def is_unended(paragraph: str, *, at_work: bool) -> bool:
    """Whether the last line, which announces nothing and has no full stop, is a title or continues below.

    It is neither if it names a step, is a finding, or is an item of a list, where full stops are rare.
    """
    line = paragraph.rstrip("=-\n ").rpartition("\n")[2].strip()
    if list_item.match(line) is not None or "<|" in line or _tokens.fullmatch(line) is not None:
        return False
    line = line.strip(_DECORATION)
    if numbered := _number.match(line):
        line = line[numbered.end() :]
    if line in _LEFT_OVER:
        return False
    if _stated.match(line) is not None:
        return not findings.leads(line, "", goes_on=False, at_work=at_work)
    if _step.match(line) is not None:
        return _not_now.search(line) is not None
    if _without_spaces.search(line) is not None:
        return False
    words = _word.findall(_code.sub(" ", line))
    if not all(map(str.isascii, words)):
        return len(words) > 2
    return len(words) > (_code.search(line) is not None or not line.isascii())


def presents(paragraph: str) -> bool:
    """Whether this paragraph says that the next ones are a presented text, such as a page or a poem."""
    return _presents.match(paragraph) is not None or disclaims(paragraph)


def disclaims(paragraph: str) -> bool:
    """Whether the paragraph says that nothing of what follows is meant."""
    return _disclaims.search(paragraph) is not None


def presents_speech(paragraph: str) -> bool:
    """Whether someone speaks in the text that this paragraph presents, and may announce actions of their own."""
    return _spoken.search(paragraph) is not None or disclaims(paragraph)
