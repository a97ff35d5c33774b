"""Recognises sentences that say that nothing is decided yet, or that someone else decides."""

from __future__ import annotations

import re

_AGREEMENT = "approval|permission|consent|confirmation|go-ahead"
_RIGHT = "allowed|permitted|right|safe|wise|ok(?:ay)?|should|may|correct|wanted|meant|appropriate|good idea"
_DANGEROUS = "risky|dangerous|destructive|unsafe|suspicious|irreversible|malicious"

_DOUBTS = {
    "taken back": (
        r"\b(?:wait|hold on|never ?mind|scratch that|forget it|(?:better|rather) not)\W{0,4}\Z"
        r"|\bon second thoughts?\b[^.]{0,12}\W{0,3}\Z|\b(?:ca|can)(?:n[’']t|not) be right\b"
        r"|\A\W{0,4}(?:(?:actually|well|hm+|oh|but)\W{1,3}){0,2}no(?:, (?:that|this|it)\b[^.:]{0,60})?\W{0,4}\Z"
    ),
    "somebody has to agree": (
        r"\b(?:must|should|have to|need to|ought to|would|better) (?:(?:first|probably|rather) )?ask"
        r"(?: first| before\b[^.]{0,30})?\W{0,4}\Z"
        r"|\b(?:needs?|wants?|requires?|without|wait(?:ing|s)? for|ask(?:ing)? for|lacks?|until)\b[^.]{0,30}"
        rf"\b(?:{_AGREEMENT})\b(?: (?:before|first|until|if)\b[^.]{{0,40}})?"
    ),
    "whether it is right": (
        r"\b(?:not (?:sure|certain|clear)|unsure|uncertain|unclear|doubt(?:ful)?|wonder(?:ing)?)\b[^.]{0,40}"
        rf"\b(?:{_RIGHT})\b"
        r"|\b(?:this|that|it|which)\b[^.]{0,12}\b(?:is|seems?|looks?|would be|sounds?|[’']s)(?: \w{1,12})? "
        rf"(?:{_DANGEROUS})\b"
    ),
    "one or the other": (
        r"\b(?:could|might|can)\b[^.]{0,80}\bor (?:instead|alternatively|else|i (?:could|might))\b[^.]{0,80}"
    ),
    "German": (
        r"\b(?:moment(?: mal)?|warte|halt|lieber nicht|doch nicht)\W{0,4}\Z"
        r"|\b(?:nicht sicher|unsicher|unklar)\b[^.]{0,20}\bob\b[^.]{0,60}"
        r"|\b(?:erst|brauche|ohne|nur mit)\b[^.]{0,30}\b(?:zustimmung|erlaubnis|genehmigung|fragen)\b"
    ),
    "French, Spanish, Portuguese, Italian": (
        r"\b(?:attend(?:s|ez)|plutôt pas|espera|mejor no|espere|melhor não|aspetta|meglio di no)\W{0,4}\Z"
        r"|\b(?:pas sûre? (?:que|si)|no estoy segur[oa] (?:de )?(?:que|si)|não tenho certeza se)\b"
        r"|\bnon (?:so|sono sicur[oa]) se\b"
    ),
    "Russian": (
        r"\b(?:подожди(?:те)?|стоп|лучше не надо)\W{0,4}\Z|\bне уверен\w{0,2}\b[^.]{0,20}\b(?:можно|стоит|ли)\b"
    ),
    "Chinese": (
        r"(?:等等|等一下|等下|算了|还是不|還是不)\W{0,4}\Z"
        r"|不(?:确定|確定|知道)[^。]{0,8}(?:是否(?:应|應|可|该|該|允)|能不能|可不可以)"
        r"|(?:需要|必须|必須|应该|應該)[^。]{0,8}(?:同意|许可|許可|批准)"
    ),
    "Japanese, Korean": r"(?:待って|やめて)\W{0,4}\Z|(?:許可|承認)が必要|(?:허락|승인)이 필요",
}
_doubt = re.compile("|".join(_DOUBTS.values()), re.IGNORECASE)


def find(sentence: str) -> re.Match[str] | None:
    """The words in a sentence that express doubt."""
    return _doubt.search(sentence)
