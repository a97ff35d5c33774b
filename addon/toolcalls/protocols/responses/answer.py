"""Freeform tools, whose input is raw text: as long as a call is held, that text is the one string of an object.

So all that is known of arguments holds for it. Servers that know no freeform tools make such an object themselves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ... import payload
from ...answer import Answer
from ...call import Call
from ...mend.arguments import mend_arguments
from ...mend.finish import Finish
from ...parts import Json, Part
from ...reasons import FREEFORM_UNCLEAR
from .items import FREEFORM

RETYPED: Final = "retyped as a freeform call"
_WRAPPERS: Final = ("input", "patch", "content", FREEFORM)
_PATCH: Final = "*** Begin Patch"


class AnswerOfItems(Answer):
    """An answer whose texts are items, and whose calls of freeform tools get their raw input back."""

    def is_freeform(self, name: str, namespace: str) -> bool:
        """Whether this is a freeform tool of the client's that is not left alone."""
        tool = self._tools.get(name, namespace or None)
        return tool is not None and tool.kind == "custom" and not self._mender.leaves_alone(name)

    def _decide_call(self, call: Call, drop: bool) -> list[Part]:
        said = call.arguments.strip() or call.finish is Finish.COMPLETE
        if said and not call.refusal and self.is_freeform(call.name, call.namespace):
            call = _unwrapped(call)
        return super()._decide_call(call, drop)


def wrapped(text: str) -> str:
    """The input of a freeform call, as arguments."""
    return payload.write({FREEFORM: text})


def _unwrapped(call: Call) -> Call:
    """The call with its raw input, or refused if that is not certain. The one that is compared with others stays."""
    arguments, found = call.arguments, None
    if arguments.lstrip().startswith(("{", '"')):
        found = _inside(mend_arguments(arguments, call.finish).value or {})
    elif arguments.strip() and call.finish is Finish.COMPLETE:
        # The input itself, without JSON around it: whether it was cut off cannot be seen.
        found = "", arguments
    if found is None or (found[0] == FREEFORM and any(one.cut for one in call.fragments)):
        return replace(call, refusal=FREEFORM_UNCLEAR)
    key, raw = found
    steps = call.steps if key == FREEFORM else (*call.steps, RETYPED)
    return replace(call, arguments=raw, steps=steps, finish=Finish.COMPLETE)


def _inside(value: Json) -> tuple[str, str] | None:
    """The key and the raw input inside the JSON around it; None if this is no such JSON."""
    key, inner = next(iter(value.items())) if len(value) == 1 else ("", None)
    if key == "command" and isinstance(inner, list) and len(inner) == 2 and str(inner[1]).startswith(_PATCH):
        return key, str(inner[1])
    return (key, inner) if isinstance(inner, str) and key in _WRAPPERS else None
