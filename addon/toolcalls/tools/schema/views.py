"""All that the schemas say about one value of the arguments, as one object.

A value may be described by several schemas at once (`$ref`, `allOf`, the chosen branch of an `anyOf`). A view
combines them, so that the mending code can ask what is declared and required, and which types and strings fit.
"""

from __future__ import annotations

from typing import Final

from ..normalize import normalize
from .node import STRING, Node, possible

_MAX_PARTS = 200


class View:
    """The schemas of one value: all `parts` must hold, and at least one branch of each of the `unions`."""

    __slots__ = ("_children", "_folded", "_own", "node", "parts", "properties", "required", "types", "unions")

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
        self._folded: dict[str, str] | None = None
        self._own = not any(part.unknown or part.if_ or part.not_ for part in parts)

    @property
    def keys_known(self) -> bool:
        """Whether all declared keys are known: there is no undecided union, no condition, nothing unknown."""
        return self._own and not self.unions

    @property
    def folded(self) -> dict[str, str]:
        """The declared names, each with its normalized form."""
        if self._folded is None:
            self._folded = {name: normalize(name) for name in self.properties}
        return self._folded

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
    bare = Node()
    for name in Node.__slots__:
        if name not in _DERIVED:
            setattr(bare, name, getattr(node, name))
    bare.compile()
    return bare


_DERIVED: Final = frozenset({"ref", "all_of", "any_of", "one_of", "view", "possible_types", "applies", "only_types"})


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
