"""Recognises statements that lead to a call although they announce nothing: findings, and short remarks on the work.

Any other statement keeps the call a text: descriptions, narratives, advice, general facts. A finding says what is
wrong now ("The import is missing.") or that the work goes on ("Two files left."). Right after a tool's result, a
statement about a part of the project is a finding too ("The helper is in `strings.ts`."): the model has just seen it.
"""

from __future__ import annotations

import re

_fault = re.compile(
    r"n['’]t\b|\b(?:not|nor?|never|none|null|nil|nothing|cannot|miss(?:ing|es|ed)?|fail\w{0,5}|errors?|wrong\w{0,2}"
    r"|bad|break\w{0,3}|broken?|bugs?|crash\w{0,3}|drop(?:s|ped)?|los(?:es?|t)|skip(?:s|ped)?|ignores?d?|stale"
    r"|outdated|out\sof|obsolete|empty|un(?:used|known|set|safe|defined|expected|escaped|closed|handled)|inverted"
    r"|shadowed|invalid|malformed|conflict\w{0,3}|twice|duplicat\w{1,4}|typos?|time[sd]?[ -]?outs?|denied|expired?"
    r"|leak\w{0,3}|hangs?|stuck|race|slow|differ(?:s|ent)|warn\w{0,4}|deprecat\w{1,4}|mismatch\w{0,2}|problems?"
    r"|issues?|throws|too|odd|strange|dead|red|full|forbids|swallows|behind|root\scause|(?:could|might|may|must|has\sto)\sbe"
    r"|probably|perhaps|maybe|likely|suspect|culprit|cause|reason|nichts?|kein\w{0,2}|fehl\w{1,5}|falsch\w{0,2}|veraltet|pas|manqu\w{1,3}"
    r"|erreur|échoue\w{0,2}|obsolète|no|falla|falta|obsolet[oa]|não|falha|manca|errore|fallisce|не|нет|устарел\w{0,2}"
    r"|ошибк\w|пада\w{1,3}|nie|brak\w{0,3}|niet|ontbreekt|inte|saknas|eksik|yok|không)\b|\blines?\s\d|,\sbut\b"
    r"|不|没|沒|失败|失敗|错|過期|过期|缺|无法|無法|ない|ません|エラー|失敗|古い|없|실패|오류|오래",
    re.IGNORECASE,
)
"""Something is wrong, which is a reason to act."""
_goes_on = re.compile(
    r"\A\W{0,6}(?:(?:alright|ok(?:ay)?|so|well|right)\W{1,2})?(?:on to|back to|(?:an? )?quick|time (?:to"
    r"|for)|one (?:more|last|moment)"
    r"|just|also|same|another|again|please|thanks?|as you|only|that (?:leaves|rules|matches|confirms)|fyi|the user"
    r"|what[’']s left|summary so far|before|next|then|last|lastly|so|found|i|we|it['’]s|there['’]s)\b"
    r"|\b(?:to|will|should) (?:check|do|see|fix|try|verify|tell|show|look|test|clean|go|run|write|wire)\b"
    r"|\b(?:first|next|again|now|left|to go|so far)\W{0,3}\Z|\b(?:i|we)(?:['’]ve|\s(?:need|have to|must|should))\b"
    r"|\b(?:needs?|belongs|has to|can (?:begin|run)|explains|is left|last one|still|already|looks (?:good"
    r"|fine|right))\b"
    r"|马上|正在|可以开始|必要です|通过了",
    re.IGNORECASE,
)
"""The model continues its work."""
_noticed = re.compile(
    r"\W{0,6}(?:(?:ok(?:ay)?|right|alright|hm+|ah|oh|good|great|well|interesting|indeed)[,:;–—]\s"
    r"|[^,;–—]{1,80}[,;–—]\s[a-z]{2,12}ing\s(?:now|again|it|the)\b)",
    re.IGNORECASE,
)
"""A comment on what the model has just seen, or what it does about it."""
_code = re.compile(r"`|\(\)|\b[\w-]{1,40}\.[a-z]{1,4}\b|\w/\w|\s/\w|\b[a-z]{1,20}[_A-Z]\w{1,20}")
"""A part of the project: code or a path."""
_span = re.compile(r"`[^`\n]{1,80}`|[^\s/]{0,40}/\S{1,80}")
"""Code and paths, whose words do not count."""
_project = re.compile(
    r"\b(?:tests?|builds?|ci|configs?|configuration|imports?|exports?|functions?|class(?:es)?|methods?|modules?"
    r"|packages?|dependenc(?:y|ies)|files?|folders?|director(?:y|ies)|paths?|repo(?:sitory)?|project|monorepo"
    r"|branch(?:es)?|commits?|fork|versions?|ports?|services?|servers?|containers?|images?|process(?:es)?|databases?"
    r"|tables?|columns?|rows?|fields?|types?|enum|variables?|constants?|values?|defaults?|arguments?|parameters?"
    r"|callers?|handlers?|routes?|endpoints?|api|components?|buttons?|schemas?|migrations?|headers?|cookies?|scripts?"
    r"|jobs?|workers?|cache|index|hash|lock|timestamps?|timers?|memory|connections?|engine|frontend|backend|client"
    r"|linter|stack\strace|commands?|output|results?|code|css|loop|flag|docs|documentation|changelog|template|dump|snapshot|layers?)\b",
    re.IGNORECASE,
)
"""Parts of a project."""
_TEXTS = (
    r"models?|assistants?|agents?|(?:chat)?bots?|llms?|ais?|prompts?|completions?|transcripts?|conversations?"
    r"|dialog(?:ue)?s?|chats?|sessions?|turns?|calls?(?!\s(?:to|sites?)\b)|invocations?|invoked|tools?(?!\s(?:is|are)\b)"
    r"|injections?|attack\w{0,4}|payloads?|markup|notation|tokens?|snippets?|examples?|samples?|exercises?|tutorials?"
    r"|lessons?|manual|handbook|paragraphs?|chapters?|sections?|formats?|syntax|spellings?|parsers?|tokeni[sz]ers?"
    r"|scanners?|detectors?|renderers?|markers?|openers?|closers?|tags?|wrappers?|blocks?|grammar|shapes?|dialects?"
    r"|gpt-?\w{0,4}|claude|gemini|llama|mistral|qwen|deepseek|glm|kimi|hermes|openai|anthropic|harness|orchestrator"
    r"|playground|sdk|placeholders?|variants?|classifiers?|validators?|datasets?|training\sdata|malicious"
    r"|instructions?|skeletons?|docstrings?|illustrations?|fixtures?|answers?|replies|reply|messages?|e-?mails?|mails?"
    r"|readme|pages?|logs?|tickets?|reports?|screenshots?|terminal|listings?|prose|texts?|wording|blog|posts?|forum"
    r"|spec|specification|documents?|vendors?|demo"
)
_PEOPLE = (
    r"readers?|students?|graders?|robots?|people|humans?|engineers?|authors?|customers?|colleagues?|reviewers?|intern"
    r"|users?(?!\s(?:confirmed|asked|wants|needs|said|reported)\b)|teams?|support|some(?:one|body)|anyone|nobody|he|she"
    r"|his|her|they|who"
)
_text = re.compile(
    rf"\b(?:{_TEXTS}|{_PEOPLE})\b(?!\s(?:files?|folders?|tests?|projects?|configs?|data|loops?|weights|strings?"
    r"|director(?:y|ies)|repos?|apps?|class(?:es)?|fields?|handlers?|levels?)\b)"
    r"|\b(?:\w{0,12}(?:aufruf|werkzeug|befehl|vorlage)\w{0,2}|modells?|assistenten?|angreifer|anweisung\w{0,2}"
    r"|appels?|outils?|modèles?|commandes?|attaquants?|llamadas?|herramientas?|modelos?|agentes?|asistentes?"
    r"|atacantes?|plantillas?|chamadas?|ferramentas?|assistentes?|chiamat[ae]|strument[oi]|modell[oi]|assistenti"
    r"|istruzion[ei]|вызов\w{0,2}|инструмент\w{0,2}|модел[иь]|команд[ауы]?|агент\w{0,2}|ассистент\w{0,2}|страниц\w"
    r"|wywołani\w{1,2}|narzędzi\w{1,2}|poleceni\w{1,2}|aanroep\w{0,2}|hulpmiddel|çağrı\w{0,4}|komut\w{0,3}"
    r"|anrop\w{0,2}|beispiele?|exemples?|ejemplos?|exemplos?|esempi\w?|przykład\w{0,3}|пример\w{0,3}"
    r"|voorbeeld\w{0,2}|ex[ae]mpel|eksempel)\b"
    r"|示例|例子|范例|範例|供参考|供參考|例です|예시|예제|调用|調用|工具|模型|命令|指令|助手|代理|用户|用戶|网页|服务器|攻击者"
    r"|呼び出し|ツール|モデル|アシスタント|エージェント|ページ|攻撃者|호출|도구|모델|공격자|에이전트",
    re.IGNORECASE,
)
"""Texts, those who write and read them, and other people. One such word appears in many findings, two seldom do."""
_ROOT = 4
"""How many letters tell two of these words apart."""
_TOLD = {
    "to the reader": (
        r"\byou(?:rs?|['’]re)?\b(?<!as\syou)(?!\ssaid|\smean|['’]re\s(?:absolutely\s)?right)"
        r"|\b(?:would|(?:could|might)\s(?!be\b)|['’]d(?!\sbetter|\srather\s(?!not|leave)))\b"
        r"|\A\W{0,6}(?:remember|keep|pick|choose|imagine|suppose|compare|try|consider|think|beware|replace|substitute"
        r"|fill|put|look|see|watch|notice|note\show)\b|\A\W{0,6}should\s(?!i\b|we\b)"
        r"|\b(?:du\s(?:kannst|sollt|musst|willst|möcht|wirst|siehst)\w{0,3}|dir|dich|ihnen|euch|vous|votre|toi|usted"
        r"|você|sua|tua|ciebie|tobie|вам|вас|тебе|jou|uw|sana|size|dig|seu)\b"
        r"|[你您]|あなた|ください\W{0,3}\Z|당신|(?:주|하)세요\W{0,3}\Z"
    ),
    "advice": (
        r"\bi\s(?:\w{1,12}ly\s)?(?:suggest|propose|recommend|advise|urge|warn|leave|offer)\b"
        r"|\b(?:ich\s(?:rate|empfehle|schlage|überlasse)|recomiendo|sugiero|propongo|recomendo|sugiro|consiglio"
        r"|suggerisco|советую|рекомендую|предлагаю)\b"
        r"|\bje\s(?:\w{1,5}\s)?(?:recommande|propose|conseille|déconseille|laisse)\b"
        r"|建议|建議|お勧め|お任せ|권합|맡기"
    ),
    "what is below": (
        r"\b(?:(?<!no\s)such|like\s(?:this|these|so)|this\s(?:kind|way|one|shape|form|notation|here|input)|these|below"
        r"|following|follows|underneath|verbatim|this\swas|so\s(?:steht|sieht|antwortet)\w{0,3}"
        r"|this\sis\s(?:what|how)\s(?!i\b|we\b)|shows?\show)\b|\b(?:says?|said|reads|looks\slike|[a-z]{2,12}ed\shere|earlier)\W{0,3}\Z"
        r"|\S(?<!asked\sfor)\s(?:this|that\sone)(?=\s(?:in|into|on|at|to|as|for|from|by|with|since|when|after|before"
        r"|until|every|here|there|next)\b|\W{0,3}\Z)"
        r"|\A\W{0,6}(?:for|in|purely|merely|simply|just\san?)(?:\s[\w-]{1,20}){0,2}\W{0,3}\Z"
    ),
    "at another time": (
        r"\A\W{0,6}(?:if|when|once|after|until|as\ssoon\sas|in\scase|tonight|tomorrow|later|eventually|some\s?day|by\snoon"
        r"|in\sthe\sfuture|(?:in|on|since)\s(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}|yesterday|last\s\w{3,9}day|last\s(?:week|night|month|year)"
        r"|next\s(?:week|month|time|year|sprint))\b(?!\s(?:that|this)\b)"
        r"|\b(?:yesterday|last\s(?:night|week|time|month|year|spring|summer|autumn|winter)|(?:minutes?|hours?|days?"
        r"|weeks?)\s(?:ago|later)|at\sthe\stime|midnight|morning|gestern|hier\ssoir|ayer|ontem|ieri|wczoraj|вчера"
        r"|anoche)\b|昨天|昨晚|昨日|어제"
        r"|\A\W{0,6}(?:sobald|wenn|falls|nachdem|erst\s(?:nach|wenn)|dès\sque|quand|lorsque|une\sfois|cuando|una\svez"
        r"|en\scuanto|quando|assim\sque|depois\sque|appena|dopo\sche|когда|как\sтолько|после\sтого|если|gdy|kiedy"
        r"|jak\stylko|zodra|wanneer|nadat|när|når|když|jakmile)\b|\A\W{0,6}(?:一旦|等到|如果|当)|[之以]?[后後]再"
    ),
    "in general": (
        r"\A\W{0,6}(?:whenever|according\sto|as\sa\sreminder|on\sthe\s(?:left|right)|for\sthe\srecord)\b"
        r"|\b(?:sometimes|usually|often|typically|in\sgeneral|allowed|mandatory|significant|matters?|may\scontain"
        r"|must\signore|is\sneeded|(?:i|we)\s(?:always|normally|rarely|used\sto)|are\sencoded|described\sin)\b|必须"
    ),
    "what was run": (
        r"\b(?:i|we)(?:['’]ve|\shave|\shad)?\s(?:already\s|just\s|also\s|only\s|then\s)?(?:ran|run|sent|executed|called"
        r"|typed|printed|pasted|copied|quoted|received|got|told|asked|done|did(?!\snot|n['’]t))\b|\balready\sbeen\s(?:run|executed|sent)\b"
        r"|\b(?:i|we)\s(?:have|did|do)(?:n['’]t|\snot)\s(?:run|execut\w{1,3}|call\w{0,3}|sen[dt])\s(?:it|this|that|any)"
    ),
}
_told = re.compile("|".join(_TOLD.values()), re.IGNORECASE)
_general = re.compile(r"\A\W{0,6}(?:an?|any|each|every|many|most|some|all)\s\w", re.IGNORECASE)
"""The beginning of a general statement."""
_past = re.compile(
    r"\b(?:(?:was|were|had)(?:\s[a-z]{2,14}(?:ed|en))?|did(?!\snot)|wurde|lief|(?!shadowed|failed|need|feed|speed|seed|embed|un)"
    r"(?<!is\s)(?<!are\s)(?<!be\s)(?<!been\s)(?<!has\s)(?<!ve\s)(?<!already\s)(?<!n['’]t\s)(?<!not\s)(?<!never\s)"
    r"[a-z]{2,14}ed|ran|went|came|saw|took|gave|began|wrote|told|said|sent"
    r"|led|made|a\s[a-z]{2,12}é|ha\s[a-z]{2,12}[td]o|hat|[a-z]{2,12}ó"
    r"|[a-z]{2,12}[ai]eron|[а-я]{2,14}(?:[аие]ла?|[аие]ли))\b",
    re.IGNORECASE,
)
_others_act = re.compile(
    r"\b[a-z]{3,14}s\s(?:the|an?|its?|to|by)\b|\b(?:is|are|was|were)\s[a-z]{2,14}(?:ed|en|un)\b", re.IGNORECASE
)
"""A verb in the third person, with what it is done to."""
_oneself = re.compile(r"\b(?:i|my)\b", re.IGNORECASE)
_word = re.compile(r"\w{1,40}")
_without_spaces = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
"""Letters of languages that put no spaces between words."""
_REMARK = 4
"""The most words of a short remark, which needs no other sign."""


def leads(sentence: str, before: str, *, goes_on: bool, at_work: bool) -> bool:
    """Whether a call may follow a statement that announces nothing. `before`: the part of the paragraph before it.

    `goes_on`: it begins with a word for a next step. `at_work`: the model has just received the result of a tool.
    """
    if _told.search(sentence) is not None:
        return False
    said = _span.sub(" ", sentence)
    texts = _texts_in(said)
    faulty = _fault.search(said) is not None
    past = 0 if _oneself.search(sentence) is not None else len(_past.findall(sentence))
    words = _length(sentence)
    continues = (goes_on and _others_act.search(sentence) is None) or _noticed.match(sentence) is not None
    next_step = continues or _goes_on.search(sentence) is not None
    if not at_work:
        told = bool(texts) or (past and words >= _REMARK and _noticed.match(sentence) is None)
        return not told and (faulty or next_step or words <= _REMARK)
    coded, general = _code.search(sentence) is not None, _general.match(sentence) is not None
    if past > 1 or (texts and (general or not faulty or len(texts | _texts_in(before)) > 1)):
        return False
    about_project = coded or (not general and _project.search(sentence) is not None)
    return next_step or about_project or words <= _REMARK or (faulty and not past)


def is_about_texts(sentence: str) -> bool:
    """Whether the sentence mentions texts, those who write or read them, or other people."""
    return bool(_texts_in(_span.sub(" ", sentence)))


def _texts_in(said: str) -> set[str]:
    """The words for texts and people in `said`, each once."""
    return {found[0].lower()[:_ROOT] for found in _text.finditer(said)}


def _length(sentence: str) -> int:
    """The number of words; in a language without spaces, two letters count as a word."""
    if _without_spaces.search(sentence) is not None:
        return len(sentence) // 2
    return len(_word.findall(sentence))
