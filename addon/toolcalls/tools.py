"""The tools that the request declared: the oracle for names and shapes.

A request may declare tools in three wire shapes (Chat, Messages, Responses). What is kept is the
name, the JSON schema of the arguments and the kind of tool; nothing else of the request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]


@dataclass(slots=True, frozen=True)
class Tool:
    name: str
    schema: Schema | None = None
    """The JSON schema of the arguments; None where the request gave none."""


class Tools:
    """The declared tools by name. Empty when the request declared none or could not be read."""

    __slots__ = ("_by_name",)

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._by_name = {tool.name: tool for tool in tools}

    @classmethod
    def read(cls, request: object) -> Tools:
        """Read the tools of a decoded request body; whatever is not understood is left out."""
        declared = request.get("tools") if isinstance(request, dict) else None
        if not isinstance(declared, list):
            return cls()
        return cls(tool for entry in declared for tool in _read_tool(entry))

    def get(self, name: str) -> Tool | None:
        return self._by_name.get(name)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)


def _read_tool(entry: object) -> Iterator[Tool]:
    if not isinstance(entry, dict):
        return
    function = entry.get("function")
    body = function if isinstance(function, dict) else entry
    name = body.get("name")
    if not isinstance(name, str) or not name:
        return
    schema = body.get("parameters", body.get("input_schema"))
    yield Tool(name, schema if isinstance(schema, dict) else None)
