"""Finds out whether a request wants its answer as JSON, and by which schema: each protocol has a field of its own."""

from __future__ import annotations

from typing import Any, Final

from ..outcome import STRUCTURED
from ..tools.declared import Tool

_KINDS: Final = ("json_object", "json_schema", "json")
_GEMINI_SCHEMAS: Final = (
    "responseSchema",
    "response_schema",
    "responseJsonSchema",
    "response_json_schema",
    "_responseJsonSchema",
)


def structured_output_of(request: dict[str, Any]) -> Tool | None:
    """What the answer should be, as if it were the arguments of a tool; None if it may be any text.

    Chat has `response_format`, Responses `text.format`, Messages `output_format` or `output_config.format`, Ollama
    `format`, and Gemini its `generationConfig`.
    """
    if "contents" in request:
        return _of_gemini(_object(request, "generationConfig", "generation_config"))
    wanted = (
        request.get("response_format")
        or _object(request, "text").get("format")
        or request.get("output_format")
        or _object(request, "output_config").get("format")
        or request.get("format")
    )
    if isinstance(wanted, str):
        return _structured(None) if wanted in _KINDS else None
    if not isinstance(wanted, dict):
        return None
    if wanted.get("type") in _KINDS:
        inner = wanted.get("json_schema")
        return _structured((inner if isinstance(inner, dict) else wanted).get("schema"))
    # Ollama's `format` is the schema itself.
    return _structured(wanted) if wanted is request.get("format") else None


def _of_gemini(config: dict[str, Any]) -> Tool | None:
    kind = config.get("responseMimeType", config.get("response_mime_type"))
    if "json" not in str(kind).lower():
        return None
    return _structured(next((config[key] for key in _GEMINI_SCHEMAS if key in config), None))


def _structured(schema: object) -> Tool:
    return Tool(STRUCTURED, schema if isinstance(schema, dict) else None)


def _object(value: dict[str, Any], *keys: str) -> dict[str, Any]:
    found = next((value[key] for key in keys if key in value), None)
    return found if isinstance(found, dict) else {}
