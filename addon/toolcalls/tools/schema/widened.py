"""Makes a wider schema: it admits all that the given one admits, without the keywords that servers fail on.

Only requests get it: responses are checked against the schema that the client declared. References are written out;
one that cannot be written out admits anything. Nothing is ever narrowed, so `oneOf`, of which exactly one branch may
fit, becomes `anyOf` if a branch is widened.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_DROPPED = frozenset(
    {
        "$schema",
        "$id",
        "$anchor",
        "$comment",
        "$defs",
        "definitions",
        "$dynamicAnchor",
        "$dynamicRef",
        "$recursiveRef",
        "not",
        "if",
        "then",
        "else",
        "pattern",
        "multipleOf",
        "uniqueItems",
        "propertyNames",
        "contains",
        "minContains",
        "maxContains",
        "dependencies",
        "dependentSchemas",
        "dependentRequired",
        "unevaluatedProperties",
        "unevaluatedItems",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "patternProperties",
    }
)
_BOUNDS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_LARGEST_BOUND = 1000
"""llama.cpp turns a bound into grammar rules, and gives up at 2,000 rules."""
_EXCLUSIVE = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_ANNOTATIONS = ("title", "description", "default", "examples")
_MAPS = ("properties",)
_LISTS = ("anyOf", "allOf", "prefixItems")
_ONES = ("items", "additionalProperties", "additionalItems")
_DEEPEST = 40
_MOST_NODES = 5000


def widened(schema: Json) -> Json:
    """The wider schema; the given object itself if there is nothing to widen."""
    found = _Widening(schema).of(schema, (), 0)
    return found if isinstance(found, dict) else {}


class _Widening:
    def __init__(self, root: Json) -> None:
        self._root = root
        self._nodes = 0

    def of(self, schema: Any, within: tuple[str, ...], depth: int) -> Any:
        """The wider form of a part. `within`: the references that are being written out."""
        if not isinstance(schema, dict):
            return schema
        self._nodes += 1
        if depth > _DEEPEST or self._nodes > _MOST_NODES:
            return {}
        if "$ref" in schema:
            return self._referred(schema, within, depth)
        out: Json = {}
        for key, value in schema.items():
            if key in _DROPPED or self._is_too_much(key, value):
                continue
            if key in _MAPS and isinstance(value, dict):
                value = {name: self.of(inner, within, depth + 1) for name, inner in value.items()}
            elif (key in _LISTS or key in _ONES) and isinstance(value, list):
                value = [self.of(inner, within, depth + 1) for inner in value]
            elif key in _ONES:
                value = self.of(value, within, depth + 1)
            if key == "const":
                out.setdefault("enum", [value])
            elif key != "oneOf":
                out[key] = value
            else:
                self._any_of(out, schema, within, depth)
        for key, plain in _EXCLUSIVE.items():
            bound = schema.get(key)
            if isinstance(bound, int | float) and not isinstance(bound, bool) and plain not in schema:
                out[plain] = bound
        if "patternProperties" in schema:
            # Keys that match a dropped pattern are admitted only if all other keys are.
            out.pop("additionalProperties", None)
        return schema if _is(out, schema) else out

    def _is_too_much(self, key: str, value: Any) -> bool:
        if key in _BOUNDS:
            return isinstance(value, int | float) and value > _LARGEST_BOUND
        if key == "enum":
            return not isinstance(value, list) or not all(isinstance(one, str) for one in value)
        return key == "const" and not isinstance(value, str)

    def _any_of(self, out: Json, schema: Json, within: tuple[str, ...], depth: int) -> None:
        branches = schema["oneOf"]
        if not isinstance(branches, list):
            return
        wide = [self.of(branch, within, depth + 1) for branch in branches]
        if all(one is other for one, other in zip(wide, branches, strict=True)):
            out["oneOf"] = branches
        elif "anyOf" not in schema:
            out["anyOf"] = wide

    def _referred(self, schema: Json, within: tuple[str, ...], depth: int) -> Json:
        notes = {key: schema[key] for key in _ANNOTATIONS if key in schema}
        reference = schema["$ref"]
        if not isinstance(reference, str) or reference in within:
            return notes
        target = self._target(reference)
        found = self.of(target, (*within, reference), depth + 1) if isinstance(target, dict) else {}
        return {**found, **notes}

    def _target(self, reference: str) -> Any:
        """The part of the schema that a reference points to."""
        if not reference.startswith("#/"):
            return None
        here: Any = self._root
        for step in reference[2:].split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(here, dict) or name not in here:
                return None
            here = here[name]
        return here


def _is(out: Json, schema: Json) -> bool:
    """Whether nothing was changed."""
    return out.keys() == schema.keys() and all(
        value is schema[key] or _same(value, schema[key]) for key, value in out.items()
    )


def _same(one: Any, other: Any) -> bool:
    """Whether two containers, one of them new, contain the very same objects."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(one[key] is other[key] for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(first is second for first, second in zip(one, other, strict=True))
    return False
