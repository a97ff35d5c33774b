"""A block in the document of chat.z.ai: `<glm_block …>{"type": "mcp", "data": {"metadata": {…}}}</glm_block>`.

It is read as JSON, once: its arguments may contain anything, its closing tag too. Offsets count UTF-16 units.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from .. import payload
from ..payload import string_of

BLOCK_END: Final = "</glm_block>"
CODEC: Final = "utf-16-le"
_TAIL = re.compile(rf"\s*+{BLOCK_END}")
_DECODER = json.JSONDecoder(strict=False)
_STRING: Final = r'\s*+:\s*+("(?>[^"\\]|\\.)*+"?)'
_FIELDS = {key: re.compile(f'"{key}"{_STRING}', re.DOTALL) for key in ("id", "name", "arguments")}
_RESULT = re.compile(r'"result"\s*+:\s*+(null\b|""|)')
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True, frozen=True)
class Block:
    """A call in a block. `result`: "" until the server has run it; None if it could not. `whole`: its JSON is."""

    start: int
    id: str
    name: str
    arguments: str
    result: Any
    whole: bool = True


def read_block(text: str, at: int, start: int) -> tuple[Block, int]:
    """The block whose JSON begins here, and the end of its JSON; 0 if more of it may follow.

    Broken JSON ends at the closing tag.
    """
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (json.JSONDecodeError, RecursionError) as error:
        place = error.pos if isinstance(error, json.JSONDecodeError) else at
        may_go_on = str(error).startswith("Unterminated") or place >= len(text) - 8
        end = 0 if may_go_on else text.find(BLOCK_END, place) + 1
        return _cut_block(text[: end or None], start), end and end - 1 + len(BLOCK_END)
    tail = _TAIL.match(text, end)
    end = tail.end() if tail else 0 if BLOCK_END.startswith(text[end:].lstrip()) else end
    data = value.get("data")
    metadata = data.get("metadata") if isinstance(data, dict) else None
    if not isinstance(metadata, dict):
        # The second form is known only from synthetic tests.
        function = value.get("function")
        metadata = {"id": value.get("id"), **function} if isinstance(function, dict) else {}
    identity, name = string_of(metadata.get("id")), joined(string_of(metadata.get("name")))
    arguments = joined(payload.text_of(metadata.get("arguments")))
    return Block(start, identity, name, arguments, metadata.get("result", "")), end


def _cut_block(text: str, start: int) -> Block:
    """A block whose JSON is broken, or not complete."""
    found = {key: pattern.search(text) for key, pattern in _FIELDS.items()}
    told = {key: joined(_cut_literal(match[1])) if match else "" for key, match in found.items()}
    arguments = found["arguments"]
    result = _RESULT.search(text, arguments.end() if arguments else 0)
    did = "" if result is None or result[1] == '""' else None if result[1] else "filled"
    return Block(start, told["id"], told["name"], told["arguments"], did, whole=False)


def _cut_literal(raw: str) -> str:
    """The text of a JSON string, which may be cut off inside an escape."""
    for text in (raw, *(raw[:end] + '"' for end in range(len(raw), max(len(raw) - 6, 0), -1))):
        try:
            return string_of(json.loads(text, strict=False))
        except ValueError:
            continue
    return raw.strip('"')


def joined(units: str) -> str:
    """The text with its surrogate pairs joined; a lone surrogate stays."""
    return units.encode(CODEC, "surrogatepass").decode(CODEC, "surrogatepass") if _SURROGATE.search(units) else units
