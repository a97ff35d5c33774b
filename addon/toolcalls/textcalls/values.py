"""Raw text as a value of a type that the schema declares. Tried in order: null, numbers, boolean, object, array."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from .cursor import NotACall

_INTEGER = re.compile(r"[+-]?\d{1,400}(?:\.0+)?")
_NUMBER = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d{1,3})?")
_SURROGATE = re.compile("[\ud800-\udfff]")
_DEPTH = 16


def properties(schema: object) -> Mapping[str, Any]:
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def required(schema: object) -> set[str]:
    found = schema.get("required") if isinstance(schema, Mapping) else None
    return {key for key in found if isinstance(key, str)} if isinstance(found, list) else set()


def is_open(schema: object) -> bool:
    """Does the schema admit properties that it does not name?"""
    if not isinstance(schema, Mapping):
        return True
    extra = schema.get("additionalProperties")
    return bool(extra) or bool(schema.get("patternProperties"))


def types(schema: object, root: object = None, depth: int = 0) -> set[str]:
    """The JSON types that a schema admits, as far as it declares them."""
    if not isinstance(schema, Mapping) or depth > _DEPTH:
        return set()
    found: set[str] = set()
    declared = schema.get("type")
    if isinstance(declared, str):
        found.add(declared.lower())
    elif isinstance(declared, list):
        found.update(entry.lower() for entry in declared if isinstance(entry, str))
    elif "properties" in schema:
        found.add("object")
    elif "items" in schema:
        found.add("array")
    for value in _listed(schema, "enum") + ([schema["const"]] if "const" in schema else []):
        found.add(_type_of(value))
    for key in ("anyOf", "oneOf", "allOf"):
        for branch in _listed(schema, key):
            found |= types(branch, root, depth + 1)
    reference = schema.get("$ref")
    if isinstance(reference, str):
        found |= types(_resolve(reference, root), root, depth + 1)
    return found


def typed(raw: str, schema: object, root: object = None) -> Any:
    """The value that `raw` means under `schema`; the text itself if nothing else fits."""
    admitted = types(schema, root)
    if not admitted or admitted == {"string"}:
        return raw
    text = raw.strip()
    if "null" in admitted and (text == "null" or (text in ("None", "") and "string" not in admitted)):
        return None
    if admitted & {"integer", "number"}:
        if _INTEGER.fullmatch(text):
            return int(text.split(".")[0]) if "integer" in admitted or "." not in text else float(text)
        if "number" in admitted and _NUMBER.fullmatch(text):
            number = float(text)
            if number not in (float("inf"), float("-inf")):
                return number
    if "boolean" in admitted and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if (text[:1] == "{" and "object" in admitted) or (text[:1] == "[" and "array" in admitted):
        value = read(text)
        if isinstance(value, dict | list):
            return value
    return raw


def put(found: dict[str, Any], key: str, value: Any) -> None:
    """Add a value under a key. Raises NotACall if the key already has another value."""
    if found.setdefault(key, value) != value:
        raise NotACall


def read(text: str) -> Any:
    """The value of a strict JSON text; None if it is invalid."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def write(arguments: Mapping[str, Any]) -> str:
    text = json.dumps(arguments, ensure_ascii=False)
    # A lone surrogate cannot be sent as UTF-8; escaped it can.
    return json.dumps(arguments) if _SURROGATE.search(text) else text


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _listed(schema: Mapping[str, Any], key: str) -> list[Any]:
    found = schema.get(key)
    return found if isinstance(found, list) else []


def _type_of(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _resolve(reference: str, root: object) -> object:
    if not reference.startswith("#/"):
        return None
    for step in reference[2:].split("/"):
        if not isinstance(root, Mapping):
            return None
        root = root.get(step.replace("~1", "/").replace("~0", "~"))
    return root
