"""What a prepared schema says about a value: how often it is violated (`Check`), and all that it declares (`View`).

Only certain violations are counted, keyword by keyword as the `jsonschema` package counts its errors. If the
schema contains something that is not understood (`unknown`), the count may be too low, never too high. The work
is bounded: beyond the budget `Exhausted` is raised, and the caller leaves the value unchanged.

A value may be described by several schemas at once (`$ref`, `allOf`, the chosen branch of an `anyOf`). A view
combines them, so that the mending code can ask what is declared and required, and which types and strings fit.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from .schema import ARRAY, EVERY_TYPE, FRACTION, INTEGER, NULL, OBJECT, STRING, Node, equality_key, possible, type_of

_MAX_DEPTH = 80
_CONTAINERS = frozenset({ARRAY, OBJECT})
_MAX_UNIQUE = 2_000


class Exhausted(Exception):
    """The schema and the value together need more work than a tool call is worth."""


@dataclass(slots=True)
class Check:
    """Counts violations within one budget of node visits."""

    work: int = 200_000
    _unsure: bool = False
    _known: dict[tuple[int, int], tuple[int, bool, Node, Any]] = field(default_factory=dict)
    """The counts of containers. They stay true because mending never changes a container: it makes new ones around
    the old ones. The value is kept so that its id is not used again."""

    def spend(self, work: int) -> None:
        self.work -= work
        if self.work < 0:
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
        self.work -= 1
        if self.work < 0:
            raise Exhausted
        kind = type_of(value)
        if node.only_types is not None:
            return kind not in node.only_types
        if kind not in _CONTAINERS or not value:
            return self._count_own(node, value, kind, depth)
        key = (id(node), id(value))
        known = self._known.get(key)
        if known is None:
            outer, self._unsure = self._unsure, False
            count = self._count_own(node, value, kind, depth)
            known = self._known[key] = (count, self._unsure, node, value)
            self._unsure = outer
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


_MAX_PARTS = 200


class View:
    """The schemas of one value: all `parts` must hold, and at least one branch of each of the `unions`."""

    __slots__ = ("_children", "_own", "node", "parts", "properties", "required", "types", "unions")

    def __init__(self, parts: tuple[Node, ...], unions: tuple[tuple[Node, ...], ...], node: Node) -> None:
        self.parts = parts
        self.unions = unions
        self.node = node
        """The schema that the value is checked against."""
        self.types = possible(node)
        self.properties: dict[str, tuple[Node, ...]] = {}
        self.required = tuple(dict.fromkeys(name for part in parts for name in part.required))
        """The required properties, in the order in which they are declared."""
        for part in parts:
            for name in part.properties:
                self.properties[name] = (*self.properties.get(name, ()), part.properties[name])
        self._children: dict[str, View] = {}
        self._own = not any(part.unknown or part.if_ or part.not_ for part in parts)

    @property
    def keys_known(self) -> bool:
        """Whether all declared keys are known: there is no undecided union, no condition, nothing unknown."""
        return self._own and not self.unions

    @property
    def only_text(self) -> bool:
        """Whether only a string, or null, is admitted here."""
        return STRING in self.types and self.types <= {STRING, NULL}

    def says(self, kind: str) -> bool:
        """Whether the schema names types, and this one among them: one that admits everything proves nothing."""
        return kind in self.types != EVERY_TYPE

    def declares(self, key: str) -> bool:
        """Whether the schema says anything about this key; True if that is not certain."""
        if key in self.properties:
            return True
        for part in self.parts:
            if part.additional is not None:
                return True
            if any(pattern.matches(key) is not False for pattern, _ in part.pattern_properties):
                return True
        return False

    def child(self, key: str) -> View | None:
        """The view of a key's value; None if nothing is known about it."""
        known = self._children.get(key)
        if known is not None:
            return known
        nodes: list[Node] = []
        for part in self.parts:
            described = [part.properties[key]] if key in part.properties else []
            for pattern, node in part.pattern_properties:
                found = pattern.matches(key)
                if found is None:
                    return None
                if found:
                    described.append(node)
            if not described and part.additional is not None:
                described.append(part.additional)
            nodes += described
        if not nodes:
            return None
        child = view_of(*nodes)
        if len(nodes) > 1 and key in self.properties:
            self._children[key] = child
        return child

    def item(self, index: int) -> View | None:
        nodes = [
            part.prefix[index] if index < len(part.prefix) else part.items
            for part in self.parts
            if index < len(part.prefix) or part.items is not None
        ]
        known = [node for node in nodes if node is not None]
        return view_of(*known) if known else None

    def chosen(self, branch: Node) -> View:
        """This view with its only union replaced by one branch."""
        return _flat((*(_bare(part) for part in self.parts), branch))

    def narrowed(self, kind: str) -> View:
        """This view for values of one type: with its only union decided, if just one branch admits that type."""
        if len(self.unions) != 1:
            return self
        branches = [branch for branch in self.unions[0] if kind in possible(branch)]
        return self.chosen(branches[0]) if len(branches) == 1 else self

    def without_unions(self) -> View:
        return _flat(tuple(_bare(part) for part in self.parts))

    def strings(self) -> tuple[str, ...] | None:
        """All strings that are admitted here; None if they are not enumerated."""
        found = _strings(self.node, 0)
        return None if found is None else tuple(dict.fromkeys(found))

    def forbids_empty_by_format(self) -> bool:
        return STRING in self.types and not self.unions and any(part.never_empty for part in self.parts)


def view_of(*nodes: Node) -> View:
    """The view of nodes that all describe one value. The view of a single node is kept with the node."""
    if len(nodes) > 1:
        return _flat(nodes)
    node = nodes[0]
    if node.view is None:
        node.view = _flat(nodes)
    view: View = node.view
    return view


def _flat(nodes: tuple[Node, ...]) -> View:
    parts: list[Node] = []
    unions: list[tuple[Node, ...]] = []
    seen: set[int] = set()
    waiting = list(reversed(nodes))
    while waiting and len(parts) < _MAX_PARTS:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        parts.append(node)
        waiting.extend(reversed(node.all_of))
        if node.ref is not None:
            waiting.append(node.ref)
        unions.extend(union for union in (node.any_of, node.one_of) if union)
    if len(nodes) == 1:
        whole = nodes[0]
    else:
        whole = Node()
        whole.all_of = nodes
        whole.compile()
    return View(tuple(parts), tuple(unions), whole)


def _bare(node: Node) -> Node:
    """The node with its own keywords only: what it refers to is among the parts of the view already."""
    if node.ref is None and not (node.all_of or node.any_of or node.one_of):
        return node
    bare = replace(node, ref=None, all_of=(), any_of=(), one_of=(), view=None, possible_types=None, only_types=None)
    bare.compile()
    return bare


def _strings(node: Node, depth: int) -> tuple[str, ...] | None:
    if depth > 20:
        return None
    if STRING not in possible(node):
        return ()
    if node.enum is not None:
        return node.enum.strings
    for part in (*node.all_of, *((node.ref,) if node.ref else ())):
        found = _strings(part, depth + 1)
        if found is not None:
            return found
    for union in (node.any_of, node.one_of):
        if union:
            branches = [_strings(branch, depth + 1) for branch in union]
            if all(branch is not None for branch in branches):
                return tuple(member for branch in branches for member in branch or ())
    return None
