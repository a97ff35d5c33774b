"""What only the Responses protocol declares about tools: freeform (`custom`) ones and namespaces.

A freeform tool takes raw text (a patch, a program) and is answered by a `custom_tool_call`. A namespace holds
tools that are called with `namespace` and `name` apart; many servers glue the two or lose the first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

_GLUE = (".", "__", "/", ":")


@dataclass(slots=True)
class Declared:
    freeform: set[str] = field(default_factory=set)
    plain: set[str] = field(default_factory=set)
    namespaces: dict[str, set[str]] = field(default_factory=dict)

    def placed(self, name: str) -> tuple[str, str] | None:
        """The namespace and the name that a call without a namespace means; None unless there is exactly one."""
        if not self.namespaces or name in self.plain or name in self.freeform:
            return None
        found = {
            (space, child)
            for space, children in self.namespaces.items()
            for child in children
            if name == child or any(name == space.removesuffix(glue) + glue + child for glue in _GLUE)
        }
        return found.pop() if len(found) == 1 else None


def read_declared(entries: Iterable[Any]) -> Declared:
    declared = Declared()
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            continue
        name, kind = entry["name"], entry.get("type")
        if kind == "custom":
            declared.freeform.add(name)
        elif kind == "namespace":
            tools = entry.get("tools")
            children = {
                tool["name"]
                for tool in (tools if isinstance(tools, list) else ())
                if isinstance(tool, dict) and isinstance(tool.get("name"), str)
            }
            declared.namespaces.setdefault(name, set()).update(children)
        else:
            declared.plain.add(name)
    return declared
