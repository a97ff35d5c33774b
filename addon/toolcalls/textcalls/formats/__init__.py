"""The formats: one small file each, behind one small interface (`region.Format`)."""

from __future__ import annotations

from ..region import Format
from . import (
    apertus,
    bare,
    calls_section,
    deepseek,
    dsml,
    functionary,
    gemma,
    harmony,
    invoke,
    kimi,
    kimi_k3,
    lfm2,
    listed,
    longcat,
    minimax,
    mistral,
    pythonic,
    qwen_coder,
    solar,
    tool_call,
    tool_tag,
    words,
)

ANYWHERE: tuple[Format, ...] = (
    *invoke.FORMATS,
    *qwen_coder.FORMATS,
    *tool_call.FORMATS,
    *dsml.FORMATS,
    *kimi.FORMATS,
    *harmony.FORMATS,
    *mistral.FORMATS,
    *deepseek.FORMATS,
    *pythonic.FORMATS,
    *listed.FORMATS,
    *calls_section.FORMATS,
    *longcat.FORMATS,
    *kimi_k3.FORMATS,
    *gemma.FORMATS,
    *minimax.FORMATS,
    *apertus.FORMATS,
    *solar.FORMATS,
    *lfm2.FORMATS,
    *tool_tag.FORMATS,
)
"""Found anywhere in the text."""

LINE_HEAD: tuple[Format, ...] = (*words.LINE_HEAD, *harmony.LINE_HEAD, *functionary.LINE_HEAD)
"""Found at the beginning of a line."""

WHOLE: dict[str, Format] = {
    "{": Format("json", ("{",), bare.read_object_or_list),
    "[": Format("json", ("[",), bare.read_object_or_list),
    "`": Format("json-fence", ("```",), bare.read_fence),
    ">": Format("functionary", (">>>",), functionary.read),
}
"""Weak formats: only as the whole message, by its first character."""

WORD = Format("words", (), words.read_word)
"""Only as the whole message, where that begins with a letter."""
