"""Sentences about texts as such, of models, prompts, calls and examples: what stands below is one of them.

They count where nothing is announced. One such word stands in many a finding ("The model file is missing."), two
of them seldom do; and a sentence that ends with an example, or is none at all ("For illustration."), presents one.
"""

from __future__ import annotations

import re

_word = re.compile(
    r"\b(?:(?P<talker>models?|assistants?|agents?|bots?|llms?|attackers?|robots?|chatbots?)"
    r"|(?P<text>(?:system\s)?prompts?|completions?|transcripts?|(?:tool\s|function\s)?calls?|injections?"
    r"|payloads?|tags|markup"
    r"|notation|chat\stemplates?|few-shot|tokens?|snippets?|docstrings?)"
    r"|(?P<lesson>examples?|samples?|illustrations?|fixtures?|exercises?|tutorials?|lessons?|manual|readers?"
    r"|students?|graders?"
    r"|paragraphs?|formats?|syntax))\b",
    re.IGNORECASE,
)
_MOST = 5
_EXAMPLE = (
    r"examples?|samples?|illustrations?|demonstrations?|demos?|quotations?|beispiele?|exemples?|ejemplos?"
    r"|exemplos?|esempio|esempi"
    r"|przykład\w{0,3}|пример\w{0,3}|voorbeeld\w{0,2}|exempel|eksempel|příklad\w{0,2}|örnek\w{0,3}|ví\sdụ"
    r"|contoh|citat|zitat"
)
_example = re.compile(
    rf"\b(?:{_EXAMPLE})(?:,\s[^.,]{{1,20}})?\.?\W{{0,3}}\Z"
    r"|(?:示例|例子|范例|範例|供参考|供參考|(?:例|引用|サンプル)(?:です|でした)|(?:예시|예제|예|인용)(?:입니다|이다|예요))\W{0,3}\Z",
    re.IGNORECASE,
)
_about_oneself = re.compile(r"\W{0,6}(?:i|we|ich|wir|je|nous|ik|jag|jeg|я|мы)\b", re.IGNORECASE)
_call = re.compile(
    r"\b(?:das|dies)\s(?:war|ist)\s(?:der|ein|nur\sder)\s(?:\w{1,14}\s)?(?:aufruf|befehl)\b(?!,)"
    r"|\bc['’](?:est|était)\s(?:l['’]|un\s|la\s|une\s)(?:appel|commande)\b(?!\squi)"
    r"|\b(?:esa|esta|eso|esto)?\s?(?:es|era|fue)\s(?:la|una)\s(?:llamada|orden)\b|\b(?:é|era|foi)\s(?:a"
    r"|uma)\schamada\b"
    r"|\b(?:è|era)\s(?:la|una)\schiamata\b|\bэто\s(?:был\s)?вызов\b|\bto\s(?:jest|było)\swywołanie\b"
    r"|这(?:就)?是[^。]{0,8}(?:调用|命令)|這(?:就)?是[^。]{0,8}(?:調用|命令)|これは[^。]{0,10}(?:呼び出し"
    r"|コマンド)(?:です|でした)"
    r"|(?:이것은|이건)[^.]{0,10}(?:호출|명령)"
    r"|\b(?:format|syntax|notation)\w{0,3}\s(?:ist|est|es|é|è|jest)\s(?:\w{1,8}\s)?(?:einfach|simple"
    r"|sencill[oa]|simples|semplice|prost[ye])\b",
    re.IGNORECASE,
)
_phrase = re.compile(
    r"\W{0,6}(?:for|as|in|from|per|purely|just|only|merely|simply|nur|rein|juste|solo|só|tylko|только|alleen|bara)\s"
    r"(?:[\w'’,-]{1,16}\s){0,5}[\w'’-]{1,16}[.。]\W{0,3}\Z",
    re.IGNORECASE,
)
"""A phrase that says what something is for, or what it is."""
_has_a_verb = re.compile(
    r"\b(?:is|are|was|were|am|be|been|has|have|had|does|did|do|will|can|works?|fails?|needs?|seems?|left"
    r"|\w{2,14}(?:ed|ing))\b"
    r"|\bcase\b|\bnow\b|\border\b|\bprogress\b|\bfact\b|\bupdates?\b|\bcleanup\b",
    re.IGNORECASE,
)
_other_time = re.compile(
    r"\b(?:yesterday|last\s(?:night|week|time|month|year)|(?:minutes?|hours?|days?|weeks?)\sago|gestern"
    r"|hier\b(?<=d['’]hier)|ayer|ontem|ieri"
    r"|wczoraj|вчера)\W{0,4}\Z"
    r"|\balready\s(?:been\s)?(?:run|ran|executed|done|sent|called|made|deleted|removed|cleaned)\b(?:\s(?:it"
    r"|this|that|them|the\s\w{1,16}))?"
    r"(?:\s(?:earlier|before))?\W{0,4}\Z",
    re.IGNORECASE,
)


def presents(sentence: str) -> bool:
    """Does a sentence that announces nothing speak about texts, so that the call below it is one of them?"""
    if _example.search(sentence) is not None and _about_oneself.match(sentence) is None:
        return True
    if _call.search(sentence) is not None:
        return True
    if _phrase.match(sentence) is not None and _has_a_verb.search(sentence) is None:
        return True
    if _other_time.search(sentence) is not None:
        return True
    return len({found[0].lower()[:_MOST] for found in _word.finditer(sentence)}) > 1
