"""Lines that are not prose: source code, data, a session, the head of a mail. What follows such a line belongs to it.

A model that calls a tool announces it in words or not at all. A line of a program or of a file right above a call
shows that the call is part of that program or file.
"""

from __future__ import annotations

import re

_INLINE = re.compile(r"`[^`]{1,80}`")
_IN_WORDS = re.compile(r"(?<=\w)['’](?=\w)")
_CLOSED = re.compile(r"(?<![^\s=(\[{:,+>])\"[^\"]{1,120}\"")
"""A quotation that opens and closes on this line."""
_LEFT_OPEN = re.compile(
    r"(?:\A|[\s=(\[{:,+>/~@$#%<]|(?<=[\s=(,])[A-Za-z]{1,4}#{0,3})"
    r"(?P<mark>[\"'])(?=[^\s\"'\d])(?:(?!(?P=mark)).){0,200}\Z"
)
"""A quote that opens on this line and is not closed on it."""
_EMOJI = r"\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001ffff"
_ENDS_A_SENTENCE = re.compile(rf"[.!?…。！？:：][\"'”’)\]*_`~]{{0,4}}\s*\Z|[{_EMOJI}]\W{{0,3}}\Z")
_ENDS_IN_A_PAGE = re.compile(r"<(?:p|br|hr|li|td|th|tr|dd|dt)\b[^<>]{0,80}>\Z", re.IGNORECASE)
_WORDS = re.compile(rf"[^\W_]|[{_EMOJI}]")
_BRACKETS = {"(": ")", "[": "]", "{": "}"}

_FUNCTION_IN_PROSE = re.compile(r"(?<=[a-z] )[\w.]{1,60}\(\)(?=[\s,)]|\Z)")
"""The name of a function with `()`, as part of a sentence: a statement of code does not begin with words."""
_SIGNS = re.compile(r":=|<-\s|<<|\$[A-Za-z_({]|[;{}]\s*\Z|\{\{|\w\(\)|\s=\s|\w=[\w\"'/]|\|\|")
"""Signs of source code, in a line that does not end like a sentence."""

_HEADERS = (
    "from|to|cc|bcc|subject|date|sent|reply-to|message-id|received|author|commit|host|accept|cookie|user-agent"
    "|authorization|location|server|event|von|an|betreff|gesendet|datum|de|à|objet|envoyé|para|asunto|assunto"
    r"|enviado|da|oggetto|data|content-[\w-]{1,30}|x-[\w-]{1,30}"
)
"""Header fields of mails and of HTTP messages, in several languages."""
_ROLES = "user|human|system|assistant|instruction|input|response|tool"
_AGO = r"\d{1,3} (?:minutes?|hours?|days?|months?|years?) ago\b"

_BEGINNINGS = {
    "an assignment": (
        r"(?:(?:my|let|const|var|val|auto|local|set|export|def|final|static|char|[Ss]tring|int)\s[$@%*]?)?"
        r"[$@%]?[\w.\[\]>-]{1,60}\s{0,4}(?::=|<-|\+=|=)(?!=)"
    ),
    "SQL": r"(?:SELECT|INSERT INTO|UPDATE|CREATE|DELETE FROM|ALTER)\s+\S",
    "a definition": r"(?:def|fn|func|function|class|sub)\s\w{1,60}\s{0,2}[(:{]|(?:define|goto)\s\w{1,40}\Z",
    "a preprocessor": r"#(?:if|ifdef|ifndef|else|define|include|pragma)\b|__(?:END|DATA)__",
    "a here-document": r".{0,100}<<[-~]?[!\w'\"\\]",
    "a comment": r"//|--\s\w|;;|/\*|\*/|(?i:rem)\s|/\+|\(;|\(\*|\{-|<#|#[\[{]|<!--\s?#",
    "a template": r"\{\{|\{[#%@]|<\?(?:php|xml|=)",
    "a page": (
        r"<!(?i:doctype)\b|<(?:p|li|td|th|tr|dd|dt|option|thead|tbody|table|ul|ol|dl|div|span|h\d)\b[^<>]{0,80}>"
    ),
    "a directive": (
        r"[:\\%=&][A-Za-z#]|\.[A-Za-z]{2}(?:\s|\Z)|@[\w.-]{1,40}(?::|\s*\Z)|#\+|\[\^|\[\w[\w, =%\"'-]{0,60}\]\Z"
        r"|(?:pre|bc|bq|notextile)\.{1,2}(?:\s|\Z)|<\d{1,4}>"
    ),
    "a patch": (
        r"diff --|index [0-9a-f]{1,40}\.\.|(?:new|deleted) file mode|\d{1,6}(?:,\d{1,6})?[acd]\d{0,6}\Z"
        r"|\*{3} (?:Begin|Add|Update|Delete|End|Move)\b"
    ),
    "a mail, HTTP": (
        rf"(?i:{_HEADERS}):\s{{1,8}}\S|(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\s/\S{{0,80}}\sHTTP|HTTP/\d"
    ),
    "a session": (
        r"(?:\[?[\w.@~:/\\ -]{0,60})?[$❯➜»](?=\s\S)|(?:PS\s)?[A-Z]:\\[^<>|]{0,60}>|>>>\s|\.\.\.\s|%\s[a-z]"
        r"|(?:In|Out)\s?\[\d{0,4}\]:|\+{1,3}\s[a-z]{1,12}\b|[\w()-]{1,20}[#>%]\s[a-z]"
    ),
    "a log": r"::[\w-]{1,20}|##\[|npm ERR|0x[0-9a-fA-F]{2,16}:|(?:not )?ok\s\d|[IWEF]\d{4}\s\d",
    "a notebook, a box": r"#\s?%%|[╭┌╔├│┃║╰└]",
    "a marked region": (
        r"(?:[-=*\[(]{1,3}\s{0,2})?(?i:begin|start)\b(?: of)?\b[\w ]{0,30}[-=*\])]{1,3}\Z"
        r"|[\[(](?i:quote|begin|start|page|file|document)[^()\[\]]{0,40}[\])]\Z"
    ),
    "the name of a file": r"[*_`#\s]{0,8}[\w./-]{1,80}\.[a-z]{1,5}[*_`\s]{0,4}:?[*_`\s]{0,4}\Z",
    "a chat": (
        r"[\w ./@()-]{1,40}[—·,]\s(?:(?i:today|yesterday)\b.{0,20}|\d{1,2}[hmd]"
        r"|\[?\d{1,2}[./]\d{1,2}[./]\d{2,4}.{0,12})\Z"
        rf"|[\w-]{{1,40}} (?:(?:commented|wrote|replied|said) )?{_AGO}|.{{1,40}}\b\d{{1,2}}:\d{{2}}\s?(?:AM|PM)\Z"
    ),
    "a transcript": rf"#{{1,4}}\s(?i:{_ROLES})s?\b|\[(?i:{_ROLES})\]",
}
"""How lines of source code, data and sessions begin, even if they end like a sentence."""
_beginning = re.compile("|".join(_BEGINNINGS.values()))
_ITEM = re.compile(r"(?:[-*+•]|\d{1,3}[.)]|#{1,6})\s")


def is_code(line: str) -> bool:
    """Whether this line, right above a call or before it, looks like a line of something that is quoted."""
    line = line.strip()
    if not line:
        return False
    if _beginning.match(line) is not None or _ENDS_IN_A_PAGE.search(line) is not None:
        return True
    line = _INLINE.sub("x", _IN_WORDS.sub("", line))
    if _LEFT_OPEN.search(_CLOSED.sub("x", line)) is not None:
        return True
    if _ITEM.match(line) is not None or _ENDS_A_SENTENCE.search(line) is not None:
        return False
    open_bracket = any(line.count(opener) > line.count(closer) for opener, closer in _BRACKETS.items())
    return open_bracket or _SIGNS.search(_FUNCTION_IN_PROSE.sub("x", line)) is not None


def has_words(line: str) -> bool:
    """Whether the line has a letter, a digit or an emoji in it."""
    return _WORDS.search(line) is not None
