"""Values of the types that an SDK declares, from their JSON schemas: every block, item and event that it knows."""

from __future__ import annotations

import random
from typing import Any

from .words import STRINGS, Json

Schemas = dict[str, Json]
"""The schema of each type that the answers are made of, as the SDKs give them."""
DEEPEST = 5


class Sampler:
    """Makes values of the types of one SDK."""

    def __init__(self, schemas: Schemas, chance: random.Random) -> None:
        self.schemas = schemas
        self.chance = chance

    def value(self, name: str, **fixed: Any) -> Json:
        """A value of a type; `fixed` fields are as they are given."""
        schema = self.schemas[name]
        made = self._value(schema, schema.get("$defs", {}), 0)
        return {**made, **fixed}

    def typed(self, name: str, kind: str, **fixed: Any) -> Json:
        """A value of the member of a union that has this `type`."""
        schema = self.schemas[name]
        member = members(schema)[kind]
        return {**self._value(member, schema.get("$defs", {}), 0), **fixed}

    def _value(self, schema: Json, defs: Json, depth: int, name: str = "") -> Any:
        if "$ref" in schema:
            return self._value(defs[schema["$ref"].rpartition("/")[2]], defs, depth, name)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return self.chance.choice(schema["enum"])
        if kinds := schema.get("anyOf") or schema.get("oneOf"):
            wanted = [kind for kind in kinds if kind.get("type") != "null"]
            if len(wanted) < len(kinds) and (depth >= DEEPEST or self.chance.random() < 0.3):
                return None
            return self._value(self.chance.choice(wanted), defs, depth, name)
        match schema.get("type"):
            case "object":
                return self._object(schema, defs, depth)
            case "array":
                number = self.chance.choice((0, 1, 1, 2)) if depth < DEEPEST else 0
                return [self._value(schema.get("items", {}), defs, depth + 1, name) for _ in range(number)]
            case "string":
                return self._string(schema, name)
            case "integer":
                return self.chance.choice((0, 1, 7, 42, 1024, 1763500000))
            case "number":
                return self.chance.choice((0, 0.5, -1.25, 12, 1e-7))
            case "boolean":
                return self.chance.random() < 0.5
            case _:
                return self.chance.choice(("x", 1, None, {}, {"a": [1]}))

    def _object(self, schema: Json, defs: Json, depth: int) -> Json:
        required = set(schema.get("required", ()))
        made = {}
        for key, value in schema.get("properties", {}).items():
            # Some types say only in their examples that a `type` is always there.
            if key in required or key == "type" or (depth < DEEPEST and self.chance.random() < 0.4):
                made[key] = self._value(value, defs, depth + 1, key)
        if isinstance(more := schema.get("additionalProperties"), dict) and depth < DEEPEST:
            for number in range(self.chance.choice((0, 1, 2))):
                made[f"key_{number}"] = self._value(more, defs, depth + 1)
        elif self.chance.random() < 0.05:
            made["x_future"] = self.chance.choice(("new", 1, None, [], {"tool_calls": []}))
        return made

    def _string(self, schema: Json, name: str) -> str:
        if schema.get("format") == "date-time":
            return "2026-11-18T21:40:00Z"
        if schema.get("format") in ("base64url", "base64", "binary", "byte") or name in ("data", "signature"):
            return "iVBORw0KGgoAAAANSUhEUg=="
        if name == "id" or name.endswith("_id"):
            return f"{name.removesuffix('_id')}_{self.chance.randrange(10**9):09}"
        if "url" in name or "uri" in name:
            return "https://example.com/a?b=c&d=%20#e"
        return self.chance.choice(STRINGS)


def members(schema: Json) -> dict[str, Json]:
    """The members of a union by their `type`."""
    found = {}
    defs = schema.get("$defs", {})
    for entry in schema.get("oneOf") or schema.get("anyOf") or ():
        member = defs[entry["$ref"].rpartition("/")[2]] if "$ref" in entry else entry
        kind = member["properties"]["type"]
        for name in [kind["const"]] if "const" in kind else kind.get("enum", ()):
            found[name] = member
    return found
