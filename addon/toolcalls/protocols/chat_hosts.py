"""Entries of `tool_calls` that are not calls of the client's functions, and pass as they came.

{"type": "custom", "custom": {"name": …, "input": …}}                        a freeform tool of the client
{"type": "builtin_function", "function": {"name": "$web_search", …}}         a tool of the host, and other types
{"id": "srvtoolu_…", "type": "function", "function": {"name": …, …}}         a call that the host itself ran
"""

from __future__ import annotations

from typing import Any, Final

from ..parts import Fragment, Json
from ..tools.declared import Tools

_CUSTOM: Final = "custom"
_RAN_BY_HOST: Final = "srvtoolu_"
"""How Anthropic's ids of such calls begin; gateways keep them."""


class HostCalls:
    """Tells such entries from calls of functions, in one answer."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._at: dict[Any, str] = {}
        """Index → the id of the call that began there last."""
        self.indices: set[Any] = set()
        """The indices that the client has from such calls."""
        self.custom = False
        """The client was called with a freeform tool."""

    def take(self, entry: Json, fragment: Fragment) -> bool:
        """Whether an entry is such a call, or a piece of one. `fragment`: what it is as a call of a function."""
        index = fragment.slot
        if self._begins(entry, fragment):
            self._at[index] = fragment.id or self._at.get(index, "")
            self.indices.add(index)
            self.custom = self.custom or entry.get("type") == _CUSTOM or _CUSTOM in entry
            return True
        goes_on = index in self._at and not fragment.name and fragment.id in ("", self._at[index])
        if not goes_on:
            self._at.pop(index, None)
        return goes_on

    def _begins(self, entry: Json, fragment: Fragment) -> bool:
        """Whether the entry itself says that it is no call of a function of the client."""
        if fragment.id.startswith(_RAN_BY_HOST):
            return True
        kind = entry.get("type")
        if isinstance(entry.get("function"), dict):
            declared = self._tools.get(fragment.name) if fragment.name else None
            if declared is not None and declared.schema is not None:
                return False
        elif _CUSTOM in entry:
            return True
        if isinstance(kind, str) and kind:
            return kind.lower() != "function"
        # An entry of a kind that nobody knows: it has an id, and what it says is under a key of its own.
        unknown = not entry.keys() & {"function", "name", "arguments"}
        return bool(fragment.id) and unknown and any(isinstance(value, dict) for value in entry.values())


def may_be_hosts(entry: Json) -> bool:
    """Whether an entry may be such a call, as far as it shows that itself."""
    usual = isinstance(entry.get("function"), dict) and entry.get("type") in (None, "", "function")
    return not usual or str(entry.get("id")).startswith(_RAN_BY_HOST)
