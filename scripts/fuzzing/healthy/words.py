"""What the answers say: words, deltas, tools and calls that fit their schemas."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

SENTENCES = (
    "I will look at the file first.", "Done.", " ", "\n", "\n\n",
    "Here is the plan:\n1. read\n2. write\n", "Ein Gerät für 5 € – schön, nicht wahr?", "日本語の文。",
    "👩‍👩‍👧 and 🏳️‍🌈", "a\u2028b\u2029c", "tab\there", "\r\n", "if a < b and b > c: x = [1, 2]", "{",
    "[", "<", "`", "```", "It is {", "arr[0]", "<b>bold</b>", "<br/>",
    "```python\nprint({'a': 1})\n```\n", "```json\n{\"a\": [1, 2]}\n```\n", "<!-- comment -->",
    "<details>x</details>", "Use `git status`.", "$x^2$ and \\(y\\)", "C:\\temp\\new",
    "\"quoted\" and 'single'", "100% sure?", "<tool", "<|", "[TOOL", "function", "Action",
    "Thought: hm", "</p>", "<think", "a<b", "{}", "[]", "null", "()", "⚙", "– – –",
    "* item\n* item\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "> quoted\n", "# Title\n",
    "https://example.com/?q=<x>&y={z}", "e = mc²", "\u00a0", "…",
)  # fmt: skip
STRINGS = (
    *SENTENCES,
    "",
    "x",
    "gpt-9",
    "src/main.py",
    "completed",
    "rm -rf /tmp/x",
    '{"a": 1}',
    "<html><body>hi</body></html>",
)
VALUES = (
    "ls -la", "echo \"hi\" && cd 'x y'", "C:\\temp\\new\nline", "é 日本 👍", "", "{\"a\": 1}",
    "</tool_call>", "[1,2", "<b>x</b>\r\n", "\t", "```\ncode\n```", "a\\\"b", "\u2028", "$(pwd)",
    "null", "true", "12", "x" * 300,
)  # fmt: skip
COUNTS = (0, 1, -3, 2.5, 120000, 1e21, 10**20)

STRING: Json = {"type": "string"}
SCHEMAS: dict[str, Json] = {
    "Bash": {
        "type": "object",
        "properties": {"command": STRING, "timeout": {"type": "number"}, "background": {"type": "boolean"}},
        "required": ["command"],
    },
    "edit_file": {
        "type": "object",
        "properties": {
            "path": STRING,
            "edits": {
                "type": "array",
                "items": {"type": "object", "properties": {"old": STRING, "new": STRING}, "required": ["old", "new"]},
            },
            "options": {"type": "object", "additionalProperties": True},
        },
        "required": ["path", "edits"],
    },
    "get-weather": {
        "type": "object",
        "properties": {"city": STRING, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
        "required": ["city", "unit"],
        "additionalProperties": False,
    },
    "list_tabs": {"type": "object", "properties": {}},
    "mcp__github__search": {"type": "object", "properties": {"q": STRING, "page": {"type": ["integer", "null"]}}},
}
DESCRIPTION = "What it does."


def said(chance: random.Random, most: int = 8) -> str:
    """A text without a call in it."""
    return "".join(chance.choices(SENTENCES, k=chance.randint(1, most)))


def deltas(chance: random.Random, text: str) -> list[str]:
    """The text in pieces, some of them empty."""
    if chance.random() < 0.15:
        return [text]
    longest = chance.choice((1, 4, 12, 60))
    pieces = []
    start = 0
    while start < len(text):
        end = start + chance.randint(1, longest)
        pieces.append(text[start:end])
        start = end
        if chance.random() < 0.03:
            pieces.append("")
    return pieces or [""]


def call(chance: random.Random) -> tuple[str, Json]:
    """The name and the arguments of a call that its tool can take."""
    name = chance.choice(list(SCHEMAS))
    return name, _fitting(chance, SCHEMAS[name])


def _fitting(chance: random.Random, schema: Json) -> Any:
    kind = schema.get("type")
    if "enum" in schema:
        return chance.choice(schema["enum"])
    if isinstance(kind, list):
        kind = chance.choice(kind)
    match kind:
        case "object":
            keys = list(schema.get("properties", {}))
            wanted = [key for key in keys if key in schema.get("required", ()) or chance.random() < 0.4]
            chance.shuffle(wanted)
            made = {key: _fitting(chance, schema["properties"][key]) for key in wanted}
            if schema.get("additionalProperties") is True:
                made |= {"depth": 2, "deep": {"x": [None, True, {}]}} if chance.random() < 0.5 else {}
            return made
        case "array":
            return [_fitting(chance, schema["items"]) for _ in range(chance.randint(0, 3))]
        case "string":
            return chance.choice(VALUES)
        case "number":
            return chance.choice(COUNTS)
        case "integer":
            return chance.choice((0, 1, 12))
        case "boolean":
            return chance.random() < 0.5
        case _:
            return None


def arguments(chance: random.Random, value: Json) -> str:
    """The arguments as a model may write them: strict JSON in any spacing and escaping."""
    separators = chance.choice(((",", ":"), (", ", ": "), (" ,", " :")))
    text = json.dumps(
        value, ensure_ascii=chance.random() < 0.5, separators=separators, indent=chance.choice((None, None, None, 2))
    )
    if chance.random() < 0.1:
        text = text.replace("/", "\\/")
    return chance.choice(("", "", "", "", " ", "\n")) + text + chance.choice(("", "", "", "", " ", "\n"))


def identity(chance: random.Random, prefix: str) -> str:
    return prefix + "".join(chance.choices("abcdefghijklmnopqrstuvwxyzABCDEFG0123456789", k=chance.choice((9, 24))))


def often(chance: random.Random, how: float) -> bool:
    return chance.random() < how


def some(chance: random.Random, fields: dict[str, Callable[[], Any]], how: float = 0.3) -> Json:
    """Some of these fields."""
    return {key: make() for key, make in fields.items() if chance.random() < how}
