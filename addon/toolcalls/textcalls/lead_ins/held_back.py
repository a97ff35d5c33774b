"""Recognises what holds an announced act back: a condition, a later time, consent, a refusal, another speaker, a text
that is shown."""

from __future__ import annotations

import re

_TEXTS = (
    r"examples?|samples?|snippets?|(?:tool |function )?calls?|invocations?|formats?|syntax|notation|transcripts?"
    r"|dialog(?:ue)?s?|conversations?"
    r"|prompts?|completions?|payloads?|quot(?:e|ation)s?|excerpts?|passages?|paragraphs?|sentences?|instructions?"
    r"|messages?|strings?"
    r"|texts?|templates?|fixtures?|test vectors?|illustrations?|listings?|answers?|reply|replies|responses?"
    r"|beispiele?|aufrufe?"
    r"|exemples?|ejemplos?|exemplos?|esempi\w?|пример\w{0,3}|示例|例子|调用|呼び出し|예시"
)
"""What a shown call may be called."""
_WORKED_ON = r"examples?|samples?|snippets?|variants?|syntax|notation|formats?"
"""What somebody who writes about calls works on."""
_SPEAKERS = (
    r"models?|assistants?|agents?|(?:chat)?bots?|llms?|ais?|attackers?|users?|authors?|customers?|colleagues?"
    r"|reviewers?"
    r"|students?|robots?|humans?|pages?|logs?|docs|documentation|manual|readme|tutorials?|tickets?|issues?|e-?mails?"
    r"|claude|gpt\S{0,4}|gemini|qwen|he|she|they|someone|somebody|it said|it says|says|said|wrote|replied|answered"
    r"|reads"
    r"|modell|modèle|modelo|modello|модель|模型|助手|用户|モデル|모델"
)
_AT_START = (
    r"if|once|when|whenever|as\ssoon\sas|after|afterwards|unless|until|in\scase|should|assuming|provided|suppose"
    r"|imagine"
    r"|were|had|tomorrow|later|tonight|yesterday|eventually|some\s?day|next\s(?:week|month|time|year|sprint|session"
    r"|release)"
    r"|then\syou|falls|wenn|sobald|nachdem|später|morgen|gestern|si|quand|lorsque|dès\sque|une\sfois|hier|demain"
    r"|plus\stard"
    r"|cuando|una\svez|en\scuanto|mañana|ayer|más\starde|se|quando|assim\sque|amanhã|ontem|domani|ieri|appena"
    r"|если|когда|как\sтолько|после|завтра|вчера|позже|jeśli|gdy|kiedy|jak\stylko|jutro|zodra|när|hvis|når|když"
    r"|jakmile|pokud|nếu"
)
_WORDS = {
    "a condition": (
        rf"\A\W{{0,6}}(?:(?:and|but|then|so)\s)?(?:{_AT_START})\b(?!\syou\sasked)|\A\W{{0,4}}(?:如果|如需|若|等|待|一旦|明天|稍后"
        rf"|昨天|もし|よろしければ|나중에)"
        r"|\b(?:once|unless|until|as\ssoon\sas|only\s(?:if|when|after|with)|if\s(?:you|the\suser)"
        r"|(?:when|after|before)\s(?:you|the\suser|they|i\srun|i\sdo)"
        r"|(?:sobald|wenn|falls|nachdem)\s(?:du|sie|ihr)|(?:si|quand)\s(?:tu|vous)|tomorrow|tonight|later|some\s?day"
        r"|next\s(?:week|month|time|sprint|session))\b"
        r"(?<!at\sonce)(?!\s(?:more|again))|\bon\s(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\bafter\s(?:lunch"
        r"|work|the\s(?:release|meeting|weekend|review))\b"
        r"|\bonly\s\w{1,12}\s(?:this|it|that)\b|(?:れば|なら|たら)[、,]?"
        r"|(?:确认|確認|同意|批准|许可|承認|許可|승인|확인)[^。.！？]{0,8}(?:后|後|れば|たら|次第|시면|후에)"
    ),
    "consent": (
        r"(?<!gave\s)(?<!have\s)(?<!given\s)\byour\s(?:\w{1,12}\s)?(?:ok|okay|approval|permission|consent"
        r"|confirmation|go-ahead|sign-off|decision|review|word|terminal|machine)\b"
        r"|\A\W{0,6}(?:please\s|just\s)?(?:say|confirm|approve|tell|give|type|reply|answer|ask|agree|let\sme\sknow)\b"
        r"|\b(?:confirm|check|clarify|verify)\s(?:\w{1,8}\s)?with\s(?:you|the\suser|them)\b|\b(?:up|left)\sto\syou\b"
        r"|\byourself\b|\bmanually\b|\bby\shand\b"
        r"|\b(?:approval|permission|consent|go-ahead)\b|\b(?:deine|ihre|eure)[mrns]?\s(?:freigabe|zustimmung"
        r"|bestätigung|erlaubnis)\b"
        r"|\b(?:votre|ton)\s(?:accord|confirmation|permission)\b|\b(?:tu|su)\s(?:confirmación|aprobación|permiso)\b"
        r"|请(?:您|你)?(?:先)?(?:确认|批准)|(?:您|你)的?(?:确认|同意|许可)|[吗嗎]\W{0,3}\Z"
    ),
    "a later time": (
        r"\b(?:morgen|später|demain|plus\stard|mañana|más\starde|amanhã|mais\starde|domani|più\stardi|завтра|позже|потом"
        r"|jutro|później|imorgon|i\smorgen)\b|明天|稍[后後]|(?:通[过過]|完成|[结結]束|部署)[^。！？]{0,4}[后後]|あとで|後で|明日|나중에|[하되]면\s"
        r"|\bin\s(?:an?|\d{1,3}|a\sfew|some)\s(?:hours?|minutes?|days?|weeks?)\b"
        r"|\bat\s(?:midnight|noon|night|\d{1,2}(?::\d\d)?\s?(?:am|pm))\b"
        r"|\b(?:when|after)\s(?:(?:the|all)\s)?(?:ci|tests?|builds?|deploy\w{0,4}|pipeline|review|checks?|merge)\s[^.!?]{0,20}"
        r"\b(?:is|are|pass\w{0,3}|finish\w{0,3}|succeeds?|completes?)\b|\b(?:sobald|dès\sque|en\scuanto|как\sтолько)\b"
    ),
    "a refusal": (
        r"\bstop(?:ping)?(?:\s(?:here|and|now|for)\b|\W{0,4}\Z)|\bturn(?:ing)?\s[^.!?]{0,30}\bdown\b|\bpush(?:ing)?\sback\b"
        r"|(?<!tests\s)(?<!checks\s)(?<!builds\s)\bpass(?:ing)?\son\b|\bon\shold\b|\bcall(?:ing)?\sout\b|\bexcept\b|\bthan\s(?:run|execute)\b"
        r"|\b(?:mark|tag|treat)(?:ing)?\s[^.!?]{0,30}\bas\s(?:an?\s)?(?:malicious|dangerous|unsafe|untrusted|suspicious|prompt)"
    ),
    "word for word": r"\bverbatim\b|\bword\sfor\sword\b|\bwörtlich\b|\bmot\sà\smot\b|逐字|一字不",
    "shown below": (
        r"\b(?:like\s(?:this|these|so|that)|as\sfollows|such\sas|this\s(?:way|form)|below|e\.g\.|for\s(?:example"
        r"|instance)|zum\sbeispiel(?:\sso)?|par\sexemple"
        r"|por\sejemplo|por\sexemplo|per\sesempio|например)\W{0,4}\Z|例如|比如|例えば|(?:这样|這樣)[写寫]?\W{0,3}\Z"
        r"|\bso\s(?:that\s)?you\scan\b|\bas\s(?:an?\s)?(?:plain\s)?(?:text|string)\b"
        r"|\bwrit(?:e|ing)\s(?:it\s|this\s)?(?:out|down)\b|\b(?:get|see|find|read)(?:t?ing)?\s(?:this|these"
        r"|the\sfollowing)\b"
        r"|\b(?:this|these|the\sfollowing)\slines?\W{0,4}\Z|\b(?:the|an?|each|every|this"
        r"|its)\s(?:[\w-]{1,14}\s)?(?:models?|assistant|agent|llm|bot|attacker)\s(?:[a-z]{2,12}(?:s|ed)|emit|write"
        r"|answer|wrote|said|sent|made|did)\b"
        rf"|\b(?:this|these|the\sfollowing)\s(?:(?!error)[\w-]{{1,14}}\s)?(?:{_TEXTS})\b"
        rf"|\b(?:an?|another|one|some|this|these|that|the\sfollowing|such|ein\w{{0,2}}|une?|una?"
        rf"|um)\s(?:[\w-]{{1,14}}\s){{0,2}}(?:{_TEXTS})\W{{0,4}}\Z"
        rf"|\b(?:write|writing|make|making|do|doing|send|sending|copy|copying|reproduce"
        rf"|reproducing)\s(?:[\w-]{{1,14}}\s){{0,2}}(?:{_TEXTS})\W{{0,4}}\Z(?<!the\scall)"
    ),
    "a text that is worked on": (
        r"\b(?:put|drop|add|use|leave|place|record|repeat|write)\w{0,4}\s[^.!?]{0,60}\bhere\b"
        r"|\bfor\s(?:reference|comparison|illustration|clarity|completeness|the\s(?:ticket|record|docs|report))\b"
        r"|\b(?<!the\s)(?:simplify|correct|clean|convert|format|render|rewrite|record|write|add|polish|refine|adapt|complete|extend)"
        rf"(?:ing)?\s(?:[\w'’-]{{1,14}}\s){{0,3}}(?:{_WORKED_ON})\b(?!\s(?:app|project|file|script|data|config|tests?|folder|call|to|in)\b)"
        r"|\bi\s(?:understood|understand|got|have)\s(?:[\w'’-]{1,14}\s){0,2}(?:format|syntax|notation)\b"
        r"|\b(?:in|to|into)\s(?:the|its?)\s[\w-]{1,14}\s(?:format|syntax|notation)\b"
        r"|\bread(?:ing)?\sout\b|\bwhich\ssays\W{0,4}\Z|\bcopy(?:ing)?\swhat\b|\bmak(?:e|ing)\sup\b|\bthe\s(?:story|reply)\W{0,4}\Z"
        r"|\bplay(?:ing)?\sthe\b|\bmake\s(?:this|it|that)\s(?:\w{1,10}\s)?(?:concrete|explicit|clear(?:er)?|visible|tangible)\b"
    ),
}
_held = re.compile("|".join(_WORDS.values()), re.IGNORECASE)
_negated = re.compile(
    r"\b(?:not|never|nothing|cannot|no\slonger|nicht|nie|niemals|kein\w{0,2}|pas|jamais|no(?!\sproblem)|nunca|não|non|mai|не"
    r"|niet|inte|ikke|không|tidak|jangan|لن|لا|or\smaybe)\b|n['’]t\b"
    r"|\bwithout\s\w{1,12}ing\s(?:it|this|them)\b|不(?!同)|没有|沒有|ません|ないで|않|말",
    re.IGNORECASE,
)
_checked = re.compile(
    r"\b(?:if|whether|why|what|where|which|how|that|sure|so|since|because|until|ensure|verify|confirm|ob|warum|wo"
    r"|was|dass|weil"
    r"|si|pourquoi|que|porque|por\squé|se|perché|che|почему|что|если)\b|为什么|為什麼|是否|因为",
    re.IGNORECASE,
)
"""Before a negation: the model only finds out, or says why."""
_refused = re.compile(
    r"拒[绝絕否]|禁止|[无無]法|[说說]明|解[释釋]|нельзя|отказ|refus|rechaz|rifiut|recus|거부|verweiger", re.IGNORECASE
)
"""Words between the speaker and the verb that turn an announcement into its opposite."""
_condition = re.compile(r"\b(?:if|falls|wenn|si|если)\s", re.IGNORECASE)
_found_out = re.compile(
    r"\b(?:check|see|verif|find|determin|confirm|know|understand|test|ensur|tell|decid|figure|learn|inspect|examin"
    r"|investigat|look|make sure|prüf|schau|seh|vérifi|regard|voir|compr[uo]|verific|ver\b|mir|провер|посмотр|узна)",
    re.IGNORECASE,
)
"""Before an "if": the model finds out whether something holds."""
_speakers = re.compile(
    rf"\b(?:{_SPEAKERS})\b|(?<!your\s)(?:{_TEXTS})\W{{1,3}}\Z|\b(?:could|might|would(?!\slike)|würde|könnte)\b"
    r"|\b(?:no|não|nu|non|не|nie|not|never)\s.?\Z",
    re.IGNORECASE,
)
_others = re.compile(
    r"攻击者|攻擊者|代理|模型|助手|用户|用戶|服务器|页面|网页|日志|文档(?!中|里)|(?<![ず私で次])[がは]"
    r"|(?:모델|에이전트|서버|사용자|페이지|로그)[은는이가]"
)
"""A Chinese, Japanese or Korean sentence about somebody else."""


def is_put_off(sentence: str) -> bool:
    """Whether the sentence has a condition or a later time, needs consent, refuses, or shows what is below it."""
    return _held.search(sentence) is not None


def is_taken_back(introduction: str) -> bool:
    """Whether the words above a list or a filler say that what follows is not done, not now, or by somebody else."""
    words = (_held, _negated, _refused, _speakers)
    return any(word.search(introduction) is not None for word in words)


def holds_back(sentence: str, announced: re.Match[str]) -> bool:
    """Whether the sentence does not make the call that it announces, or not now."""
    if is_put_off(sentence) or _refused.search(announced[0]) is not None:
        return True
    condition = _condition.search(sentence, announced.end())
    if condition is not None and _found_out.search(sentence, announced.start(), condition.start()) is None:
        return True
    negated = _negated.search(sentence, announced.start())
    if negated is not None and _checked.search(sentence, announced.start(), negated.start()) is None:
        return True
    if announced[0].lower().startswith(("so ", "but ")):
        return False
    if _others.search(sentence, 0, announced.end()) is not None:
        return True
    return _speakers.search(sentence, 0, announced.start() + 1) is not None
