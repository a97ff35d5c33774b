"""Counts how often a value violates a prepared schema.

Only certain violations are counted, keyword by keyword as the `jsonschema` package counts its errors. If the
schema contains something that is not understood (`unknown`), the count may be too low, never too high. The work
is bounded: beyond the budget `Exhausted` is raised, and the caller leaves the value unchanged.
"""

from __future__ import annotations

from typing import Any

from .node import ARRAY, FRACTION, INTEGER, OBJECT, STRING, Node, equality_key, type_of

_MAX_DEPTH = 80
_CONTAINERS = frozenset({ARRAY, OBJECT})
_MAX_UNIQUE = 2_000


class Exhausted(Exception):
    """The schema and the value together need more work than a tool call is worth."""


class Check:
    """Counts violations within one budget of node visits."""

    __slots__ = ("_known", "_unsure", "_work")

    def __init__(self, work: int = 200_000) -> None:
        self._work = work
        self._unsure = False
        # The counts of containers. They stay true because mending never changes a container: it makes new ones
        # around the old ones. The value is kept so that its id is not used again.
        self._known: dict[tuple[int, int], tuple[int, bool, Node, Any]] = {}

    def spend(self, work: int) -> None:
        self._work -= work
        if self._work < 0:
            raise Exhausted

    def admits(self, node: Node, value: Any, depth: int = 0) -> bool | None:
        """Whether the schema admits the value; None if that is not certain."""
        outer = self._unsure
        self._unsure = False
        count = self.violations(node, value, depth)
        unsure = self._unsure
        self._unsure = outer
        return False if count else None if unsure else True

    def violations(self, node: Node, value: Any, depth: int = 0) -> int:
        """How often the value violates the schema. `depth`: how many schemas this one is nested in."""
        self._work -= 1
        if self._work < 0:
            raise Exhausted
        kind = type_of(value)
        if node.only_types is not None:
            return kind not in node.only_types
        if kind in _CONTAINERS and value:
            return self._count_container(node, value, kind, depth)
        return self._count_own(node, value, kind, depth)

    def _count_container(self, node: Node, value: Any, kind: str, depth: int) -> int:
        key = (id(node), id(value))
        known = self._known.get(key)
        if known is None:
            outer, self._unsure = self._unsure, False
            count = self._count_own(node, value, kind, depth)
            known = (count, self._unsure, node, value)
            self._unsure = outer
            self._known[key] = known
        self._unsure |= known[1]
        return known[0]

    def _count_own(self, node: Node, value: Any, kind: str, depth: int) -> int:
        if depth > _MAX_DEPTH:
            self._unsure = True
            return 0
        if node.unknown:
            self._unsure = True
        if value is None and node.nullable:
            return 0
        count = 0
        if node.types is not None and kind not in node.types:
            count += 1
        if node.enum is not None and value not in node.enum:
            count += 1
        if kind == OBJECT:
            count += self._count_object(node, value, depth)
        elif kind == STRING:
            if node.limits or node.pattern is not None:
                count += self._count_string(node, value)
        elif kind == ARRAY:
            count += self._count_array(node, value, depth)
        elif node.limits and kind in (INTEGER, FRACTION):
            count += self._count_number(node, value)
        return count + self._count_applied(node, value, depth) if node.applies else count

    def _count_applied(self, node: Node, value: Any, depth: int) -> int:
        count = 0
        if node.ref is not None:
            count += self.violations(node.ref, value, depth + 1)
        for part in node.all_of:
            count += self.violations(part, value, depth + 1)
        if node.any_of and not self._any(node.any_of, value, depth):
            count += 1
        if node.one_of and not self._one(node.one_of, value, depth):
            count += 1
        if node.not_ is not None:
            admitted = self.admits(node.not_, value, depth + 1)
            count += admitted is True
            self._unsure |= admitted is None
        if node.if_ is not None:
            admitted = self.admits(node.if_, value, depth + 1)
            chosen = node.then if admitted else node.else_
            if admitted is None:
                self._unsure = True
            elif chosen is not None:
                count += self.violations(chosen, value, depth + 1)
        return count

    def _any(self, branches: tuple[Node, ...], value: Any, depth: int) -> bool:
        maybe = False
        for branch in branches:
            admitted = self.admits(branch, value, depth + 1)
            if admitted:
                return True
            maybe |= admitted is None
        self._unsure |= maybe
        return maybe

    def _one(self, branches: tuple[Node, ...], value: Any, depth: int) -> bool:
        verdicts = [self.admits(branch, value, depth + 1) for branch in branches]
        sure, maybe = verdicts.count(True), verdicts.count(None)
        if sure > 1 or not sure + maybe:
            return False
        self._unsure |= maybe > 0
        return True

    def _count_object(self, node: Node, value: dict[str, Any], depth: int) -> int:
        count = 0
        for name in node.required:
            if name not in value:
                count += 1
        surplus = False
        if node.properties or node.pattern_properties or node.additional is not None or node.closed:
            for key, item in value.items():
                part = node.properties.get(key)
                if part is not None:
                    if part.only_types is not None:
                        count += type_of(item) not in part.only_types
                    else:
                        count += self.violations(part, item, depth + 1)
                    if not node.pattern_properties:
                        continue
                covered = part is not None
                for pattern, patterned in node.pattern_properties:
                    found = pattern.matches(key)
                    if found is None:
                        self._unsure = covered = True
                    elif found:
                        covered = True
                        count += self.violations(patterned, item, depth + 1)
                if not covered:
                    surplus = True
                    if node.additional is not None:
                        count += self.violations(node.additional, item, depth + 1)
        count += node.closed and surplus
        if node.property_names is not None:
            count += sum(self.violations(node.property_names, key, depth + 1) for key in value)
        for name, needs in node.dependent.items():
            if name in value:
                count += sum(need not in value for need in needs)
        if node.limits:
            count += _outside(node, len(value), "minProperties", "maxProperties")
        return count

    def _count_array(self, node: Node, value: list[Any], depth: int) -> int:
        count = 0
        for part, item in zip(node.prefix, value, strict=False):
            count += self.violations(part, item, depth + 1)
        if node.items is not None:
            for item in value[len(node.prefix) :] if node.prefix else value:
                count += self.violations(node.items, item, depth + 1)
        if node.unique:
            if len(value) > _MAX_UNIQUE:
                self._unsure = True
            else:
                self.spend(len(value))
                count += len({equality_key(item) for item in value}) < len(value)
        if node.contains is not None:
            count += self._lacks(node, node.contains, value, depth)
        if node.limits:
            count += _outside(node, len(value), "minItems", "maxItems")
        return count

    def _lacks(self, node: Node, wanted: Node, value: list[Any], depth: int) -> bool:
        verdicts = [self.admits(wanted, item, depth + 1) for item in value]
        sure, maybe = verdicts.count(True), verdicts.count(None)
        low, high = node.limits.get("minContains", 1), node.limits.get("maxContains")
        if sure + maybe < low or (high is not None and sure > high):
            return True
        self._unsure |= maybe > 0
        return False

    def _count_string(self, node: Node, value: str) -> int:
        count = 0
        if node.limits:
            count += _outside(node, len(value), "minLength", "maxLength")
        if node.pattern is not None:
            found = node.pattern.matches(value)
            self._unsure |= found is None
            count += found is False
        return count

    def _count_number(self, node: Node, value: int | float) -> int:
        limits = node.limits
        count = _outside(node, value, "minimum", "maximum")
        above, below = limits.get("exclusiveMinimum"), limits.get("exclusiveMaximum")
        count += above is not None and value <= above
        count += below is not None and value >= below
        factor = limits.get("multipleOf")
        if factor:
            if isinstance(value, int) and isinstance(factor, int):
                count += value % factor != 0
            else:
                self._unsure = True  # rounding would decide
        return count


def _outside(node: Node, size: int | float, low: str, high: str) -> int:
    least, most = node.limits.get(low), node.limits.get(high)
    return (least is not None and size < least) + (most is not None and size > most)
