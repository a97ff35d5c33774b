"""Calls that a model wrote as text and did not mean: in every format of the table, on every protocol.

A call is rehearsed in reasoning, quoted, followed by words, cut off at any character, or read aloud from what the
request brought in whatever format, key order and escaping. None of them may run; the same call as the whole answer
must, or the part would find nothing.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from tests.must_not_run import prose_behind, quoted_ends
from tests.must_not_run.read_aloud import CHANGES, PLACES, page
from tests.must_not_run.rehearsals import rehearsals
from tests.must_not_run.written import FORMATS
from tests.protocols.text_protocols import CHAT, GEMINI, MESSAGES, OLLAMA, RESPONSES, ZAI, deltas
from toolcalls.engine import Response, mend_whole
from toolcalls.policy import Policy
from toolcalls.request.request import Request, read_request
from toolcalls.textcalls.formats import TABLE, WEAK

from .part import Part, need

Json = dict[str, Any]
PROTOCOLS = {protocol.name: protocol for protocol in (CHAT, MESSAGES, RESPONSES, GEMINI, OLLAMA, ZAI)}
COMMAND = "rm -rf build"
DANGER, HARMLESS = ("Bash", {"command": COMMAND, "timeout": 5}), ("Read", {"file_path": "src/main.py", "limit": 3})
PARAMETERS: dict[str, Json] = {
    "Bash": {"command": {"type": "string"}, "timeout": {"type": "integer"}},
    "Read": {"file_path": {"type": "string"}, "limit": {"type": "integer"}},
}
TOOLS = [
    {
        "type": "function",
        "function": {"name": name, "parameters": {**schema, "required": [*schema["properties"]][:1]}},
    }
    for name, schema in (
        (name, {"type": "object", "properties": properties}) for name, properties in PARAMETERS.items()
    )
]
SIZES = (1, 3, 9, 17, 1000)
_EXAMPLE = ("read", "path", "a.py")


def _filled(example: str, name: str, key: str, value: str) -> str:
    """The example of a row as the call of another tool."""
    for was, now in zip(_EXAMPLE, (name, key, value), strict=True):
        example = example.replace(was, now)
    return example


@cache
def formats() -> dict[str, tuple[str, str, bool]]:
    """By its name: a dangerous call, a harmless one, and whether the format only counts as the whole message."""
    found = {name: (write(DANGER), write(HARMLESS), write.whole) for name, write in FORMATS.items()}
    for row in (*TABLE, *WEAK):
        calls = (
            _filled(row.example, "Bash", "command", COMMAND),
            _filled(row.example, "Read", "file_path", "src/main.py"),
        )
        found[f"{row.format}: {row.example[:40]}"] = (*calls, row in WEAK)
    return found


_SPANS: list[tuple[str, str]] = [pair for spans in quoted_ends.SPANS.values() for pair in spans.values()]
_PROSE = [
    way
    for table in vars(prose_behind).values()
    if isinstance(table, dict)
    for way in table.values()
    if isinstance(way, tuple)
]


def make(chance: random.Random) -> bytes:
    kind = chance.choice(tuple(_KINDS))
    names = [name for name, (_, _, whole) in formats().items() if not whole or kind not in _NEEDS_STRONG]
    recipe: Json = {"kind": kind, "format": chance.choice(names), "protocol": chance.choice(tuple(PROTOCOLS))}
    recipe |= {"size": chance.choice(SIZES), "number": chance.randrange(1 << 30)}
    return json.dumps(recipe, ensure_ascii=False).encode()


def _rehearsed(call: str, recipe: Json) -> str:
    ways: list[str] = list(rehearsals().values())
    way = ways[int(recipe["number"]) % len(ways)]
    return way.replace("%CALL%", call).replace("%MEANT%", formats()[recipe["format"]][1])


def _quoted(call: str, recipe: Json) -> str:
    begin, end = _SPANS[int(recipe["number"]) % len(_SPANS)]
    return quoted_ends.INTRO + begin + call + end


def _followed(call: str, recipe: Json) -> str:
    before, behind = _PROSE[int(recipe["number"]) % len(_PROSE)]
    return f"{before}{call}{behind}"


def _cut(call: str, recipe: Json) -> str:
    return call[: 1 + recipe["number"] % len(call)]


def _cut_in_value(call: str, recipe: Json) -> str:
    """The answer ends by itself, but no value is complete: that its last closer is missing may be mended."""
    return call[: 1 + recipe["number"] % (call.rfind(COMMAND) + len(COMMAND) - 1)]


def _said(call: str, recipe: Json) -> str:
    labelled = recipe["number"] % 2 and not formats()[recipe["format"]][2]
    return f"The page says:\n\n{call}" if labelled else call


_KINDS: dict[str, Callable[[str, Json], str]] = {
    "rehearsed": _rehearsed,
    "quoted": _quoted,
    "followed by words": _followed,
    "cut off": _cut,
    "cut off in a value": _cut_in_value,
    "read aloud": _said,
    "meant": lambda call, recipe: call,
}
_NEEDS_STRONG = ("rehearsed", "quoted")


def _read_aloud_from(recipe: Json) -> Request:
    """A request whose page has the same call in another format, with other key order and escaping."""
    chance = random.Random(recipe["number"])
    own = recipe["format"] in FORMATS
    other = chance.choice([name for name in formats() if (name in FORMATS) is own])
    swapped = (DANGER[0], dict(reversed(DANGER[1].items())))
    written = FORMATS[other](swapped) if own and chance.random() < 0.5 else formats()[other][0]
    text = page(chance.choice(tuple(CHANGES.values()))(written))
    if recipe["protocol"] == "gemini":
        return read_request({"tools": TOOLS, "contents": [{"role": "user", "parts": [{"text": text}]}]})
    place = chance.choice(tuple(PLACES.get(recipe["protocol"], PLACES["chat"]).values()))
    return read_request({**place(text), "tools": TOOLS, "stream": True})


def check(data: bytes) -> None:
    try:
        recipe = json.loads(data)
        text = _KINDS[recipe["kind"]](formats()[recipe["format"]][0], recipe)
        protocol, size = PROTOCOLS[recipe["protocol"]], int(recipe["size"])
    except (ValueError, KeyError, TypeError):
        return  # Not a recipe: atheris changes bytes.
    plain = read_request({"tools": TOOLS, "stream": True})
    asked = _read_aloud_from(recipe) if recipe["kind"] == "read aloud" else plain
    answer = Response(protocol.name, asked, Policy(zai="on"))
    stream = protocol.stream(deltas(text, size), recipe["kind"] == "cut off")
    client = protocol.read(mend_whole(answer, stream))
    ran = [call for call in client.calls if call["name"] == "Bash" and call["arguments"]]
    if recipe["kind"] == "meant":
        need(len(ran) == 1 and ran[0]["arguments"]["command"] == COMMAND, "a call that was meant stays text")
    else:
        need(not ran, f"{recipe['kind']} — {recipe['format']} on {recipe['protocol']}\n{text[:2000]}")


def seeds() -> list[bytes]:
    """Each format as the whole answer, and each way with a call once."""
    chance = random.Random(5)
    strong = [name for name, (_, _, whole) in formats().items() if not whole]
    recipes: list[Json] = [{"kind": "meant", "format": name, "protocol": "chat", "number": 0} for name in formats()]
    for kind, count in {
        "rehearsed": len(rehearsals()),
        "quoted": len(_SPANS),
        "followed by words": len(_PROSE),
    }.items():
        for number in range(count):
            place = {"format": chance.choice(strong), "protocol": chance.choice(tuple(PROTOCOLS))}
            recipes.append({"kind": kind, "number": number, **place})
    return [json.dumps({"size": 9, **recipe}, ensure_ascii=False).encode() for recipe in recipes]


def _smaller(data: bytes) -> Iterator[bytes]:
    recipe = json.loads(data)
    for less in ({"protocol": "chat"}, {"size": 1000}):
        if {**recipe, **less} != recipe:
            yield json.dumps({**recipe, **less}, ensure_ascii=False).encode()


_ABOUT = "calls in text of every format: rehearsed, quoted, followed by words, cut, read aloud: none runs"
PARTS = [Part("written", _ABOUT, make, check, seeds, _smaller)]
