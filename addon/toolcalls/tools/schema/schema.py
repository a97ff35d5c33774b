"""Prepares a declared JSON schema for checking, once for all requests that declare it.

The schema of a request is foreign data. It is turned into plain nodes, without recursion and up to a limit; what is
not understood is marked as unknown, not guessed, so every violation that `check` reports is one that any validator
would report.
"""

from __future__ import annotations

import json
import pickle
from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final
from urllib.parse import unquote

from .node import ARRAY, BOOLEAN, FRACTION, INTEGER, NULL, OBJECT, STRING, Members, Node
from .patterns import prepare_pattern

_TYPES: Final[Mapping[str, frozenset[str]]] = {
    **{name: frozenset({name}) for name in (NULL, BOOLEAN, INTEGER, STRING, ARRAY, OBJECT)},
    "number": frozenset({INTEGER, FRACTION}),
}

_MAX_NODES = 10_000
_MAX_CACHED = 512
_MAX_CACHED_NODES = 60_000
_MAX_KEY = 8_192

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
        "$dynamicRef",
        "$recursiveRef",
        "unevaluatedProperties",
        "unevaluatedItems",
        "dependentSchemas",
        "extends",
    }
)


class _Cache:
    """The most recently used schemas, limited by their total number of nodes.

    No lock: the engine runs on one event loop, and a lock that an exception leaves taken would stop it for ever.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, tuple[Node, int]] = OrderedDict()
        self._nodes = 0

    def get(self, key: bytes) -> Node | None:
        kept = self._kept.get(key)
        if kept is None:
            return None
        self._kept.move_to_end(key)
        return kept[0]

    def keep(self, key: bytes, node: Node, nodes: int) -> None:
        if key not in self._kept:
            self._kept[key] = (node, nodes)
            self._nodes += nodes
        while len(self._kept) > _MAX_CACHED or self._nodes > _MAX_CACHED_NODES:
            _, (_, gone) = self._kept.popitem(last=False)
            self._nodes -= gone

    def clear(self) -> None:
        self._kept.clear()
        self._nodes = 0

    def __len__(self) -> int:
        return len(self._kept)


cache = _Cache()


def prepared(schema: Mapping[str, Any]) -> Node:
    """The node of a schema, from the cache if possible: agents send the same tools with every request."""
    try:
        key = pickle.dumps(schema, 5)
    except (RecursionError, pickle.PicklingError, TypeError, AttributeError):
        return prepare(schema)
    if len(key) > _MAX_KEY:
        key = blake2b(key).digest()
    node = cache.get(key)
    if node is None:
        preparation = _Preparation(schema)
        node = preparation.run()
        cache.keep(key, node, preparation.size)
    return node


def prepare(schema: object) -> Node:
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

    @property
    def size(self) -> int:
        return len(self._made)

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
