"""Decides whether the text around the object of the arguments says nothing about it and can be dropped.

A model that writes `Never run {…}` or `{…} (do not run)` calls nothing. So the text around the object may only be a
code fence, a token or tag of a chat template, a label in front or a remark behind, and all their words must be in a
table. Any other text, a comment sign, a quotation or a wrapper of reasoning is refused.
"""

from __future__ import annotations

import re

from ..steps import TEXT_AROUND
from . import characters as chars

FENCE, MARKER, LABEL = "code fence", "markers around the object", TEXT_AROUND
"""The kinds of text around the object, as names of steps."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MOST = 4_000
"""The longest text around the object that is looked at, in characters; longer text is no label."""
_LANGUAGES = _words(
    "json json5 jsonc jsonl js javascript ts typescript python py tool_call tool_code tool_use text txt"
)
# None of the words of a label can deny, doubt, quote or suppose anything, in any order.
# A label has at least one of these.
_LABEL_NAMES = _words(
    """
    argument arguments arg args parameter parameters param params input inputs json json5 object payload body
    tool tools function functions call calls calling action request assistant commentary
    sure ok okay certainly yes here heres below following
    argumente argumentos parámetros paramètres аргументы 参数 输入 输入参数 调用参数 参数如下 以下是参数 引数
    """
)
_LABEL_WORDS = _LABEL_NAMES | _words(
    """
    of course is are the this these it follows as a an i ill will now use using with for to in and let me lets
    required valid corrected updated format
    """
)
# All words that the name of a tag or token may have if it wraps a call or ends a turn.
_NAME_WORDS = _words(
    """
    tool tools toolcall toolcalls toolrequest tooluse call calls function functions functioncall functioncalls func
    invoke param params parameter parameters argument arguments arg args input inputs json action actions request
    requests plugin use begin end start sep section block xml name value key command method prefix suffix
    antml minimax seed longcat steptml xai dsml
    turn of im eos eot eom eod id bos endoftext text sentence assistant model message header python tag constrain
    channel commentary
    """
)
_ONLY_BEHIND = frozenset({"inst", "observation", "user", "system", "return", "s"})
"""Names that a template has behind a call; in front, they would introduce something that is not a call."""

_FENCE = re.compile(r"(?:`{1,4}|~{3,4})([A-Za-z0-9_+-]{0,12})")
_VALUE = r"(?:\"[^\"<>]{0,80}\"|'[^'<>]{0,80}'|[\w.:-]{1,80})"
_END = rf"(?:(?:\s(?:name|id|type|string|index|key|function|tool)={_VALUE}){{0,4}}\s?/?>|\Z)"
# `<tool_call>`, `</｜DSML｜invoke>`, `<|im_end|>`, `<turn|>`; incomplete only at the very end of the text.
_TAG = re.compile(
    rf"<[/\s]{{0,2}}(?:[|｜\s]{{1,4}})?([\w:.\-▁]{{1,60}}(?:\s?[|｜]{{1,2}}\s?[\w:.\-▁]{{0,60}})?){_END}"
)
_NEXT_TURN = re.compile(r"<\|(?:start|im_start|start_header_id)\|>assistant\b")
"""The head of the model's next message, with which a server may forget to stop."""
_BRACKETED = re.compile(r"\[/?([\w ]{1,40})\]|\[e~\[")
_WORDS = re.compile(r"(?>\*\*|__)?+[^\W\d_][\w'’ \t\r\n,，.!！:：*]*+")
_ASKS = re.compile(r"\W{0,16}(?:is|are|will)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_▁]+")
_LONE = re.compile(rf"[\s{chars.INVISIBLE}]*+[\"'“”‘’(]?[\s{chars.INVISIBLE}]*+")

# The remarks behind the object that appear in the corpora, and no others: the model says that it runs the call,
# says in a few words what the call does, or continues as if the call had been run.
_REMARK = re.compile(
    r"I(?:['’]ll| will)(?: now)? (?:run|execute|call|use) (?:it|this|the)"
    r"(?: [\"“]?(?:command|call|tool|function)[\"”]?)?[.!]?"
    r"|Note: (?:this|it) (?:lists|shows|prints|displays|reads|finds|searches|counts|checks|returns|fetches|opens)"
    r"(?: [\"“]?[A-Za-z]{1,20}[\"”]?){0,3}(?:, isn['’]t it\?|[.!])?"
)
_DOUBT = re.compile(
    r"(?i)\b(?:no|not|never|none|nothing|without|only|unless|until|if|would|could|should|might|must|but|instead|"
    r"wrong|(?:danger|unsafe|harm|delet|destro|remov|wip|eras|refus|deni|forbid|fak|test|demo|sampl|example|pretend|"
    r"ask|confirm|approv|wait|stop|skip|cancel|ignor|fail|break|bad|quot|secret|passw|privat)[a-z]*)\b"
)
_REACT = re.compile(r"(?i)\s*Action Input:\s*")
_OBSERVED = re.compile(r"Observation: ?[^\n]{0,200}+")


def in_front(text: str) -> str | None:
    """The kind of the text before the object; None if it may say something about the object."""
    if _LONE.fullmatch(text):
        return LABEL
    return _pieces(text, behind=False)[0]


def behind(text: str, front: str) -> str | None:
    """The kind of the text behind the object; None if it may say something about it. `front`: the text before it."""
    found, at = _pieces(text, behind=True)
    if found is None and not text[:at].strip() and _is_remark(text[at:].strip(), front):
        return LABEL
    return found


def _pieces(text: str, *, behind: bool) -> tuple[str | None, int]:
    """The kind of a text (FENCE if any piece is one, else that of the first piece) and its end.

    None, and the position, if a piece is of no known kind.
    """
    found, at = "", 0
    if len(text) > MOST:
        return None, 0
    while at < len(text):
        gap = chars.blanks.match(text, at)
        if gap and gap.end() > at:
            at = gap.end()
            continue
        kind, end = _piece(text, at, behind)
        if not kind:
            return None, at
        found = kind if not found or kind == FENCE else found
        at = end
    return found or LABEL, at


def _piece(text: str, at: int, behind: bool) -> tuple[str, int]:
    """The kind of the fence, tag, token or label here, and where it ends; the kind is "" if there is none."""
    if found := _FENCE.match(text, at):
        known = not found[1] or (not behind and found[1].lower() in _LANGUAGES)
        return FENCE if known else "", found.end()
    if behind and (found := _NEXT_TURN.match(text, at)):
        return MARKER, found.end()
    names = _NAME_WORDS | _ONLY_BEHIND if behind else _NAME_WORDS
    if found := _TAG.match(text, at):
        words = _split(found[1])
        return MARKER if words <= names and words else "", found.end()
    if found := _BRACKETED.match(text, at):
        known = found[1] is None or ((found[1].isupper() or not behind) and names.issuperset(_split(found[1])))
        return MARKER if known else "", found.end()
    if not behind and (found := _WORDS.match(text, at)):
        return LABEL if _is_label(found[0]) else "", found.end()
    return "", at


def _split(text: str) -> set[str]:
    return set(_WORD.findall(text.lower().replace("'", "").replace("’", "")))


def _is_label(text: str) -> bool:
    words = _split(text)
    asks = _ASKS.match(text) is not None
    return words <= _LABEL_WORDS and not words.isdisjoint(_LABEL_NAMES) and not asks


def _is_remark(text: str, front: str) -> bool:
    if _OBSERVED.fullmatch(text) and _DOUBT.search(text) is None:
        return _REACT.fullmatch(front) is not None
    return _REMARK.fullmatch(text) is not None and _DOUBT.search(text) is None
