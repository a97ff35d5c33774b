"""Recognises lines that name the step which the call is: "Now the tests:", "Step 2: Read the config", "On it."."""

from __future__ import annotations

import re

from ..line_heads import list_item
from .acts import CHINESE, DO, DOING
from .agreement import AGREED, HESITATION

_PARTS = (
    r"tests?|specs?|linter|formatter|type checker|builds?|config\w{0,8}|files?|code|docs|documentation|readme|diff"
    r"|changelog|logs?|imports?|exports?|schema|server|client|frontend|backend|templates?|serializer|routes?|handlers?"
    r"|modules?|packages?|dependenc(?:y|ies)|scripts?|components?|migrations?|functions?|class(?:es)?|cleanup|changes?"
    r"|fix|edits?|patch(?:es)?|commits?|cache|layout|structure|project|repo"
)
"""Parts of a project, and of the work on it."""
_NEXT = (
    r"(?:(?:and|but|ok|okay|good|great|alright|done)\W{1,3})?"
    r"(?:now(?: for)?|next(?: up| file| step)?|first|then|finally|lastly|last|on to|back to|moving on to|only)[,:]?\s"
)
_PATH = r"`[^`\n]{1,60}`|[\w./-]{0,60}[\w-]\.[a-z]{1,5}|[\w.-]{1,40}/[\w./-]{0,60}"
_END = r"\W{0,6}\Z"
_TESTS = "(?:the )?tests? (?:next|first)"
_STEPS = {
    "agreed": rf"(?:(?:{AGREED})\W{{1,3}}){{0,2}}(?:{AGREED})(?!\W{{0,3}}:){_END}",
    "now": (
        rf"(?:now|next|first|then|next steps?|action(?::\s?[\w-]{{1,30}})?|here (?:goes|we go)|now (?:{DOING})){_END}"
        rf"|(?:(?:{AGREED})\W{{1,3}})?(?:next|next (?:step|file))(?!\W{{0,3}}:){_END}"
    ),
    "a next part": (
        rf"{_NEXT}(?:and\s)?(?:the|to the|its|my)\s(?:[\w-]{{1,16}}\s){{0,2}}(?:{_PARTS})"
        rf"(?:\s(?:for|of|in|too|as well)\b[^.:!?]{{0,30}})?{_END}|{_NEXT}(?:the\s)?(?:{_PATH}){_END}"
        rf"|and the (?:{_PARTS})(?: (?:for|of) (?:it|that|them))?{_END}|{_TESTS}{_END}"
    ),
    "a numbered step": (
        r"(?:step|phase|task|schritt|étape|paso|步骤|步驟)\s?\d{1,3}(?:\s?(?:/|of)\s?\d{1,3})?"
        rf"(?:{_END}|\W{{1,4}}(?:(?:{DO}|{DOING})\b(?!\W{{0,4}}\Z)|{CHINESE}))"
    ),
    "what is to do": (
        rf"(?:one|two|three|a few)(?: more| last)? things? to (?:{DO}){_END}"
        rf"|(?:i|we) need the (?:[\w-]{{1,16}}\s)?(?:{_PARTS}){_END}"
        rf"|(?:one (?:more|last)|(?:a )?quick|final|last) (?:check|try|look|fix|test){_END}"
    ),
}
_step = re.compile("|".join(_STEPS.values()), re.IGNORECASE)
_agreement = re.compile(_STEPS["agreed"], re.IGNORECASE)
_filler = re.compile(rf"{_STEPS['agreed']}|{_STEPS['now']}|(?:{HESITATION}){_END}|{_TESTS}{_END}", re.IGNORECASE)
_hesitation = re.compile(rf"(?:{HESITATION})(?!\W{{0,3}}:){_END}", re.IGNORECASE)
_item = re.compile(rf"\W{{0,6}}(?:\[[ x]\]\s)?(?:{DO}|{DOING})\b", re.IGNORECASE)
_LONG_FILLER = 80
_DECORATION = "#*_~=[]()■●▶🚀🔍🔧⏳✅ \t"
_token = re.compile(r"<[^<>\s]{1,40}>")
_tokens = re.compile(r"(?><[^<>\s]{1,40}>\s{0,4})++")
"""Only tags, such as the token that begins a text."""
_LEFT_OVER = frozenset(
    ("assistant", "commentary", "analysis", "tool_call", "tool_calls", "json", "xml", "court", "course", "call")
)
"""Words that remain of the tokens of a template."""


def without_tokens(sentence: str) -> str:
    """The sentence without tags that it begins with, such as the opener of a thought."""
    tokens = _tokens.match(sentence)
    return sentence if tokens is None else sentence[tokens.end() :]


def is_left_over(line: str) -> bool:
    """Whether the line consists of tokens of a template, or of what remains of them."""
    return bool(line) and all(word in _LEFT_OVER or word.startswith("to=") for word in _token.sub(" ", line).split())


def agrees(sentence: str) -> bool:
    """Whether the sentence is a word of agreement: it adds nothing to the sentence before it."""
    return _agreement.match(sentence.strip(_DECORATION)) is not None


def hesitates(sentence: str) -> bool:
    """Whether the sentence only gains time: it says nothing, but may take back a sentence before it."""
    return _hesitation.match(sentence.strip(_DECORATION)) is not None


def is_filler(words: str) -> bool:
    """Whether the words only agree, gain time or go on: they never undo what the words before them say."""
    return len(words) < _LONG_FILLER and _filler.match(words.strip(_DECORATION)) is not None


def is_named(line: str) -> bool:
    """Whether the line names a step of the work, as an item of a list or on its own."""
    if (item := list_item.match(line)) is not None:
        return _item.match(line, item.end()) is not None
    return _step.match(line.strip(_DECORATION)) is not None
