"""The wrappers that models put around reasoning in their text, as data.

A call inside a wrapper is only a plan. Wrappers appear in upper and lower case, with attributes, late in the text,
more than once, and without their opener, if that was in the prompt.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TAGS = (
    "think", "thinking", "thought", "thoughts", "thinking_process", "thought_process", "internal_thoughts",
    "reason", "reasoning", "reasoning_content", "internal_reasoning", "chain_of_thought", "cot",
    "scratchpad", "analysis", "reflection", "reflect", "monologue", "inner_monologue", "internal_monologue",
    "antthinking", "seed:think", "seed:cot_budget_reflect", "mm:think", "ponder", "deliberation", "planning",
)  # fmt: skip
"""Elements: `<think>` … `</think>`."""

_TOKENS = {
    "[THINK]": "[/THINK]",
    "[THINKING]": "[/THINKING]",
    "[REASONING]": "[/REASONING]",
    "◁think▷": "◁/think▷",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|think|>": "<|/think|>",
    "<|thinking|>": "<|/thinking|>",
    "<|reasoning|>": "<|/reasoning|>",
    "<｜think｜>": "<｜/think｜>",
    "<|channel>thought": "<channel|>",
    "<unused94>thought": "<unused95>",
}
"""Special tokens, each with the one that ends it."""

_NAMES = "|".join(sorted(map(re.escape, _TAGS), key=len, reverse=True))
_OPEN = rf"<(?:{_NAMES})(?::[\w-]{{1,64}})?(?:\s[^<>]{{0,200}})?>|" + "|".join(map(re.escape, _TOKENS))
_CLOSE = rf"</(?:{_NAMES})(?::[\w-]{{1,64}})?\s{{0,8}}>|" + "|".join(map(re.escape, _TOKENS.values()))

_STEM = r"(?:think|thought|reason|rationale|brainstorm|monologue|ponder|reflect|scratch)"
_OPEN += (
    rf"|<[\w:.-]{{0,20}}{_STEM}[\w:.-]{{0,20}}(?:\s[^<>]{{0,200}})?>|<[|｜](?!/|end)\w{{0,20}}{_STEM}\w{{0,16}}(?<!_end)[|｜]>"
    r"|\[(?:reason|thoughts?)\]|[{＜]\s?think(?:ing)?\s?[}＞]|<\s?think\s?/?>|&lt;think(?:ing)?&gt;|◁think(?:ing)?▷|<\|channel\|>\s{0,4}analysis\b"
)
_CLOSE += (
    rf"|</[\w:.-]{{0,20}}{_STEM}[\w:.-]{{0,20}}\s{{0,8}}>|<[|｜](?:/|end)\w{{0,24}}{_STEM}\w{{0,16}}[|｜]>"
    rf"|<[|｜]\w{{0,20}}{_STEM}\w{{0,16}}_end[|｜]>|\[/(?:reason|thoughts?)\]|[{{＜]/\s?think(?:ing)?\s?[}}＞]|&lt;/think(?:ing)?&gt;|◁/think(?:ing)?▷"
    r"|<\|end\|>|<\|return\|>|<\|channel\|>\s{0,4}(?:final|commentary)\b"
)

_WORD = r"(?:think(?:ing)?|thoughts?|reasoning|思考(?:过程|過程)?|推理)"
_OPEN += rf"|[⟨‹《【]\s?{_WORD}\s?[⟩›》】]|\\<{_WORD}\\?>|<[|｜](?:think(?:ing)?|analysis|cot|scratchpad)[|｜]?>"
_CLOSE += rf"|[⟨‹《【]/\s?{_WORD}\s?[⟩›》】]|\\</{_WORD}\\?>|<[|｜]/(?:analysis|cot|scratchpad)[|｜]?>|<{_WORD}[|｜]>"

WRAPPER = rf"(?P<reasoning>(?i:{_OPEN}))|(?P<reasoning_end>(?i:{_CLOSE}))"
"""Matches the beginning or the end of reasoning."""

_CLOSER = re.compile(rf"(?i:{_CLOSE})\Z")


_OPENER = re.compile(rf"(?i:{_OPEN})\Z")


_STEMS = re.compile(_STEM)
_LETTERS = re.compile(r"[^\W\d]+")
_KINDS = {closer.lower(): opener.lower() for opener, closer in _TOKENS.items()}
_CHANNEL = ("<|channel|>", "<|end|>", "<|return|>")


class OpenReasoning(NamedTuple):
    """The reasoning that is open, if any."""

    wrapper: str | None = None
    """Its wrapper, as `kind` names it; None if no reasoning is open."""
    first: bool = False
    """It is a `<think>` that the message begins with."""

    @property
    def open(self) -> bool:
        return self.wrapper is not None


def kind(token: str) -> str:
    """What the opener and the closer of one wrapper have in common."""
    token = token.lower()
    if token.startswith(_CHANNEL):
        return "channel"
    token = _KINDS.get(token, token)
    stem = _STEMS.search(token)
    return stem[0] if stem else "".join(_LETTERS.findall(token)[:1])


def opens(tag: str) -> bool:
    """Whether reasoning begins with this tag."""
    return _OPENER.match(tag) is not None


def closes(line: str) -> bool:
    """Whether this line is nothing but the end of reasoning."""
    return _CLOSER.match(line) is not None


ENDS = (
    *("</think>", "</thinking>", "</thought>", "</reasoning>", "</scratchpad>", "</analysis>", "</reflection>"),
    *("</seed:think>", "[/THINK]", "◁/think▷", "<|END_THINKING|>"),
)
"""After one of these the message begins again, for calls that have to be the entire message."""
