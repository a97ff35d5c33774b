"""Recognises questions with which a model asks whether it may act. A call below such a question is not meant yet."""

from __future__ import annotations

import re

_FINE = "ok|okay|fine|alright|all right|wise|safe|right|allowed|correct|a good idea|what you"
_QUESTIONS = {
    "English": (
        r"\b(?:shall|should|may|can|could|must) (?:i|we)\b|\b(?:do|would) you (?:want|like|mind|agree)\b"
        rf"|\bwant me to\b|\bis (?:it|that|this) (?:{_FINE})\b"
    ),
    "the user, or nobody in particular": (
        r"\byou(?:r|['’]re)?\b"
        r"|\A\W{0,6}(?:ok|okay|confirm|proceed|continue|go|ready|agreed|right|deal)(?:\sto\s\w{1,12}"
        r"|\sahead)?\W{0,3}\Z"
    ),
    "about what follows": r"\b(?:this|the following|these|the call|such)\b",
    "German": r"\b(?:soll(?:en|te)?\b|d[aü]rf(?:en)?\b|m[öo]chtest du|m[öo]chten sie|willst du|wollen sie)\b",
    "French": r"\b(?:voulez-vous|veux-tu|souhaitez-vous|dois-je|puis-je|faut-il)\b",
    "Spanish, Portuguese, Italian": (
        r"\b(?:quieres|quiere|desea|deseas|debo|puedo|quer(?:es)?|deseja|devo|posso|vuoi|vuole) (?:que|lo|la|che"
        r"|eu)\b"
        r"|\b(?:debo|puedo|devo|posso)\s\w{1,12}(?:ar|er|ir|are|ere|ire)(?:lo|la)?\b"
    ),
    "Dutch, Swedish, Danish, Norwegian": (
        r"\b(?:zal ik|mag ik|moet ik|wil je|wilt u|ska jag|vill du|får jag|skal jeg|vil du|må jeg)\b"
    ),
    "Polish, Czech, Romanian": (
        r"\b(?:czy (?:mam|mog[ęe]|chcesz)|m[áa]m (?:to|ho|ji)|mohu|chcete|vrei s[ăa]|dori[țt]i)\b"
    ),
    "Russian, Ukrainian": r"\b(?:хотите|хочешь|можно ли|мне|стоит ли|чи мені|бажаєте)\b|\b(?:выполнить|запустить)\b",
    "Turkish": r"\bister misin|(?:ayım|eyim) mı|(?:ayım|eyim) mi",
    "Vietnamese, Indonesian": r"có muốn|tôi có nên|\b(?:apakah saya|haruskah|mau saya)\b",
    "Chinese": (
        r"要我|要不要|需要我|是否(?:要|需|应|應|可以|允|同意|继续|繼續|执|執|运行|運行)|能否"
        r"|可以[^。]{0,12}[吗嗎]|[行好][吗嗎]"
    ),
    "Japanese": r"(?:よろしい|いい|良い)です?か|てもいい|しましょうか|(?:実行|続行|削除|続け)(?:し)?ますか",
    "Korean": r"(?:할|볼|될|드릴|릴)까요|해도 (?:될|괜찮)|원하(?:시|세)",
    "Arabic, Hebrew, Hindi": r"هل (?:تريد|ترغب|أ)|האם|(?:चाहते|क्या मैं)",
}
_question = re.compile("|".join(_QUESTIONS.values()), re.IGNORECASE)
_decision = re.compile(
    r"\b(?:can|could|would|will) you (?:please )?(?:check|confirm|review|approve|look|verify|agree|tell)\b|"
    + "|".join(said for name, said in _QUESTIONS.items() if name != "about what follows"),
    re.IGNORECASE,
)


def asks(sentence: str) -> bool:
    """Whether this question leaves a decision to someone else or is about what follows."""
    return _question.search(sentence) is not None


def leaves_decision(sentence: str) -> bool:
    """Whether this question leaves a decision to someone else."""
    return _decision.search(sentence) is not None
