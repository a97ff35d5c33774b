"""Recognises sentences that point at what is below or call it a text: if nothing is announced, it is an example.

A finding points backwards ("The command failed."), so it may lead to a call.
"""

from __future__ import annotations

import re

_WRITTEN = (
    r"calls?|tool calls?|function calls?|invocations?|commands?|texts?|lines?|strings?|snippets?|blocks?"
    r"|markup|messages?"
    r"|payloads?|paragraphs?|examples?|samples?|words|passages?|quot(?:e|ation)s?|excerpts?|sections?|tags?|prompts?"
    r"|instructions?|inputs?|completions?|sequences?"
)
"""Names for a call that is only a text."""
_UTTERS = (
    r"executes?|executed|runs?|ran|emits?|emitted|prints?|printed|sends?|sent|writes?|wrote|generates?|generated"
    r"|produces?|produced|outputs?|answers?|answered|replies|replied|says?|said|receives?|received|sees"
    r"|parses|parsed"
    r"|puts?|posts?|posted|types?|typed|pastes?|pasted|hides?|hid|embeds?|embedded|injects?|injected|inserts?"
    r"|inserted"
    r"|contains?|contained|holds?|held|returns?|returned"
)
_BELOW = {
    "a place": (
        rf"\b(?:{_WRITTEN})\s(?:right\s|just\s)?(?:below|underneath|beneath|hereafter)\b"
        r"|\b(?:below|underneath|beneath)\W{0,4}\Z|\bwhat\s(?:comes|stands|follows|is\sprinted|you\ssee)\s?"
        r"(?:next|below|here|now)?\W{0,4}\Z"
        rf"|\b(?:following|next)\s(?:[\w-]{{1,14}}\s){{0,2}}(?:{_WRITTEN})\W{{0,4}}\Z"
    ),
    "this": (
        rf"\b(?:{_UTTERS})\s(?:this|the\sfollowing|something\slike\sthis)\b(?:\s(?:in|into|to|as|on|at"
        rf"|with)\b[^.!?]{{0,60}})?"
        r"|\bthis\s(?:one|way|here|text)\W{0,4}\Z(?<!in this way)|\b(?:is|are|was)\s(?:just\s|simply\s"
        r"|exactly\s)?this\W{0,4}\Z"
        r"|\b(?:on|with|for|in|of|from|to)\sthis\s(?:input|call|text|string|line|example|sample|prompt"
        r"|message|snippet|payload)\W{0,4}\Z"
        r"|\b(?:here|there)\sit\sis\W{0,4}\Z|\b(?:like|just)\sso\W{0,4}\Z|\bthe\s(?:second|first|other"
        r"|last)\sis\sthis\b"
        r"|\b(?:this|that)(?:['’]s|\sis|\swas)\s(?:exactly\s|roughly\s)?(?:how|what)\s(?:it|a|an|the|one|they|you)\b"
        r"[^.!?]{0,40}"
    ),
    "shown": (
        r"\bfollows\W{0,4}\Z|\bthe\sfollowing\s(?:in|on|at|for|as|to|when|by|from|while|under|into|with)\b"
        r"|\b(?:is|are|was|were)\s(?:shown|printed|given|reproduced|quoted"
        r"|documented)\b(?:\s(?:here|below|above))?\W{0,4}\Z"
        r"|\bshown\shere\b"
    ),
    "for a reader": (
        r"\b(?:for\syou\sto|you\s(?:can|could|may|might)\s(?:see|review|check|judge|copy|paste|compare|read))\b"
    ),
    "German": (
        r"\b(?:wie\sfolgt|folgenderma(?:ß|ss)en|so\saus|folgendes|untenstehend\w{0,2}"
        r"|der\sfolgende\s\w{1,20})\W{0,4}\Z"
        r"|\bsieht\b[^.!?]{0,60}\bso\saus\b"
    ),
    "French, Spanish, Portuguese, Italian": (
        r"\b(?:comme\s(?:suit|ceci|ça)|ci-dessous|ressemble\s(?:à|a)\s(?:ceci|cela|ça)"
        r"|de\sla\ssiguiente\s(?:manera|forma)"
        r"|as[íi]|lo\ssiguiente|a\scontinuaci[óo]n|da\sseguinte\s(?:forma|maneira)|assim|o\sseguinte|abaixo"
        r"|come\ssegue|cos[ìi]|nel\smodo\sseguente|qui\ssotto|il\sseguente)\W{0,4}\Z"
    ),
    "Russian, Polish, Dutch, Swedish": (
        r"\b(?:следующ(?:им\sобразом|ее|ий\sтекст)|вот\sтак|ниже|tak|w\sten\sspos[óo]b"
        r"|nast[ęe]puj[ąa]c\w{1,3}|poniżej"
        r"|als\svolgt|hieronder|zo\suit|enligt\snedan|så\shär|nedan)\W{0,4}\Z"
    ),
    "Chinese": (
        r"如下(?:所示)?\W{0,4}\Z|以下(?:是|为|為|内容|文本)|(?:像|是|长|長)这样|像這樣|是這樣"
        r"|下面(?:的)?(?:是|这|這|内容)"
    ),
    "Japanese": r"(?:次|以下|下記)の(?:よう|通り|とおり)|このように(?:なり|書|記)|こちらです",
    "Korean": r"(?:다음|아래)과? ?같|아래와 ?같|이렇게 ?(?:생|보|적|쓰|됩)",
}
_below = re.compile("|".join(_BELOW.values()), re.IGNORECASE)


def points(sentence: str) -> bool:
    """Whether a sentence that announces nothing points at what is below it or calls it a text."""
    return _below.search(sentence) is not None
