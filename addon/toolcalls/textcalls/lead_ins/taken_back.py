"""Recognises words around JSON that say that it is not the answer: a refusal, a question, an example, a correction.

They count anywhere, not only right before the JSON: a missed mend costs less than an invented answer.
"""

from __future__ import annotations

import re

_not_the_answer = re.compile(
    r"[?？]|\b(?:not|never|cannot|unable|unsure|sorry|wrong|incorrect|invalid|mistake\w{0,2}|correction|rather|instead|wait"
    r"|examples?|sample|e\.g|for instance|such as|something like|placeholder|template|hypothetical\w{0,2}|suppose"
    r"|would|could|might|should|if|unless|mean|guess|perhaps|maybe|refuse\w?|decline\w?|old|previous|original|draft"
    r"|schema|malicious|injection)\b|n['’]t\b"
    r"|\bplease (?:give|provide|send|share|tell|paste|upload|specify|confirm)\b"
    r"|\b(?:nicht|kein\w{0,2}|leider|beispiel\w{0,3}|falsch|würde|könnte|statt|pas|jamais|exemple|désolé\w?|faux"
    r"|au lieu|ejemplo|incorrect[oa]|lo siento|exemplo|não|errad[oa]|esempio|sbagliat[oa]|niet|voorbeeld"
    r"|helaas|nie|przykład|не|нет|нельзя|пример\w{0,3}|неверн\w{0,3}|извините)\b|不|没|沒|无法|無法|例如|比如|示例|错误|錯誤|抱歉"
    r"|ない|ません|例えば|例[:：]|間違|않|없|아니|예시|예를",
    re.IGNORECASE,
)
"""Question marks, and words that refuse, doubt, correct or introduce an example."""
_polite = re.compile(r"\banything else\?|\blet me know (?:if|whether)\b[^.!?\n]{0,80}", re.IGNORECASE)
"""Polite endings that any answer may have."""


def takes_back(words: str) -> bool:
    """Whether these words say that the JSON between them is not the answer."""
    return _not_the_answer.search(_polite.sub("", words)) is not None
