"""Recognises sentences in which someone else speaks or acts: what follows the colon is theirs, not a call."""

from __future__ import annotations

import re

_WHO = (
    r"models?|assistants?|agents?|bots?|llms?|ais?|attackers?|users?|pages?|sites?|transcripts?|logs?"
    r"|servers?|parsers?|authors?"
    r"|clients?|documents?|docs|manual|readme|tutorials?|templates?|prompts?|fixtures?|tests?|tickets?"
    r"|issues?|mails?|e-?mails?"
    r"|files?|scripts?|robots?|computers?|captain|reviewer|customer|colleague|injection|payload|extension"
    r"|framework|sdk|history"
    r"|modell|assistent|agent|angreifer|seite|nutzer|benutzer|modèle|attaquant|utilisateur|modelo|asistente"
    r"|página|atacante|usuario"
    r"|usuário|modello|assistente|pagina|utente|aggressore|модель|ассистент|страница|пользователь"
    r"|злоумышленник|asystent|strona"
    r"|użytkownik"
)
_SPEAKS = (
    r"says?|said|reads?|writes?|wrote|answers?|answered|repl(?:y|ies|ied)|responds?|responded|emits?|emitted"
    r"|prints?|printed|outputs?"
    r"|sends?|sent|returns?|returned|contain(?:s|ed)?|ends?|ended|shows?|showed|generates?|generated"
    r"|produces?|produced|types?|typed"
    r"|pastes?|pasted|posts?|posted|puts?|holds?|held|has|had|gets?|got|receives?|received|sees?|runs?|ran"
    r"|executes?|executed|calls?"
    r"|called|did|made|makes?|is|was|becomes?|turns|wants?|wanted|deleted|removed|expects?|tries|tried"
    r"|suggests?|suggested|recommends?"
    r"|antwortet\w{0,2}|schreibt|schrieb|sagt|sagte|zeigt|enthält|répond\w{0,2}|écrit|dit|affiche|contient"
    r"|responde|respondió|dice|dijo"
    r"|escribe|escribió|muestra|contiene|diz|disse|escreve|escreveu|mostra|contém|risponde|scrive|scrisse"
    r"|отвеча\w{2,3}|ответил\w?|пишет"
    r"|написал\w?|говорит|выводит|содержит|odpowiada|pisze|napisał\w?|mówi|wypisuje|zawiera"
)
_BETWEEN = r"(?:is|was|which|that|with|the|an?|of|for|in|and|into|from)\b"
"""Words between a speaker and a verb that begin another clause: the verb is not the speaker's."""
_speaks = re.compile(
    rf"\b(?:{_WHO})\s(?:(?!{_BETWEEN})[\w'’-]{{1,14}}\s){{0,3}}(?:{_SPEAKS})(?:\s(?:with|in|out|down|back|by"
    rf"|as|to|for|like|this|that"
    r"|the\sfollowing|everything|it|so)){0,2}\s?[:：]\W{0,3}\Z"
    rf"|\b(?:antwortet|schreibt|sagt|zeigt|répond|écrit|responde|dice|escribe|escreve|risponde|scrive|отвечает"
    rf"|пишет|odpowiada|pisze)"
    rf"\s(?:(?:das|die|der|le|la|el|il|o|a|dann|dir|mir)\s){{0,2}}(?:{_WHO})\s?[:：]\W{{0,3}}\Z"
    r"|,\s(?:the|this|that|it|an?)\b[^.!?:,]{1,30}\s(?:is|was|are|were|becomes|became|reads|says)\s?:\W{0,3}\Z"
    rf"|\b(?:{_WHO})\s(?:(?!{_BETWEEN})[\w'’-]{{1,14}}\s){{0,2}}(?:{_SPEAKS})\s(?:this|the\sfollowing)\W{{0,3}}\Z"
    rf"|\b(?:{_WHO})\b[^.!?:]{{0,12}}\b(?:schreibt|antwortet|escribe|escreve|scrive|écrit|пишет"
    rf"|pisze)\b[^.!?:]{{0,30}}[:：]\W{{0,3}}\Z"
    r"|(?:模型|助手|攻击者|攻擊者|网页|網頁|页面|頁面|用户|用戶|文档|日志|代理)[^。！？]{0,8}(?:输出|輸出"
    r"|回复|回覆|写道|寫道|写着|说|說|回答|返回|生成|发出|包含"
    r"|粘贴)[^。！？]{0,4}\W{0,3}\Z"
    r"|(?:モデル|アシスタント|エージェント|攻撃者|ページ|ログ|ユーザー)[はがに][^。！？]{0,16}(?:出力|返し"
    r"|返答|答え|応答|書|生成|表示|含|送信)[^。！？]{0,8}\W{0,3}\Z"
    r"|(?:모델|어시스턴트|에이전트|공격자|페이지|로그|사용자)[은는이가에][^.!?]{0,16}(?:출력|답|응답|생성|적"
    r"|쓰|작성|표시|보냅|포함)[^.!?]{0,10}\W{0,3}\Z",
    re.IGNORECASE,
)
_ends = re.compile(r"(?::|\b(?:this|the\sfollowing))\W{0,3}\Z", re.IGNORECASE)
"""How all such sentences in ASCII end: a quick check."""
_asked = re.compile(
    r"\b(?:what|how|whether|why|where|which|if|was|wie|ob|ce\sque|comment|qué|cómo|o\sque|como|cosa|come|что"
    r"|как|co|jak)\b|什么|怎么|何を|どう|무엇|어떻게",
    re.IGNORECASE,
)
"""Before the speaker: the model wants to find out what they say ("Let me see what the page says:")."""


def speak(sentence: str) -> bool:
    """Whether someone else says or does what is below."""
    if sentence.isascii() and _ends.search(sentence) is None:
        return False
    found = _speaks.search(sentence)
    return found is not None and _asked.search(sentence, 0, found.start()) is None
