"""One region of a text call: a cursor that knows the declared tools and collects what a format finds.

A region is a transaction. A format reports each call when its text is complete; the scanner decides
afterwards whether the whole stands, and cuts the raw text at the places that were reported.
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
"""The steps that reading a call takes, whatever its arguments are."""


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
    """May the model write text right behind the closer, if the message begins with the call?"""
    behind: str = ""
    """The character that must stand before its openers, so that ordinary prose is not held back."""


class Region(Cursor):
    __slots__ = ("answered", "closers", "forgotten", "items", "names", "tools", "work")

    def __init__(self, text: str, tools: Tools, names: Names, work: Work) -> None:
        super().__init__(text)
        self.tools = tools
        self.names = names
        self.work = work
        """The steps that reading it may still take."""
        self.items: list[tuple[int, ProvenCall | None]] = []
        self.closers: tuple[str, ...] = ()
        """What closes a value in this format. Behind a call it shows that the value went on."""
        self.forgotten = False
        """A closer inside a call was missing and is taken as read."""
        self.answered = False
        """Behind a call the turn of a user or a tool begins."""

    def add(self, name: str | None, arguments: str, format: str) -> None:
        """A call ends here; without a declared name its text stays text."""
        self.work.spend(_CALL)
        if name:
            self.work.read_json(arguments)
            check_keys(arguments)
        self.items.append((self.offset, ProvenCall(name, arguments, format) if name else None))

    def finish(self) -> Step[None]:
        """Called behind the last closer. A closer missing inside is forgiven only if the model says that its answer
        ends here."""
        if self.closers and (yield from self.ahead(self.closers))[0]:
            self.inside = True
            raise NotACall
        if not self.forgotten:
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
        """Raw values typed by the tool's schema, as JSON text. A value that is no string is typed already."""
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
        """Are the required arguments among these?"""
        return required(self.schema(name)) <= set(keys)  # type: ignore[call-overload, no-any-return]

    def fits(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Are these arguments of this tool: every key declared, no required one missing?"""
        schema = self.schema(name)
        declared = properties(schema)
        keys = set(arguments)
        if not required(schema) <= keys:
            return False
        return keys <= set(declared) or (is_open(schema) and not looks_declared(arguments, declared))

    def by_arguments(self, arguments: str) -> str | None:
        """The one tool that these arguments fit, for a call that came without a name."""
        value = read(arguments)
        if not isinstance(value, dict) or not value:
            return None
        fitting = [tool.name for tool in self.tools if properties(tool.schema) and self.fits(tool.name, value)]
        return fitting[0] if len(fitting) == 1 else None


def looks_declared(arguments: Mapping[str, Any], declared: Mapping[str, Any]) -> bool:
    """A JSON schema where arguments should be: a tool's definition, not a call of it."""
    if "properties" in arguments and "properties" not in declared:
        return True
    return "type" not in declared and str(arguments.get("type")).strip("\"'") == "object"


def unwrap(raw: Mapping[str, Any], declared: Mapping[str, Any]) -> str | None:
    """`{"arguments": "{…}"}` where the tool has no such parameter: what is inside is meant."""
    if len(raw) != 1:
        return None
    [(key, value)] = raw.items()
    if key not in ("arguments", "input", "parameters", "args", "params") or key in declared:
        return None
    if isinstance(value, dict):
        return write(value)
    text = value.strip() if isinstance(value, str) else ""
    return text if text[:1] == "{" and text[-1:] == "}" else None
