"""Recognises sentences that put a call off, make it conditional, or say that it would have been made.

`_FINAL` counts in every sentence. `_LATER` does not count in a sentence about the step after the call ("I'll run the
tests. If they pass, I'll commit.").
"""

from __future__ import annotations

import re

_AGREE = (
    r"agree|confirm|approve|consent|accept|allow|permit|authori[sz]e|nod|ok|okay|say(?:\s(?:so|yes|ok"
    r"|the\sword))?|give"
    r"|tell|sign|reply|respond|answer|decide|prefer|have\s(?:agreed|confirmed|approved|checked|reviewed|decided)"
    r"|(?:are|['’]re)\s(?:ok|okay|fine|happy|ready|back|sure|comfortable|satisfied)"
)
_WILL = r"(?:i|we)(?:['’](?:ll|d)|\s(?:will|would|can|could|shall|am|are))\b"
_RUN = r"run|do|execute|call|send|write|emit|issue|use|type|invoke|perform|delete|remove|clean|start|launch|apply"

_FINAL = {
    "somebody agrees first": (
        rf"\b(?:if|once|when|after|unless|until|as\ssoon\sas|provided(?:\sthat)?|whenever|assuming)\s(?:you"
        rf"|the\suser|they)"
        rf"\s?(?:{_AGREE})\b|\bif\s(?:that|this|it)(?:['’]s|\sis|\ssounds|\slooks)\s(?:ok|okay|fine|alright"
        rf"|good|all\sright)"
        r"|\b(?:if|as)\syou\s(?:want|like|wish|please)(?:\sme\sto)?(?:\W{0,3}\Z|,\s(?:i|we)\b)"
        r"|\A\W{0,6}(?:please\s|just\s)?(?:confirm|approve|agree|accept|say|reply|answer|tell|type|write|give"
        r"|click|press"
        rf"|nod|authori[sz]e|allow|grant|okay)\b[^.!?]{{0,40}}\b(?:and|then|before|so\sthat)\s{_WILL}"
        r"|\b(?:with|pending|subject\sto|after|upon|on)\syour\s(?:ok|okay|permission|approval|consent"
        r"|agreement|blessing"
        r"|confirmation|go-ahead|sign-off|review|word)\b"
        r"|\b(?:is|are|it['’]s|that['’]s)\s(?:all\s|entirely\s)?(?:up|left)\sto\syou\b"
        r"|\bleave\b[^.!?]{0,30}\s(?:to|with|for)\syou\b"
        r"|\blet\syou\s(?:run|do|decide|execute|handle|take)\b|\bwait(?:ing)?\s(?:for\s(?:you|your)\b|until\syou\b)"
        r"|\b(?:hold|holding|held)\s(?:off|back)\b|\brefrain(?:ed|ing)?\b|\b(?:needs?|awaits?|awaiting"
        r"|requires?)\s(?:your\s|a\s)?"
        r"(?:sign-off|approval|go-ahead|second\spair)\b"
    ),
    "not now": (
        r"\b(?:do\snot|don['’]t|never|must\snot|not\sto\sbe|won['’]t|will\snot)\s(?:start|begin|run|do"
        r"|execute|launch|apply"
        r"|send|call)(?:ed|ing)?\b(?:\s\w{1,12}){0,2}\s(?:yet|now|until|before|unless)\b|\bnot\s(?:now|yet"
        r"|today)\W{0,4}\Z"
        r"|\b(?:this|the\sfollowing)\b[^.!?:]{0,20}\b(?:after|when|once|if|until|tomorrow|later|tonight"
        r"|next\s(?:week|time|sprint"
        r"|month|session))\b(?!\s(?:that|this)\s(?:works|fails|is))"
        rf"|\b(?:{_WILL}|i|we)\s(?:\w{{1,12}}\s){{0,3}}only\s(?:if|when|once|after|with|on)\b"
    ),
    "what would have been": (
        r"\bif\s(?:i|we|you|they|he|she|it|the\s\w{1,20})\s(?:were|had)\b|\bwere\s(?:i|we|you|they)\sto\b"
        r"|\A\W{0,6}had\s(?:you|i|we|they|it|the)\b|\b(?:would|might|could)\shave\s(?:been|run|called|sent"
        r"|done|executed)\b"
        rf"|\b(?:i|we)(?:['’]d|\swould|\scould|\smight)\s(?:\w{{1,12}}\s)?(?:{_RUN})\b(?![^.!?]{{0,80}}\b(?:so"
        rf"|but)\s(?:i['’]ll|let)\b)"
        r"|\b(?:was|were)\s(?:about|going|tempted)\sto\b|\b(?:nearly|almost)\s(?:sent|ran|called|did|executed"
        r"|made)\b"
        r"|\b(?:i|we)\s(?:\w{1,14}\s)?(?:planned|intended|meant|wanted|hoped|considered)\s(?:to\s"
        r"|on\s)?(?:\w{1,12}ing|\w{1,12})\W{0,4}\Z"
        r"|\b(?:phrase|word|formulate|spell|structure|draft)\s(?:the|this|a|my)\s(?:\w{1,12}\s)?(?:call"
        r"|command|request|invocation)\b"
    ),
    "one of many": (
        r"\b(?:such\sas|inputs?\slike|strings?\slike|(?:need|want|reject|like|with|as|fixture|text|block"
        r"|lines?|something)\slike\s(?:this|these|so)"
        r"|as\sin|as\sfollows)\s?[:：]?\W{0,3}\Z|\bthis\s(?:was|came|has\sbeen|got)\b[^.!?]{0,40}[:：]\W{0,3}\Z"
    ),
    "word for word": (
        r"\bword\sfor\sword\b|\b(?:letter|character|byte)\s(?:by|for)\s(?:letter|character|byte)\b"
        r"|\bas\s(?:plain|raw|literal)\stext\b"
        r"|\bw[öo]rtlich\b|\bmot\s(?:à|pour)\smot\b|\bpalabra\spor\spalabra\b|\bpalavra\spor\spalavra\b"
        r"|\bparola\sper\sparola\b"
        r"|\bслово\sв\sслово\b|\bsłowo\sw\ssłowo\b|逐字|一字不[差漏改]|原封不动|一字一句|글자 ?그대로"
    ),
    "if you": (
        r"\b(?:sobald|wenn|falls|nachdem)\s(?:du|sie|ihr)\b|\b(?:si|dès\sque|quand|lorsque|une\sfois\sque"
        r"|après\sque)\s(?:vous"
        r"|tu)\b|\b(?:als|zodra|wanneer)\s(?:je|jij|u)\b|\b(?:om|när|så\ssnart|hvis|når)\s(?:du|ni)\b"
        r"|\b(?:если|когда|как\sтолько|после\sтого\sкак|якщо|коли)\s(?:вы|ты|ви|ти)\b"
    ),
    "what I would do, or another time": (
        r"\bwürde\sich\b|\bich\swürde\b|\berst\s(?:später|morgen|danach)\b|\bje\s(?:ferais|lancerais"
        r"|exécuterais|pourrais)\b"
        r"|\bя\sбы\s\w|\A\W{0,6}(?:später|morgen|irgendwann|plus\stard|demain|позже|завтра|потом)\b"
    ),
    "Spanish, Portuguese, Italian": (
        r"\b(?:si|cuando|una\svez\sque|en\scuanto|se|quando|assim\sque|uma\svez\sque|depois\sque|appena"
        r"|non\sappena|una\svolta\sche)\s"
        r"(?:\w{1,8}\s){0,3}(?:de\sacuerdo|d['’]accordo|confirm\w{1,4}|aprueb\w{1,3}|aprob\w{1,3}"
        r"|autori[zc]\w{1,5}|acept\w{1,4}|aceit\w{1,4}"
        r"|aprov\w{1,4}|concord\w{1,4}|conferm\w{1,4}|approv\w{1,4}|quier\w{1,3}|quiser\w{0,2}|vuoi|vuole"
        r"|va\sbene|digas|disser)\b"
        r"|\A\W{0,6}(?:más\starde|mañana|mais\starde|amanhã|più\stardi|domani)\b"
    ),
    "Polish, Czech": (
        r"\b(?:jeśli|jeżeli|gdy|kiedy|jak\stylko|když|jakmile|pokud)\s(?:\w{1,8}\s){0,3}"
        r"(?:potwierdz\w{1,4}|zgodzi\w{1,3}|zgadza\w{1,3}|pozwoli\w{1,3}|chcesz|zaakceptuj\w{1,3}|potvrdí\w{0,2}"
        r"|souhlas\w{1,4}|schválí\w{0,2})\b"
    ),
    "Turkish, Vietnamese": (
        r"\bonaylarsan|\bonay(?:ınız|ın)dan sonra|\bisterseniz|\bnếu bạn (?:đồng ý|muốn|xác nhận)|\bsau khi bạn"
    ),
    "Chinese": (
        r"(?:等|待|经|經|如果|若|只要|一旦|得到|征得|在)(?:你|您|用户|用戶)[^。！？]{0,8}(?:确认|確認|同意"
        r"|批准|许可|許可|允许|允許|授权|授權)"
        r"|(?:你|您)(?:确认|確認|同意|批准)(?:后|後|之后|之後|的话|的話)|如(?:需|有需要)|(?:稍后|稍後|以后"
        r"|以後|明天)再"
    ),
    "Japanese": (
        r"(?:承認|確認|許可|同意|了承|指示)[^。！？]{0,10}(?:れば|たら|後に|次第|なら)|よろしければ"
        r"|問題(?:が)?なければ|後で実行|あとで実行"
    ),
    "Korean": (
        r"(?:확인|승인|동의|허락|허가)[^.!?]{0,10}(?:시면|하면|주면|후에|뒤에|받으면)|괜찮(?:으시)?다면"
        r"|원하시면|나중에"
    ),
    "Arabic, Hebrew, Hindi": (
        r"إذا (?:وافق|أكد)|بعد (?:موافق|تأكيد)|אם (?:תאשר|תסכים)|לאחר אישור|अगर आप (?:सहमत|पुष्टि)"
    ),
}
_CONSENT = (
    r"approval|permission|consent|confirmation|go-ahead|sign-off|ok|okay|green\slight|blessing|decision|agreement"
)
_YOURS = (
    rf"\byour\s(?:\w{{1,12}}\s)?(?:{_CONSENT})\b|\bwait(?:ing|s)?\sfor\s(?:an?\s|the\s"
    rf"|someone['’]s\s)?(?:{_CONSENT}|answer|reply)\b"
    r"|\b(?:decision|choice|call|turn|move)\sis\syours\b|\bneeds?\san?\s(?:human|admin|maintainer|person"
    r"|owner|second)\b"
    r"|\bgo(?:ne)?\sthrough\swith\b|\bpaus(?:e|ed|ing)\s(?:here|before)\b|\bstop(?:ped)?\s(?:here|short)\b"
    r"|\bnothing\s(?:was|has\sbeen|is)\s(?:deleted|removed|executed|sent)\b"
    r"|\bentscheide(?:st)?\s(?:du|selbst)\b|\b(?:deine|ihre|eure|deiner|ihrer)[mrns]?\s(?:freigabe|zustimmung"
    r"|bestätigung|erlaubnis"
    r"|genehmigung|entscheidung)\b"
    r"|\b(?:votre|ton|ta)\s(?:accord|confirmation|permission|validation|approbation|feu\svert|décision)\b"
    r"|\b(?:tu|su)\s(?:confirmaci[óo]n|aprobaci[óo]n|permiso|autorizaci[óo]n|decisi[óo]n|visto\sbueno)\b"
    r"|\b(?:sua|tua)\s(?:confirma[çc][ãa]o|aprova[çc][ãa]o|permiss[ãa]o|autoriza[çc][ãa]o|decis[ãa]o|conferma"
    r"|approvazione|autorizzazione"
    r"|decisione)\b|\btuo\s(?:permesso|consenso|ok)\b"
    r"|\b(?:tw(?:ój|oją|oja|ojej|oje|ojego)|pańsk\w{1,3})\s(?:zgod\w{1,2}|potwierdzeni\w{1,2}"
    r"|akceptacj\w{1,2}|decyzj\w{1,2})\b"
    r"|\b(?:ваш|тво)\w{1,3}\s(?:подтвержден\w{1,2}|соглас\w{1,2}|разрешен\w{1,2}|одобрен\w{1,2}|решен\w{1,2})\b"
    r"|\b(?:jouw|je|uw)\s(?:akkoord|toestemming|bevestiging|goedkeuring)\b|\b(?:ditt|din|dit)\s(?:godkännande"
    r"|tillåtelse|bekräftelse|godkendelse"
    r"|tilladelse)\b"
    r"|请(?:您|你)?(?:先)?(?:确认|批准|审核|同意|决定)|請(?:您|你)?(?:先)?(?:確認|批准|審核|同意)|由(?:您"
    r"|你)决定|(?:ご|御)(?:確認|承認|判断|指示)を?(?:お願い|ください|くださ)"
    r"|(?:확인|승인|결정|검토)(?:을|를)? ?(?:부탁|바랍|해 ?주)"
)
"""Consent that the user or someone else has to give before the call may be made."""
_GIVEN = re.compile(
    r"\b(?:thanks?|thank\syou|given|gave|granted|received|got|have\syour|danke|merci|gracias|obrigad[oa]"
    r"|grazie|dzięki|dziękuję|спасибо)\b"
    r"|谢谢|感谢|已(?:获|得|经)|ありがとう|いただき(?:まし|、)|감사|받았",
    re.IGNORECASE,
)
_LATER = {
    "a condition": (
        rf"\A\W{{0,6}}(?:if|once|when|as\ssoon\sas|after|in\scase|unless|until|should|whenever)\s(?!i\b|we\b"
        rf"|that\b|\w{{2,12}}ing\b)[^.!?:]{{1,70}}\s{_WILL}"
    ),
    "another time": (
        r"\A\W{0,6}(?:later|tomorrow|tonight|afterwards|eventually|some\s?day|one\sday|in\sthe\sfuture"
        r"|at\sthe\s(?:very\s)?end"
        r"|next\s(?:week|month|sprint|time|session|year|release))\b(?![^.!?:]{0,60}\b(?:now|first|let\sme)\b)"
    ),
}
_final = re.compile("|".join(_FINAL.values()), re.IGNORECASE)
_yours = re.compile(_YOURS, re.IGNORECASE)
_later = re.compile("|".join(_LATER.values()), re.IGNORECASE)
_only = re.compile(r"\bonly\s(?:if|when|once|after|in)\b", re.IGNORECASE)
_now = re.compile(
    r"\b(?:but|so|then)\s(?:first|now|let\sme|i['’]ll|i['’]m)\b|\bfirst,?\s(?:let|i['’]ll|i\swill)\b", re.IGNORECASE
)


def not_now(sentence: str, *, ended: bool, announced_before: bool) -> bool:
    """Whether the sentence says that the call is not made now. `ended`: it ends with a full stop.

    `announced_before`: an earlier sentence announces the call, and this one may be about the step after it.
    """
    found = _final.search(sentence)
    if found is None and _GIVEN.search(sentence) is None:
        found = _yours.search(sentence)
    if found is None and not (ended and announced_before):
        found = _later.search(sentence)
    if found is None and not ended:
        found = _only.search(sentence)
    return found is not None and _now.search(sentence, found.start()) is None
