"""Recognises announcements: the speaker says, in a main clause, that they act now ("Let me look at the tests first").

An announcement is a form of the first person or of a next step, by language, together with a verb for an act
(`acts`). A sentence about what others do, or what the speaker did, would do or shows, has no such form.
"""

from __future__ import annotations

import re

from .acts import (
    CHINESE,
    DO,
    DOING,
    FRENCH,
    GERMAN,
    ITALIAN,
    JAPANESE,
    KOREAN,
    PORTUGUESE,
    RUSSIAN,
    SPANISH,
)

_HOW = (
    r"(?:(?:now|first|just|also|only|then|next|quickly|simply|finally|instead|again|rather|probably|definitely"
    r"|actually"
    r"|directly|immediately|briefly|carefully|properly|really|at\sleast|start\sby|begin\sby|go\sahead\sand"
    r"|try\sto|try\sand|go\sand|have\sto|need\sto|help\syou|be)\s){0,3}"
)
"""Words between the speaker and the verb."""
_CLAUSE = (
    r"(?:\A\W{0,6}|[,;–—…]\s|\b(?:plan|thought|next|status|check|todo|fix|update|problem|issue|cause|i['’]ll\sdo)\s?\d{0,2}:\s"
    r"|\b(?:so|and|but|then|now|first|next|while|also|finally|instead|therefore|thus|hence|ok"
    r"|okay|alright|sure|well|right|great|lastly|here|again|today|before\sthat)\s|\A\W{0,6}(?:to"
    r"|before)\s[^,.;:]{2,60}\s)"
)
"""Where a main clause may begin."""
_INTEND = (
    r"(?:let\s(?:me|us)|let['’]?s|lemme|gonna|(?:i|we)(?:['’]ll|['’]m\sgoing\sto|['’]re\sgoing\sto|['’]m\sgonna"
    r"|\s(?:will|shall|must|should|am\sgoing\sto|are\sgoing\sto|(?:need|have|want)\sto|would\slike\sto)"
    r"|['’]d\s(?:like\sto|rather|better)))\s"
)
_NOTICE = "see|get|find|know|learn|understand"
_SELDOM = rf"read|set|put|use|call|{_NOTICE}"
"""Verbs whose present is also their past, or with which people tell what they usually do or notice."""
_BEFORE_OR_AFTER = r"now|first|next|then|only|instead|again"
_FINITE = (
    r"(?:is|was|are|were|will|would|could|might|may|can|should|do|does|did|has|had|looks|seems|takes|gives|gave|makes"
    r"|made|means|changes|shows|showed|returns|returned|fails|failed|yields|produces|results|requires|breaks|deletes"
    r"|removes"
    r"|reads|prints|becomes|costs|helps|leads)"
)
_FORMS = {
    "intention": rf"{_CLAUSE}{_INTEND}{_HOW}(?:{DO})\b(?!\syou\b|-)",
    "I do": (
        rf"\b(?:{_BEFORE_OR_AFTER}|so)\s(?:i|we)\s(?!(?:{_NOTICE})\b)(?:{DO})\b|\bnow\s(?:i|we)\scan\s(?:{DO})\b"
        rf"|{_CLAUSE}(?:i|we)\s(?:{_BEFORE_OR_AFTER})\s(?:{DO})\b"
        rf"|{_CLAUSE}(?:i|we)\s(?!(?:{_SELDOM})\b)(?:{DO})\b(?=[^.!?,;:]{{0,60}}\b(?:{_BEFORE_OR_AFTER})\W{{0,4}}\Z"
        r"|(?:\s[^\s,;:]{1,30}){0,5}\W{0,4}\Z)"
    ),
    "I am doing": rf"{_CLAUSE}(?:i(?:['’]m|\sam)|we(?:['’]re|\sare))\s{_HOW}(?:{DOING})\b",
    "doing": (
        rf"(?:\A\W{{0,6}}(?:(?:now|first|then|next|ok|okay|sure|certainly|alright|as\s(?:agreed|requested"
        rf"|you\sasked|discussed|planned)),?\s)?|[;–—]\s|\A\W{{0,6}}(?:got\sit|understood|certainly|sure"
        rf"|no\sproblem|done)\W{{1,3}})"
        rf"(?:{DOING})\b(?![:\s]{{0,2}}\Z|\s\d|\s(?:tags?|brackets?|quotes?|examples?|samples?)\b"
        rf"|[^.!…]{{0,80}}\ban?\s(?!new\b)[^.!…]{{1,60}}\Z|\s[a-z]{{3,20}}s\b[^.!…:]{{0,60}}:\Z)"
        rf"(?!(?:\s(?!if\b|whether\b|wh\w{{1,4}}\b|how\b|that\b)[^\s.,;:]{{1,30}}){{0,8}}(?:\s{_FINITE}|,\s(?:it"
        rf"|this|that|there|one|you|the|we|i|[a-z]{{2,20}}\s{_FINITE}))\b)"
    ),
    "doing it now": rf",\s(?:{DOING})\b(?:[^.!?,;:]{{0,40}}\s(?:now|again|it|why))?\W{{0,4}}\Z",
    "a next step": (
        rf"{_CLAUSE}(?:time\sto|(?:need|going)\sto|(?:(?:the|my|our)\s)?(?:next|first)\s(?:step|thing|thing\sto\sdo)"
        rf"(?:\sis\sto|\shere\sis\sto)|(?:next|now)\sup:?\s(?:the\s)?)\s?{_HOW}(?:{DO})\b"
        rf"|\bthe\s(?:next|first)\s(?:step|thing)(?:\sto\sdo)?\sis\sto\s(?:{DO})\b|\b(?:next"
        rf"|first)\sstep:\s(?:{DO})\b"
    ),
    "German": (
        rf"(?<!dass\s)(?<!was\s)(?<!die\s)(?<!den\s)(?<!wie\s)\bich\s(?:{GERMAN})"
        rf"|\bich\s(?:werde|muss|will|möchte|sollte)\s(?:[\w-]{{1,20}}\s){{0,6}}(?:wissen|(?:{GERMAN})\w{{0,6}}n)\b"
        rf"|(?:\A\W{{0,6}}|\b(?:jetzt|zuerst|dann|nun|danach|nächstes|zunächst)\s|[,;–—]\s)(?:{GERMAN})\w{{0,6}}\s(?:ich|wir)\b"
        rf"|\blass(?:t|en)?\s(?:mich|uns|sie\smich)\b[^.!?]{{0,60}}(?:{GERMAN})"
        rf"|\bwollen\swir\b[^.!?]{{0,20}}\b(?:{GERMAN})|\b(?:ich\slasse|lasse\sich)\b[^.!?]{{0,40}}\blaufen\b"
    ),
    "French": (
        rf"\bje\s(?:(?:vais|dois|veux|voudrais)\s)?(?:(?!n['’]|ne\s)[\w'’]{{1,9}}\s){{0,2}}?(?:l['’])?(?:{FRENCH})"
        rf"|\bj['’](?:{FRENCH})\w{{0,4}}e\b"
        rf"|(?:\A\W{{0,6}}|[,;–—]\s)(?:{FRENCH})\w{{0,5}}ons\b|\blaisse(?:z)?-moi\s(?:\w{{1,8}}\s){{0,2}}(?:{FRENCH})"
    ),
    "Spanish": (
        rf"\b(?:voy\sa|vamos\sa|d[ée]j[ae]me|d[ée]jenme|perm[ií]t[ae]me|necesito|debo"
        rf"|tengo\sque)\s(?:\w{{1,10}}\s)?(?:{SPANISH})"
        rf"|\bestoy\s(?:{SPANISH})\w{{0,4}}ndo\b"
        rf"|(?:\A\W{{0,6}}|\b(?:ahora|primero|luego|después)\W{{1,2}}|\by\s)(?:(?:lo|la|los"
        rf"|las)\s)?(?:{SPANISH})\w{{0,4}}o\b|\A\W{{0,6}}veamos\b"
    ),
    "Portuguese": (
        rf"\b(?:vou|vamos|deixe-me|deixa-me|deix[ae]\seu|preciso|tenho\sque)\s(?:\w{{1,10}}\s)?(?:{PORTUGUESE})"
        rf"|\bestou\s(?:{PORTUGUESE})\w{{0,4}}ndo\b"
        rf"|(?:\A\W{{0,6}}|\b(?:agora|primeiro|depois)\W{{1,2}})(?:{PORTUGUESE})\w{{0,4}}o\b|\A\W{{0,6}}vejamos\b"
    ),
    "Italian": (
        rf"\b(?:lasciami|fammi|devo|vorrei|voglio)\s(?:\w{{1,10}}\s)?(?:{ITALIAN})"
        rf"|\bsto\s(?:{ITALIAN})\w{{0,4}}ndo\b"
        rf"|(?:\A\W{{0,6}}|\b(?:ora|prima|poi|adesso)\W{{1,2}})(?:(?:lo|la|li|le)\s)?(?:{ITALIAN})\w{{0,4}}o\b"
        rf"|\A\W{{0,6}}vediamo\b"
    ),
    "Russian": (
        rf"(?:\A\W{{0,6}}|\b(?:я|сейчас|сначала|теперь|затем|далее|давайте|давай|нужно|надо"
        rf"|тогда)\s(?:\w{{1,10}}\s)?)"
        rf"(?:{RUSSIAN})\w{{0,4}}(?:ю|у|ем|им|м|ть)\b"
    ),
    "Dutch": (
        r"\bik\s(?:ga|zal|moet|wil|bekijk|controleer|lees|zoek|voer|open|start|verwijder|maak|pas|kijk)\b"
        r"|\b(?:laat\sme|laten\swe)\s"
    ),
    "Swedish, Danish, Norwegian": (
        r"\b(?:jag|jeg)\s(?:ska|skal|kör|kjører|kører|kollar|sjekker|tjekker|läser|leser|læser|tittar|ser|söker"
        r"|öppnar"
        r"|åpner|åbner|skapar|kontrollerar|tar)\b|\b(?:låt\smig|låt\soss|lad\smig|la\smeg)\s"
    ),
    "Polish, Czech": (
        r"(?:\A\W{0,6}|\b(?:teraz|najpierw|już|nejprve|nyní)\s)(?:sprawdz\w{1,3}|zobacz\w{1,3}|uruchomi\w{1,2}"
        r"|przeczyt\w{1,3}|usun\w{1,2}"
        r"|otworz\w{1,2}|popraw\w{1,2}|wyczyszczę|posprzątam|spustím|přečtu|otevřu|smažu|podív\w{1,3}"
        r"|zkontroluj\w{1,2})\b"
    ),
    "Romanian": r"(?<!nu\s)\bvoi\s(?:rula|verifica|citi|executa|deschide|căuta|șterge)\b",
    "Turkish": (
        r"\b(?:bak|çalıştır|sil|oku|kontrol\sed|aç|ekle|düzelt|ara|incele|temizle)(?:[ıiuü]?yorum|ay[ıi]m|ey[ıi]m"
        r"|y[ae]y[ıi]m|[ae]ca[ğg][ıi]m|eceğim)\b"
    ),
    "Ukrainian": r"\A\W{0,6}(?:перевірю|подивлюся|запущу|прочитаю|відкрию|видалю|виправлю)\b",
    "Vietnamese, Indonesian": (
        r"\b(?:tôi\ssẽ|để\stôi|hãy\sđể\stôi)\s(?:kiểm|chạy|xem|đọc|mở|tìm|sửa|xóa|tạo|cập)"
        r"|\bsaya\s(?:cek|periksa|lihat|baca|jalankan)\b|\b(?:saya\sakan|mari\skita|biarkan\ssaya)\s(?:mem|men|meng|me|lihat|periksa|cek|jalankan|baca|buka|cari)"
    ),
    "Chinese": (
        r"(?:让我|讓我|我[来來将將会會先要去]|我[们們现現][在先来來]|我需要|我想|接下[来來]|[现現]在|首先|(?:\A|[,，、。\s])(?:先|再|然[后後]|最[后後])"
        rf"|正在|[继繼][续續]|[开開]始|马上|馬上)[,，]?[^。！？,，:：这這]{{0,6}}?(?:{CHINESE})"
    ),
    "Japanese": (
        rf"(?:{JAPANESE})(?:を?(?:し|行い)|[みきべりえめぎい]|(?:して|べて|いて|んで|って|て)(?:み|いき)|始め)?(?:ます|ましょう)\W{{0,3}}\Z"
    ),
    "Korean": rf"(?:{KOREAN})(?:(?!지 ?않|기다)[^.!?]){{0,6}}(?:겠습니다|게요|합니다)\W{{0,3}}\Z",
    "Arabic, Hebrew, Hindi": r"(?:\A|\s)(?:سأ|دعني)|\Aאני\sא|मैं\s[^।]{1,40}(?:ता|ती)\sहूँ",
}
_announcement = re.compile("|".join(f"(?:{form})" for form in _FORMS.values()), re.IGNORECASE)
_open_quote = re.compile(r"[“„«「‘][^”“»」’]{0,200}\Z")


def find(sentence: str) -> re.Match[str] | None:
    """The first words that announce an act, outside quotation marks."""
    for found in _announcement.finditer(sentence):
        before = sentence[: found.end()]
        if before.count('"') % 2 == 0 and _open_quote.search(before) is None:
            return found
    return None
