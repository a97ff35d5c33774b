"""A declared JSON schema, prepared once: what it admits, place by place.

The schema of a request is foreign data. It is turned into plain nodes, without recursion and up to a
limit; what is not understood is marked as unknown instead of being guessed, so that a violation that
`check` reports is one that any validator would report. Nodes are shared by all requests that declare
the same schema and are never changed after they are made.
"""

from __future__ import annotations

import json
import pickle
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from threading import Lock
from typing import Any, Final
from urllib.parse import unquote

from toolcalls.mend.patterns import Pattern, prepare_pattern

NULL: Final = "null"
BOOLEAN: Final = "boolean"
INTEGER: Final = "integer"
FRACTION: Final = "fraction"
"""A number that is no integer. JSON Schema's `number` is INTEGER and FRACTION."""
STRING: Final = "string"
ARRAY: Final = "array"
OBJECT: Final = "object"

EVERY_TYPE: Final = frozenset({NULL, BOOLEAN, INTEGER, FRACTION, STRING, ARRAY, OBJECT})
_TYPES: Final[Mapping[str, frozenset[str]]] = {
    **{name: frozenset({name}) for name in (NULL, BOOLEAN, INTEGER, STRING, ARRAY, OBJECT)},
    "number": frozenset({INTEGER, FRACTION}),
}

_MAX_NODES = 10_000
_MAX_CACHED = 512
_MAX_KEY = 8_192
_MAX_CHAIN = 40

# Formats whose grammar has no empty string.
_NEVER_EMPTY: Final = frozenset(
    {
        *("date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname"),
        *("ipv4", "ipv6", "uri", "url", "iri", "uuid"),
    }
)

# Keywords that can make a value invalid in a way that is not followed here.
_UNKNOWN_KEYWORDS: Final = frozenset(
    {
        "$dynamicRef",
        "$recursiveRef",
        "unevaluatedProperties",
        "unevaluatedItems",
        "dependentSchemas",
        "extends",
    }
)


class Node:
    """One schema. Every field has the value that admits everything until the schema says otherwise."""

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
        """additionalProperties is false."""
        self.property_names: Node | None = None
        self.dependent: dict[str, tuple[str, ...]] = {}
        self.prefix: tuple[Node, ...] = ()
        self.items: Node | None = None
        self.contains: Node | None = None
        self.unique = False
        self.pattern: Pattern | None = None
        self.never_empty = False
        """Its format has no empty string."""
        self.some_never_empty = False
        """The same, for the root of a schema and anywhere in it."""
        self.limits: dict[str, int | float] = {}
        self.unknown = False
        """It holds something that is not followed here: it may forbid more than we know."""
        self.only_types: frozenset[str] | None = None
        """Set where the types are all that it says."""
        self.applies = False
        """It has applicators: `$ref`, `allOf` and the like."""
        self.possible_types: frozenset[str] | None = None
        self.view: Any = None
        """Where `views` keeps what it derived from this node."""

    def settle(self) -> None:
        """Note what makes checking fast, once all fields are set."""
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
    """Equal for values that JSON Schema calls equal, and only for those."""
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
    """The types that a value may have here: at most these, perhaps fewer."""
    return _possible(node, 0)


def _possible(node: Node, depth: int) -> frozenset[str]:
    if node.possible_types is not None:
        return node.possible_types
    if depth > _MAX_CHAIN:
        return EVERY_TYPE
    node.possible_types = EVERY_TYPE  # what a cycle sees: everything, which proves nothing
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


_cache: OrderedDict[bytes, Node] = OrderedDict()
_cache_lock = Lock()


def prepared(schema: Mapping[str, Any]) -> Node:
    """The node of a schema. Agents send the same tools with each request: they are prepared once."""
    try:
        key = pickle.dumps(schema, 5)
    except (RecursionError, pickle.PicklingError, TypeError, AttributeError):
        return prepare(schema)
    if len(key) > _MAX_KEY:
        key = blake2b(key).digest()
    with _cache_lock:
        node = _cache.get(key)
        if node is not None:
            _cache.move_to_end(key)
            return node
    node = prepare(schema)
    with _cache_lock:
        _cache[key] = node
        while len(_cache) > _MAX_CACHED:
            _cache.popitem(last=False)
    return node


def prepare(schema: object) -> Node:
    return _Preparation(schema).run()


class _Preparation:
    """Schema → nodes, with a stack of its own: neither depth nor a cycle of references can hurt it."""

    def __init__(self, schema: object) -> None:
        self._root = schema
        self._made: dict[int, Node] = {}
        self._waiting: list[tuple[Node, dict[str, Any]]] = []
        dialect = schema.get("$schema") if isinstance(schema, dict) else None
        # Up to draft 7 whatever stands beside a $ref is ignored.
        self._ref_alone = isinstance(dialect, str) and any(f"draft-0{n}" in dialect for n in "34567")

    def run(self) -> Node:
        root = self._node(self._root)
        while self._waiting:
            self._fill(*self._waiting.pop())
        for node in self._made.values():
            node.settle()
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
        reference = schema.get("$ref")
        if reference is not None:
            node.ref = self._resolve(reference)
            if self._ref_alone:
                return
        if not _UNKNOWN_KEYWORDS.isdisjoint(schema):
            node.unknown = True
        self._fill_value(node, schema)
        self._fill_applicators(node, schema)
        self._fill_object(node, schema)
        self._fill_array(node, schema)

    def _fill_value(self, node: Node, schema: dict[str, Any]) -> None:
        node.types, known = _read_types(schema.get("type"))
        node.unknown |= not known
        node.nullable = schema.get("nullable") is True
        node.default = "default" in schema
        members = schema.get("enum")
        if isinstance(members, list):
            node.enum = _members(members)
        if "const" in schema:
            node.enum = _members([schema["const"]], node.enum)
        if node.enum is None and (isinstance(members, list) or "const" in schema):
            node.unknown = True
        if "pattern" in schema:
            node.pattern = prepare_pattern(schema["pattern"])
        if isinstance(schema.get("format"), str) and schema["format"] in _NEVER_EMPTY:
            node.never_empty = True
        for keyword in _LIMITS:
            limit = schema.get(keyword)
            if isinstance(limit, (int, float)) and not isinstance(limit, bool):
                node.limits[keyword] = limit
        for keyword, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            if schema.get(exclusive) is True and keyword in node.limits:  # draft 4
                node.limits[exclusive] = node.limits[keyword]

    def _fill_applicators(self, node: Node, schema: dict[str, Any]) -> None:
        node.all_of = self._nodes(schema.get("allOf"))
        node.any_of = self._nodes(schema.get("anyOf"))
        node.one_of = self._nodes(schema.get("oneOf"))
        if "not" in schema:
            node.not_ = self._node(schema["not"])
        if "if" in schema:
            node.if_ = self._node(schema["if"])
            node.then = self._node(schema["then"]) if "then" in schema else None
            node.else_ = self._node(schema["else"]) if "else" in schema else None

    def _fill_object(self, node: Node, schema: dict[str, Any]) -> None:
        properties = schema.get("properties")
        if isinstance(properties, dict):
            node.properties = {name: self._node(part) for name, part in properties.items()}
        node.required = _names(schema.get("required"))
        patterns = schema.get("patternProperties")
        if isinstance(patterns, dict):
            node.pattern_properties = tuple(
                (prepare_pattern(source), self._node(part)) for source, part in patterns.items()
            )
        additional = schema.get("additionalProperties", True)
        if additional is False:
            node.closed = True
        elif isinstance(additional, dict) and additional:
            node.additional = self._node(additional)
        if "propertyNames" in schema:
            node.property_names = self._node(schema["propertyNames"])
        for keyword in ("dependentRequired", "dependencies"):
            dependencies = schema.get(keyword)
            if isinstance(dependencies, dict):
                for name, needs in dependencies.items():
                    if isinstance(needs, list):
                        node.dependent[name] = _names(needs)
                    else:
                        node.unknown = True

    def _fill_array(self, node: Node, schema: dict[str, Any]) -> None:
        items = schema.get("items")
        node.prefix = self._nodes(schema.get("prefixItems"))
        if isinstance(items, list):  # up to draft 2019-09
            node.prefix = self._nodes(items)
            items = schema.get("additionalItems")
        if items is not None:
            node.items = self._node(items)
        if "contains" in schema:
            node.contains = self._node(schema["contains"])
        node.unique = schema.get("uniqueItems") is True

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


_LIMITS: Final = (
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minContains",
    "maxContains",
)


def _read_types(declared: object) -> tuple[frozenset[str] | None, bool]:
    """The types of a `type` keyword, and whether all of it was understood (`OBJECT` is, `dict` is not)."""
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
        json.dumps(members)  # bounds the depth of what is compared later
        return Members([member for member in members if among is None or member in among])
    except (RecursionError, TypeError, ValueError):
        return None
