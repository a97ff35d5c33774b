"""The raw input of a freeform tool, if a server turned the call into a function call with JSON around the input."""

from __future__ import annotations

from typing import Final

from ..mend.arguments import Finish, mend_arguments
from . import payload

RETYPED: Final = "retyped as a freeform call"
_WRAPPERS: Final = ("input", "patch", "content")
_PATCH: Final = "*** Begin Patch"


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
