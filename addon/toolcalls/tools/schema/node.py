"""One schema as plain fields, for checking and mending.

Nodes are made by `schema.py`, shared by all requests that declare the same schema, and never changed afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .patterns import Pattern

NULL: Final = "null"
BOOLEAN: Final = "boolean"
INTEGER: Final = "integer"
FRACTION: Final = "fraction"
"""A number that is not an integer. JSON Schema's `number` is INTEGER and FRACTION."""
STRING: Final = "string"
ARRAY: Final = "array"
OBJECT: Final = "object"

EVERY_TYPE: Final = frozenset({NULL, BOOLEAN, INTEGER, FRACTION, STRING, ARRAY, OBJECT})

_MAX_CHAIN = 40


class Node:
    """One schema. Every field admits everything until the schema says otherwise."""

    __slots__ = (
        "additional",
        "all_of",
        "any_of",
        "applies",
        "closed",
        "contains",
        "default",
        "dependent",
        "else_",
        "enum",
        "if_",
        "items",
        "limits",
        "never_empty",
        "not_",
        "nullable",
        "one_of",
        "only_types",
        "pattern",
        "pattern_properties",
        "possible_types",
        "prefix",
        "properties",
        "property_names",
        "ref",
        "required",
        "some_never_empty",
        "then",
        "types",
        "unique",
        "unknown",
        "view",
    )

    def __init__(self) -> None:
        self.types: frozenset[str] | None = None
        self.enum: Members | None = None
        self.nullable = False
        self.default = False
        self.ref: Node | None = None
        self.all_of: tuple[Node, ...] = ()
        self.any_of: tuple[Node, ...] = ()
        self.one_of: tuple[Node, ...] = ()
        self.not_: Node | None = None
        self.if_: Node | None = None
        self.then: Node | None = None
        self.else_: Node | None = None
        self.properties: dict[str, Node] = {}
        self.required: tuple[str, ...] = ()
        self.pattern_properties: tuple[tuple[Pattern, Node], ...] = ()
        self.additional: Node | None = None
        self.closed = False
        """Whether additionalProperties is false."""
        self.property_names: Node | None = None
        self.dependent: dict[str, tuple[str, ...]] = {}
        self.prefix: tuple[Node, ...] = ()
        self.items: Node | None = None
        self.contains: Node | None = None
        self.unique = False
        self.pattern: Pattern | None = None
        self.never_empty = False
        """Whether the format excludes the empty string."""
        self.some_never_empty = False
        """Whether a format anywhere in the schema excludes the empty string; set for the root only."""
        self.limits: dict[str, int | float] = {}
        self.unknown = False
        """Whether the schema contains something that is not understood here, and may forbid more than we know."""
        self.only_types: frozenset[str] | None = None
        """The admitted types, if the schema restricts nothing else."""
        self.applies = False
        """Whether the schema has applicators: `$ref`, `allOf` and the like."""
        self.possible_types: frozenset[str] | None = None
        self.view: Any = None
        """Where `views.py` keeps the view of this node."""

    def compile(self) -> None:
        """Compute the fields that make checking fast, once all others are set."""
        self.applies = bool(
            self.ref or self.all_of or self.any_of or self.one_of or self.not_ or self.if_
        )  # fmt: skip
        says_more = (
            self.applies
            or self.unknown
            or self.nullable
            or self.enum is not None
            or self.properties
            or self.required
            or self.pattern_properties
            or self.additional is not None
            or self.closed
            or self.property_names is not None
            or self.dependent
            or self.prefix
            or self.items is not None
            or self.contains is not None
            or self.unique
            or self.pattern is not None
            or self.limits
        )
        if not says_more:
            self.only_types = EVERY_TYPE if self.types is None else self.types


class Members:
    """The members of an enum, or of a const. JSON equality: 1 is 1.0 and not true."""

    __slots__ = ("_keys", "strings", "types")

    def __init__(self, members: list[Any]) -> None:
        self._keys = frozenset(equality_key(member) for member in members)
        self.strings: tuple[str, ...] = tuple(dict.fromkeys(m for m in members if isinstance(m, str)))
        self.types = frozenset(type_of(member) for member in members)

    def __contains__(self, value: object) -> bool:
        if isinstance(value, (dict, list)) and not self.types & {ARRAY, OBJECT}:
            return False
        return equality_key(value) in self._keys


_KINDS: Final[Mapping[type, str]] = {
    str: STRING,
    dict: OBJECT,
    list: ARRAY,
    int: INTEGER,
    bool: BOOLEAN,
    type(None): NULL,
}


def type_of(value: object) -> str:
    kind = _KINDS.get(type(value))
    if kind is not None:
        return kind
    if isinstance(value, str):
        return STRING
    if isinstance(value, int):
        return INTEGER
    if isinstance(value, float):
        return INTEGER if value.is_integer() else FRACTION
    return ARRAY if isinstance(value, list) else OBJECT


def equality_key(value: Any) -> tuple[str, Any]:
    """A key that is equal for exactly those values that JSON Schema calls equal."""
    if isinstance(value, bool):
        return BOOLEAN, value
    if isinstance(value, (dict, list)):
        return ARRAY, _canonical(value)
    if isinstance(value, (int, float)):
        return INTEGER, value
    return STRING if isinstance(value, str) else NULL, value


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return OBJECT, frozenset((key, _canonical(item)) for key, item in value.items())
    if isinstance(value, list):
        return ARRAY, tuple(_canonical(item) for item in value)
    return equality_key(value)


def possible(node: Node) -> frozenset[str]:
    """The types that a value may have under this schema: at most these, perhaps fewer."""
    return _possible(node, 0)


def _possible(node: Node, depth: int) -> frozenset[str]:
    if node.possible_types is not None:
        return node.possible_types
    if depth > _MAX_CHAIN:
        return EVERY_TYPE
    node.possible_types = EVERY_TYPE  # for a cycle of references: every type, which proves nothing
    types = EVERY_TYPE if node.types is None else node.types
    if node.enum is not None:
        types &= node.enum.types
    for part in (*node.all_of, *((node.ref,) if node.ref else ())):
        types &= _possible(part, depth + 1)
    for union in (node.any_of, node.one_of):
        if union:
            types &= frozenset().union(*(_possible(branch, depth + 1) for branch in union))
    if node.nullable:
        types |= {NULL}
    node.possible_types = types
    return types
