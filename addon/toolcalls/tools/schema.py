"""One declared JSON schema as plain fields (`Node`), prepared once for all requests that declare it.

The schema of a request is foreign data. It is turned into plain nodes, without recursion and up to a limit; what is
not understood is marked as unknown, not guessed, so every violation that `check` reports is one that any validator
would report. Nodes are never changed afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from .patterns import Pattern, prepare_pattern

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


@dataclass(slots=True, eq=False)
class Node:
    """One schema. Every field admits everything until the schema says otherwise."""

    types: frozenset[str] | None = None
    enum: Members | None = None
    nullable: bool = False
    default: bool = False
    ref: Node | None = None
    all_of: tuple[Node, ...] = ()
    any_of: tuple[Node, ...] = ()
    one_of: tuple[Node, ...] = ()
    not_: Node | None = None
    if_: Node | None = None
    then: Node | None = None
    else_: Node | None = None
    properties: dict[str, Node] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    pattern_properties: tuple[tuple[Pattern, Node], ...] = ()
    additional: Node | None = None
    closed: bool = False
    """Whether additionalProperties is false."""
    property_names: Node | None = None
    dependent: dict[str, tuple[str, ...]] = field(default_factory=dict)
    prefix: tuple[Node, ...] = ()
    items: Node | None = None
    contains: Node | None = None
    unique: bool = False
    pattern: Pattern | None = None
    never_empty: bool = False
    """Whether the format excludes the empty string."""
    limits: dict[str, int | float] = field(default_factory=dict)
    unknown: bool = False
    """Whether the schema contains something that is not understood here, and may forbid more than we know."""
    only_types: frozenset[str] | None = None
    """The admitted types, if the schema restricts nothing else."""
    applies: bool = False
    """Whether the schema has applicators: `$ref`, `allOf` and the like."""
    some_never_empty: bool = False
    """Whether a format anywhere in the schema excludes the empty string; set for the root only."""
    possible_types: frozenset[str] | None = None
    view: Any = None
    """Where `check.py` keeps the view of this node."""

    def compile(self) -> None:
        """Compute the fields that make checking fast, once all others are set."""
        self.applies = any(getattr(self, keyword) for keyword in _APPLICATORS)
        if not (self.applies or any(getattr(self, keyword) for keyword in _RESTRICTIONS)):
            self.only_types = EVERY_TYPE if self.types is None else self.types


_APPLICATORS: Final = ("ref", "all_of", "any_of", "one_of", "not_", "if_")
_RESTRICTIONS: Final = (
    *("unknown", "nullable", "enum", "properties", "required", "pattern_properties", "additional", "closed"),
    *("property_names", "dependent", "prefix", "items", "contains", "unique", "pattern", "limits"),
)
"""Whatever says more about a value than its types, besides the applicators."""


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


_TYPES: Final[Mapping[str, frozenset[str]]] = {
    **{name: frozenset({name}) for name in (NULL, BOOLEAN, INTEGER, STRING, ARRAY, OBJECT)},
    **dict.fromkeys(("number", "float", "double"), frozenset({INTEGER, FRACTION})),  # no JSON Schema, but declared
}

_MAX_NODES = 10_000

# Formats whose grammar has no empty string.
_NEVER_EMPTY: Final = frozenset(
    {
        *("date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname"),
        *("ipv4", "ipv6", "uri", "url", "iri", "uuid"),
    }
)

# Keywords that can make a value invalid in a way that is not checked here.
_UNKNOWN_KEYWORDS: Final = frozenset(
    {
        *("$dynamicRef", "$recursiveRef", "unevaluatedProperties", "unevaluatedItems"),
        *("dependentSchemas", "extends"),
    }
)


def prepare(schema: object) -> Node:
    """The node of a schema."""
    return _Preparation(schema).run()


class _Preparation:
    """The conversion of a schema into nodes, with a stack of its own, so that neither depth nor cycles can hurt."""

    def __init__(self, schema: object) -> None:
        self._root = schema
        self._made: dict[int, Node] = {}
        self._waiting: list[tuple[Node, dict[str, Any]]] = []
        dialect = schema.get("$schema") if isinstance(schema, dict) else None
        # Up to draft 7, everything beside a $ref is ignored.
        self._ref_alone = isinstance(dialect, str) and any(f"draft-0{n}" in dialect for n in "34567")

    def run(self) -> Node:
        root = self._node(self._root)
        while self._waiting:
            self._fill(*self._waiting.pop())
        for node in self._made.values():
            node.compile()
        root.some_never_empty = any(node.never_empty for node in self._made.values())
        return root

    def _node(self, schema: object) -> Node:
        if not isinstance(schema, dict):
            node = Node()
            if schema is False:
                node.types = frozenset()
            elif schema is not True:
                node.unknown = True
            return node
        known = self._made.get(id(schema))
        if known is not None:
            return known
        node = Node()
        if len(self._made) >= _MAX_NODES:
            node.unknown = True
            return node
        self._made[id(schema)] = node
        self._waiting.append((node, schema))
        return node

    def _nodes(self, schemas: object) -> tuple[Node, ...]:
        return tuple(self._node(schema) for schema in schemas) if isinstance(schemas, list) else ()

    def _fill(self, node: Node, schema: dict[str, Any]) -> None:
        if schema.get("$ref") is not None:
            node.ref = self._resolve(schema["$ref"])
            if self._ref_alone:
                return
        for keyword in _SCHEMAS.keys() & schema.keys():
            setattr(node, _SCHEMAS[keyword], self._node(schema[keyword]))
        for keyword in _LISTS.keys() & schema.keys():
            setattr(node, _LISTS[keyword], self._nodes(schema[keyword]))
        node.unknown |= not _UNKNOWN_KEYWORDS.isdisjoint(schema)
        self._fill_value(node, schema)
        self._fill_object(node, schema)
        if isinstance(schema.get("items"), list):  # up to draft 2019-09
            node.prefix = self._nodes(schema["items"])
            node.items = self._node(schema["additionalItems"]) if "additionalItems" in schema else None
        node.unique = schema.get("uniqueItems") is True

    def _fill_value(self, node: Node, schema: dict[str, Any]) -> None:
        node.types, known = _read_types(schema.get("type"))
        node.unknown |= not known
        node.nullable = schema.get("nullable") is True
        node.default = "default" in schema
        for keyword in ("enum", "const"):
            members = [schema[keyword]] if keyword == "const" and keyword in schema else schema.get(keyword)
            if isinstance(members, list):
                node.enum = _members(members, node.enum)
                node.unknown |= node.enum is None
        if "pattern" in schema:
            node.pattern = prepare_pattern(schema["pattern"])
        node.never_empty = isinstance(schema.get("format"), str) and schema["format"] in _NEVER_EMPTY
        for keyword in _LIMITS:
            limit = schema.get(keyword)
            if isinstance(limit, (int, float)) and not isinstance(limit, bool):
                node.limits[keyword] = limit
        for keyword, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if schema.get(exclusive) is True and keyword in node.limits:  # draft 4
                node.limits[exclusive] = node.limits[keyword]

    def _fill_object(self, node: Node, schema: dict[str, Any]) -> None:
        properties, patterns = schema.get("properties"), schema.get("patternProperties")
        if isinstance(properties, dict):
            node.properties = {name: self._node(part) for name, part in properties.items()}
        if isinstance(patterns, dict):
            node.pattern_properties = tuple(
                (prepare_pattern(source), self._node(part)) for source, part in patterns.items()
            )
        node.required = _names(schema.get("required"))
        additional = schema.get("additionalProperties", True)
        node.closed = additional is False
        if isinstance(additional, dict) and additional:
            node.additional = self._node(additional)
        for keyword in ("dependentRequired", "dependencies"):
            dependencies = schema.get(keyword)
            for name, needs in dependencies.items() if isinstance(dependencies, dict) else ():
                node.unknown |= not isinstance(needs, list)
                node.dependent[name] = _names(needs)

    def _resolve(self, reference: object) -> Node:
        target = self._root
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            return self._node(None)
        for step in reference.split("/")[1:]:
            step = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(target, dict) and step in target:
                target = target[step]
            elif isinstance(target, list) and step.isdecimal() and int(step[:6]) < len(target):
                target = target[int(step[:6])]
            else:
                return self._node(None)
        return self._node(target)


_SCHEMAS: Final = {
    **{keyword: keyword for keyword in ("then", "items", "contains")},
    "not": "not_",
    "if": "if_",
    "else": "else_",
    "propertyNames": "property_names",
}
_LISTS: Final = {"allOf": "all_of", "anyOf": "any_of", "oneOf": "one_of", "prefixItems": "prefix"}
"""The fields for keywords that hold a schema, and for those that hold several."""
_LIMITS: Final = (
    *("minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties"),
    *("maxProperties", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
)


def _read_types(declared: object) -> tuple[frozenset[str] | None, bool]:
    """The types of a `type` keyword, and whether it was fully understood (`OBJECT` is, `dict` is not)."""
    if declared is None:
        return None, True
    names = declared if isinstance(declared, list) else [declared]
    types: frozenset[str] = frozenset()
    for name in names:
        found = _TYPES.get(name.lower()) if isinstance(name, str) else None
        if found is None:
            return None, False
        types |= found
    return types, True


def _names(names: object) -> tuple[str, ...]:
    if not isinstance(names, list):
        return ()
    return tuple(dict.fromkeys(name for name in names if isinstance(name, str)))


def _members(members: list[Any], among: Members | None = None) -> Members | None:
    try:
        json.dumps(members)  # raises if the members are nested too deeply to be compared later
        return Members([member for member in members if among is None or member in among])
    except (RecursionError, TypeError, ValueError):
        return None
