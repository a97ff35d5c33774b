"""How events become bytes: everything that the standard of event streams allows, and the lines of NDJSON."""

from __future__ import annotations

import json
import random
from typing import Any

from .words import Json

PLAIN: Json = {"end": "\n", "space": " ", "more": False, "bom": False, "ascii": True, "compact": True}


def framing(chance: random.Random, *, plain: bool = False) -> Json:
    """How a server writes its events. `plain`: this protocol's clients know one way only."""
    style = {"ascii": chance.random() < 0.5, "compact": chance.random() < 0.7}
    if plain or chance.random() < 0.4:
        return {**PLAIN, **style}
    return {
        "end": chance.choice(("\n", "\n", "\r\n", "\r")),
        "space": chance.choice((" ", " ", "")),
        "more": chance.random() < 0.4,
        "bom": chance.random() < 0.1,
        **style,
    }


def text_of(value: Any, how: Json) -> str:
    text = json.dumps(value, ensure_ascii=how["ascii"], separators=(",", ":") if how["compact"] else None)
    # Clients that split lines as Python does would break them here, so servers escape these.
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")


def stream(events: list[tuple[str, Any]], how: Json, chance: random.Random) -> bytes:
    """The events, each a type ("" for none) and its data: a value, a text as it is, or None for a comment alone."""
    out = ["\ufeff"] if how["bom"] else []
    end, space = how["end"], how["space"]
    # Behind an id the decoders of the SDKs take every blank line for an event, so a stream has ids or lone comments.
    ids = how["more"] and chance.random() < 0.5
    extra = (f"id:{space}7", "retry: 3000", "id", "x-other: y") if ids else (": ping", ":", "x-other: y")
    for kind, value in events:
        lines = []
        if value is None:
            lines.append(f": {kind}")
        else:
            data = value if isinstance(value, str) else text_of(value, how)
            lines = [f"data:{space}{data}"]
            if kind:
                lines.insert(chance.choice((0, 1)) if how["more"] else 0, f"event:{space}{kind}")
            if how["more"] and chance.random() < 0.2:
                lines.insert(chance.randrange(len(lines) + 1), chance.choice(extra))
        out += [line + end for line in lines]
        out.append(end * (2 if how["more"] and not ids and chance.random() < 0.05 else 1))
        if how["more"] and not ids and chance.random() < 0.08:
            out.append(f": keep-alive{end}{end}")
    # Half a surrogate pair cannot be written but as an escape.
    return "".join(out).encode("utf-8", "backslashreplace")


def lines(values: list[Json], how: Json) -> bytes:
    return "".join(
        text_of(value, how) + how["end"].replace("\r\n", "\n").replace("\r", "\n") for value in values
    ).encode()
