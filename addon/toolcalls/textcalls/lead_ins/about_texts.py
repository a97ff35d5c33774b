"""Recognises sentences about models, prompts, calls and examples: a call below such a sentence is an example.

They count only if nothing is announced. One such word appears in many findings ("The model file is missing."), two
seldom do. A sentence that ends with a word for an example, and a phrase without a verb ("For illustration."),
present an example too.
"""

from __future__ import annotations

import re

_TEXTS = (
    r"models?|assistants?|agents?|bots?|llms?|(?:system\s)?prompts?|completions?|transcripts?|(?:tool\s"
    r"|function\s)?calls?"
    r"|tools?\b(?!\s(?:is|are)\b)|injections?|attackers?|payloads?|markup|notation|few-shot|tokens?|snippets?"
    r"|examples?"
    r"|samples?|exercises?|tutorials?|lessons?|manual|paragraphs?|formats?|syntax"
)
_MORE_TEXTS = (
    r"robots?|chatbots?|tags|chat\stemplates?|docstrings?|illustrations?|fixtures?|readers?|students?|graders?"
)
_PARTS = (
    r"invocations?|parsers?|tokeni[sz]ers?|scanners?|markers?|openers?|closers?|tags?|wrappers?|blocks?|grammar"
    r"|shapes?"
    r"|dialects?|gpt-?\w{0,4}|claude|gemini|llama|mistral|qwen|harness|placeholders?|variants?|classifiers?"
    r"|validators?"
    r"|datasets?|attack\w{0,4}|malicious|instructions?|patterns?|skeletons?"
)
_word = re.compile(rf"\b(?:{_TEXTS}|{_MORE_TEXTS})\b", re.IGNORECASE)
"""Words for texts and for their authors. One such word appears in many findings, two seldom do."""
_MOST = 5
_thing = re.compile(
    rf"\b(?:(?:{_TEXTS}|{_PARTS})\b(?!\s(?:files?|folders?|tests?|projects?|configs?|data|loops?|weights|strings?"
    r"|director(?:y|ies)|repos?|apps?)\b)"
    r"|\w{0,12}(?:aufruf|werkzeug|befehl|vorlage)\w{0,2}|modells?|assistenten?|angreifer|anweisung\w{0,2}"
    r"|appels?|outils?|modèles?|commandes?|attaquants?|llamadas?|herramientas?|modelos?|agentes?|asistentes?"
    r"|atacantes?|plantillas?"
    r"|chamadas?|ferramentas?|assistentes?|chiamat[ae]|strument[oi]|modell[oi]|assistenti|istruzion[ei]"
    r"|вызов\w{0,2}|инструмент\w{0,2}|модел[иь]|команд[ауы]?|агент\w{0,2}|ассистент\w{0,2}"
    r"|wywołani\w{1,2}|narzędzi\w{1,2}|poleceni\w{1,2}|aanroep\w{0,2}|hulpmiddel|çağrı\w{0,4}|komut\w{0,3}"
    r"|anrop\w{0,2})\b"
    r"|调用|調用|工具|模型|命令|指令|助手|攻击者|呼び出し|ツール|モデル|アシスタント|攻撃者|호출|도구|모델|공격자",
    re.IGNORECASE,
)
"""Words for calls, their parts, and those who read or write them, unless a file or folder is named so."""
_ROOT = 4
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
    r"|这(?:就)?是[^。]{0,8}(?:调用|命令)|這(?:就)?是[^。]{0,8}(?:調用|命令)|(?:呼び出し"
    r"|コマンド)(?:です|でした)"
    r"|(?:호출|명령)(?:입니다|이었습니다|였습니다)"
    r"|\b(?:format|syntax|notation)\w{0,3}\s(?:ist|est|es|é|è|jest)\s(?:\w{1,8}\s)?(?:einfach|simple"
    r"|sencill[oa]|simples|semplice|prost[ye])\b",
    re.IGNORECASE,
)
_phrase = re.compile(
    r"\W{0,6}(?:for|as|in|from|per|purely|just|only|merely|simply|nur|rein|juste|solo|só|tylko|только|alleen|bara)\s"
    r"(?:[\w'’,-]{1,16}\s){0,5}[\w'’-]{1,16}[.。]\W{0,3}\Z",
    re.IGNORECASE,
)
"""A short phrase that says what something is or is for ("For illustration.")."""
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


def count(text: str) -> int:
    """How many different things from `_thing` the text mentions."""
    return len({found[0].lower()[:_ROOT] for found in _thing.finditer(text)})


def presents(sentence: str) -> bool:
    """Whether a sentence that announces nothing is about texts, so that the call below it is an example."""
    if _example.search(sentence) is not None and _about_oneself.match(sentence) is None:
        return True
    if _call.search(sentence) is not None:
        return True
    if _phrase.match(sentence) is not None and _has_a_verb.search(sentence) is None:
        return True
    if _other_time.search(sentence) is not None:
        return True
    return len({found[0].lower()[:_MOST] for found in _word.finditer(sentence)}) > 1
