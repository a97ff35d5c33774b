"""Mends an answer that the request wanted as JSON: JSON in a fence, between other words, or broken with one reading.

It is mended like arguments (`arguments.py`, `shape/`), and trusted only if the declared schema admits the result.
Text that is JSON already stays unchanged, whatever it contains.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ..policy import Policy
from ..tools.declared import Tool
from ..tools.schema.check import Check, Exhausted
from ..work import Work
from .arguments import Finish, mend_arguments
from .continuation import continued
from .reading.strict import read, write
from .refusal import Refusal
from .shape.shape import mend_shape

_FENCE: Final = "```"
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9_+-]{0,20}[ \t]*+\r?\n")
"""The rest of the line that opens a fence."""
_CALL: Final = re.compile(r"[<\[][^<>\[\]\n\"']{0,40}(?:tool|function|call|invoke)", re.IGNORECASE)
"""The markup of a call: JSON inside it is an unwanted call, not the answer."""
_FENCED: Final = "code fence around the answer"
_WORDS: Final = "text around the answer"
_BRACKET: Final = re.compile(r"[\[{]")
_PER_STEP: Final = 32
"""Characters that are searched in one step."""
_NOT_MEANT: Final = frozenset({"list input", "no arguments", "double-encoded"})
"""Repairs that are right only for arguments: an answer may well be meant as a list or a string."""


@dataclass(slots=True, frozen=True)
class StructuredMended:
    text: str
    """The whole answer, beginning with what the client already has."""
    steps: tuple[str, ...]


def mend_structured(
    text: str,
    sent: str,
    wanted: Tool,
    finish: Finish,
    policy: Policy,
    work: Work,
    takes_back: Callable[[str], bool],
) -> StructuredMended | None:
    """The JSON that an answer means; None if the answer stays unchanged.

    `sent`: the beginning that the client already has. `takes_back`: whether the words around the JSON say that it is
    not the answer.
    """
    work.spend(len(text) // _PER_STEP)
    if finish is Finish.CUT or _is_json(text):
        return None
    found = _find(text)
    if found is None or _CALL.search(text.partition("{")[0]) or takes_back(found.around):
        return None
    candidate, steps = found.text, found.steps
    value = _read(candidate)
    if not isinstance(value, dict | list):
        mended = mend_arguments(candidate, finish, work=work)
        if mended.status != "repaired" or not _NOT_MEANT.isdisjoint(mended.steps):
            return None
        candidate, value, steps = mended.text or "", mended.value, (*steps, *mended.steps)
    if isinstance(value, dict) and policy.shape and not sent.strip():
        work.look_at(value)
        shaped = mend_shape(value, wanted)
        if shaped.steps:
            value, steps = shaped.value, (*steps, *shaped.steps)
            candidate = write(value)
    if not _is_admitted(value, wanted):
        return None
    if (
        found.around.strip()
        and not found.fenced
        and wanted.schema is None
        and not (isinstance(value, dict) and value)
    ):
        # Between words, a list or `{}` may be a footnote, a checkbox or a piece of code.
        return None
    whole = continued(sent, candidate, value)
    return None if whole is None else StructuredMended(whole, steps)


class _Found(NamedTuple):
    """The only JSON in an answer."""

    text: str
    steps: tuple[str, ...]
    around: str = ""
    """The words around the JSON, outside the fence."""
    fenced: bool = False


def _find(text: str) -> _Found | None:
    """The only JSON in the text; None if there is none, or if there may be more."""
    begin = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    if begin < 0:
        return None
    if 0 <= text.find(_FENCE) < begin:
        return _in_fence(text)
    end = max(text.rfind("}"), text.rfind("]")) + 1
    behind = text[end:]
    if _read(text[begin:end]) is not None:
        # A later opening bracket may begin another answer that was cut off.
        return None if _BRACKET.search(behind) else _Found(text[begin:end], (_WORDS,), text[:begin] + behind)
    # The text behind may belong to the JSON: mending decides.
    return _Found(text[begin:].strip(), (_WORDS,) if text[:begin].strip() else (), text[:begin])


def _in_fence(text: str) -> _Found | None:
    """The JSON in the only fence of a text that has no brackets outside it."""
    parts = text.split(_FENCE, 3)
    language = _LANGUAGE.match(parts[1]) if len(parts) == 3 else None
    inside = parts[1][language.end() :].strip() if language is not None else ""
    if not inside.startswith(("{", "[")) or _BRACKET.search(parts[2]):
        return None
    around = f"{parts[0].strip()}\n{parts[2].strip()}".strip()
    return _Found(inside, (_FENCED, _WORDS) if around else (_FENCED,), around, fenced=True)


def _is_admitted(value: Any, wanted: Tool) -> bool:
    node = wanted.prepared
    try:
        return node is None or Check().admits(node, value) is not False
    except (Exhausted, RecursionError):
        return False


def _is_json(text: str) -> bool:
    """Whether the text is JSON of any kind."""
    try:
        read(text)
    except (ValueError, RecursionError, Refusal):
        return False
    return True


def _read(text: str) -> dict[str, Any] | list[Any] | None:
    """The object or list that the text is in strict JSON; None otherwise."""
    try:
        value = read(text)
    except (ValueError, RecursionError, Refusal):
        return None
    return value if isinstance(value, dict | list) else None
