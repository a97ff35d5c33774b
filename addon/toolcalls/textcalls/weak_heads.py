"""Whether a message can still be nothing but a call in a weak form: most answers that begin with a brace, a fence or
a word cannot, and what they begin with shows it."""

from __future__ import annotations

import re

from .json_calls import ARGUMENT_KEYS, INNER_KEYS, LIST_KEY, NAME_KEYS, OTHER_KEYS, TYPES
from .known import Known

_LANGUAGES = ("json", "json5", "tool_call", "tool_calls", "tool", "function_call", "tool_code", "")
_FENCE = re.compile(r"`{1,16}(?P<info>\w*)[ \t]*(?P<line>\n\s*)?")
_KEYS = (*NAME_KEYS, *ARGUMENT_KEYS, *INNER_KEYS, *OTHER_KEYS, LIST_KEY)
_MEMBER = re.compile(
    r"\s*[\"'](?P<key>\w*)(?:[\"']\s*+(?P<colon>:\s*+(?:(?:[\"'](?P<word>[^\"'\\]{0,128})(?P<closed>[\"'])?|[\w.+-]+)\s*+)?)?)?"
)
_BRACE = re.compile(r"(?:\[\s*)?\{")
_LISTED = re.compile(r"\[\s*(?P<name>[^\W\d][\w.]*)(?P<open>\()?")
_CODE = re.compile(r"(?:print\()?(?P<name>[\w.]*)")
_WORD = re.compile(r"[\w.-]*(?::[\w.-]*)?")
_WORDS = ("functools", "call:", "print")


def may_be_weak(text: str, known: Known) -> bool | None:
    """Whether a message that begins like this may be a call in a weak form; None if too little of it has arrived."""
    if text[0] == "`":
        fence = _FENCE.match(text)
        assert fence is not None
        if fence["line"] is None:
            possible = any(language.startswith(fence["info"].lower()) for language in _LANGUAGES)
            return None if possible and fence.end() == len(text) else False
        if fence["info"].lower() not in _LANGUAGES:
            return False
        text = text[fence.end() :]
        if not text:
            return None
        if text[0] not in "{[":
            return _code(text, known) if fence["info"] == "tool_code" else False
    if text[0] in "{[":
        return _object(text, known)
    return _word(text, known) if text[0].isalpha() or text[0] == "_" else False


def _object(text: str, known: Known) -> bool | None:
    if (listed := _LISTED.match(text)) is not None:
        if listed["open"] is None and listed.end() < len(text):
            return False
        return (True if listed["open"] else None) if known.begins(listed["name"]) else False
    brace = _BRACE.match(text)
    if brace is None:
        return None if not text[1:].strip() else False
    at = brace.end()
    while True:
        found = _MEMBER.match(text, at)
        if found is None:
            return None if not text[at:].strip() else False
        key, word, ended = found["key"], found["word"], found.end() == len(text)
        if found["colon"] is None:
            return None if ended and any(each.startswith(key) for each in _KEYS) else False
        if key in NAME_KEYS and word is not None:
            return known.strict(word) is not None if found["closed"] else ended and known.begins(word) and None
        if key not in _KEYS or (key == "type" and found["closed"] and word not in TYPES):
            return False
        if key not in OTHER_KEYS or not text.startswith(",", found.end()):
            return None if ended else key not in OTHER_KEYS
        at = found.end() + 1


def _code(text: str, known: Known) -> bool | None:
    found = _CODE.match(text)
    assert found is not None
    name = found["name"] or ""
    if found.end() == len(text):
        return None if known.begins(name) or "print(".startswith(text) else False
    return text[found.end()] == "(" and known.begins(name)


def _word(text: str, known: Known) -> bool | None:
    found = _WORD.match(text)
    assert found is not None
    word = found[0]
    if found.end() == len(text):
        possible = any(each.startswith(word) or word.startswith("call:") for each in _WORDS)
        return None if possible or any(tool.name.startswith(word) for tool in known.tools) else False
    if word == "functools" or word.startswith("call:"):
        return text[found.end()] in "[{"
    return known.tools.get(word) is not None and text[found.end() :].lstrip(" ")[:1] in ("[", "{", "\n", "")
