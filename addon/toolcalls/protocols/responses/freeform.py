"""Freeform tools, whose input is raw text: a call that a server turned into a function call, with JSON around it."""

from __future__ import annotations

from typing import Final

from ... import payload
from ...answer import Answer
from ...call import Call
from ...mend.arguments import mend_arguments
from ...mend.finish import Finish
from ...parts import Part
from ...reasons import FREEFORM_UNCLEAR

RETYPED: Final = "retyped as a freeform call"
_WRAPPERS: Final = ("input", "patch", "content")
_PATCH: Final = "*** Begin Patch"


class AnswerOfItems(Answer):
    """An answer whose texts are items, and whose calls of freeform tools get their raw input back."""

    drops_space = False

    def _decide_call(self, call: Call, drop: bool) -> list[Part]:
        said = call.arguments.strip() or call.finish is Finish.COMPLETE
        tool = self._tools.get(call.name, call.namespace or None)
        if not said or tool is None or tool.kind != "custom":
            return super()._decide_call(call, drop)
        raw = freeform_input(call.arguments, call.finish)
        if raw is not None:
            call.arguments, call.steps = raw, (*call.steps, RETYPED)
        elif not isinstance(payload.read_encoded(call.arguments), dict):
            call.refuse(FREEFORM_UNCLEAR)
        return super()._decide_call(call, drop)


def unwrapped(arguments: str) -> str | None:
    """The raw input inside the JSON that a server wrapped around it; None if this is no such JSON."""
    value = payload.object_in(arguments)
    if value is None or len(value) != 1:
        return None
    key, inner = next(iter(value.items()))
    if isinstance(inner, str) and key in _WRAPPERS:
        return inner
    if key == "command" and isinstance(inner, list) and len(inner) == 2 and isinstance(inner[1], str):
        return inner[1] if inner[1].startswith(_PATCH) else None
    return None


def freeform_input(arguments: str, finish: Finish) -> str | None:
    """The raw input of a freeform tool that was called like a function; None if it is not certain."""
    text = unwrapped(arguments)
    if text is not None:
        return text
    if arguments.lstrip().startswith(("{", '"')):
        mended = mend_arguments(arguments, finish)
        return unwrapped(mended.text) if mended.text is not None else None
    # The input itself, without JSON around it: whether it was cut off cannot be seen.
    return arguments if arguments.strip() and finish is Finish.COMPLETE else None
