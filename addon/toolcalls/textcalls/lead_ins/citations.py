"""Words of citing, of examples and of what might be, by language."""

from __future__ import annotations

import re

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

_citation = re.compile("|".join(_CITATIONS.values()), re.IGNORECASE)


def cites(sentence: str) -> bool:
    """Does it cite somebody, give an example or say what might be?"""
    return _citation.search(sentence) is not None
