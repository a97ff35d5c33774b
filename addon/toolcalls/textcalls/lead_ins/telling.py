"""Recognises announcements of a text instead of a call: "Let me quote the log", "I'll show you how"."""

from __future__ import annotations

import re

_TEXT = (
    r"examples?|samples?|texts?|calls?|passages?|snippets?|messages?|formats?|syntax|excerpts?|quot(?:e|ation)s?"
    r"|transcripts?|payloads?|paragraphs?|wording|illustrations?|lines?\W{0,3}\Z|prompts?\W{0,3}\Z"
    r"|log\sentr(?:y|ies)"
)
_verbs = re.compile(
    r"(?:\W{0,3}(?!and\b|then\b)[\w'’]{1,12}){0,2}?\W{0,3}\b(?:"
    r"(?:quot(?:e|ing)|cit(?:e|ing)|recit|illustrat|demonstrat|recap|remind|paraphras|rephras|restat|propos"
    r"|suggest|recommend|transcrib"
    r"|imagin|suppos|assum|summari|clarif|outlin"
    r"|pretend|hypothesi|zitier|veranschaulich|zitiere)\w{0,6}\b"
    r"|(?:explain|describ)\w{0,4}\b"
    r"|(?:spell|writ\w{1,4}|sketch|point)\w{0,3}\s(?:it\s|this\s)?(?:out|down)\b|sketch\w{0,3}\b"
    r"|(?:answer|reply|respond)\w{0,3}\swith\b|(?:report|repeat|relay|pass)\w{0,4}\s(?:on\s)?what\b|show(?:ing)?\s(?:you|them|how|what)\b|(?:show"
    r"|print)\w{0,4}\s(?:it|this|that)\b"
    r"|repeat\w{0,3}\s(?:the|your|his|her)\s(?:[\w'’-]{1,14}\s){0,2}(?:message|words|text|request|instructions?)\b"
    r"|(?:draft|phras|formulat)\w{0,4}\s(?:the|a|my|this)\s(?:\w{1,12}\s)?(?:call|command|request|reply|answer)\b"
    r"|(?:show|giv|print|past|copy|includ|attach|reproduc|present|shar|repeat|translat|provid|display)\w{0,4}\s"
    rf"(?:you\s)?(?:(?:an?|the|this|that|his|its|another|some)\s)?(?:[\w-]{{1,14}}\s){{0,2}}(?:{_TEXT})"
    r"(?!\s(?:to|into|in|files?|folders?|director(?:y|ies)|tests?|configs?)\b)"
    r"|(?:look|see|tak|consider|compar|examin|inspect)\w{0,4}\s(?:at\s|with\s)?(?:(?:an?|another|one\smore"
    r"|the\sfollowing)\s)"
    r"(?:[\w-]{1,14}\s){0,2}(?:example|sample|call|snippet|excerpt|transcript|answer|reply|conversation)s?\b(?:\sas\b[^.]{0,20})?\W{0,3}\Z"
    r"|(?:look|see|tak|consider|compar)\w{0,4}\s(?:at\s|with\s)?(?:this"
    r"|these)\s(?:[\w-]{1,14}\s){0,1}\w{1,14}\W{0,3}\Z"
    r"|(?:keep|sav|leav|not|list)\w{0,3}\s(?:it|this|that)\s(?:down|as\san?\s(?:draft|note|proposal"
    r"|suggestion)|for\s(?:later|you))\b"
    r"|say\s(?:that\s)?(?:the|an?|you|somebody|someone)\b|consider\s(?:what|how)\b|stop(?:ping)?\s(?:here"
    r"|there)\b|wait(?:ing)?\sfor\s(?:you|your|the\suser"
    r"|approval|permission)\b)"
    r"|(?:\s?(?:dir|ihnen|euch))?\s?(?:zeige|erkläre|zitiere|beschreibe)\s(?:dir|ihnen|euch|wie|ein|das|hier|nur"
    r"|die\s(?:syntax|stelle))\b"
    r"|\s?(?:te\s|vous\s)?(?:montre|cite|explique|décri[st])\w{0,3}\b|\s?(?:te\s|le\s|vi\s|ti\s)?(?:muestr"
    r"|mostr|explic|cit|spieg)\w{1,5}\b"
    r"|\s?(?:покаж|процитир|объясн|привед|опиш)\w{1,4}|\s?(?:pokaż|zacytuj|wyjaśni|opisz)\w{0,3}"
    r"|(?:先|再|来|給|给)?(?:你|您|大家)?(?:展示|解释|解釋|说明|說明|引用|演示|示范|举|舉|贴出|复述|翻译一下|这样写)",
    re.IGNORECASE,
)
_anywhere = re.compile(
    r"(?:例|サンプル|形式|書式|引用|フォーマット)を?(?:説明し|示し|挙げ|お見せ|紹介し|引用し|表示し)|(?:확인|승인|허락"
    r"|답변)을? ?기다리|(?:예시|예|형식|예제)를? ?(?:보여|들어|설명)"
    r"|(?:確認|承認|許可|返答|返事|指示)を?(?:待ち|お待ち)|等待?(?:你|您|用户|用戶)的?(?:确认|確認|同意|批准"
    r"|回复|回覆)"
    r"|需要(?:你|您|用户|用戶)的?(?:确认|確認|同意|批准|许可|許可)|(?:是|如|像|长|長)(?:这样"
    r"|這樣)的?\W{0,3}\Z|不建议|不建議|お勧めしません|권하지 않",
    re.IGNORECASE,
)


def is_announced(sentence: str, announced: int) -> bool:
    """Whether the announcement that ends at `announced` announces a text."""
    return _verbs.match(sentence, announced) is not None


def says_so(sentence: str) -> bool:
    """Whether a Chinese, Japanese or Korean sentence presents a text, advises against a call or awaits consent."""
    return _anywhere.search(sentence) is not None
