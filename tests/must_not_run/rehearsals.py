"""Calls that a model thinks of: every wrapper of reasoning, in every place. A thought is no call.

A text says `%OPEN%` and `%CLOSE%` for the wrapper, `%CALL%` for the call that is thought of and `%MEANT%` for
another one that is meant. What is right where a thought ends with a call and the answer ends there, too, is not
asked here: the design lets such a call count.
"""

from __future__ import annotations

TAGS = ("think", "thinking", "reasoning", "thought", "scratchpad", "analysis", "reflection", "seed:think")
"""The wrappers that are tags: they come in any case and with attributes."""

CHANNEL = "the analysis channel"

WRAPPERS = {
    **{f"<{tag}>": (f"<{tag}>", f"</{tag}>") for tag in TAGS},
    "[THINK]": ("[THINK]", "[/THINK]"),
    "◁think▷": ("◁think▷", "◁/think▷"),
    "<|START_THINKING|>": ("<|START_THINKING|>", "<|END_THINKING|>"),
    CHANNEL: ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
}

OTHER_SPELLINGS = {
    "<THINK>": ("<THINK>", "</THINK>"),
    "<Thinking>": ("<Thinking>", "</Thinking>"),
    "<REASONING>": ("<REASONING>", "</REASONING>"),
    "<ScratchPad>": ("<ScratchPad>", "</ScratchPad>"),
    "[think]": ("[think]", "[/think]"),
    "◁Think▷": ("◁Think▷", "◁/Think▷"),
    "<Seed:Think>": ("<Seed:Think>", "</Seed:Think>"),
    "<|start_thinking|>": ("<|start_thinking|>", "<|end_thinking|>"),
    "<think > with a space": ("<think >", "</think >"),
    "<think> with attributes": ('<think effort="high" budget=5>', "</think>"),
    "<thinking> with attributes over lines": ('<thinking\n  mode="long"\n>', "</thinking>"),
    "<reasoning> with a bracket in an attribute": ('<reasoning note="a > b">', "</reasoning>"),
    "<thought> with an id": ("<thought id='1'>", "</thought>"),
    "<analysis> that closes in another case": ("<analysis>", "</Analysis>"),
}

BESIDE_AN_ANSWER = {
    "dropped": "%OPEN%\nI could say\n%CALL%\nbut no.\n%CLOSE%\nHello.",
    "at the end of the thought": "%OPEN%\nI could say\n%CALL%\n%CLOSE%\n\nHello.",
    "without a line of its own": "%OPEN%I could say %CALL%%CLOSE%Hello.",
    "late": "Let me see.\n\n%OPEN%\n%CALL%\n%CLOSE%\n\nAll is well.",
    "the second thought": "%OPEN%a%CLOSE%\nOk.\n%OPEN%\n%CALL%\n%CLOSE%\nDone.",
    "a thought behind another": "%OPEN%a%CLOSE%%OPEN%%CALL%%CLOSE%Done.",
    "nothing but the thought": "%OPEN%\nPerhaps\n%CALL%\nNo, I had better ask.\n%CLOSE%",
    "never closed": "%OPEN%\nPerhaps\n%CALL%\nNo, I had better ask.",
    "late and never closed": "Let me see.\n\n%OPEN%\n%CALL%\nNo, I had better ask.",
    "a lone closer": "Perhaps\n%CALL%\nor not.\n%CLOSE%\nHello.",
    "a lone closer right behind": "Perhaps\n%CALL%\n%CLOSE%\nHello.",
    "a lone closer and no answer": "Perhaps\n%CALL%\nor not.\n%CLOSE%\n",
    "two closers": "%OPEN%a%CLOSE%\n%CALL%\nor not.\n%CLOSE%\nHello.",
}
"""Nothing is meant."""

BEFORE_A_CALL = {
    "thought, then another is meant": "%OPEN%\nI could say\n%CALL%\nbut no.\n%CLOSE%\n\n%MEANT%",
    "thought at the end, then another is meant": "%OPEN%\nI could say\n%CALL%\n%CLOSE%\n%MEANT%",
    "thought, glued, then another is meant": "%OPEN%%CALL%%CLOSE%\n%MEANT%",
    "late, then another is meant": "Let me see.\n\n%OPEN%\n%CALL%\n%CLOSE%\n\n%MEANT%",
    "twice, then another is meant": "%OPEN%%CALL%%CLOSE%\n%OPEN%\n%CALL%\n%CLOSE%\n%MEANT%",
    "a lone closer, then another is meant": "Perhaps\n%CALL%\nor not.\n%CLOSE%\n\n%MEANT%",
    "a lone closer right behind, then another is meant": "Perhaps\n%CALL%\n%CLOSE%\n%MEANT%",
}
"""Only `%MEANT%` is meant. White space alone stands between it and the thought: the end of the answer does not tell."""


def rehearsals() -> dict[str, str]:
    """Every wrapper in every place, with half of the answers in turn; the other spellings in some places."""
    found = {}
    for number, (wrapper, (opener, closer)) in enumerate({**WRAPPERS, **OTHER_SPELLINGS}.items()):
        for place, (name, text) in enumerate({**BESIDE_AN_ANSWER, **BEFORE_A_CALL}.items()):
            in_turn = (place + number) % (4 if wrapper in OTHER_SPELLINGS else 2)
            if in_turn and wrapper != "<think>" and (wrapper in OTHER_SPELLINGS or name in BESIDE_AN_ANSWER):
                continue
            if wrapper == CHANNEL and name in BEFORE_A_CALL and ("lone" in name or "glued" in name):
                continue  # Without its opener nothing says that this channel was the analysis.
            found[f"{wrapper}: {name}"] = text.replace("%OPEN%", opener).replace("%CLOSE%", closer)
    return found
