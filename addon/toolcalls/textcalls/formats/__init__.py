"""The formats in which models write calls: one small file each, all with the interface `region.Format`."""

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
    longcat,
    marked,
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
    *marked.FORMATS,
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
"""Formats that are recognized anywhere in the text."""

LINE_HEAD: tuple[Format, ...] = (*words.LINE_HEAD, *harmony.LINE_HEAD, *functionary.LINE_HEAD)
"""Formats that are recognized only at the beginning of a line."""

WHOLE: dict[str, Format] = {
    "{": Format("json", ("{",), bare.read_object_or_list),
    "[": Format("json", ("[",), bare.read_object_or_list),
    "`": Format("json-fence", ("```",), bare.read_fence),
    ">": Format("functionary", (">>>",), functionary.read),
}
"""Weak formats, by the first character of the message: a call only if it is the whole message."""

WORD = Format("words", (), words.read_word)
"""A call only if it is the whole message, for messages that begin with a letter."""
