"""Brings arguments that are valid JSON of the wrong shape into the shape that the tool declares.

The declared schema decides: a value is changed only if it certainly violates the schema and exactly one other
reading of it satisfies the schema. No string is ever changed, except to a member of an enum. Two changes need no
violation: an integer written as `120000.0`, and an optional property whose empty string means that it is absent
(`drop_empty`, or a format that no empty string has).

Values that are not changed stay the very same objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..tools.check import Check, Exhausted, View
from ..tools.declared import Tool
from ..tools.schema import ARRAY, NULL, OBJECT, STRING, equality_key, type_of
from . import values
from .finish import Finish

_MAX_DEPTH = 40
_MAX_WRAPPERS = 3


@dataclass(slots=True, frozen=True)
class ShapeMended:
    value: dict[str, Any]
    steps: tuple[str, ...] = ()
    """What was done, in order, in plain words; empty if the value is unchanged."""
    refusal: str = ""
    """Why no client can take the value: a container was sent as a string, and its content does not fit either."""


def mend_shape(
    value: dict[str, Any],
    tool: Tool,
    *,
    drop_empty: frozenset[str] = frozenset(),
    finish: Finish | None = None,
) -> ShapeMended:
    """`finish`: how the answer ended, if JSON inside a string may be mended too; it may lack only what the arguments
    may lack."""
    try:
        return (
            ShapeMended(value) if tool.view is None else _Mending(tool.name, drop_empty, finish).run(tool.view, value)
        )
    except (Exhausted, RecursionError):
        return ShapeMended(value)


@dataclass(slots=True)
class _Mending:
    """One pass over the arguments of one call, within one budget of work."""

    tool: str
    drop_empty: frozenset[str]
    finish: Finish | None
    check: Check = field(default_factory=Check)
    steps: list[str] = field(default_factory=list)

    def run(self, view: View, value: dict[str, Any]) -> ShapeMended:
        before = self.check.violations(view.node, value)
        if not before and not self._has_quiet_defect(value):
            return ShapeMended(value)
        result = self._unwrapped(view, value, before) if before else value
        if result is value:
            result = self._mend(view, value, "", None, 0)
        if not isinstance(result, dict) or not self.steps or self.check.violations(view.node, result) > before:
            result = value
        steps = () if result is value else tuple(self.steps)
        return ShapeMended(result, steps, self._stuck(view, result, "", 0) if before else "")

    def _stuck(self, view: View, value: Any, path: str, depth: int) -> str:
        """The reason to refuse, if a container is still a string."""
        if depth > _MAX_DEPTH or not self.check.violations(view.node, value):
            return ""
        self.check.spend(5)
        inside: Iterable[tuple[View | None, Any, str]] = ()
        if isinstance(value, dict):
            inside = ((view.child(key), item, _join(path, key)) for key, item in value.items())
        elif isinstance(value, list):
            inside = ((view.item(index), item, f"{path}[{index}]") for index, item in enumerate(value))
        elif isinstance(value, str) and view.types <= {ARRAY, OBJECT, NULL} and values.looks_like_container(value):
            self.check.spend(len(value) // 50)
            if values.container_in(value, self.finish) is not None:
                return f"`{path}` is a list or an object written as text, and what is in it does not fit the schema"
        reasons = (self._stuck(child, item, below, depth + 1) for child, item, below in inside if child is not None)
        return next(filter(None, reasons), "")

    # The whole call

    def _unwrapped(self, view: View, value: dict[str, Any], before: int) -> Any:
        inner: Any = value
        steps: list[str] = []
        for _ in range(_MAX_WRAPPERS):
            key = values.wrapper_key(view, inner, self.tool)
            if key is None:
                return value
            inner = inner[key]
            if isinstance(inner, str):
                self.check.spend(len(inner) // 50)
                held = values.container_in(inner, self.finish)
                inner = None if held is None else held[0]
            if not isinstance(inner, dict):
                return value
            steps.append(f"arguments taken out of `{key}`")
            mark = len(self.steps)
            mended = self._mend(view, inner, "", None, 0)
            if isinstance(mended, dict) and all(name in mended for name in view.required):
                known = not mended or any(key in view.properties for key in mended)
                if (view.unions or known) and self.check.violations(view.node, mended) <= (
                    0 if view.unions else before
                ):
                    self.steps[mark:] = steps + self.steps[mark:]
                    return mended
            del self.steps[mark:]
        return value

    # One value

    def _mend(self, view: View, value: Any, path: str, key: str | None, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            return value
        before = self.check.violations(view.node, value)
        if not before and not self._has_quiet_defect(value):
            return value
        self.check.spend(5 + len(view.parts))
        mark = len(self.steps)
        if len(view.unions) == 1:
            return self._mend_union(view, value, before, path, key, depth)
        result: Any = value
        if isinstance(value, dict) and OBJECT in view.types:
            result = self._change(view, value, values.folded(view, value), path, depth)
            for change in values.drifted(view, result):
                result = self._change(view, result, [change], path, depth)
            result = self._mend_children(view, result, path, depth)
        elif isinstance(value, list) and ARRAY in view.types:
            result = self._mend_array(view, value, path, depth)
        else:
            whole = values.integer_in(view, value) if isinstance(value, float) else None
            if whole is not None and not self.check.violations(view.node, whole):
                return self._done(whole, "integer from a float", path)
            if before and isinstance(value, str):
                result = self._mend_string(view, value, path, key, depth)
            elif before:
                result = self._wrapped(view, value, path, key, depth)
        return self._kept(view, value, result, mark, before)

    def _kept(self, view: View, value: Any, result: Any, mark: int, most: int = 0) -> Any:
        """The result, if it has at most so many violations; else the value, and none of the steps since `mark`."""
        if result is value or self.check.violations(view.node, result) <= most:
            return result
        del self.steps[mark:]
        return value

    def _mend_union(self, view: View, value: Any, before: int, path: str, key: str | None, depth: int) -> Any:
        """Mend within a union, whose branches are readings: a valid value must fit just one branch, and an invalid
        one must be mendable in just one."""
        branches = view.unions[0]
        mark = len(self.steps)
        if not before:
            open_branches = [b for b in branches if self.check.admits(b, value) is not False]
            if len(open_branches) != 1:
                return value
            branches = (open_branches[0],)
        readings: dict[Any, tuple[Any, list[str]]] = {}
        for branch in branches:
            self.check.spend(100)
            result = self._mend(view.chosen(branch), value, path, key, depth + 1)
            steps = self.steps[mark:]
            del self.steps[mark:]
            if result is not value and not self.check.violations(view.node, result):
                readings.setdefault(equality_key(result), (result, steps))
        if len(readings) == 1:
            result, steps = next(iter(readings.values()))
            self.steps += steps
            return result
        return value

    def _mend_string(self, view: View, text: str, path: str, key: str | None, depth: int) -> Any:
        if values.admits_free_strings(view):
            return text
        mark = len(self.steps)
        member = values.member_for(view, text) if STRING in view.types else None
        if member is not None:
            what = f"enum member `{member}` by case or separators"
            return self._kept(view, text, self._done(member, what, path), mark)
        scalar = values.scalar_in(view, text)
        if scalar is not None:
            kind = "boolean" if isinstance(scalar, bool) else "number"
            return self._kept(view, text, self._done(scalar, f"{kind} from a string", path), mark)
        if not values.looks_like_container(text):
            return self._wrapped(view, text, path, key, depth)
        if not view.types & {ARRAY, OBJECT}:
            return text
        self.check.spend(len(text) // 50)
        held = values.container_in(text, self.finish)
        if held is None:
            return text
        container, broken = held
        self._done(None, f"{type_of(container)} from {'a broken string' if broken else 'a string'}", path)
        return self._kept(view, text, self._mend(view, container, path, key, depth + 1), mark)

    def _wrapped(self, view: View, value: Any, path: str, key: str | None, depth: int) -> Any:
        item = values.only_item(view, value, key)
        if item is None:
            return value
        mark = len(self.steps)
        self._done(None, "array from its only item", path)
        one = self._mend(item, value, f"{path}[0]", None, depth + 1)
        return self._kept(view, value, [one], mark)

    # Objects and arrays

    def _change(
        self, view: View, value: dict[str, Any], changes: list[values.KeyChange], path: str, depth: int
    ) -> dict[str, Any]:
        """Make these changes of keys, if all of them fit."""
        mark, result = len(self.steps), value
        for change in changes:
            child, place = view.child(change.name), _join(path, change.name)
            if child is None:
                break
            self._done(None, change.what, path if change.renames else place)
            content = self._mend(child, change.content, place, change.name, depth + 1)
            if self.check.violations(child.node, content):
                break
            first = change.keys[0]
            result = {
                (change.name if name == first else name): (content if name == first else item)
                for name, item in result.items()
                if name == first or name not in change.keys
            }
        else:
            if changes and self.check.violations(view.node, result) < self.check.violations(view.node, value):
                return result
        del self.steps[mark:]
        return value

    def _mend_children(self, view: View, value: dict[str, Any], path: str, depth: int) -> dict[str, Any]:
        result = value
        for key, item in value.items():
            child = view.child(key)
            if child is None:
                continue
            if (item is None or item == "") and self._may_drop(view, child, result, key):
                result = {k: v for k, v in result.items() if k != key}
                what = "null" if item is None else "empty string"
                self._done(None, f"optional {what} dropped", _join(path, key))
                continue
            mended = self._mend(child, item, _join(path, key), key, depth + 1)
            if mended is not item:
                result = {**result, key: mended}
        return result

    def _may_drop(self, view: View, child: View, value: dict[str, Any], key: str) -> bool:
        """Whether an optional property with null or `""` means no more than its absence."""
        item = value[key]
        if key not in view.properties or key in view.required:
            return False
        forbidden = self.check.violations(child.node, item) > 0
        if item is None:
            if not forbidden:
                return False
        elif forbidden:
            if child.types & {ARRAY, OBJECT}:
                return False  # absent and empty are two readings
        elif key not in self.drop_empty or "" in (child.strings() or ()):
            by_format = STRING in child.types and not child.unions and any(part.never_empty for part in child.parts)
            if not by_format:
                return False
        without = {k: v for k, v in value.items() if k != key}
        before, after = self.check.violations(view.node, value), self.check.violations(view.node, without)
        return after < before if forbidden else after <= before

    def _mend_array(self, view: View, value: list[Any], path: str, depth: int) -> list[Any]:
        mark = len(self.steps)
        result = value
        for index, item in enumerate(value):
            child = view.item(index)
            if child is None:
                continue
            mended = self._mend(child, item, f"{path}[{index}]", None, depth + 1)
            if mended is not item:
                if result is value:
                    result = list(value)
                result[index] = mended
        if result is not value and not self.check.violations(view.node, [value]) and result != [value]:
            del self.steps[mark:]  # the list may as well be the one item of a list of lists
            return value
        return result

    def _has_quiet_defect(self, value: Any) -> bool:
        """Whether the value contains something that may be mended although the schema admits it."""
        if isinstance(value, dict):
            return "" in value.values() or any(map(self._has_quiet_defect, value.values()))
        if isinstance(value, list):
            return any(map(self._has_quiet_defect, value))
        return isinstance(value, float) and value.is_integer()

    def _done(self, value: Any, what: str, path: str) -> Any:
        self.steps.append(f"{what} at `{path}`" if path else what)
        return value


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
