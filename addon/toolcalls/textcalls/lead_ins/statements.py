"""Statements that announce nothing: a finding about the work leads to a call, a description of texts does not.

A finding says what is wrong in the project. A description is about calls, prompts or the texts of models, or
addresses the reader. The words for faults are listed here: a missing word may cost a call, but never creates one.
"""

from __future__ import annotations

import re

from . import about_texts

_fault = re.compile(
    r"n['’]t\b|\b(?:not|nor?|never|none|null|nil|without|cannot|miss(?:ing|es|ed)?|fail\w{0,5}|errors?"
    r"|wrong\w{0,2}|bad"
    r"|break\w{0,3}|broken?|bugs?|crash\w{0,3}|drop(?:s|ped)?|los(?:es?|t)|skip(?:s|ped)?|ignores?d?|stale|outdated"
    r"|obsolete|empty|un(?:used|known|set|safe|defined|expected|escaped|closed|handled)|inverted|invalid|malformed"
    r"|conflict\w{0,3}|twice|duplicat\w{1,4}|typos?|time[sd]?[ -]?outs?|denied|expired?|leak\w{0,3}|hangs?|stuck|race"
    r"|slow|differ(?:s|ent)|warn\w{0,4}|deprecat\w{1,4}|mismatch\w{0,2}|problems?|issues?|fixed|changed|removed"
    r"|added|renamed|moved|throws|too|(?:could|might|may)\sbe|probably|perhaps|maybe|likely|suspect|nicht"
    r"|kein\w{0,2}|fehl\w{1,5}|falsch\w{0,2}|veraltet|pas|manqu\w{1,3}|erreur"
    r"|obsolète|falla|falta|obsoleto|não|falha|manca|errore|obsoleta|не|нет|устарел\w{0,2}|ошибк\w|пада\w{1,3}"
    r"|nie|brak\w{0,3}|niet|ontbreekt|inte|saknas|eksik|yok)\b|不|没|沒|失败|失敗|错|過期|过期|ない|ません|エラー|古い|없|실패|오류|오래",
    re.IGNORECASE,
)
"""Something is wrong or was changed, which is a reason to act."""
_code = re.compile(r"`|\(\)|\b[\w-]{1,40}\.[a-z]{1,4}\b|\w/\w|\bline\s\d")
"""A part of the project: code, a path or a line number."""
_to_the_reader = re.compile(
    r"\byou(?:rs?|['’]re)?\b|\b(?:would|could|might|['’]d(?!\sbetter))\b|\A\W{0,6}(?:remember|keep|pick|choose"
    r"|imagine"
    r"|compare|try|consider|think|beware|replace|substitute|fill|put|look|see|watch)\b"
    r"|\b(?:du|dir|dich|ihnen|euch|vous|votre|toi|usted|você|sua|tua|ciebie|tobie|вам|вас|тебе|jou|uw|sana|size"
    r"|dig)\b"
    r"|\bseu\b|[你您]|あなた|お任せ|ください\W{0,3}\Z|당신|(?:주|하)세요\W{0,3}\Z",
    re.IGNORECASE,
)
"""The statement addresses the reader, or says what might be."""
_advises = re.compile(
    r"\bi\s(?:\w{1,12}ly\s)?(?:suggest|propose|recommend|advise|urge|warn|leave|offer)\b|\bi['’]d\s(?:advise"
    r"|suggest|recommend)\b"
    r"|\bich\s(?:rate|empfehle|schlage|überlasse)\b|\bje\s(?:\w{1,5}\s)?(?:recommande|propose|conseille"
    r"|déconseille|laisse)\b"
    r"|\b(?:recomiendo|sugiero|propongo|recomendo|sugiro|consiglio|suggerisco|советую|рекомендую|предлагаю)\b"
    r"|建议|建議|お勧め|お任せ|권합|맡기",
    re.IGNORECASE,
)
"""The statement gives advice, or leaves something to someone else."""
_for_somebody = re.compile(
    r"\A\W{0,6}(?:should\s(?!i\b|we\b)|(?:substitute|replace|fill|put|insert|set|change|use|pick"
    r"|choose)\b[^.!?]{0,80}\byou)",
    re.IGNORECASE,
)
"""A condition, or an instruction to the reader."""
_this = re.compile(
    r"\S(?<!asked\sfor)\s(?:this|these)(?=\s(?:in|into|on|at|to|as|for|from|by|with|since|when|after|before"
    r"|until|every|here|there)\b"
    r"|\W{0,3}\Z)",
    re.IGNORECASE,
)
"""The statement is about what is below it."""
_goes_on = re.compile(
    r"\A\W{0,6}(?:(?:alright|ok(?:ay)?|so|well)\W{1,2})?(?:(?:on|back) to|time (?:to|for)|one (?:more|last"
    r"|moment)|just"
    r"|and|also|same|another|again|please|thanks?|as you)\b|\b(?:to|will|should) (?:check|do|see|fix|try|verify"
    r"|tell|show"
    r"|look|test|clean|go)\b|\b(?:first|next|again)\W{0,3}\Z",
    re.IGNORECASE,
)
"""The model continues its work."""
_other_time = re.compile(
    r"\A\W{0,6}(?:if|when|once|after|until|as\ssoon\sas|in\scase|whenever)\s(?!that\b|this\b)|\bwould\sbe\b"
    r"|\A\W{0,6}(?:tonight|tomorrow|later|eventually|some\s?day|in\sthe\sfuture|next\s(?:week|month|time|year"
    r"|sprint))\b"
    r"|\A\W{0,6}(?:sobald|wenn|falls|nachdem|erst\s(?:nach|wenn)|dès\sque|quand|lorsque|une\sfois|cuando"
    r"|una\svez|en\scuanto|quando|assim\sque|depois\sque|appena|dopo\sche|когда|как\sтолько|после\sтого|если"
    r"|gdy|kiedy"
    r"|jak\stylko|zodra|wanneer|nadat|när|når|když|jakmile)\b|\A\W{0,6}(?:一旦|等到|如果|当)|[之以]?[后後]再",
    re.IGNORECASE,
)
"""The statement is about another time."""


def describes(sentence: str, before: str = "") -> bool:
    """Whether a statement that announces nothing describes texts, addresses the reader or is about another time.

    `before`: the part of the paragraph before it.
    """
    if _advises.search(sentence) is not None or _for_somebody.search(sentence) is not None:
        return True
    if _fault.search(sentence) is not None:
        return False
    if _this.search(sentence) is not None or _other_time.search(sentence) is not None:
        return True
    about = about_texts.count(before + sentence)
    if about > 1 or (about and _code.search(sentence) is None):
        return True
    if _goes_on.search(sentence) is not None or _code.search(sentence) is not None:
        return False
    return _to_the_reader.search(sentence) is not None
