"""What is said right before a call: that it is made now, or that it is refused, cited or an example.

The words are data, by language, in the other files of this folder. Only the last sentence before the call counts, up
to a colon or to the call itself. Words of announcing beat those of citing ("Let me see what the page says:"), and
behind a refusal they turn it round. A sentence that nobody knows announces the call, unless it ends with a colon:
that shows what follows ("The page ends with:"), so it has to say that something is done now.
"""

from __future__ import annotations

import re

from . import (
    about_texts,
    announcements,
    below,
    citations,
    conditions,
    consent,
    doubts,
    look_alikes,
    outright,
    refusals,
    speakers,
    telling,
    titles,
)
from .labels import Label

KEPT = 160
"""So much of a paragraph shows what its last sentence says."""

_CROSSES = ("❌", "🚫", "⛔", "✗", "✘")
"""Marks that stand before what must not be done."""
_question_mark = re.compile(r"[?？]\W{0,3}\Z")
_foreign_script = re.compile(r"[\u0530-\u10ff\u1200-\u2dff\ua000-\uabff]")
"""Letters of languages whose words of announcing are not in the table."""
_sentence_end = re.compile(
    r"(?:(?<![ .(][^\W\d])\.|[!?])['\")\]*_]{0,3}\s|[。！？]|\n\s{0,8}(?=[-*+•]\s|\d{1,3}[.)]\s)"
)
"""Where a sentence ends, or an item of a list begins."""
_abbreviated = re.compile(r"\b(?:e\.g|z\. ?b|p\. ?e[jx]|np|i\.e|cf|viz|vs|namely)\.\Z", re.IGNORECASE)
_needs_an_object = re.compile(
    r"\b(?:is|are|was|were|be|been|has|had|to|for|of|with|than|as|like|against|about|from|by|into|via|if|that"
    r"|whether"
    r"|maybe|perhaps"
    r"|r[au]n(?:ning|s)?|call(?:s|ed|ing)?|execut(?:e|es|ed|ing)|invok(?:e|es|ed|ing)|emit(?:s|ted)?|sends?|sent"
    r"|becomes?|became|reads?|contains?|needs?|tr(?:y|ied)|outputs?|prints?|printed|expects?|expected|gives?|gave"
    r"|wrote|writes?|quot(?:e|es|ed)|holds?|held|includes?|included|carries|carried|says?|said|shows?|showed"
    r"|generates?"
    r"|produces?|returns?|answers?|replies|replied|means?|includes?|matches"
    r"|steht|lautet|enthält|heißt|zeigt|sagt|schreibt|contient|affiche|indique|montre|dit|dice|pone|muestra|contiene"
    r"|contém|mostra|diz|legge|znajduje się|zawiera|brzmi|mówi|jest|czytamy|widnieje|содержит|гласит|говорит"
    r"|написано"
    r"|стоит|это|staat|luidt|bevat|zegt|står|innehåller|säger|lyder)\W{0,3}\Z",
    re.IGNORECASE,
)
"""At the end of a sentence that is not over: the call below is what it speaks about ("The wrong way is", "Maybe")."""


def shows(paragraph: str) -> bool:
    """Does this paragraph, up to a call, say that the call is refused, cited, or an example?"""
    said = look_alikes.fold(paragraph).rstrip()
    sentence = _last_sentence(said)
    if not sentence:
        return said[-1:] in _CROSSES
    line = said.rpartition("\n")[2].strip()
    label = Label(line)
    announcement = announcements.find(sentence)
    announced = announcement.end() if announcement is not None else None
    if _is_heading(said, sentence, line, label, announced) or _is_taken_back(sentence, announced):
        return True
    ended = said[-1] in ".!?。！？"
    if conditions.not_now(sentence, ended=ended):
        return True
    if _question_mark.search(said) is not None:
        return consent.asks(sentence)
    if speakers.speak(sentence) or telling.says_so(sentence):
        return True
    if announced is None and announcements.tells(sentence):
        return True
    if announced is None and (
        below.points(sentence) or about_texts.presents(sentence) or _was_refused(said[: -len(sentence)])
    ):
        return True
    shown_by_colon = label.ends_with_colon and not label.is_one_word and _foreign_script.search(sentence) is None
    if shown_by_colon and (announced is None or announcements.only_tells(sentence, announced)):
        return True
    refusal = refusals.find(sentence)
    if refusal is not None and announcements.find(sentence, refusal.end()) is None:
        return not refusals.is_checked(sentence, refusal) and (not ended or refusals.is_about_this(sentence))
    if ended:
        return False
    if announced is None:
        return _needs_an_object.search(sentence) is not None or citations.cites(sentence)
    return citations.cites(sentence) and announcements.shows_behind(sentence, announced)


def announces(paragraph: str) -> bool:
    """Does it say anywhere that something is done now?"""
    return announcements.find(paragraph) is not None


def _is_heading(said: str, sentence: str, line: str, label: Label, announced: int | None) -> bool:
    """Does the last line have the form of what stands above something that is shown?"""
    if label.names_speaker_or_key or titles.somebody_speaks(line) or _abbreviated.search(said) is not None:
        return True
    if titles.is_bare(said, announced=announced is not None):
        return True
    if announced is not None:
        return False
    return titles.is_title(label.text) or titles.is_title(sentence) or label.names_a_thing


def _is_taken_back(sentence: str, announced: int | None) -> bool:
    """Does it say outright that nothing is called now, or doubt whether it should be?"""
    if outright.is_final(sentence) or (announced is None and outright.shows(sentence)):
        return True
    found = (outright.find(sentence), doubts.find(sentence))
    return any(words is not None and announcements.find(sentence, words.end()) is None for words in found)


def _was_refused(said: str) -> bool:
    """Does a sentence of this text refuse what follows, or ask for leave, with nothing announced behind it?"""
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
