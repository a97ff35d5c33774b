"""Decides from the paragraph before a call whether the call is made now, or is refused, quoted or an example.

Only the last sentence before the call counts. The call is made if this sentence announces it, as an act of the
speaker that begins now (`announcements`), and nothing in it holds the act back (`held_back`), or if it names the step
that the call is, or says nothing (`steps`). Below any other sentence (a statement, a title, a question, an order) a
call is a text. A sentence that says nothing does not undo a refusal, a condition or a quotation before it.
"""

from __future__ import annotations

import re

from ..line_heads import list_item
from . import announcements, held_back, look_alikes, presented, steps
from .template_tokens import without_template

KEPT = 240
"""How many characters at the end of a paragraph are examined. A sentence that is longer announces nothing."""

_CROSSES = ("❌", "🚫", "⛔", "✗", "✘")
"""Marks in front of what must not be done."""
_question_mark = re.compile(r"[?？]\W{0,3}\Z")
_NEXT = r"(?:I|Let|Now|Next|First|Then)\b"
_sentence_end = re.compile(
    rf"(?:(?<![ .(][^\W\d])\.|(?<=\s[a-z])\.(?=\s{_NEXT})|[!?])['\")\]*_]{{0,3}}(?:\s|(?={_NEXT}))|[。！？]"
    r"|\n\s{0,8}(?=[-*+•]\s|\d{1,3}[.)]\s)"
)
"""Where a sentence ends, even if the next one is glued to it (two blocks), or an item of a list begins. A full stop
after a single letter may belong to an abbreviation."""
_breaks_off = re.compile(
    r"\b(?:is|are|was|be|to|for|of|with|than|as|like|about|from|by|into|via|if|whether|maybe|perhaps|and"
    r"|or)[^\w.!]{0,3}\Z",
    re.IGNORECASE,
)
"""The end of an unfinished sentence: the call below it is its object."""
_afterthought = re.compile(
    r"\W{0,4}(?:(?:if|once|when|after)\b[^.!?]{1,80}\b(?:i|we)(?:['’]ll|\swill)|then\s(?:i|we)(?:['’]ll|\swill)"
    r"|(?:this|that|it)\s(?:will|should|may|might|must)\b)",
    re.IGNORECASE,
)
"""The beginning of a sentence about what comes after the act that the sentence before announces."""


def shows(paragraph: str, above: str = "") -> bool:
    """Whether a call below this paragraph is refused, quoted or an example; `above`: the paragraph before it."""
    words = without_template(look_alikes.fold(paragraph).rstrip())
    if above and steps.is_filler(words) and _takes_back(look_alikes.fold(above)):
        return True
    return _shows(words, begun=len(paragraph) < KEPT)


def _shows(text: str, *, begun: bool) -> bool:
    """Whether a call below these last words of a paragraph is only shown. `begun`: they are the whole paragraph."""
    before, sentence = _last_sentence(text)
    if not sentence:
        return text[-1:] in _CROSSES
    if not before and not begun:
        return True
    above, _, line = text.rpartition("\n")
    line = line.strip()
    if steps.is_left_over(line):
        return _shows(above.rstrip(), begun=begun)
    if _question_mark.search(text) is not None:
        return True
    if before.strip() and steps.agrees(sentence):
        return _shows(before.rstrip(), begun=begun)
    if (steps.is_filler(sentence) and _takes_back(before)) or (steps.is_filler(line) and _takes_back(above)):
        return True
    if not before.strip() and steps.hesitates(sentence):
        return False
    if presented.somebody_speaks(line) or presented.disclaims(sentence):
        return True
    if _announces(sentence) or _names_step(sentence, line, above):
        return _breaks_off.search(sentence) is not None
    return _afterthought.match(sentence) is None or not _announces(_last_sentence(before)[1])


def announces(paragraph: str) -> bool:
    """Whether the paragraph announces an act anywhere, even one that is held back."""
    return announcements.find(paragraph) is not None


def _takes_back(words: str) -> bool:
    """Whether the last sentence of these words refuses, has a condition, asks, or is about somebody else."""
    words = words.rstrip()
    return _question_mark.search(words) is not None or held_back.is_taken_back(_last_sentence(words)[1])


def _announces(sentence: str) -> bool:
    """Whether the sentence announces an act that is not held back."""
    sentence = steps.without_tokens(sentence)
    announced = announcements.find(sentence)
    return announced is not None and not held_back.holds_back(sentence, announced)


def _names_step(sentence: str, line: str, above: str) -> bool:
    """Whether the last sentence or the last line names the step that the call is."""
    if held_back.is_put_off(line) or not (steps.is_named(sentence) or steps.is_named(line)):
        return False
    introduction = "\n".join(each for each in above.split("\n") if list_item.match(each) is None)
    return list_item.match(line) is None or not held_back.is_taken_back(introduction)


def _last_sentence(text: str) -> tuple[str, str]:
    """The last part of a text that has words in it, and the text before it."""
    for stop in reversed([*_sentence_end.finditer(text)]):
        if any(char.isalnum() for char in text[stop.end() :]):
            return text[: stop.end()], text[stop.end() :].strip()
    return "", text.strip() if any(char.isalnum() for char in text) else ""
