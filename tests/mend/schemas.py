"""Generated schemas with arguments that satisfy them, and the places where a defect can be put.

The oracle is the `jsonschema` package; nothing of the engine is imported here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from jsonschema import Draft202012Validator

Path = tuple[str | int, ...]

# Words that are in no synonym table and do not fold into one another.
NAMES = ["alpha", "beta_two", "gammaRay", "delta-four", "epsilon", "zeta9", "eta_theta", "iota", "kappa"]
MEMBERS = ["pending", "in_progress", "completed", "high-priority", "lowPriority", "A1"]
WORDS = st.one_of(
    st.sampled_from(["", "42", "true", "null", "[1]", '{"a":1}', "src", "a, b", "x y", "-", "1.0", "None"]),
    st.text(max_size=12),
)
ITEM_WORDS = st.text(alphabet="abcXYZ/._ ", min_size=1, max_size=10).filter(str.strip)


@st.composite
def leaf_schemas(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["string", "integer", "number", "boolean", "enum", "pattern", "min", "const"]))
    match kind:
        case "enum":
            members = draw(st.lists(st.sampled_from(MEMBERS), min_size=1, max_size=4, unique=True))
            return {"type": "string", "enum": members} if draw(st.booleans()) else {"enum": members}
        case "pattern":
            return {"type": "string", "pattern": "^[0-9]+(-[0-9]+)?$"}
        case "min":
            return {"type": "string", "minLength": 1}
        case "const":
            return {"const": draw(st.sampled_from(["fixed", 7, True]))}
        case _:
            return {"type": kind}


def _disguised(draw: st.DrawFn, schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """The same schema behind the ways in which generators of schemas write it."""
    form = draw(st.sampled_from(["plain", "plain", "ref", "anyOf null", "allOf", "oneOf null", "type list"]))
    match form:
        case "ref":
            name = f"D{len(definitions)}"
            definitions[name] = schema
            return {"$ref": f"#/$defs/{name}", "description": "a reference"}
        case "anyOf null":
            return {"anyOf": [schema, {"type": "null"}]}
        case "oneOf null":
            return {"oneOf": [{"type": "null"}, schema]}
        case "allOf":
            return {"allOf": [schema], "description": "wrapped"}
        case "type list" if isinstance(schema.get("type"), str) and "enum" not in schema:
            return {**schema, "type": [schema["type"], "null"]}
        case _:
            return schema


@st.composite
def object_schemas(draw: st.DrawFn, depth: int, definitions: dict[str, Any]) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    properties = {name: _disguised(draw, draw(_any_schema(depth - 1, definitions)), definitions) for name in names}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    required = [name for name in names if draw(st.booleans())]
    if required:
        schema["required"] = required
    if draw(st.booleans()):
        schema["additionalProperties"] = False
    return schema


@st.composite
def _any_schema(draw: st.DrawFn, depth: int, definitions: dict[str, Any]) -> dict[str, Any]:
    kind = draw(st.sampled_from(["leaf", "leaf", "array", "object"])) if depth > 0 else "leaf"
    if kind == "object":
        return draw(object_schemas(depth, definitions))
    if kind == "array":
        items = draw(st.one_of(leaf_schemas(), object_schemas(max(depth - 1, 0), definitions)))
        return {"type": "array", "items": items}
    return draw(leaf_schemas())


def value_for(draw: st.DrawFn, schema: dict[str, Any], root: dict[str, Any]) -> Any:
    if "$ref" in schema:
        return value_for(draw, root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root)
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return value_for(draw, draw(st.sampled_from(schema[union])), root)
    if "allOf" in schema:
        return value_for(draw, schema["allOf"][0], root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    kind = schema["type"]
    if isinstance(kind, list):
        kind = draw(st.sampled_from(kind))
    match kind:
        case "object":
            required = schema.get("required", [])
            value = {
                name: value_for(draw, part, root)
                for name, part in schema["properties"].items()
                if name in required or draw(st.booleans())
            }
            if not schema.get("additionalProperties", True):
                return value
            extra = draw(st.dictionaries(st.sampled_from(["undeclared", "x.y"]), WORDS, max_size=1))
            return {**value, **extra}
        case "array":
            count = draw(st.sampled_from([0, 1, 1, 2, 3]))
            return [value_for(draw, schema["items"], root) for _ in range(count)]
        case "integer":
            return draw(st.integers())
        case "number":
            return draw(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)))
        case "boolean":
            return draw(st.booleans())
        case "null":
            return None
        case _:
            if "pattern" in schema:
                return draw(st.sampled_from(["1", "1-5", "10-20"]))
            if schema.get("minLength"):
                return draw(ITEM_WORDS)
            return draw(WORDS)


@st.composite
def calls(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A schema and arguments that it admits."""
    definitions: dict[str, Any] = {}
    schema = draw(object_schemas(3, definitions))
    if definitions:
        schema["$defs"] = definitions
    value = value_for(draw, schema, schema)
    assert Draft202012Validator(schema).is_valid(value)
    return schema, value


@dataclass(frozen=True)
class Place:
    path: Path
    schema: dict[str, Any]
    """Without its disguise."""
    value: Any
    parent: dict[str, Any] | None
    """The schema of the object that holds it, when an object does."""


def undisguised(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    while True:
        if "$ref" in schema:
            schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
        elif "allOf" in schema:
            schema = schema["allOf"][0]
        elif "anyOf" in schema or "oneOf" in schema:
            branches = schema.get("anyOf", schema.get("oneOf"))
            schema = next(branch for branch in branches if branch != {"type": "null"})
        elif isinstance(schema.get("type"), list):
            schema = {**schema, "type": schema["type"][0]}
        else:
            return schema


def places(schema: dict[str, Any], value: Any, root: dict[str, Any], path: Path = ()) -> Iterator[Place]:
    plain = undisguised(schema, root)
    if isinstance(value, dict):
        for name, item in value.items():
            if name in plain.get("properties", {}):
                part = plain["properties"][name]
                yield Place((*path, name), undisguised(part, root), item, plain)
                yield from places(part, item, root, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield Place((*path, index), undisguised(plain["items"], root), item, None)
            yield from places(plain["items"], item, root, (*path, index))


def objects(schema: dict[str, Any], value: Any, root: dict[str, Any], path: Path = ()) -> Iterator[Place]:
    """Every object of the value, the root included."""
    if not path:
        yield Place((), schema, value, None)
    for place in places(schema, value, root, path):
        if isinstance(place.value, dict):
            yield place


def replaced(value: Any, path: Path, content: Any) -> Any:
    """The value with other content at a path; everything is copied on the way."""
    if not path:
        return content
    head, rest = path[0], path[1:]
    if isinstance(value, list):
        return [replaced(item, rest, content) if index == head else item for index, item in enumerate(value)]
    return {key: (replaced(item, rest, content) if key == head else item) for key, item in value.items()}
