"""One declared JSON schema as plain fields (`Node`), prepared once for all requests that declare it.

The schema of a request is foreign data. It is turned into plain nodes, without recursion and up to a limit; what is
not understood is marked as unknown, not guessed, so every violation that `check` reports is one that any validator
would report. Nodes are never changed afterwards.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import ge, gt, le, lt
from typing import Any, Final
from urllib.parse import unquote

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
    parts: tuple[Node, ...] = ()
    """The schemas that must hold besides this one: `ref`, and those of allOf."""
    unions: tuple[tuple[Node, ...], ...] = ()
    """The schemas of which at least one must hold, by union."""
    one_of: tuple[Node, ...] = ()
    """The union of which only one may hold."""
    properties: dict[str, Node] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    additional: Node | None = None
    """The schema of every other property."""
    closed: bool = False
    """Whether additionalProperties is false."""
    key_patterns: bool = False
    """Whether there are patternProperties, so that nothing is certain about keys that are not in `properties`."""
    names: Node | None = None
    """propertyNames."""
    prefix: tuple[Node, ...] = ()
    items: Node | None = None
    pattern: bool = False
    """Whether there is a pattern: nothing is certain about strings that are not empty."""
    empty_forbidden: bool | None = False
    """Whether the pattern excludes the empty string; None if that is not known."""
    never_empty: bool = False
    """Whether the format excludes the empty string."""
    limits: dict[str, int | float] = field(default_factory=dict)
    unknown: bool = False
    """Whether the schema contains something that is not understood here, and may forbid more than we know."""
    possible_types: frozenset[str] | None = None
    view: Any = None
    """Where `check.py` keeps the view of this node."""


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
    if isinstance(value, float):
        return INTEGER if value.is_integer() else FRACTION
    return next((kind for base, kind in _KINDS.items() if isinstance(value, base)), OBJECT)


def equality_key(value: Any) -> tuple[str, Any]:
    """A key that is equal for exactly those values that JSON Schema calls equal."""
    if isinstance(value, dict):
        return OBJECT, frozenset((key, equality_key(item)) for key, item in value.items())
    if isinstance(value, list):
        return ARRAY, tuple(map(equality_key, value))
    kind = type_of(value)
    return INTEGER if kind == FRACTION else kind, value


def possible(node: Node, depth: int = 0) -> frozenset[str]:
    """The types that a value may have under this schema: at most these, perhaps fewer."""
    if node.possible_types is not None:
        return node.possible_types
    if depth > _MAX_CHAIN:
        return EVERY_TYPE
    node.possible_types = EVERY_TYPE  # for a cycle of references: every type, which proves nothing
    types = EVERY_TYPE if node.types is None else node.types
    if node.enum is not None:
        types &= node.enum.types
    for part in node.parts:
        types &= possible(part, depth + 1)
    for union in node.unions:
        types &= frozenset().union(*(possible(branch, depth + 1) for branch in union))
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
        *("$dynamicRef", "$recursiveRef", "unevaluatedProperties", "unevaluatedItems", "dependentSchemas", "extends"),
        *("not", "if", "contains", "uniqueItems", "multipleOf", "dependencies", "dependentRequired"),
    }
)
_OF_NUMBERS: Final = {"minimum": lt, "maximum": gt, "exclusiveMinimum": le, "exclusiveMaximum": ge}
LIMITS: Final[Mapping[str, Mapping[str, Callable[[float, float], bool]]]] = {
    STRING: {"minLength": lt, "maxLength": gt},
    ARRAY: {"minItems": lt, "maxItems": gt},
    OBJECT: {"minProperties": lt, "maxProperties": gt},
    INTEGER: _OF_NUMBERS,
    FRACTION: _OF_NUMBERS,
}
"""When a size, or a number, violates a limit."""


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
        return root

    def _node(self, schema: object) -> Node:
        if not isinstance(schema, dict):
            return Node(types=frozenset() if schema is False else None, unknown=not isinstance(schema, bool))
        known = self._made.get(id(schema))
        if known is not None:
            return known
        if len(self._made) >= _MAX_NODES:
            return Node(unknown=True)
        node = self._made[id(schema)] = Node()
        self._waiting.append((node, schema))
        return node

    def _nodes(self, schemas: object) -> tuple[Node, ...]:
        return tuple(self._node(schema) for schema in schemas) if isinstance(schemas, list) else ()

    def _fill(self, node: Node, schema: dict[str, Any]) -> None:
        if schema.get("$ref") is not None:
            node.ref = self._resolve(schema["$ref"])
            node.parts = (node.ref,)
            if self._ref_alone:
                return
        node.unknown = not _UNKNOWN_KEYWORDS.isdisjoint(schema)
        node.parts += self._nodes(schema.get("allOf"))
        any_of, node.one_of = self._nodes(schema.get("anyOf")), self._nodes(schema.get("oneOf"))
        node.unions = tuple(union for union in (any_of, node.one_of) if union)
        _fill_value(node, schema)
        self._fill_object(node, schema)
        # Up to draft 2019-09, a list of `items` was what `prefixItems` is now.
        listed = isinstance(schema.get("items"), list)
        prefix, items = ("items", "additionalItems") if listed else ("prefixItems", "items")
        node.prefix = self._nodes(schema.get(prefix))
        node.items = self._node(schema[items]) if items in schema else None

    def _fill_object(self, node: Node, schema: dict[str, Any]) -> None:
        properties = schema.get("properties")
        if isinstance(properties, dict):
            node.properties = {name: self._node(part) for name, part in properties.items()}
        node.required = _names(schema.get("required"))
        additional = schema.get("additionalProperties", True)
        node.key_patterns = bool(schema.get("patternProperties"))
        node.closed = additional is False and not node.key_patterns
        if isinstance(additional, dict) and additional:
            node.additional = self._node(additional)
        if "propertyNames" in schema:
            node.names = self._node(schema["propertyNames"])

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


def _names(listed: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in listed if isinstance(name, str))) if isinstance(listed, list) else ()


def _fill_value(node: Node, schema: dict[str, Any]) -> None:
    """Read the keywords that hold no schemas."""
    declared = schema.get("type")
    if declared is not None:
        names = declared if isinstance(declared, list) else [declared]
        types = [_TYPES.get(name.lower()) if isinstance(name, str) else None for name in names]
        known = [each for each in types if each is not None]
        if len(known) == len(types):
            node.types = frozenset().union(*known)
        else:
            node.unknown = True
    node.nullable = schema.get("nullable") is True
    node.default = "default" in schema
    for members in (schema.get("enum"), [schema["const"]] if "const" in schema else None):
        if isinstance(members, list):
            node.enum = _members(members, node.enum)
            node.unknown |= node.enum is None
    node.pattern = "pattern" in schema
    node.empty_forbidden = _forbids_empty(schema["pattern"]) if node.pattern else False
    node.never_empty = isinstance(schema.get("format"), str) and schema["format"] in _NEVER_EMPTY
    for keyword in {keyword for limits in LIMITS.values() for keyword in limits}:
        limit = schema.get(keyword)
        if isinstance(limit, (int, float)) and not isinstance(limit, bool):
            node.limits[keyword] = limit


def _members(members: list[Any], among: Members | None) -> Members | None:
    try:
        json.dumps(members)  # raises if the members are nested too deeply to be compared later
        return Members([member for member in members if among is None or member in among])
    except (RecursionError, TypeError, ValueError):
        return None


_CHOICE = re.compile(r"[|?*+{]")
_MOST_CHOICES = 8
_MAX_PATTERN = 300


def _forbids_empty(pattern: object) -> bool | None:
    """Whether a declared pattern is not found in the empty text; None if that is not known.

    A pattern is foreign code with a running time of its own: it is run on no other text, and only with few choices.
    """
    if not isinstance(pattern, str) or len(pattern) > _MAX_PATTERN or len(_CHOICE.findall(pattern)) > _MOST_CHOICES:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.search(pattern, "") is None
    except (re.error, RecursionError, OverflowError, ValueError):
        return None
