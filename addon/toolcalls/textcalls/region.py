"""A region, the part of a text that may be calls: a cursor that knows the tools and collects what a format finds.

A region is a transaction. A format adds each call when its text is complete; the scanner decides afterwards
whether the calls count, and cuts the raw text at the offsets where they end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..tools.declared import Tools
from ..work import Work
from .cursor import Cursor, NotACall, Step
from .jsontext import check_keys
from .names import Names
from .tokens import BEHIND_A_CALL
from .values import is_open, properties, read, required, typed, write

_CALL = 400
"""The steps that reading a call costs, whatever its arguments are."""


@dataclass(slots=True, frozen=True)
class ProvenCall:
    name: str
    arguments: str
    format: str


@dataclass(slots=True, frozen=True)
class Format:
    """A way to write calls: what it begins with, and the generator that reads it from its first character."""

    name: str
    openers: tuple[str, ...]
    read: Callable[[Region], Step[None]]
    text_follows: bool = False
    """Whether the model may write text right after the closer, if the message begins with the call."""
    preceded_by: str = ""
    """The character that must come right before its openers, so that ordinary prose is not held back."""


class Region(Cursor):
    __slots__ = ("closer_missing", "closers", "items", "names", "tools", "turn_follows", "work")

    def __init__(self, text: str, tools: Tools, names: Names, work: Work) -> None:
        super().__init__(text)
        self.tools = tools
        self.names = names
        self.work = work
        """The work budget that reading the region is charged to."""
        self.items: list[tuple[int, ProvenCall | None]] = []
        self.closers: tuple[str, ...] = ()
        """What closes a value in this format. After a call, it shows that the value had not ended."""
        self.closer_missing = False
        """A closer inside a call is missing; the call was read as if it were there."""
        self.turn_follows = False
        """The turn of a user or a tool begins after a call."""

    def add(self, name: str | None, arguments: str, format: str) -> None:
        """Add a call that ends here; without a declared name its text stays text."""
        self.work.spend(_CALL)
        if name:
            self.work.read_json(arguments)
            check_keys(arguments)
        self.items.append((self.offset, ProvenCall(name, arguments, format) if name else None))

    def finish(self) -> Step[None]:
        """Check what follows the last closer. A closer missing inside is forgiven only if the model ended its answer
        here."""
        if self.closers and (yield from self.ahead(self.closers))[0]:
            self.inside = True
            raise NotACall
        if not self.closer_missing:
            return
        found, length = yield from self.ahead(BEHIND_A_CALL)
        while found:
            found, length = yield from self.ahead(BEHIND_A_CALL, skip=length)
        if found is None or not self.finished:
            self.inside = True
            raise NotACall

    def schema(self, name: str | None) -> Mapping[str, Any] | None:
        tool = self.tools.get(name) if name else None
        return tool.schema if tool else None

    def typed(self, name: str | None, raw: Mapping[str, Any]) -> str:
        """The values as JSON text. A string becomes a value of the type that the tool's schema declares for it."""
        schema = self.schema(name)
        declared = properties(schema)
        wrapped = unwrap(raw, declared)
        if wrapped is not None:
            return wrapped
        return write(
            {
                key: typed(value, declared.get(key), schema) if isinstance(value, str) else value
                for key, value in raw.items()
            }
        )

    def complete(self, name: str | None, keys: object) -> bool:
        """Whether the required arguments are among these keys."""
        return required(self.schema(name)) <= set(keys)  # type: ignore[call-overload, no-any-return]

    def fits(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Whether the arguments fit the tool: every key is declared, and no required one is missing."""
        schema = self.schema(name)
        declared = properties(schema)
        keys = set(arguments)
        if not required(schema) <= keys:
            return False
        return keys <= set(declared) or (is_open(schema) and not is_tool_definition(arguments, declared))

    def by_arguments(self, arguments: str) -> str | None:
        """The only tool that the arguments fit, for a call without a name; None if none or several do."""
        value = read(arguments)
        if not isinstance(value, dict) or not value:
            return None
        fitting = [tool.name for tool in self.tools if properties(tool.schema) and self.fits(tool.name, value)]
        return fitting[0] if len(fitting) == 1 else None


def is_tool_definition(arguments: Mapping[str, Any], declared: Mapping[str, Any]) -> bool:
    """Whether the arguments are a JSON schema, because the text is a tool's definition and not a call."""
    if "properties" in arguments and "properties" not in declared:
        return True
    return "type" not in declared and str(arguments.get("type")).strip("\"'") == "object"


def unwrap(raw: Mapping[str, Any], declared: Mapping[str, Any]) -> str | None:
    """The inner arguments of `{"arguments": "{…}"}`, if the tool has no such parameter; otherwise None."""
    if len(raw) != 1:
        return None
    [(key, value)] = raw.items()
    if key not in ("arguments", "input", "parameters", "args", "params") or key in declared:
        return None
    if isinstance(value, dict):
        return write(value)
    text = value.strip() if isinstance(value, str) else ""
    return text if text[:1] == "{" and text[-1:] == "}" else None
