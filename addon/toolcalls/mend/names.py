"""Finds the only declared tool that the name of a call can mean.

The comparisons get weaker step by step: exact; without case and separators; without a known prefix (`spelling.py`);
without repetition; without a field name glued to the end. Template tokens are removed before the first. The first
comparison with a match decides: if several tools match, none is chosen. Mere similarity never counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from ..tools.declared import Tool, Tools
from ..tools.short_names import LONGEST, short_name
from ..tools.spelling import Declared, declared_of, readings, without_prefixes
from .name_markup import without_markup

Status = Literal["exact", "mended", "unknown", "not_a_name"]

_MAX_NAME = 512
_MAX_NAME_WITH_ARGUMENTS = 1_000_000

# Field names that servers glue to a tool name (`read_filearguments`, facts/zai.md section 12).
_GLUED: Final = ("arguments", "parameters")


@dataclass(slots=True, frozen=True)
class NameMended:
    name: str
    """The declared name; unchanged if the status is `unknown` or `not_a_name`."""
    status: Status
    steps: tuple[str, ...] = ()
    arguments: dict[str, str] | str | None = None
    """Arguments found inside the name: raw `<arg_value>` strings, still without a type, or JSON text."""
    namespace: str | None = None
    tool: Tool | None = None


def mend_name(name: str, tools: Tools, namespace: str | None = None) -> NameMended:
    """Find the declared tool that a name means. `namespace`: that of the call, if its protocol has such a field.

    Without declared tools nothing can be compared, and the status `unknown` says nothing about the name.
    """
    found = tools.get(name, namespace)
    if found is not None and found.namespace == namespace:
        return NameMended(name, "exact", namespace=namespace, tool=found)
    if not any(character.isalnum() for character in name):
        return NameMended(name, "not_a_name", namespace=namespace)
    unknown = NameMended(name, "unknown", namespace=namespace)
    if not len(tools) or len(name) > _MAX_NAME_WITH_ARGUMENTS:
        return unknown
    if (tool := _of_short_form(name, tools)) is not None and namespace is None:
        return NameMended(tool.name, "mended", ("name: long form again",), tool=tool)
    bare = name if namespace is None else f"{namespace}.{name}"
    steps: list[str] = []
    arguments: dict[str, str] | str | None = None
    if "<" in bare:
        unmarked = without_markup(bare)
        if unmarked is None:
            return unknown
        bare, arguments = unmarked
        steps.append("name: template tokens cut" if arguments is None else "name: arguments taken out of it")
    if len(bare) > _MAX_NAME:
        return unknown
    for what, matches in _rungs(bare, declared_of(tools)):
        if not matches:
            continue
        if len(matches) > 1:
            return unknown
        tool = matches[0]
        if what:
            steps.append(f"name: {what}")
        if tool.namespace != namespace:
            steps.append("name: namespace set as declared")
        return NameMended(tool.name, "mended", tuple(steps), arguments, tool.namespace, tool)
    return unknown


def _of_short_form(name: str, tools: Tools) -> Tool | None:
    """The tool that was declared to the host under this short name (`toolfix_schemas=widen`)."""
    if len(name) > LONGEST:
        return None
    return next((tool for tool in tools if tool.name != name and short_name(tool.name) == name), None)


def _rungs(name: str, declared: Declared) -> Iterator[tuple[str, list[Tool]]]:
    yield from readings(name, declared)
    yield "repetition undone", _repeated(name, declared)
    yield "glued word dropped", _glued(name, declared)


def _repeated(name: str, declared: Declared) -> list[Tool]:
    """The tools whose name was written two or more times in a row."""
    found: dict[int, Tool] = {}
    for size in range(1, len(name) // 2 + 1):
        if len(name) % size == 0 and name[:size] * (len(name) // size) == name:
            unit = name[:size]
            matches = declared.exact(unit) or declared.folded(unit)
            for rest in () if matches else without_prefixes(unit):
                matches = matches or declared.exact(rest)
            found.update((id(tool), tool) for tool in matches)
    return list(found.values())


def _glued(name: str, declared: Declared) -> list[Tool]:
    """The tools whose name has a field name glued to its end."""
    return [tool for word in _GLUED if name.endswith(word) for tool in declared.exact(name.removesuffix(word))]
