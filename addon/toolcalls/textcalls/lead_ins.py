"""What is said right before a call: that it is made now, or that it is refused, cited or an example.

The words are data, by language. Only the last sentence before the call counts, up to a colon or to the call itself;
words of announcing beat those of citing ("let me see what the page says:"), and behind a refusal they turn it round.
A sentence that nobody knows announces the call, unless it ends with a colon: that shows what follows ("The page ends
with:"), so it has to say that something is done now, or breaks off before what it speaks about ("Last time I ran").
Doubt whether it should be done at all ("No, wait.") makes it a thought, and a title ("Appendix A") shows it.
A question about what follows is none that a call answers, and what is said outright counts with a full stop as well.
"""

from __future__ import annotations

import re

from . import consent, doubts, look_alikes, outright, titles

KEPT = 160
"""So much of a paragraph shows what its last sentence says."""

_DOING = (
    "check|look|read|run|list|search|find|open|see|inspect|verify|test|try|get|fetch|view|examine|write|edit|fix"
    "|apply|update|call|do"
)
"""What a model does by a call, as an order to itself."""
_NEGATED = (
    r"(?:do(?:es)?|did|will|would|wo|should|must|could|can|may|is|was|are|were)(?: ?n[o'’]?t|n[’']t)|cannot|never|not"
    r"|refus(?:e|ed|es|ing)|declin(?:e|ed|es|ing)|avoid(?:ed|s)?|stop|without|instead of|rather than"
    r"|(?:am|are|is|was|were) (?:un(?:able|willing)|forbidden|not (?:allowed|able|going))"
)
_RUN = (
    r"run|ran|running|executed?|executing|call(?:ed|ing)?|us(?:e|ed|ing)|do(?:ne|ing)?|issu(?:e|ed|ing)|sen[dt]"
    r"|sending"
    r"|invok(?:e|ed|ing)|try|tried|trying|enter|cop(?:y|ied)|pasted?|submit(?:ted)?|perform(?:ed|ing)?|emit(?:ted)?"
    r"|follow(?:ed|ing)?|trust|obey|comply|carry out|make|making|type"
)

_REFUSALS = {
    "English": (
        rf"\b(?:{_NEGATED})\s(?:[\w'’-]{{1,20}}\s){{0,3}}(?:{_RUN})\b"
        r"|\b(?:malicious|hostile|forbidden|prohibited|harmful|prompt injections?|injected)\b"
    ),
    "German": (
        r"\b(?:nicht|nie|niemals|keinesfalls|kein(?:e[nmrs]?)?)\b[^.!?]{0,40}(?:aus|ausf[üu]hr\w{0,6}|ausgef[üu]hrt"
        r"|aufruf\w{0,4}|mach\w{0,4}|tun|verwend\w{0,4}|benutz\w{0,4}|befolg\w{0,4})\b"
    ),
    "French": r"\b(?:ne |n['’])[^.!?]{0,30}\b(?:pas|jamais)\b|\bne (?:pas|jamais) \w",
    "Spanish, Portuguese, Italian": (
        r"\b(?:no|nunca|jam[áa]s|não|non|mai)\s(?:[\w-]{1,12}\s){0,3}"
        r"(?:ejecut|corr|llam|us|hag|hac|sig|execut|rod|cham|faç|faz|esegu|lanci|chiam|fare?\b|segu)"
    ),
    "Dutch": r"\b(?:niet|nooit)\b[^.!?]{0,30}(?:uit|uitvoer\w{0,4}|gebruik\w{0,4}|doen?)\b",
    "Polish": r"\b(?:nie|nigdy(?: nie)?)\s(?:\w{1,12}\s){0,2}(?:uruch|wykon|wywo|używ|rób)",
    "Turkish": r"çalıştırma|kullanma\b|yapma\b",
    "Swedish, Danish, Norwegian": (
        r"\b(?:inte|ikke|aldrig?)\b[^.!?]{0,30}\b(?:kör|kjør|kør|utför|utfør|udfør|anrop|använd|bruk|gör|gjør)"
        r"|\b(?:kör|kjør|kør|utför|utfør|udfør|gör|gjør)\w{0,3}\s(?:\w{1,10}\s)?(?:inte|ikke)\b"
    ),
    "Romanian": r"\bnu\s(?:[\w-]{1,10}\s){0,3}(?:rul|execut|lans|apel|fac)",
    "Vietnamese": r"\b(?:không|đừng|chớ)\s(?:[^\W\d]{1,10}\s){0,3}(?:chạy|thực|gọi|dùng|làm)",
    "Hindi, Thai": (r"नहीं\s(?:\S{1,12}\s){0,2}(?:चला|कर)|मत\s(?:चला|कर)|(?:ไม่|อย่า)(?:รัน|เรียก|ใช้|ทำ|ดำเนิน)"),
    "Hebrew": r"(?:לא|אל)\s(?:אריץ|אבצע|אפעיל|להריץ|לבצע|להפעיל|תריץ|תבצע|תפעיל)",
    "Russian": (
        r"\b(?:не|никогда не|нельзя)\s(?:[\w-]{1,16}\s){0,3}"
        r"(?:выполн|запуск|запуст|вызыв|вызв|использ|дела|следу|буду|стану)"
    ),
    "Chinese": (
        r"(?:不要|不会|不會|不能|不可|不应|不應|不得|别|別|请勿|請勿|切勿|禁止|绝不|絕不|从不|拒绝|拒絕|并未|没有|沒有)"
        r"[^。！？]{0,12}(?:运行|運行|执行|執行|调用|調用|呼叫|使用|这样|這樣|照做|照着)"
    ),
    "Japanese": (
        r"(?:実行|呼び出|使用|使わ|従)[^。！？]{0,10}(?:ないで|ません|なかった|てはいけ|てはなら|べきでは|禁止)|実行するな"
    ),
    "Korean": r"(?:실행|호출|사용)[^.!?]{0,10}(?:마세요|마십시오|말|않|금지|안 )|하지 ?(?:마|않)",
    "Arabic": r"لا (?:تشغل|تنفذ|تقم|تستخدم|أنفذ|تفعل)|لن أ",
}
"""Negations together with what is done to a call."""

_SOURCES = (
    r"pages?|documents?|documentation|docs?|manual|readme|files?|(?:web ?)?sites?|guides?|tutorials?|comments?"
    r"|issues?|tickets?|posts?|threads?|e-?mails?|mails?|messages?|letters?|logs?|output|snippets?|prompts?|articles?"
    r"|spec(?:ification)?s?|templates?|transcripts?|attackers?|authors?|texts?|lines?|it|they|he|she|somebody|someone"
    r"|models?|bots?|assistants?|scripts?|servers?|tools?|results?|calls?|which|that"
)
_SAYS = (
    r"says?|said|reads?|states?|stated|writes?|wrote|written|tells?|told|contain(?:s|ed)?|shows?|showed|shown|has|had"
    r"|prints?|printed|returned|recommends?|suggests?|suggested|claims?|claimed|asks?|asked|wants|instructs?|demands?"
    r"|begins?|ends?"
)
_WROTE = (
    r"wrote|posted|replied|returned|schrieb|a écrit|escribió|escreveu|ha scritto|schreef|napisał\w?|написал\w?|yazdı"
)
_CITATIONS = {
    "who says it": (
        rf"\b(?:{_SOURCES})\s(?:[\w'’-]{{1,20}}\s){{0,4}}(?:{_SAYS})\b|\b\w{{1,20}} said\b"
        rf"|\bfrom (?:the|an?) (?:[\w-]{{1,20}} )?(?:{_SOURCES})\b|\b(?:{_WROTE})\b"
    ),
    "an example": (
        r"\b(?:for (?:example|instance)|such as|hypothetical(?:ly)?|in theory|imagine|suppose|pretend)\b"
        r"|\bas (?:follows|in)\b|\be\.g\.|\bexamples?\b|\bsamples?\b|\blike (?:this|so|these)\b"
        r"|\b(?:looks?|looked|something) (?:\w{1,12} )?like\b|\bhow (?:to|a|an|the|one|you)\b"
        r"|\b(?:syntax|format|notation|markup|usage|form) (?:is|of|for|was)\b"
    ),
    "what might be": (
        r"\b(?:one|you|they|someone|I) (?:would|could|might|may|can|should|['’]d) (?:\w{1,12} ){0,2}"
        r"(?:run|write|say|call|send|use|type|issue|do|have)\b"
    ),
    "a quotation": (
        r"\b(?:quot(?:e|es|ed|ing|ation)|excerpt|verbatim|cited|leaked|pasted)\b"
        r"|\b(?:ignor(?:e|ed|ing)|skipp(?:ed|ing)) (?:this|these|the|that)\b"
    ),
    "German": (
        r"\b(?:zum beispiel|z\. ?b\.|beispiel\w{0,8}|steht|lautet|s[äi]e?ht so aus|etwa so"
        r"|(?:doku\w{0,12}|seite|datei|log|text|er|sie|es) (?:\w{1,12} )?(?:sagt|schreibt|zeigt|enthält|empfiehlt))"
    ),
    "French, Spanish, Portuguese, Italian": (
        r"\b(?:exemple|ejemplo|exemplo|esempio|p\. ?e[jx]\.)"
        r"|\b(?:documenta[a-zçãóé]{2,6}|page|página|pagina|fichier|archivo|arquivo|file|texte?o?|on) (?:\w{1,12} )?"
        r"(?:dit|indique|affiche|contient|dice|muestra|contiene|indica|diz|mostra|contém)\b"
    ),
    "Dutch, Polish, Turkish": r"\b(?:bijvoorbeeld|voorbeeld|na przykład|np\.|przykład\w{0,3}|örneğin|örnek|mesela)",
    "Swedish, Danish, Norwegian, Czech, Romanian": (
        r"\b(?:exempel|t\.ex\.|eksempel|f\.eks|například|příklad|exemplu)"
    ),
    "Vietnamese, Indonesian, Hindi, Thai, Hebrew": (
        r"\b(?:ví dụ|chẳng hạn|contoh|misalnya)|उदाहरण|ตัวอย่าง|לדוגמה|דוגמה"
    ),
    "Russian": r"\b(?:например|пример\w{0,3}|к примеру|говорит|говорится|написано|гласит|сказано|пишет)\b",
    "Chinese": (
        r"例如|比如|譬如|举例|舉例|示例|範例|例子|[文页頁][档檔件面][^。]{0,6}[说說写寫显示]|写着|寫著|写道|寫道"
        r"|内容(?:是|为|如下)|输出(?:是|为|如下)"
    ),
    "Japanese": r"例えば|たとえば|例[:：]|次のように|書かれて|書いてあ|とあります",
    "Korean": r"예를 ?들|예시|예[:：]|(?:라고|이렇게) ?(?:써|적|쓰|되어)|문서(?:에는|는|에)",
    "Arabic": r"مثلا|على سبيل|تقول|مكتوب",
}
"""Words of citing, of examples and of what might be."""

_NOT_BEGUN = (
    r"(?:do|did|would|will|wo|could|ca|must|should|am|was|have|had)(?:\s(?:not|never)|n['’o]|\salso\snot)|cannot"
    r"|never"
    r"|refuse|decline|would|could|might|found|saw|quote|cite|got|wrote|said|ignore|was|am|want(?!\sto\b)"
    r"|(?:just\s|already\s|also\s|only\s)?(?:ran|called|used|executed|sent|did|made|copied|pasted|received|heard"
    r"|typed"
    r"|printed|noticed|came|dreamt|read\W{0,3}\Z)|have(?!\sto\b)|had|think|believe|guess|suppose|assume|remember"
    r"|recall"
    r"|know|see\s(?:this|the\sfollowing|it)|can\s(?:show|explain|describe)"
)
_ANNOUNCEMENTS = {
    "English": (
        r"\blet['’]?s?\s(?:me|us)?\b|\bi(?:['’]ll|['’]m)\b(?!\s(?:not|never|refus|declin))"
        rf"|\bi\s(?!{_NOT_BEGUN})\w|\b(?:instead(?!\sof)|we\s(?:can|need|should|look|run|check|see))\b"
        r"|\A\W{0,6}(?:now|next|first|then|finally)\b"
    ),
    "what comes now": (
        r"\b(?:steps?|phase|fix(?:es)?|try|plan|todo|tasks?|action|commands?|tool ?calls?|function calls?|way to)"
        r"\s?(?:\d{1,3}(?:/\d{1,3})?)?\W{0,6}(?=:|\s(?:is|are)\b)|\b(?:thing|way) to do\b"
        r"|\bthis (?:will|should)\b|\bhere (?:goes|we go)\b|\bgo(?:es)? ahead\b|\bcorrect one\b"
        r"|\b(?:user|you) (?:want(?:s|ed)?|asked|needs?) (?:me|us|to)\b|\bi(?:\swould|['’]d)\slike\sto\b"
        r"|\bbut (?:first|now|then|this)\b|\bbetter (?:this|that)\b|,\s(?:just|only)\b|(?:,\sso|\byet)\W{0,3}\Z"
        r"|\bwe(?:['’]ll|['’]re)\b|\bado\b"
    ),
    "an action that goes on": (
        r"(?:\A|[,;–—]\s)\W{0,6}(?!thinking|nothing|something|anything|everything|following|warning|during|according"
        r"|using:|reading:|listing\s\d|pending|awaiting|showing|printing|quoting|explaining|describing|regarding"
        r"|concerning"
        r"|remaining|missing|meaning|existing|being|having|simulating|imagining|supposing)[A-Za-z]{2,12}ing\b"
    ),
    "an order": (
        r"\A\W{0,6}(?!see (?:the|this|also)|test (?:case|input|string|data|fixture|output)|commit (?:message|id))"
        rf"(?:{_DOING}|clean|remove|delete|create|add|install|build|start|set|make|move|rename|commit)\b"
    ),
    "German": (
        r"\bich\s(?!w[üu]rde|werde\b[^.]{0,30}\bnicht|habe)\w|\b(?:ich werde|jetzt|schauen wir|lass(?:t|en)?) "
        r"|\b(?:als n[äa]chstes|zuerst|dann|nun)\b"
    ),
    "French, Spanish, Portuguese, Italian": (
        r"\b(?:je\s(?!ne\b|n)\w|j['’]|voyons|regardons|d[ée]jame|voy a|veamos|vamos a|vou|deixe-me|vejamos|vediamo"
        r"|controllo|ora |d['’]abord|ensuite|maintenant|primero|ahora|luego|primeiro|agora|depois|prima |poi )"
    ),
    "Russian": r"\b(?:я|сейчас|давайте|посмотр\w{1,4}|проверю|сначала|теперь|далее|затем|нужно|надо)\s(?!не\b|бы\b)",
    "Dutch, Swedish, Danish, Norwegian": r"\b(?:ik (?!zal niet)|laat me|jag|jeg|låt mig|lad mig|la meg|nu |nå )",
    "Polish, Czech, Turkish": (
        r"\b(?:sprawdz\w{1,3}|zobacz\w{1,3}|uruchomi\w{1,2}|teraz|najpierw|podív\w{1,3}|zkontroluj\w{1,2}|nejprve"
        r"|bakay\w{1,3}|şimdi|önce|kontrol ed\w{1,6})"
    ),
    "Vietnamese, Indonesian": r"\b(?:tôi sẽ|để tôi|hãy|bây giờ|saya akan|mari kita|biarkan saya|sekarang)\b",
    "Chinese": r"让我|讓我|我来|我來|我将|我將|我会|我會|我先|接下来|接下來|现在|現在|看一下|看看"
    r"|我要|我需要|首先|然后|然後|最后|最後|下一步|步骤|步驟|[检檢]查|查看|运行|運行|执行|執行|删除|刪除|读取|讀取"
    r"|修改|创建|創建|搜索",
    "Japanese, Korean": r"見てみ|確認し|しましょう|してみ|します|まず|次に|볼게요|(?<!않)겠습니다|할게요|합니다",
}
"""Words with which a model says that it acts now."""

_refusal = re.compile("|".join(_REFUSALS.values()), re.IGNORECASE)
_citation = re.compile("|".join(_CITATIONS.values()), re.IGNORECASE)
_announcement = re.compile("|".join(_ANNOUNCEMENTS.values()), re.IGNORECASE)
_showing = re.compile(
    r"(?:\W{0,3}\w{1,20}){0,2}\W{0,3}\b(?:(?:show|quot|explain|cite|demonstrat|illustrat|describ|paste|zitier|zeig"
    r"|erklär|montr|expliqu|muestr|mostr|explic|spieg)|покаж|процитир|объясн|展示|解释|解釋|说明|說明|引用|演示|示范|説明)",
    re.IGNORECASE,
)
"""Right behind words of announcing: what is announced is no call, but an example."""
_ONLY_TOLD = re.compile(
    r"(?:\W{0,3}\w{1,12}){0,2}\W{0,3}\b(?:(?:quot|explain|cit(?:e|ing)|demonstrat|illustrat|describ|past(?:e|ing)"
    r"|translat|think|decid|weigh|compar|consider)"
    r"\w{0,6}|repeat\W{0,3}\Z|(?:show|print|repeat|giv)\w{0,4}\s(?:you\s)?(?:it|this|them|how|what|the\s(?:text"
    r"|format|syntax|call)"
    r"|an?\sexample)\b|writ\w{0,4}\s(?:it|this)\s(?:out|down)\b|show(?:ing)?(?:\syou)?\W{0,3}\Z)",
    re.IGNORECASE,
)
"""Right behind words of announcing, before a colon: what is done is to tell something."""
_question_mark = re.compile(r"[?？]\W{0,3}\Z")
_CROSSES = ("❌", "🚫", "⛔", "✗", "✘")
"""Marks that stand before what must not be done."""
_foreign_script = re.compile(r"[\u0530-\u10ff\u1200-\u2dff\ua000-\uabff]")
"""Letters of languages whose words of announcing are not in the table."""
_by_somebody_else = re.compile(
    r"\byourself\b|\byour (?:machine|terminal|shell|computer|own)\b|\bmanually\b|\bby hand\b"
    r"|\bto you\b|\breview\b|\bbefore i\b|\A\W{0,6}is it\b"
    r"|\b(?:if|once|when|after|unless|until) (?:the user|you|they|he|she)\b",
    re.IGNORECASE,
)
_checking = re.compile(
    r"\b(?:verify|check|make sure|ensure|confirm|find out|whether|why|prüf\w{0,3}|vérifi\w{1,3}|verific\w{1,3}"
    r"|провер\w{1,3})\b|检查|確認|确认",
    re.IGNORECASE,
)
"""Before a refusal: it is what is checked that must not happen."""
_sentence_end = re.compile(
    r"(?:(?<![ .(][^\W\d])\.|[!?])['\")\]*_]{0,3}\s|[。！？]|\n\s{0,8}(?=[-*+•]\s|\d{1,3}[.)]\s)"
)
"""Where a sentence ends, or an item of a list begins."""
_abbreviated = re.compile(r"\b(?:e\.g|z\. ?b|p\. ?e[jx]|np|i\.e|cf|viz|vs|namely)\.\Z", re.IGNORECASE)
_needs_an_object = re.compile(
    r"\b(?:is|are|was|were|be|been|to|for|of|with|than|as|like|about|from|by|into|via|if|that|whether|maybe|perhaps"
    r"|r[au]n(?:ning|s)?|call(?:s|ed|ing)?|execut(?:e|es|ed|ing)|invok(?:e|es|ed|ing)|emit(?:s|ted)?|sends?|sent"
    r"|becomes?|became|reads?|contains?|needs?|tr(?:y|ied)|outputs?|prints?|printed|expects?|expected|gives?|gave"
    r"|wrote|writes?|quot(?:e|es|ed))\W{0,3}\Z",
    re.IGNORECASE,
)
"""At the end of a sentence that is not over: the call below is what it speaks about ("The wrong way is", "Maybe")."""
_of_this = re.compile(
    r"\b(?:this|these|the following|such|below|what follows|das hier|detta|dette|này|đó|ceci|esto|isto|questo|это)\b",
    re.IGNORECASE,
)

_THINGS = (
    r"examples?|samples?|outputs?|results?|response|stdout|stderr|prompts?|transcripts?|logs?|usage|syntax|formats?"
    r"|page|documents?|contents?|quot(?:e|es|ation)|excerpts?|snippets?|errors?|exceptions?|warnings?|messages?"
    r"|inputs?"
    r"|originals?|before|after|wrong|bad|incorrect|good|correct|right|don['’]?ts?|dos|instructions?|templates?|diff"
    r"|patch|source|text|data|body|comments?|observations?|conversations?|dialog(?:ue)?s?|history|questions?|answers?"
    r"|user|human|assistant|system|tool|model|notes?|beispiele?|ausgabe|exemples?|sortie|ejemplos?|salida|exemplos?"
    r"|sa[ií]da|esempio|примеры?|вывод|示例|例子|输出|输入|結果|例|出力|예시|출력"
)
_label = re.compile(
    rf"(?:[\w/'’-]{{1,24}}\s){{0,2}}(?:{_THINGS})(?:\s?#?\d{{1,4}}|\s\([^()]{{1,24}}\)|\s[a-z]\b)?\W{{0,6}}\Z",
    re.IGNORECASE,
)
"""A label that names what is shown below it: the output, the prompt, an example."""
_DECORATION = "#*_~=[]()<>`❌✅⚠\ufe0f \t"
"""What stands around the words of a label."""
_one_word = re.compile(r"[A-Za-zÀ-ɏЀ-ӿ][\w./@-]{0,40}(?=\W{0,4}:\W{0,4}\Z)")
_acts = re.compile(
    rf"(?:{_DOING}|now|next|then|first|second|finally|last|ok|okay|sure|so|step|action|command|tool|call|tool_call"
    r"|function|here|again|also|and|or|but|done|well|right|great|good|perfect|alright|yes|thanks|court|course|plan"
    r"|task|todo|goal|solution|jetzt|dann|erst|weiter|ahora|luego|maintenant|ensuite|agora|ora|poi|сейчас|теперь"
    r"|далее|сначала"
    r"|(?!docstring|string|simulating|imagining)[a-z]{2,14}ing)\Z",
    re.IGNORECASE,
)
"""One word before a colon with which a model begins to act; any other names who speaks, or a key of data."""


def shows(paragraph: str) -> bool:
    """Does this paragraph, up to a call, say that the call is refused, cited, or an example?"""
    said = look_alikes.fold(paragraph).rstrip()
    sentence = _last_sentence(said)
    if not sentence:
        return said[-1:] in _CROSSES
    line = said.rpartition("\n")[2].strip()
    label = line.strip(_DECORATION)
    word = _one_word.match(label)
    if word is not None and _acts.match(word[0]) is None:
        return True
    if titles.somebody_speaks(line) or outright.is_final(sentence):
        return True
    announcement = _announcement.search(sentence)
    if titles.is_bare(said, announced=announcement is not None) or _abbreviated.search(said) is not None:
        return True
    if announcement is None and outright.shows(sentence):
        return True
    refused = outright.find(sentence)
    if refused is not None and _announcement.search(sentence, refused.end()) is None:
        return True
    if announcement is None and (titles.is_title(label) or titles.is_title(sentence)):
        return True
    doubt = doubts.find(sentence)
    if doubt is not None and _announcement.search(sentence, doubt.end()) is None:
        return True
    titled = line[0] in _DECORATION or label.endswith((":", "："))
    if announcement is None and titled and _label.match(label) is not None:
        return True
    if _question_mark.search(said) is not None:
        return consent.asks(sentence)
    if word is None and label.endswith((":", "：")) and _foreign_script.search(sentence) is None:
        if announcement is None or _by_somebody_else.search(sentence) is not None:
            return True
        if _ONLY_TOLD.match(sentence, announcement.end()) is not None:
            return True
    ended = said[-1] in ".!?。！？"
    refusal = _refusal.search(sentence)
    if refusal is not None and _announcement.search(sentence, refusal.end()) is None:
        if _checking.search(sentence, 0, refusal.start()) is not None:
            return False
        return not ended or _of_this.search(sentence) is not None
    if announcement is None and not ended and _needs_an_object.search(sentence) is not None:
        return True
    if ended or _citation.search(sentence) is None:
        return False
    return announcement is None or _showing.match(sentence, announcement.end()) is not None


def announces(paragraph: str) -> bool:
    """Does it say anywhere that something is done now?"""
    return _announcement.search(paragraph) is not None


def _last_sentence(said: str) -> str:
    """The last part of a text that has words in it."""
    for stop in reversed([*_sentence_end.finditer(said)]):
        if any(char.isalnum() for char in said[stop.end() :]):
            return said[stop.end() :]
    return said if any(char.isalnum() for char in said) else ""
