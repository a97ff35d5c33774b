"""Brings arguments that are valid JSON of the wrong shape into the shape that the tool declares.

The declared schema decides: a value is changed only if it certainly violates the schema and exactly one other
reading of it satisfies the schema. No string is ever changed, except to a member of an enum. Two changes need no
violation: an integer written as `120000.0`, and an optional property whose empty string means that it is absent
(`drop_empty`, or a format that no empty string has).

Values that are not changed stay the very same objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...tools.declared import Tool
from ...tools.schema.check import Check, Exhausted
from ...tools.schema.node import ARRAY, NULL, OBJECT, STRING, Node, equality_key, type_of
from ...tools.schema.views import View, view_of
from .indexed_keys import indexed, with_array
from .json_in_string import MendText, container_in, looks_like_container, strict_text
from .keys import dotted, drifted, nested, renamed, wrapper_key
from .scalars import admits_free_strings, integer_in, member_for, only_item, scalar_in

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
    mend_text: MendText = strict_text,
) -> ShapeMended:
    node = tool.prepared
    if node is None:
        return ShapeMended(value)
    try:
        return _Mending(tool.name, node, drop_empty, mend_text).run(value)
    except (Exhausted, RecursionError):
        return ShapeMended(value)


class _Mending:
    """One pass over the arguments of one call, within one budget of work."""

    def __init__(self, tool: str, root: Node, drop_empty: frozenset[str], mend_text: MendText) -> None:
        self._tool = tool
        self._root = root
        self._drop_empty = drop_empty
        self._mend_text = mend_text
        self._check = Check()
        self._steps: list[str] = []

    def run(self, value: dict[str, Any]) -> ShapeMended:
        before = self._check.violations(self._root, value)
        if not before and not self._has_quiet_defect(value):
            return ShapeMended(value)
        view = view_of(self._root)
        result: Any = value
        if before:
            result = self._unwrapped(view, value, before)
        if result is value:
            result = self._mend(view, value, "", None, 0)
        if not isinstance(result, dict) or not self._steps or self._check.violations(self._root, result) > before:
            result = value
        steps = () if result is value else tuple(self._steps)
        return ShapeMended(result, steps, self._stuck(view, result, "", 0) if before else "")

    def _stuck(self, view: View, value: Any, path: str, depth: int) -> str:
        """The reason to refuse, if a container is still a string."""
        if depth > _MAX_DEPTH or not self._violations(view, value):
            return ""
        self._check.spend(5)
        inside: Iterable[tuple[View | None, Any, str]] = ()
        if isinstance(value, dict):
            inside = ((view.child(key), item, _join(path, key)) for key, item in value.items())
        elif isinstance(value, list):
            inside = ((view.item(index), item, f"{path}[{index}]") for index, item in enumerate(value))
        elif isinstance(value, str) and view.types <= {ARRAY, OBJECT, NULL} and looks_like_container(value):
            self._check.spend(len(value) // 50)
            if container_in(value, self._mend_text) is not None:
                return f"`{path}` is a list or an object written as text, and what is in it does not fit the schema"
        reasons = (self._stuck(child, item, below, depth + 1) for child, item, below in inside if child is not None)
        return next(filter(None, reasons), "")

    # The whole call

    def _unwrapped(self, view: View, value: dict[str, Any], before: int) -> Any:
        inner: Any = value
        steps: list[str] = []
        for _ in range(_MAX_WRAPPERS):
            key = wrapper_key(view, inner, self._tool)
            if key is None:
                return value
            inner = inner[key]
            if isinstance(inner, str):
                self._check.spend(len(inner) // 50)
                held = container_in(inner, self._mend_text)
                inner = None if held is None else held.value
            if not isinstance(inner, dict):
                return value
            steps.append(f"arguments taken out of `{key}`")
            mark = len(self._steps)
            mended = self._mend(view, inner, "", None, 0)
            if self._is_the_call(view, mended, before):
                self._steps[mark:] = steps + self._steps[mark:]
                return mended
            self._undo(mark)
        return value

    def _is_the_call(self, view: View, value: Any, before: int) -> bool:
        if not isinstance(value, dict) or any(name not in value for name in view.required):
            return False
        known = [key for key in value if key in view.properties]
        if view.unions:
            return not self._violations(view, value)
        return bool(known or not value) and self._violations(view, value) <= before

    # One value

    def _mend(self, view: View, value: Any, path: str, key: str | None, depth: int) -> Any:
        if depth > _MAX_DEPTH:
            return value
        before = self._violations(view, value)
        if not before and not self._has_quiet_defect(value):
            return value
        self._check.spend(5 + len(view.parts))
        mark = len(self._steps)
        if len(view.unions) == 1:
            return self._mend_union(view, value, before, path, key, depth)
        if isinstance(value, dict) and OBJECT in view.types:
            result: Any = self._mend_object(view, value, path, depth)
        elif isinstance(value, list) and ARRAY in view.types:
            result = self._mend_array(view, value, path, depth)
        else:
            result = self._mend_value(view, value, before, path, key, depth)
        if result is not value and self._violations(view, result) > before:
            self._undo(mark)
            return value
        return result

    def _mend_union(self, view: View, value: Any, before: int, path: str, key: str | None, depth: int) -> Any:
        """Mend within a union, whose branches are readings: a valid value must fit just one branch, and an invalid
        one must be mendable in just one."""
        branches = view.unions[0]
        mark = len(self._steps)
        if not before:
            open_branches = [b for b in branches if self._check.admits(b, value) is not False]
            if len(open_branches) != 1:
                return value
            branches = (open_branches[0],)
        readings: dict[Any, tuple[Any, list[str]]] = {}
        for branch in branches:
            self._check.spend(100)
            result = self._mend(view.chosen(branch), value, path, key, depth + 1)
            steps = self._steps[mark:]
            self._undo(mark)
            if result is not value and not self._violations(view, result):
                readings.setdefault(equality_key(result), (result, steps))
        if len(readings) == 1:
            result, steps = next(iter(readings.values()))
            self._steps += steps
            return result
        if readings or not before or not isinstance(value, (dict, list)):
            return value
        narrowed = view.narrowed(type_of(value))
        if narrowed is not view:
            result = self._mend(narrowed, value, path, key, depth + 1)
        elif isinstance(value, dict):
            result = self._mend_children(view.without_unions(), value, path, depth)
        else:
            return value
        if result is not value and self._violations(view, result) > before:
            self._undo(mark)
            return value
        return result

    def _mend_value(self, view: View, value: Any, before: int, path: str, key: str | None, depth: int) -> Any:
        """Mend a value whose type is wrong here, or a string that is almost a member of the enum."""
        if isinstance(value, float):
            whole = integer_in(view, value)
            if whole is not None and not self._violations(view, whole):
                return self._done(whole, "integer from a float", path)
        if not before:
            return value
        if isinstance(value, str):
            return self._mend_string(view, value, path, key, depth)
        return self._wrapped(view, value, path, key, depth)

    def _mend_string(self, view: View, text: str, path: str, key: str | None, depth: int) -> Any:
        if admits_free_strings(view):
            return text
        if STRING in view.types:
            member = member_for(view, text)
            if member is not None:
                if self._violations(view, member):
                    return text
                return self._done(member, f"enum member `{member}` by case or separators", path)
        scalar = scalar_in(view, text)
        if scalar is not None:
            if self._violations(view, scalar):
                return text
            kind = "boolean" if isinstance(scalar, bool) else "number"
            return self._done(scalar, f"{kind} from a string", path)
        if not looks_like_container(text):
            return self._wrapped(view, text, path, key, depth)
        if not view.types & {ARRAY, OBJECT}:
            return text
        self._check.spend(len(text) // 50)
        held = container_in(text, self._mend_text)
        if held is None:
            return text
        mark = len(self._steps)
        source = "a broken string" if held.broken else "a string"
        self._done(None, f"{type_of(held.value)} from {source}", path)
        result = self._mend(view, held.value, path, key, depth + 1)
        if self._violations(view, result):
            self._undo(mark)
            return text
        return result

    def _wrapped(self, view: View, value: Any, path: str, key: str | None, depth: int) -> Any:
        item = only_item(view, value, key)
        if item is None:
            return value
        mark = len(self._steps)
        self._done(None, "array from its only item", path)
        one = self._mend(item, value, f"{path}[0]", None, depth + 1)
        if self._violations(item, one) or self._violations(view, [one]):
            self._undo(mark)
            return value
        return [one]

    # Objects and arrays

    def _mend_object(self, view: View, value: dict[str, Any], path: str, depth: int) -> dict[str, Any]:
        result = value
        groups = dotted(view, value)
        if groups:
            result = self._nested(view, value, groups, path, depth)
            if result is value and len(groups) > 1:
                for head, keys in groups.items():
                    result = self._nested(view, result, {head: keys}, path, depth)
        for head, items in indexed(view, result).items():
            result = self._with_array(view, result, head, items, path, depth)
        for rename in drifted(view, result):
            child = view.child(rename.target)
            if child is None:
                continue
            mark = len(self._steps)
            self._done(None, f"`{rename.source}` renamed to `{rename.target}`", path)
            content = self._mend(child, result[rename.source], _join(path, rename.target), rename.target, depth + 1)
            candidate = renamed(result, rename, content)
            fits = not self._violations(child, content)
            if fits and self._violations(view, candidate) < self._violations(view, result):
                result = candidate
            else:
                self._undo(mark)
        return self._mend_children(view, result, path, depth)

    def _nested(
        self, view: View, value: dict[str, Any], groups: dict[str, tuple[str, ...]], path: str, depth: int
    ) -> dict[str, Any]:
        mark = len(self._steps)
        result = value
        fits = True
        for head, keys in groups.items():
            proposal, child = nested(view, result, head, keys), view.child(head)
            if proposal is None or child is None:
                self._undo(mark)
                return value
            self._done(None, "object from dotted keys", _join(path, head))
            inner = self._mend(child, proposal[head], _join(path, head), head, depth + 1)
            fits = fits and not self._violations(child, inner)
            result = {**proposal, head: inner}
        if fits and self._violations(view, result) < self._violations(view, value):
            return result
        self._undo(mark)
        return value

    def _with_array(
        self, view: View, value: dict[str, Any], head: str, items: list[Any], path: str, depth: int
    ) -> dict[str, Any]:
        child = view.child(head)
        if child is None:
            return value
        mark = len(self._steps)
        self._done(None, "array from keys with indices", _join(path, head))
        inner = self._mend(child, items, _join(path, head), head, depth + 1)
        result = with_array(value, head, inner)
        if not self._violations(child, inner) and self._violations(view, result) < self._violations(view, value):
            return result
        self._undo(mark)
        return value

    def _undo(self, mark: int) -> None:
        del self._steps[mark:]

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
        forbidden = self._violations(child, item) > 0
        if item is None:
            if not forbidden:
                return False
        elif forbidden:
            if child.types & {ARRAY, OBJECT}:
                return False  # absent and empty are two readings
        elif not child.forbids_empty_by_format() and (key not in self._drop_empty or "" in (child.strings() or ())):
            return False
        without = {k: v for k, v in value.items() if k != key}
        before, after = self._violations(view, value), self._violations(view, without)
        return after < before if forbidden else after <= before

    def _mend_array(self, view: View, value: list[Any], path: str, depth: int) -> list[Any]:
        mark = len(self._steps)
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
        if result is not value and not self._violations(view, [value]) and result != [value]:
            self._undo(mark)  # the list may as well be the one item of a list of lists
            return value
        return result

    def _has_quiet_defect(self, value: Any) -> bool:
        """Whether the value contains something that is mended although the schema admits it."""
        if not isinstance(value, (dict, list)):
            return isinstance(value, float) and value.is_integer()
        waiting: list[Any] = [value]
        while waiting:
            item = waiting.pop()
            if isinstance(item, dict):
                for key, inner in item.items():
                    if inner == "":
                        if key in self._drop_empty or self._root.some_never_empty:
                            return True
                    elif isinstance(inner, (dict, list, float)):
                        waiting.append(inner)
            elif isinstance(item, list):
                waiting.extend(inner for inner in item if isinstance(inner, (dict, list, float)))
            elif item.is_integer():
                return True
        return False

    def _violations(self, view: View, value: Any) -> int:
        return self._check.violations(view.node, value)

    def _done(self, value: Any, what: str, path: str) -> Any:
        self._steps.append(f"{what} at `{path}`" if path else what)
        return value


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
