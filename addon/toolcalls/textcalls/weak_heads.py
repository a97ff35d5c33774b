"""Whether a message can still be nothing but a call in a weak form: most answers that begin with a brace, a fence or
a word cannot, and what they begin with shows it."""

from __future__ import annotations

import re

from ..mend.names import declared_of
from .json_calls import ARGUMENT_KEYS, INNER_KEYS, LIST_KEY, NAME_KEYS, OTHER_KEYS, TYPES
from .known import WrittenTools

_LANGUAGES = ("json", "json5", "tool_call", "tool_calls", "tool", "function_call", "tool_code", "")
_FENCE = re.compile(r"`{1,16}(?P<info>\w*)[ \t]*(?P<line>\n\s*)?")
_KEYS = (*NAME_KEYS, *ARGUMENT_KEYS, *INNER_KEYS, *OTHER_KEYS, LIST_KEY)
_MEMBER = re.compile(
    r"[{,]\s*[\"'](?P<key>\w*)(?:[\"']\s*(?P<colon>:\s*(?:[\"'](?P<word>[^\"'\\]*)(?P<closed>[\"'])?)?)?)?"
)
_BRACE = re.compile(r"(?:\[\s*)?(?:\{\s*(?:[\"']|\Z)|\Z)")
_CODE = re.compile(r"(?:\[\s*(?=[^\W\d])|print\()?(?P<name>[\w.]*)(?P<open>\()?")
_WORD = re.compile(r"[\w.-]*(?::[\w.-]*)?")
_WORDS = ("functools", "call:", "print")


def may_be_weak(text: str, known: WrittenTools) -> bool | None:
    """Whether a message that begins like this may be a call in a weak form; None if too little of it has arrived."""
    fence = _FENCE.match(text)
    if fence is not None:
        info, arrived = fence["info"].lower(), fence.end() == len(text)
        if fence["line"] is None:
            return None if arrived and any(language.startswith(info) for language in _LANGUAGES) else False
        if info not in _LANGUAGES or arrived:
            return None if info in _LANGUAGES else False
        text = text[fence.end() :]
    code = _CODE.match(text)
    listed = text[0] == "[" and code is not None and code["name"] != ""
    if code is not None and (listed or (fence is not None and fence["info"] == "tool_code" and text[0] not in "{[")):
        if code["open"] is None and code.end() < len(text):
            return False
        begins = declared_of(known.tools).begins(code["name"]) or "print(".startswith(text)
        return (code["open"] is not None or None) if begins else False
    if text[0] in "{[":
        return _object(text, known)
    return _word(text, known) if fence is None and (text[0].isalpha() or text[0] == "_") else False


def _object(text: str, known: WrittenTools) -> bool | None:
    if _BRACE.match(text) is None:
        return False
    for member in _MEMBER.finditer(text):
        key, word = member["key"], member["word"]
        if member["colon"] is None:
            return None if member.end() == len(text) and any(each.startswith(key) for each in _KEYS) else False
        if key in NAME_KEYS and word is not None:
            if member["closed"]:
                return known.resolve(word) is not None
            return None if declared_of(known.tools).begins(word) else False
        if key not in _KEYS or (key == "type" and member["closed"] and word not in TYPES):
            return False
        if key not in OTHER_KEYS and member.end() < len(text):
            return True
    return None


def _word(text: str, known: WrittenTools) -> bool | None:
    word = _WORD.match(text)[0]  # type: ignore[index]  # it matches nothing, too
    rest = text[len(word) :]
    if not rest:
        possible = any(each.startswith(word) or word.startswith("call:") for each in _WORDS)
        return None if possible or any(tool.name.startswith(word) for tool in known.tools) else False
    if word == "functools" or word.startswith("call:"):
        return rest[0] in "[{"
    return known.tools.get(word) is not None and rest.lstrip(" ")[:1] in ("[", "{", "\n", "")
