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

from .schema import ARRAY, EVERY_TYPE, LIMITS, NULL, OBJECT, STRING, Node, possible, type_of

_MAX_DEPTH = 80
_CONTAINERS = frozenset({ARRAY, OBJECT})


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
        outer, self._unsure = self._unsure, False
        count = self.violations(node, value, depth)
        unsure, self._unsure = self._unsure, outer
        return False if count else None if unsure else True

    def violations(self, node: Node, value: Any, depth: int = 0) -> int:
        """How often the value violates the schema. `depth`: how many schemas this one is nested in."""
        self.work -= 1
        if self.work < 0:
            raise Exhausted
        kind = type_of(value)
        if kind not in _CONTAINERS or not value:
            return self._count(node, value, kind, depth)
        key = (id(node), id(value))
        if key not in self._known:
            outer, self._unsure = self._unsure, False
            self._known[key] = (self._count(node, value, kind, depth), self._unsure, node, value)
            self._unsure = outer
        count, unsure, *_ = self._known[key]
        self._unsure |= unsure
        return count

    def _count(self, node: Node, value: Any, kind: str, depth: int) -> int:
        self._unsure |= node.unknown or depth > _MAX_DEPTH
        if depth > _MAX_DEPTH or (value is None and node.nullable):
            return 0
        count = (node.types is not None and kind not in node.types) + (
            node.enum is not None and value not in node.enum
        )
        if node.limits:
            size = len(value) if kind in (STRING, ARRAY, OBJECT) else value
            limits = LIMITS.get(kind, {}).items()
            count += sum(limit in node.limits and beyond(size, node.limits[limit]) for limit, beyond in limits)
        if kind == OBJECT:
            if node.properties or node.additional is not None:
                other = None if node.key_patterns else node.additional
                for key, item in value.items():
                    part = node.properties.get(key, other)
                    count += 0 if part is None else self.violations(part, item, depth + 1)
            count += self._count_keys(node, value, depth)
        elif kind == ARRAY:
            count += self._count_array(node, value, depth)
        elif kind == STRING and node.pattern:
            self._unsure |= value != "" or node.empty_forbidden is None
            count += value == "" and node.empty_forbidden is True
        for part in node.parts:
            count += self.violations(part, value, depth + 1)
        for union in node.unions:
            count += not self._fits(union, value, depth, exclusive=union is node.one_of)
        return count

    def _fits(self, branches: tuple[Node, ...], value: Any, depth: int, *, exclusive: bool) -> bool:
        """Whether a branch admits the value, or may admit it. `exclusive`: only one may."""
        sure = maybe = 0
        for branch in branches:
            admitted = self.admits(branch, value, depth + 1)
            if admitted and not exclusive:
                return True
            sure, maybe = sure + (admitted is True), maybe + (admitted is None)
        self._unsure |= maybe > 0
        return sure == 1 or (sure == 0 and maybe > 0)

    def _count_keys(self, node: Node, value: dict[str, Any], depth: int) -> int:
        """How often the keys of an object violate the schema, whatever their values are."""
        count = sum(name not in value for name in node.required)
        if node.names is not None:
            count += sum(self.violations(node.names, key, depth + 1) for key in value)
        self._unsure |= node.key_patterns
        return count + (node.closed and not value.keys() <= node.properties.keys())

    def _count_array(self, node: Node, value: list[Any], depth: int) -> int:
        count = sum(self.violations(part, item, depth + 1) for part, item in zip(node.prefix, value, strict=False))
        if node.items is not None:
            for item in value[len(node.prefix) :] if node.prefix else value:
                count += self.violations(node.items, item, depth + 1)
        return count


_MAX_PARTS = 200


@dataclass(slots=True, eq=False)
class View:
    """The schemas of one value: all `parts` must hold, and at least one branch of each of the `unions`."""

    parts: tuple[Node, ...]
    unions: tuple[tuple[Node, ...], ...]
    node: Node
    """The schema that the value is checked against."""
    types: frozenset[str] = field(init=False)
    properties: dict[str, tuple[Node, ...]] = field(default_factory=dict)
    required: tuple[str, ...] = field(init=False)
    """The required properties, in the order in which they are declared."""

    def __post_init__(self) -> None:
        self.types = possible(self.node)
        self.required = tuple(dict.fromkeys(name for part in self.parts for name in part.required))
        for part in self.parts:
            for name in part.properties:
                self.properties[name] = (*self.properties.get(name, ()), part.properties[name])

    @property
    def keys_known(self) -> bool:
        """Whether all declared keys are known: there is no undecided union, nothing unknown."""
        return not self.unions and not any(part.unknown for part in self.parts)

    @property
    def only_text(self) -> bool:
        """Whether only a string, or null, is admitted here."""
        return STRING in self.types and self.types <= {STRING, NULL}

    def says(self, kind: str) -> bool:
        """Whether the schema names types, and this one among them: one that admits everything proves nothing."""
        return kind in self.types != EVERY_TYPE

    def declares(self, key: str) -> bool:
        """Whether the schema says anything about this key; True if that is not certain."""
        return key in self.properties or any(part.additional is not None or part.key_patterns for part in self.parts)

    def child(self, key: str) -> View | None:
        """The view of a key's value; None if nothing is known about it, or not everything."""
        if any(part.key_patterns and key not in part.properties for part in self.parts):
            return None
        nodes = [part.properties.get(key, part.additional) for part in self.parts]
        known = [node for node in nodes if node is not None]
        return view_of(*known) if known else None

    def item(self, index: int) -> View | None:
        """The view of an array's item; None if nothing is known about it."""
        nodes = [part.prefix[index] if index < len(part.prefix) else part.items for part in self.parts]
        known = [node for node in nodes if node is not None]
        return view_of(*known) if known else None

    def chosen(self, branch: Node) -> View:
        """This view with its only union replaced by one branch."""
        own: dict[str, Any] = {"ref": None, "parts": (), "unions": (), "one_of": (), "view": None}
        # What a part refers to is among the parts already.
        bare = [
            replace(part, **own, possible_types=None) if part.parts or part.unions else part for part in self.parts
        ]
        return _flat((*bare, branch))

    def narrowed(self, kind: str) -> View:
        """This view for values of one type: with its only union decided, if just one branch admits that type."""
        if len(self.unions) != 1:
            return self
        branches = [branch for branch in self.unions[0] if kind in possible(branch)]
        return self.chosen(branches[0]) if len(branches) == 1 else self

    def strings(self) -> tuple[str, ...] | None:
        """All strings that are admitted here; None if they are not enumerated."""
        found = _strings(self.node, 0)
        return None if found is None else tuple(dict.fromkeys(found))


def view_of(*nodes: Node) -> View:
    """The view of nodes that all describe one value. The view of a single node is kept with the node."""
    first = nodes[0]
    view: View = first.view if first.view is not None and len(nodes) == 1 else _flat(nodes)
    first.view = view if len(nodes) == 1 else first.view
    return view


def _flat(nodes: tuple[Node, ...]) -> View:
    parts: dict[int, Node] = {}
    waiting = list(reversed(nodes))
    while waiting and len(parts) < _MAX_PARTS:
        node = waiting.pop()
        if id(node) not in parts:
            parts[id(node)] = node
            waiting.extend(reversed(node.parts))
    whole = nodes[0]
    if len(nodes) > 1:
        whole = Node(parts=nodes)
    return View(tuple(parts.values()), tuple(union for part in parts.values() for union in part.unions), whole)


def _strings(node: Node, depth: int) -> tuple[str, ...] | None:
    if depth > 20:
        return None
    if STRING not in possible(node):
        return ()
    if node.enum is not None:
        return node.enum.strings
    for part in node.parts:
        found = _strings(part, depth + 1)
        if found is not None:
            return found
    for union in node.unions:
        branches = [_strings(branch, depth + 1) for branch in union]
        if all(branch is not None for branch in branches):
            return tuple(member for branch in branches for member in branch or ())
    return None
