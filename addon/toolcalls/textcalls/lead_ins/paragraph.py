"""Decides from the paragraph before a call whether the call is made now, or is refused, quoted or an example.

Only the last sentence before the call counts, up to a colon or to the call itself. It leads to the call if it
announces an action ("Let me see what the page says:"), unless it takes that back, or if it is a step, a finding or a
short remark about the work (`titles`, `findings`). Any other sentence names, describes or tells something, and the
call below it is a text. The words are data, by language, in the other files of this folder.
"""

from __future__ import annotations

import re

from . import (
    announcements,
    conditions,
    consent,
    doubts,
    findings,
    look_alikes,
    outright,
    refusals,
    speakers,
    telling,
    titles,
)
from .labels import Label

KEPT = 160
"""How many characters at the end of a paragraph are examined: enough for its last sentence."""

_CROSSES = ("❌", "🚫", "⛔", "✗", "✘")
"""Marks in front of what must not be done."""
_ENDS = frozenset(".!?…。！？")
_CLOSERS = "*_)]\"'”’» "
_question_mark = re.compile(r"[?？]\W{0,3}\Z")
_foreign_script = re.compile(r"[\u0530-\u058f\u0980-\u0dff\u0e80-\u10ff\u1200-\u1dff\u2c00-\u2dff\ua000-\uabff]")
"""Letters of languages whose announcements are not in the table."""
_sentence_end = re.compile(
    r"(?:(?<![ .(][^\W\d])\.|[!?])['\")\]*_]{0,3}\s|[。！？]|\n\s{0,8}(?=[-*+•]\s|\d{1,3}[.)]\s)"
)
"""Where a sentence ends, or an item of a list begins."""
_abbreviated = re.compile(r"\b(?:e\.g|z\. ?b|p\. ?e[jx]|np|i\.e|cf|ex|viz|vs|namely)\.\)?\Z", re.IGNORECASE)
_needs_an_object = re.compile(
    r"\b(?:is|are|was|were|be|been|has|had|to|for|of|with|than|as|like|against|about|from|by|into|via|if|that"
    r"|whether"
    r"|maybe|perhaps"
    r"|r[au]n(?:ning|s)?|call(?:s|ed|ing)?|execut(?:e|es|ed|ing)|invok(?:e|es|ed|ing)|emit(?:s|ted)?|sends?|sent"
    r"|becomes?|became|reads?|contains?|needs?|tr(?:y|ied)|outputs?|prints?|printed|expects?|expected|gives?|gave"
    r"|wrote|writes?|quot(?:e|es|ed)|holds?|held|includes?|included|carries|carried|says?|said|shows?|showed"
    r"|generates?|produces?|returns?|answers?|replies|replied|means?|matches)\W{0,3}\Z",
    re.IGNORECASE,
)
"""The end of an unfinished sentence, which is about the call below it ("The wrong way is", "Maybe")."""


def shows(paragraph: str, *, at_work: bool) -> bool:
    """Whether this paragraph, which ends at a call, says that the call is refused, quoted or an example.

    `at_work`: the answer follows the result of a tool.
    """
    said = look_alikes.fold(paragraph).rstrip()
    sentence = _last_sentence(said)
    if not sentence:
        return said[-1:] in _CROSSES
    before, line = said[: -len(sentence)], said.rpartition("\n")[2].strip()
    label = Label(line)
    ended = said.rstrip(_CLOSERS)[-1:] in _ENDS
    announcement = announcements.find(sentence)
    goes_on = announcement is not None
    if announcement is not None and announcement["faint"] is not None and ended:
        announcement = None
    announced = announcement.end() if announcement is not None else None
    if _is_heading(said, sentence, line, label) or _is_taken_back(sentence):
        return True
    if conditions.not_now(sentence, ended=ended, announced_before=announces(before)):
        return True
    if _question_mark.search(said) is not None:
        return consent.asks(sentence) or findings.is_about_texts(sentence)
    if speakers.speak(sentence) or telling.says_so(sentence):
        return True
    if announced is None and (announcements.tells(sentence) or _was_refused(before)):
        return True
    shown_by_colon = label.ends_with_colon and not label.is_one_word and _foreign_script.search(sentence) is None
    if shown_by_colon and (announced is None or announcements.only_tells(sentence, announced)):
        return True
    if _refuses(sentence, ended=ended):
        return True
    if announced is not None:
        return False
    if ended:
        return not findings.leads(sentence, before, goes_on=goes_on, at_work=at_work)
    breaks_off = _needs_an_object.search(sentence) is not None
    return breaks_off or (not label.ends_with_colon and titles.is_unended(said, at_work=at_work))


def announces(paragraph: str) -> bool:
    """Whether the paragraph announces an action anywhere."""
    return announcements.find(paragraph) is not None


def _is_heading(said: str, sentence: str, line: str, label: Label) -> bool:
    """Whether the last line looks like a heading of a quoted text."""
    if (
        label.names_speaker_or_key
        or titles.somebody_speaks(line)
        or titles.disclaims(sentence)
        or _abbreviated.search(said) is not None
    ):
        return True
    return titles.is_label(said)


def _is_taken_back(sentence: str) -> bool:
    """Whether the sentence says outright that nothing is called now, or doubts whether it should be."""
    if outright.is_final(sentence):
        return True
    found = (outright.find(sentence), doubts.find(sentence))
    return any(words is not None and announcements.find(sentence, words.end()) is None for words in found)


def _refuses(sentence: str, *, ended: bool) -> bool:
    """Whether the sentence refuses the call and announces nothing after that. `ended`: it ends with a full stop."""
    if refusals.is_own(sentence):
        return True
    refusal = refusals.find(sentence)
    if refusal is None or announcements.find(sentence, refusal.end()) is not None:
        return False
    return not refusals.is_checked(sentence, refusal) and (not ended or refusals.is_about_this(sentence))


def _was_refused(said: str) -> bool:
    """Whether a sentence of this text refuses what follows or asks for permission, and nothing is announced later."""
    while sentence := _last_sentence(said):
        said = said[: said.rindex(sentence)]
        if announcements.find(sentence) is not None:
            return False
        if refusals.find(sentence) is not None and refusals.is_about_this(sentence):
            return True
        if outright.is_final(sentence) or outright.find(sentence) is not None:
            return True
        if _question_mark.search(sentence) is not None:
            return consent.leaves_decision(sentence)
    return False


def _last_sentence(said: str) -> str:
    """The last part of a text that has words in it."""
    for stop in reversed([*_sentence_end.finditer(said)]):
        if any(char.isalnum() for char in said[stop.end() :]):
            return said[stop.end() :]
    return said if any(char.isalnum() for char in said) else ""
