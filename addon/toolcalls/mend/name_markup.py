"""Removes a chat template's markup from around the name of a call, and takes arguments out of the name.

Servers that fail to parse a template leave its tokens in the name (`read<|channel|>commentary`). Only the tokens,
tags and words below belong to a template: `<dry_run>Bash` and `Bash<|channel|>do not run` mean something else.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_TOKENS: Final = (
    r"channel|start|end|message|constrain|call|return|open|close|sep|assistant|user|system|observation|endoftext"
    r"|im_(?:start|end)|eot_id|eom_id|(?:start|end)_header_id|python_(?:tag|start|end)|plugin|(?:start|end)_action"
    r"|action_(?:start|end)|tools_(?:prefix|suffix)"
    r"|tools?[_▁](?:calls?[_▁:]?(?:section_|arguments?_)?(?:begin|end|start|sep|name|args)?|sep)"
)
"""Special tokens, without their `<|` and `|>`; DeepSeek writes `｜` for `|` and `▁` for `_`."""
_TAGS: Final = (
    r"(?:minimax:|seed:|longcat_)?(?:tool_?calls?|function_calls?|function|invoke|tools?|arguments|arg_key|arg_value"
    r"|tool_sep)|s"
)
_WORDS: Final = "commentary|analysis|final|json|code|assistant|function"
"""Words that Harmony writes between its tokens, and DeepSeek before its separator."""

_TOKEN: Final = rf"(?:<[|｜]\s?(?:{_TOKENS})\s?[|｜]>|</?(?:{_TAGS})>)"
# A `</think>` before the name is dropped; a name before `</think>` is part of the reasoning and means no tool.
_LEAD: Final = re.compile(rf"(?>\s*+(?:{_TOKEN}|(?:<think(?:ing)?>\s*+)?</think(?:ing)?>))++", re.IGNORECASE)
_TAIL: Final = re.compile(
    rf"(?>\s*+(?:{_TOKEN}|<think(?:ing)?>(?:\s*+</think(?:ing)?>)?)(?>\s*+(?:{_WORDS})\b)*+)*+\s*+", re.IGNORECASE
)
_ARGUMENTS: Final = "<arg_key>"
_PAIR: Final = re.compile(r"\s*<arg_key>([^<>]*)</arg_key>\s*<arg_value>", re.ASCII)
_VALUE_END: Final = "</arg_value>"
_AFTER_PAIRS: Final = re.compile(r"\s*(?:</tool_call>\s*)?\Z")


class Unmarked(NamedTuple):
    name: str
    arguments: dict[str, str] | str | None
    """Arguments found behind the name: raw `<arg_value>` strings, still without a type, or JSON text."""


def without_markup(name: str) -> Unmarked | None:
    """The name without a template's tokens; None if there is any other text, or if arguments in it are cut off."""
    opened = _LEAD.match(name)
    rest = name[opened.end() :] if opened else name
    cut = rest.find("<")
    if cut < 0:
        return Unmarked(rest.strip(), None)
    bare, tail = rest[:cut].strip(), rest[cut:]
    if tail.startswith(_ARGUMENTS) and tail[len(_ARGUMENTS) :].strip():
        pairs = _pairs(tail)
        return None if pairs is None else Unmarked(bare, pairs)
    markup = _TAIL.match(tail)
    behind = tail[markup.end() :] if markup else tail
    if not behind:
        return Unmarked(bare, None)
    return Unmarked(bare, behind) if behind.startswith("{") and markup and markup.end() else None


def _pairs(text: str) -> dict[str, str] | None:
    """`<arg_key>…</arg_key><arg_value>…</arg_value>` pairs and nothing else; None otherwise."""
    pairs: dict[str, str] = {}
    at = 0
    while True:
        if _AFTER_PAIRS.match(text, at):
            return pairs or None
        opened = _PAIR.match(text, at)
        if opened is None:
            return None
        end = text.find(_VALUE_END, opened.end())
        key = opened[1].strip()
        if end < 0 or not key or key in pairs:
            return None
        pairs[key] = text[opened.end() : end]
        at = end + len(_VALUE_END)
