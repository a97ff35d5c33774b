"""Reasoning in text, and turns that the model invents: what they begin and end with, as data.

Reasoning stands in upper and lower case, with attributes, late in the text, more than once, and without its opener,
if that was in the prompt: everything before a lone closer is reasoning.
"""

from __future__ import annotations

import re

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

_STEM = r"(?:think|thought|reason|rationale|brainstorm|monologue|ponder|reflect|scratch)"
_TAG = rf"(?:[\w:.-]{{0,20}}{_STEM}[\w:.-]{{0,64}}|(?:cot|analysis|deliberation|planning)(?::[\w-]{{1,64}})?)"
"""`<think>`, `<seed:think>`, `<chain_of_thought>`, `<think:a91>` and their like."""
_WORD = r"(?:think(?:ing)?|thoughts?|reasoning|思考(?:过程|過程)?|推理)"
_OPEN = "|".join(
    (
        rf"<{_TAG}(?:\s[^<>]{{0,200}})?>",
        *map(re.escape, _TOKENS),
        rf"<[|｜](?!/|end)\w{{0,20}}{_STEM}\w{{0,16}}(?<!_end)[|｜]>",
        r"\[(?:reason|thoughts?)\]|[{＜]\s?think(?:ing)?\s?[}＞]|<\s?think\s?/?>|&lt;think(?:ing)?&gt;|◁think(?:ing)?▷",
        r"<\|channel\|>\s{0,4}analysis\b|\bto=(?:self|user)<\|message\|>",
        rf"[⟨‹《【]\s?{_WORD}\s?[⟩›》】]|\\<{_WORD}\\?>|<[|｜](?:think(?:ing)?|analysis|cot|scratchpad)[|｜]?>",
    )
)
_CLOSE = "|".join(
    (
        rf"</{_TAG}\s{{0,8}}>",
        *map(re.escape, _TOKENS.values()),
        rf"<[|｜](?:/|end)\w{{0,24}}{_STEM}\w{{0,16}}[|｜]>",
        rf"<[|｜]\w{{0,20}}{_STEM}\w{{0,16}}_end[|｜]>|\[/(?:reason|thoughts?)\]|[{{＜]/\s?think(?:ing)?\s?[}}＞]",
        r"&lt;/think(?:ing)?&gt;|◁/think(?:ing)?▷|<\|end\|>|<\|eom\|>|<\|return\|>|<\|start\|>(?=assistant)|<\|channel\|>\s{0,4}(?:final|commentary)\b",
        rf"[⟨‹《【]/\s?{_WORD}\s?[⟩›》】]|\\</{_WORD}\\?>|<[|｜]/(?:analysis|cot|scratchpad)[|｜]?>|<{_WORD}[|｜]>",
    )
)
REASONING = rf"(?P<reasoning>(?i:{_OPEN}))|(?P<reasoning_end>(?i:{_CLOSE}))"
REASONING_END = re.compile(rf"\s*+(?i:{_CLOSE})")
ENDS = (
    *("</think>", "</thinking>", "</thought>", "</reasoning>", "</scratchpad>", "</analysis>", "</reflection>"),
    *("</seed:think>", "[/THINK]", "◁/think▷", "<|END_THINKING|>", "<channel|>", "<|/think|>"),
)
"""After one of these the message begins again, for calls that have to be the whole message."""

REASONING_OPENER = re.compile(rf"(?i:{_OPEN})\Z")
_STEMS = re.compile(_STEM)
_LETTERS = re.compile(r"[^\W\d]+")
_KINDS = {closer.lower(): opener.lower() for opener, closer in _TOKENS.items()}


def kind(token: str) -> str:
    """What the opener and the closer of one wrapper have in common."""
    token = token.lower()
    if token.startswith(("<|channel|>", "<|end|>", "<|return|>", "<|eom|>", "<|start|>", "to=")):
        return "channel"
    token = _KINDS.get(token, token)
    stem = _STEMS.search(token)
    return stem[0] if stem else "".join(_LETTERS.findall(token)[:1])


_OTHERS = r"(?:user|human|system|developer|tool|ipython|observation|environment|function|functions\.[\w.-]{1,80})"
_ROLE = r"(?:<\|(?:im_start|start_header_id|header_start|start_of_role|start)\|>|<\|turn>|<start_of_turn>)\s?"
TURN = (
    r"(?P<other_speaker>"
    rf"(?i:{_ROLE}{_OTHERS}\b|<\|(?:user|human|observation|system|tool|tool_(?:response|result|output))\|?>"
    r"|<｜user｜>|<[｜|]tool[▁_ ]outputs?[▁_ ]begin[｜|]>|<\|(?:user|system)_token\|>|\[\|(?:user|human)\|\]"
    r"|<\|im_(?:user|system|tool)\|>|\]~b\](?:user|system|tool)\b|[<‹]｜hy_user｜>"
    r"|<\|open\|>message\s{1,4}role=\"(?:user|tool|system)\""
    r"|(?:<\|endoftext\|>|<\|end_of_text\|>|<eos>|</s>)\s{0,8}(?:human|user)\s?:)|\[INST\]"
    r"|\[(?:TOOL_RESULTS|AVAILABLE_TOOLS|SYSTEM_PROMPT)\]|<\|(?:tool_response_start|START_TOOL_RESULT)\|>"
    r"|<start_function_response>|</(?:tool_(?:responses?|results?|outputs?)|function_(?:results?|responses?))>"
    r"|</system-reminder>)"
)
"""The beginning of the turn of a user, a tool or the system, or the end of what a client sends."""

ROLE = re.compile(
    r"(?P<turn>(?:(?:\#{1,4}\s|\*{2,3})?(?:user|human)(?:\*{2,3})?|h|tool (?:result|response|output)s?):)"
    r"|(?P<other>(?:user|human|tool|system|observation)\s*\Z)|(?P<model>(?:assistant|model)\s*\Z)"
    r"|(?P<observed>observation:)|(?P<acted>(?:thought|action(?: input)?):)",
    re.I,
)
"""A line that is a role, as in the script of a conversation."""
TURNS = ({"turn"}, {"other", "model"}, {"acted", "observed"})
"""The lines that together are the turn of somebody else; without an action, an observation is the model's remark."""
