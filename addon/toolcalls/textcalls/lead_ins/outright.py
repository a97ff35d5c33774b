"""Recognises sentences that say outright that the call below is not made now: refused, quoted, left to the user.

They count with a full stop as well as with a colon. `_FINAL`: nothing else in the sentence changes that. `_TURNED`:
an announcement after these words does ("I did not run it, so I'll do it now").
"""

from __future__ import annotations

import re

_NOT = (
    r"(?:do|did|have|had|will|wo|would|ca|can|could|should|shall|must|am)\s?(?:not|n['’o]t|never)|cannot|never"
    r"|['’](?:ll|m|ve)\s(?:not|never)"
)
_DO = r"run|execut(?:e|ed|ing)|call(?:ed|ing)?|trust|do|send|use|follow(?:ed|ing)?"
_THIS = "it|that|this|them|these|this one"
_TEXTS = (
    r"example|sample|quot(?:e|ation)|format|syntax|string|text|payload|fixture|call|injection(?: attempt)?"
    r"|phishing(?: attempt)?|trick|scam"
)
_FINAL = {
    "the user decides": (
        r"\bplease confirm\b|\blet me know (?:if|whether|how|when|which|what|and|once)\b|\btell me (?:if|whether)\b"
        r"|\b(?:reply|type|answer|say) (?:with )?[\"'“]?(?:yes|ok|okay|go|the word)\b"
        r"|\b(?:once|as soon as) you (?:say|agree|confirm|approve|give|tell)\b|\bif you (?:want|agree|like"
        r"|wish)\W{0,3}\Z"
        r"|\b(?:await(?:ing)?|wait(?:ing)? for|need|without) your (?:approval|ok|go-ahead|permission|confirmation"
        r"|consent)\b"
        r"|\bthink about whether (?:i|we|to)\b|\bnot yet\W{0,3}\Z"
    ),
    "a text that was written": (
        r"\bhere(?:['’]s|\sis)\sthe\s(?:prompt|text|example|message|mail|file)\syou\s(?:asked|wanted)\b"
        r"|\bi\s(?:added|removed|put|inserted|appended|wrote|found|saw)\s(?:this|these|the\sfollowing)\b"
        r"|[,\"”]\s(?:it|he|she|they)\s(?:wrote|said|replied|answered)\W{0,3}\Z"
        r"|\b(?:says|said|wrote|reads|replied|answered):\s[\"“]?(?:let me|now i|i['’]ll|i will|sure|okay|first)\b"
    ),
    "refused by a verb": (
        r"\b(?:i|we)\b(?![^.!?]{0,20}\bnot\b)[^.!?]{0,20}\b(?:refuse|decline|abstain)\b(?!\sto\sbelieve)"
        r"|\bnot\s(?:something|a\sthing|what)\s(?:i|we)(?:['’]ll|['’]d|\s(?:will|would|want|can|should|do|am))\b"
        r"|\bno\sway\W{0,3}\Z|\bje\srefuse\b|\bme\sniego\b|\brechazo\b|\brecuso\b|\bmi\srifiuto\b|\brifiuto\b"
        r"|\bodmawiam\b|\bотказываюсь\b"
        r"|\bweiger(?:e)?\s(?:ik|ich|mich)\b|\bik\sweiger\b|\bvägrar\b|\bnægter\b|\bnekter\b|\bodmít[áa]m\b"
        r"|\breddediyorum\b|我(?:必须|只能|要)?拒[绝絕]"
        r"|お断り|拒否し|거절|거부하"
    ),
    "left alone, or asked first": (
        r"\A\W{0,6}(?:please\s)?(?:ignore|disregard)\s(?:the\s(?:following|text|next|line)|what\sfollows|this"
        r"|that|it)\b"
        r"|\A\W{0,6}(?:shall|should|may|can|could)\s(?:i|we)\b[^.!?]{0,80}:\W{0,3}\Z|\bi['’]d\srather\snot\b"
        r"|\b(?:check|confirm|clarify)\s(?:this\s|it\s|that\s)?with\s(?:the\suser|you|them|him|her)\b"
        r"|\b(?:this|that|it|the\sfollowing)\swould\s(?:be\s(?:an?\s)?(?:mistake|wrong|dangerous|bad|harmful"
        r"|unwise|destructive)"
        r"|delete|remove|wipe|destroy)\b"
        r"|\bwürde\b[^.!?]{0,40}\b(?:ausgeben|schreiben|antworten|senden|aufrufen|lauten|aussehen)\b"
        r"|我(?:不会|不會|不能|不想|不打算)(?:去|再)?(?:执行|執行|运行|運行|调用|調用)(?!.{0,60}(?:但|所以"
        r"|因此|我来|我來|让我|讓我|改))"
        r"|不(?:确定|確定|知道)[^。]{0,4}(?:是否|该不该|能不能)[^。]{0,2}(?:应|應|可以|该|該|允)"
    ),
    "under no circumstances": (
        r"\bunder no circumstances\b|\bso no\W{0,3}\Z|\bi\s(?:wo|would)n['’]t\b(?![^.!?]{0,60}(?:\bso\b|;))"
        r"|\blet['’]s not\b"
        r"|\b(?:which|that) i (?:did|do|have|had|will|would|ca|could)(?:n['’]t| ?not)\b(?! (?:find|see|know"
        r"|understand))|\bhard no\b|\bnot to be (?:executed|run)\W{0,3}\Z"
    ),
    "German": (
        r"\bich (?:führe|werde|mache|rufe|tue|starte)\s(?:das|es|dies\w{0,2}|ihn|sie)\b[^.!?]{0,30}\bnicht\b"
        r"|\blehne\b[^.!?]{0,30}\bab\b|\bweigere mich\b|\b(?:wollte|will|verlangt\w{0,2}), dass ich\b"
    ),
    "Czech": (
        r"\bnebud(?:u|eme)\b[^.!?]{0,20}\b(?:spou|spust|prov|vykon|vol)|\bne(?:spou|spus|prov|vykon"
        r"|vol)[^\W\d_]{2,10}\b"
    ),
}
_TURNED = {
    "refused": (
        rf"(?:\A\W{{0,6}}(?:please\s|but\s)?|\b(?:i|we|you)\s?)(?:{_NOT})\b[^.!?]{{0,30}}?\b(?:{_DO})\s(?:{_THIS})\b"
        r"|\A\W{0,6}(?:(?:absolutely|certainly|definitely|hard|probably|not)\s)?(?:no|not|nope|never|nein|non"
        r"|нет|不)"
        r"(?:\s(?:on|to|for|be|way)\b[^.]{0,30})?\W{0,6}\Z"
        r"|\bi(?:['’]m|\sam)?\s(?:won['’]t|can['’]?t|cannot|refuse\w?|declin(?:e|ed|ing)|not\sgoing\sto|ignored"
        r"|skipped"
        rf"|stopped\sbefore)(?:\s(?:{_THIS}|do\s(?:{_THIS})|be\sdoing\s\w{{1,12}}|sending\s(?:{_THIS})))?\W{{0,4}}\Z"
        r"|\b(?:left|kept)\s(?:it|this|that|the\s(?:last\s)?line)\s(?:alone|unchanged|as\sis)\b|\bkept\sas\sis\b"
        r"|\A\W{0,6}not\s(?:executed|run)\W{0,4}\Z|\bi\s(?:did|have|had|do|will|would|could)(?:n['’]t|\snot)\W{0,3}\Z"
        r"|\b(?:asked|told|says?|said|instructed|wants?|wanted|ordered|warned|promised|decided|agreed"
        r"|supposed|meant|print)\b"
        r"[^.!?]{0,30}\b(?:not|never)\sto\s(?:run|execute|call|send|do|(?:\w{1,12}\s)(?:anything|it|this|that"
        r"|them))\b"
        r"|\A\W{0,6}(?:decoded|translated|transcribed|quoted|redacted|skipped|blocked|refused|rejected|denied"
        r"|ignored"
        r"|declined|intercepted)\W{1,4}\Z"
    ),
    "shown": (
        r"\A\W{0,6}(?:sure\W{1,3}|of\scourse\W{1,3}|and\s)?(?:here(?:['’]s|\s(?:is|are|you\s(?:go|are)|it\sis))"
        r"|there\sit\sis|see\s(?:the\s\w{1,12}\s)?below|the\sfollowing\b)(?!.{0,40}\b(?:plan|steps?|what\si)\b)"
        r"|\b(?:this|that|it)(?:['’]s|\s(?:is|was))\s(?:"
        rf"(?:an?|the)\s(?:[\w-]{{1,14}}\s)?(?:{_TEXTS})(?:\s(?:that\scrashed|you\sasked)\b[^.]{{0,20}})?\W{{0,4}}\Z"
        r"|(?:what|how)\b[^.]{0,40}\b(?:looks?|looked|written)\b)"
        r"|\b(?:reference|purposes)\sonly\b|\b(?:i|we)\sreproduce\b|\b(?:copied|taken)\s(?:it\s|this\s)?from\b"
        r"|\b(?:embedded|hidden|injected|smuggled|malicious)\s(?:instruction|text|command|prompt|call)s?\b"
        r"|\bhidden\s(?:in|as)\s(?:white|the\s(?:html|page|comment|mail))\b|\bcan\sshow\syou\b"
        r"|\A\W{0,6}(?:sources?:|voil[àa]\b|end\sof\s(?:page|file|document|mail|message|transcript)\b)"
        r"|\A\W{0,6}be\scareful(?:\swith\s(?:it|this|that))?\W{0,3}\Z"
        r"|\bsome(?:one|body)\splanted\b|\bis\s(?:live\s)?(?:malware|phishing)\b|\b(?:text|snippet)\sis\sdangerous\b"
    ),
    "nothing was done": (
        r"\bno\s(?:further\s)?(?:actions?|tools?|calls?|commands?)\s(?:(?:was|were|has\sbeen|have\sbeen)\s)?"
        r"(?:taken|executed|called|run|made|sent)\b|\b(?:nothing|none\sof\s(?:it|this))\s(?:was|has\sbeen|were)\s"
        r"(?:executed|called|run|sent)\b(?:\syet\b)?"
    ),
    "against the rules": (
        r"\bagainst\s(?:the|my|our)\s(?:rules|guidelines|polic\w{1,3})\b|\bviolat(?:es?|ing)\b[^.]{0,20}"
        r"\b(?:guidelines|polic\w{1,3}|rules)\b|\b(?:this|that|it)(?:['’]s|\sis)\sout\sof\sscope\b"
    ),
}
_final = re.compile("|".join(_FINAL.values()), re.IGNORECASE)
_turned = re.compile("|".join(_TURNED.values()), re.IGNORECASE)


def is_final(sentence: str) -> bool:
    """Whether the sentence says that nothing is called now, whatever else it says."""
    return _final.search(sentence) is not None


def find(sentence: str) -> re.Match[str] | None:
    """The words that say that nothing is called now. They do not count if an announcement follows them."""
    return _turned.search(sentence)
