"""Words with which a model announces that it acts now, by language, and words that announce only a text."""

from __future__ import annotations

import re

from . import telling

_DOING = (
    "check|look|read|run|list|search|find|open|see|inspect|verify|test|try|get|fetch|view|examine|write|edit|fix"
    "|apply|update|call|do"
)
"""What a model does with a call, as verbs in the imperative."""
_NOT_BEGUN = (
    r"(?:do|did|would|will|wo|could|ca|must|should|am|was|have|had)(?:\s(?:not|never)|n['’o]|\salso\snot)|cannot"
    r"|never"
    r"|refuse|decline|always|usually|often|normally|typically|rarely|used\sto|would|could|might|found|saw|quote|cite|got|wrote|said|ignore|was|am|want(?!\sto\b)"
    r"|(?:just\s|already\s|also\s|only\s)?(?:ran|called|used|executed|sent|did|made|copied|pasted|received|heard"
    r"|typed"
    r"|printed|noticed|came|dreamt|read\W{0,3}\Z)|have(?!\sto\b)|had|think|believe|guess|suppose|assume|remember"
    r"|recall"
    r"|(?:should|must|have\sto|try\sto)\s(?:avoid|resist|refuse|decline|stop)|know|see\s(?:this|the\sfollowing"
    r"|it)|can\s(?:show|explain|describe)|(?:take|took)\sback|withdraw"
    r"|retract|regret"
    r"|suggest|propose|recommend|advise|discard|abandon|see\b|notice|expect|observe|hear|understand|hope|fear"
    r"|wonder|doubt"
    r"|keep\s\w{2,12}ing|still\s(?:see|get|have)|hereby|agree|disagree|object|mean\b|await|offer|prefer|ask\b"
    r"|request\b"
    r"|(?:need|want)\s(?:you|your)\b"
    r"|(?:\w{1,14}ly\s|just\s|already\s|then\s|also\s)?"
    r"(?!need|feed|proceed|speed|seed|embed|shed)\w{2,14}ed\b(?![^.!?]{0,80}\bto\s(?:run|do|clean)\snow\b)"
)
_ING = (
    r"(?!(?:training|tuning|failing|passing|resulting)\s(?!the\b|an?\b|on\b|with\b"
    r"|for\b|it\b)|thinking|nothing|something|anything|everything|following|warning|during|according"
    r"|using:|reading:|listing\s\d|pending|awaiting|showing|printing|quoting|explaining|describing|regarding"
    r"|concerning"
    r"|remaining|missing|meaning|existing|being|having|simulating|imagining|supposing|repeating|reciting|citing)"
    r"[A-Za-z]{2,12}ing\b(?!(?:\s(?!if\b|whether\b|wh\w{1,4}\b|how\b|that\b)[^\s.,;:]{1,30}){0,6}"
    r"\s(?:would|could|might|makes|deletes|removes|destroys|wipes|leads|means|gives|gave|looks|results"
    r"|fails|failed|crash\w{0,2}"
    r"|returns|returned|shows|showed|reveals|revealed|yields|yielded|produces|produced|throws|threw"
    r"|raises|breaks|broke"
    r"|is|was|are|were|requires|takes|changes|becomes|costs|helps)\b)"
)
"""An action that goes on."""
_ANNOUNCEMENTS = {
    "English": (
        r"\b(?:let\s(?:me|us)|let['’]?s)\b(?!\snot\b)|\bi(?:['’]ll|['’]m)\b(?!\s(?:not|never|refus|declin|afraid"
        r"|sorry|unable))"
        rf"|(?<!which\s)(?<!that\s)(?<!what\s)\bi\s(?!{_NOT_BEGUN})(?=\w)|\b(?:we\s(?:can\s(?:now\s|just\s|also\s)?(?:{_DOING})\b|need(?!\san?\b|\syour?\b)"
        rf"|should(?!\s(?:reject|refuse|avoid|expect|see))|look|run|check))\b"
    ),
    "what is wanted": (
        r"(?:\A\W{0,6}|[,;:–—]\s|\b(?:since|because|as|and|but|so|if)\s)(?:the\s)?(?:user|you) (?:want(?:s"
        r"|ed)?|asked|needs?) (?:(?:me|us) to\b(?! (?:print|repeat|quote|explain"
        r"|describe|show) )"
        r"|to (?!know\b|(?:see|have|get) (?:an?|the raw|what|how)\b))|\bi(?:\swould|['’]d)\slike\sto\b"
        r"|\bwe(?:['’]ll|['’]re)\b(?!\s(?:get|see|receive|have|find|end)\b)|\A\W{0,6}next\sstep:"
    ),
    "an action that goes on": rf"\A\W{{0,6}}{_ING}(?![^.!?]{{1,60}},\s(?:it|one|this|that|you|there)\b)",
    "German": (
        r"(?<!habe\s)(?<!hatte\s)\bich\s(?!w[üu]rde|sehe\b(?! mir)|brauche|rate\b|empfehle|warte\sauf|bitte\b"
        r"|schlage|zitiere"
        r"|werde\b[^.]{0,30}\bnicht|habe)(?=\w)|\b(?:ich werde|schauen wir|lass(?:t|en)?) "
    ),
    "French, Spanish, Portuguese, Italian": (
        r"\b(?:je\s(?!ne\b|n|(?:te\s|vous\s)?(?:montre|laisse|vois|déconseille|recommande|propose|cite|explique"
        r"|suggère))(?=\w)|j['’](?!attend)|voyons|regardons|d[ée]jame|voy a|veamos|vamos a|vou\b|deixe-me"
        r"|vejamos|vediamo|controllo)"
    ),
    "verbs in the first person": (
        r"\A\W{0,6}(?:(?:ejecut|elimin|borr|limpi|revis|compruéb|compruebo|lanz|prueb|actualiz|edit|instal"
        r"|busc|abr|execut|remov|apag"
        r"|limp|lei|verific|esegu|rimuov|cancell|pulisc|legg|apr|cerc|lanci|prov|aggiorn|modific|install|avvi|cre)o"
        r"|(?!цитир|показыв|привож|повтор|объясн)[а-я]{2,14}(?:аю|яю|ую|юю|шу|жу|чу)"
        r"|(?!cytuj|pokazuj|podaj|przytacz|powtarz)[a-ząćęłńóśźż]{3,14}(?:am|ę))\b"
    ),
    "Russian": (
        r"\b(?:я|давайте|посмотр\w{1,4}|проверю|нужно|надо)\s(?!не\b|бы\b"
        r"|ваше|твоё|твое|виж)"
    ),
    "Dutch, Swedish, Danish, Norwegian": r"\b(?:ik (?!zal niet)|laat me|jag|jeg|låt mig|lad mig|la meg)",
    "Polish, Czech, Turkish": (
        r"\b(?:sprawdz\w{1,3}|zobacz\w{1,3}|uruchomi\w{1,2}|podív\w{1,3}|zkontroluj\w{1,2}"
        r"|bakay\w{1,3}|kontrol ed\w{1,6})"
    ),
    "Vietnamese, Indonesian": r"\b(?:tôi sẽ|để tôi|hãy|saya akan|mari kita|biarkan saya)\b",
    "Chinese": r"让我|讓我|我来|我來|我将|我將|我会|我會|我先|看一下|看看"
    r"|我要|我需要|(?:\A|[\s,，、;；:：我先来來去并並就再在始])"
    r"(?:[检檢]查|查看|运行|運行|执行|執行|删除|刪除|读取|讀取|修改|创建|創建|搜索)",
    "Arabic, Hebrew": r"(?:\A|\s)(?:سأ|دعني)|(?:אני|בוא)\b",
    "Hindi, Thai": r"मैं|चलो|(?:ฉัน|ผม|ขอ|จะ|เดี๋ยว)",
    "Japanese": r"見てみ|確認し|しましょう|してみ|(?<!任せ)します",
    "Korean": r"볼게요|(?<!않)(?<!맡기)겠습니다|할게요|합니다",
}
"""Words with which a model announces that it acts now."""

_FAINT = {
    "what comes next": (
        r"\A\W{0,6}(?:now|next|first|then|finally)\b(?!,?\s(?:you|your|week|month|year|sprint|session|release"
        r"|time|the\s\w{1,16}['’]s|comes?)\b"
        r"|,?\s(?:the\s|an?\s|this\s)?(?:second\s|other\s|next\s)?(?:wrong|bad|old|incorrect|broken|example"
        r"|sample|correct)\b"
        r"|,?\s(?:look|consider|compare|see|read)\b[^.!?]{0,20}\b(?:this|that|these|example|sample|version"
        r"|call)s?\W{0,3}\Z)"
        r"|\b(?:jetzt|als n[äa]chstes|zuerst|dann|nun|ora|d['’]abord|ensuite|maintenant|primero|ahora|luego|primeiro"
        r"|agora|depois|prima|poi|сейчас|сначала|теперь|далее|затем|nu|nå|teraz|najpierw|nejprve|şimdi|önce|bây giờ"
        r"|sekarang|الآن|עכשיו|अब)\b|接下来|接下來|现在|現在|首先|然后|然後|继续|繼續|(?:\A|[,，。、])最[后後]|下一步|步骤|步驟|まず|次に"
    ),
    "what comes now": (
        r"\b(?:steps?|phase|fix(?:es)?|try|plan|todo|tasks?|action|commands?|tool ?calls?|function calls?|way to)"
        r"\s?(?:\d{1,3}(?:/\d{1,3})?)?\W{0,6}(?=:|\s(?:is|are)(?:\sto\b|\s\w{2,12}ing\b|\W{0,3}\Z))|\b(?:thing"
        r"|way) to do\b"
        r"|\bthis (?:will|should)\b(?!\s(?:not\s|never\s)?(?:be|crash|break|fail|trigger|confuse|look"
        r"|give)\b)|\bhere (?:goes|we go)\b|\bgo(?:es)? ahead\b|\bcorrect one\b"
        r"|\bbut (?:first|now|then)\b|\A\W{0,6}but this\b|\bbetter (?:this|that)\b"
        r"|,\s(?:just|only)\b|(?:,\sso|\byet)\W{0,3}\Z"
        r"|\bado\b"
    ),
    "an order": (
        r"\A\W{0,6}(?!do(?:\snot|n['’]t)|[^!?:]{1,60}\b(?:this|the following|these)\b|make\sthe\s(?:model"
        r"|agent|assistant)"
        r"|[^.!?:]{1,60}\s(?:to|with|as|in)\W{0,3}\Z|see (?:the|this|also|how|what|that|where)|test (?:case"
        r"|input|string|data|fixture|output)|commit (?:message|id))"
        rf"(?:{_DOING}|clean|remove|delete|create|add|install|build|start|set|make|move|rename|commit)\b"
    ),
    "an action after other words": rf"[,;–—]\s\W{{0,6}}{_ING}|\binstead(?!\sof)\b",
}
"""Words that often announce an action, but appear in descriptions too."""

_others_act = re.compile(
    r"\A\W{0,6}(?:the|an?|this|that|every|each|our)\s(?:\w{1,14}\s){0,1}(?:model|assistant|agent|bot|answer|reply"
    r"|turn|transcript|prompt|page|completion)(?:['’]s|s)?\s(?!files?\b|tests?\b)[^,;:–—]{1,160}\Z|"
    r"\A[^。！？]{0,12}(?:モデル|エージェント|アシスタント|サーバー|クライアント|ユーザー|ページ|ログ|パーサー?)[はが]"
    r"|(?:모델|에이전트|어시스턴트|서버|클라이언트|사용자|페이지|로그|파서)[은는이가]\s"
    r"|\A\W{0,4}(?:模型|助手|代理|用户|用戶|服务器|客户端|页面|网页|日志|解析器)(?!文件|的)[^我]{1,160}\Z",
    re.IGNORECASE,
)
"""A sentence about what a model, a text or a program does."""
_QUOTES = ('"', "“", "„", "«", "「", "‘")
_announcement = re.compile(
    "|".join([*_ANNOUNCEMENTS.values(), f"(?P<faint>{'|'.join(_FAINT.values())})"]), re.IGNORECASE
)
_only_told = re.compile(
    r"(?:\W{0,3}\w{1,12}){0,2}\W{0,3}\b(?:(?:quot|explain|cit(?:e|ing)|demonstrat|illustrat|describ|past(?:e|ing)"
    r"|translat|think|decid|weigh|compar|consider)"
    r"\w{0,6}|repeat\W{0,3}\Z|(?:show|print|repeat|giv)\w{0,4}\s(?:you\s)?(?:it|this|them|how|what|the\s(?:text"
    r"|format|syntax|call)"
    r"|an?\sexample)\b|writ\w{0,4}\s(?:it|this)\s(?:out|down)\b|show(?:ing)?(?:\syou)?\W{0,3}\Z)",
    re.IGNORECASE,
)
"""Right after an announcement, before a colon: the model only quotes, explains or shows something."""
_by_somebody_else = re.compile(
    r"\byourself\b|\byour (?:machine|terminal|shell|computer|own)\b|\bmanually\b|\bby hand\b"
    r"|\bto you\b|\breview\b|\bbefore i\b|\A\W{0,6}is it\b"
    r"|\b(?:if|once|when|after|unless|until) (?:the user|you|they|he|she)\b",
    re.IGNORECASE,
)
_acts = re.compile(
    rf"(?:{_DOING}|now|next|then|first|second|finally|last|ok|okay|sure|so|step|action|command|tool|call|tool_call"
    r"|function|here|again|also|and|or|but|done|well|right|great|good|perfect|alright|yes|thanks|court|course|plan"
    r"|task|todo|goal|solution|jetzt|dann|erst|weiter|ahora|luego|maintenant|ensuite|agora|ora|poi|сейчас|теперь"
    r"|далее|сначала"
    r"|(?!docstring|string|simulating|imagining)[a-z]{2,14}ing)\Z",
    re.IGNORECASE,
)
"""A single word before a colon with which a model begins to act; any other names a speaker or a key of data."""


def tells(sentence: str) -> bool:
    """Whether the sentence announces a text instead of an action."""
    found = _announcement.search(sentence)
    return found is not None and telling.is_announced(sentence, found.end())


def find(sentence: str, begin: int = 0) -> re.Match[str] | None:
    """The first words from `begin` on that announce an action, not just a text; faint ones if there are no others."""
    if _others_act.search(sentence) is not None:
        return None
    faint = None
    for found in _announcement.finditer(sentence, begin):
        quoted = sentence[found.start() - 1 : found.start()] in _QUOTES
        if quoted or telling.is_announced(sentence, found.end()):
            continue
        if found["faint"] is None:
            return found
        faint = faint or found
    return faint


def only_tells(sentence: str, announced: int) -> bool:
    """Whether the model only quotes or explains, or others are to act. `announced`: where the announcement ends."""
    return _by_somebody_else.search(sentence) is not None or _only_told.match(sentence, announced) is not None


def begins_to_act(word: str) -> bool:
    """Whether a model begins to act with this word and a colon; any other word names a speaker or a key of data."""
    return _acts.match(word) is not None
