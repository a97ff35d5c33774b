"""Reads the whole text: one object and its surroundings.

A repeated object counts once, an empty one is skipped, two different ones are refused.

A model that writes `Never run {…}` or `{…} (do not run)` calls nothing. So the text around the object may only be a
code fence, a token or tag of a chat template, a label in front or a remark behind, and all their words must be in a
table. It is dropped, unless something in it can be part of the object: a key, an open bracket, a list around it. Any
other text, a comment sign, a quotation or a wrapper of reasoning is refused.
"""

from __future__ import annotations

import re
from typing import Any

from ..reasons import BARE_TEXT, CLOSED, EXTRA_BRACKET, MISSING_BRACKET, TEXT_AROUND, Refusal
from . import lexer as chars
from .finish import Finish, words_in
from .grammar import read_object
from .source import Source
from .strict import contains, read_prefix, written_in_order
from .strings import OTHER_LANGUAGES, may_have_path

MAX_OBJECTS = 16

_NOTHING = frozenset({"null", "None"})
_ENDS_OPEN = re.compile(r"[\s(\[{=,:<>|&+\\\-]\Z")


def read_document(s: Source) -> dict[str, Any]:
    """document = around object { around object } around"""
    found: list[dict[str, Any]] = []
    front = ""
    while next_object := chars.object_start.search(s.text, s.pos):
        start = next_object.start()
        if len(found) == MAX_OBJECTS:
            raise Refusal(f"the arguments hold more than {MAX_OBJECTS} objects")
        _check_before(s, s.pos, start, first=not found)
        front = front if found else s.text[:start]
        s.pos = start
        found.append(_object(s))
    if not found:
        raise Refusal("there is no object in the arguments")
    _check_behind(s, found[-1], front)
    if s.swallowed and not s.steps.keys().isdisjoint(CLOSED):
        raise Refusal("a closing bracket is missing, and one in a comment may be meant")
    if BARE_TEXT in s.steps:
        rest = s.text[s.pos :].strip()
        if len(found) > 1 or (rest and behind(rest, "") not in (FENCE, MARKER)):
            raise Refusal("what follows the object may be part of a text that is not in quotes")
    if s.guessed and s.doubts:
        raise Refusal(f"quotes that are not escaped and {next(iter(s.doubts))} cannot be told apart")
    if s.undoubled and s.control_word:
        raise Refusal("some backslashes are not doubled, so that others may be text or escapes")
    if s.literal_codes and not s.steps.keys().isdisjoint(OTHER_LANGUAGES):
        raise Refusal("escapes of JavaScript or Python in a JSON string have two readings")
    full = [value for value in found if value]
    if 0 < len(full) < len(found):
        s.step("empty object beside the real one")
    if len(full) > 1 and len(set(map(written_in_order, full))) > 1:
        raise Refusal("the arguments hold two different objects")
    if len(full or found) > 1:
        s.step("repeated object")
    return (full or found)[0]


def _object(s: Source) -> dict[str, Any]:
    """Read the object here: at C speed if it is JSON, which is usual when only its surroundings are wrong."""
    start = s.pos
    if s.text[start] == "{":
        for lax in (False, True):
            try:
                value, end = read_prefix(s.text, start, lax=lax)
            except ValueError:  # It is no JSON, or has an integer beyond Python's limit.
                continue
            if may_have_path(s.text, start, end):
                break
            s.pos = end
            if lax:
                s.step("raw control characters")
            return dict(value)
    return read_object(s, s.view)


def _check_before(s: Source, begin: int, end: int, *, first: bool) -> None:
    before = s.text[begin:end]
    bare = before.strip()
    if first and bare in ("{", "｛"):
        s.step("extra opening bracket")
        return
    if first and (bare == "(" or (bare in tuple("\"'“”‘’") and "\\" not in s.text)):
        s.step(TEXT_AROUND)  # in quotes, no escape in the text may be one of theirs
        return
    if first and bare.endswith(("[", "［")):
        raise Refusal("the arguments are a list, not an object")
    if chars.quoted_key.search(before):
        raise Refusal("there is a key outside the object")
    if not first:
        _check_closed(s, bare)
        bare = bare[chars.end_of(chars.loose_ends, bare) :]
    if bare:
        _note_surroundings(s, bare, _pieces(bare, behind=False)[0])


def _check_closed(s: Source, behind: str) -> None:
    """Refuse text behind an object with a missing bracket: it may end too early, and the text may belong inside."""
    if MISSING_BRACKET in s.steps and chars.marker.sub("", behind).strip("]}` \t\r\n"):
        raise Refusal("text follows the object, and a bracket inside it is missing")


def _note_surroundings(s: Source, around: str, kind: str | None) -> None:
    if around in _NOTHING:
        s.step("empty object beside the real one")
    elif chars.blanks.fullmatch(around):
        s.step("invisible characters")
    elif kind is None:
        raise Refusal("it is not clear whether the text around the object means it as a call")
    else:
        s.step(kind)


def _check_behind(s: Source, value: dict[str, Any], front: str) -> None:
    rest = s.text[s.pos :]
    bare = rest.strip(" \t\r\n")
    if not bare:
        return
    if chars.blanks.fullmatch(bare):
        s.step("invisible characters")
        return
    _check_closed(s, bare)
    if s.guessed:
        if behind(bare, "") not in (FENCE, MARKER):
            raise Refusal("text follows the object, and quotes inside it are not escaped")
        s.step("markers around the object")
        return
    loose = chars.end_of(chars.loose_ends, rest)
    ends, further = rest[:loose], rest[loose:]
    if ".." in ends:
        raise Refusal("dots follow the object: something may have been left out")
    quotes = sum(ends.count(quote) for quote in "\"'”’")
    if quotes and (quotes > 1 or further or not _is_stray(s, value, ends)):
        raise Refusal("quotes follow the object; a text in it may not end where it seems to")
    if chars.closing.search(ends):
        s.step(EXTRA_BRACKET)
    elif quotes or ends.strip(" \t\r\n`"):
        s.step(TEXT_AROUND)
    if further:
        _note_surroundings(s, further, behind(further, front))
    elif "`" in ends:
        s.step("code fence")


def _is_stray(s: Source, value: dict[str, Any], ends: str) -> bool:
    """Whether the quote behind the object means nothing: `"ls"}"` has ended, the text of `"echo "}"}` may go on."""
    bracket = ends.rstrip()[-1] in "}])"
    if not bracket and not contains(value, str):
        return True
    if s.doubts or s.finish is not Finish.COMPLETE:
        return False
    last: Any = value
    while isinstance(last, dict | list) and last:
        last = list(last.values())[-1] if isinstance(last, dict) else last[-1]
    if not isinstance(last, str):
        return not bracket
    balanced = all(last.count(one) == last.count(other) for one, other in ("{}", "[]", "()"))
    return bool(last) and balanced and last.count('"') % 2 == 0 and _ENDS_OPEN.search(last) is None


FENCE, MARKER, LABEL = "code fence", "markers around the object", TEXT_AROUND
"""The kinds of text around the object, as names of steps."""


MOST = 4_000
"""The longest text around the object that is looked at, in characters; longer text is no label."""
_LANGUAGES = words_in(
    "json json5 jsonc jsonl js javascript ts typescript python py tool_call tool_code tool_use text txt"
)
# None of the words of a label can deny, doubt, quote or suppose anything, in any order.
# A label has at least one of these.
_LABEL_NAMES = words_in(
    """
    argument arguments arg args parameter parameters param params input inputs json json5 object payload body
    tool tools function functions call calls calling action request assistant commentary
    sure ok okay certainly yes here heres below following
    argumente argumentos parámetros paramètres аргументы 参数 输入 输入参数 调用参数 参数如下 以下是参数 引数
    """
)
_LABEL_WORDS = _LABEL_NAMES | words_in(
    """
    of course is are the this these it follows as a an i ill will now use using with for to in and let me lets
    required valid corrected updated format
    """
)
# All words that the name of a tag or token may have if it wraps a call or ends a turn.
_NAME_WORDS = words_in(
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

# The remarks behind the object that appear in the corpora, and no others: the model says that it runs the call,
# or in a few words what the call does, or continues behind `Action Input:` as if the call had been run.
_REMARK = re.compile(
    r"I(?:['’]ll| will)(?: now)? (?:run|execute|call|use) (?:it|this|the)"
    r"(?: [\"“]?(?:command|call|tool|function)[\"”]?)?[.!]?"
    r"|Note: (?:this|it) (?:lists|shows|prints|displays|reads|finds|searches|counts|checks|returns|fetches|opens)"
    r"(?: [\"“]?(?:all|the|every|each|files?|lines?|paths?|names?|results?)[\"”]?){0,3}(?:, isn['’]t it\?|[.!])?"
)
_REACT = re.compile(r"(?i)\s*Action Input:\s*")
_OBSERVED = re.compile(r"Observation:(?: -?\d[\w.%°]{0,20}+)?")


def behind(text: str, front: str) -> str | None:
    """The kind of the text behind the object; None if it may say something about it. `front`: the text before it."""
    found, at = _pieces(text, behind=True)
    remark = _REMARK.fullmatch(rest := text[at:].strip()) or (_REACT.fullmatch(front) and _OBSERVED.fullmatch(rest))
    return LABEL if found is None and not text[:at].strip() and remark else found


def _pieces(text: str, *, behind: bool) -> tuple[str | None, int]:
    """The kind of a text (FENCE if any piece is one, else that of the first piece) and its end.

    None, and the position, if a piece is of no known kind.
    """
    if len(text) > MOST:
        return None, 0
    found, at = "", chars.end_of(chars.blanks, text)
    while at < len(text):
        kind, end = _piece(text, at, behind)
        if not kind:
            return None, at
        found = kind if not found or kind == FENCE else found
        at = chars.end_of(chars.blanks, text, end)
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
        words = _split(found[0])
        known = words <= _LABEL_WORDS and not words.isdisjoint(_LABEL_NAMES) and not _ASKS.match(found[0])
        return LABEL if known else "", found.end()
    return "", at


def _split(text: str) -> set[str]:
    return set(_WORD.findall(text.lower().replace("'", "").replace("’", "")))
