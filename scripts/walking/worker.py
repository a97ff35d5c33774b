"""Measures the version of the engine whose `addon` directory is on the path: its walks and its size, as JSON."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from .walks import WALKS, Walk

ROOMS = ("dialects", "turn", "unread", "textcalls")


def follow(walk: Walk, engine: str) -> dict[str, Any]:
    """Feed a walk; return the functions of the engine in the order of their first call, and the deepest nesting."""
    for chunk in walk.before:
        walk.feed(chunk)
    functions: dict[tuple[str, str], None] = {}
    depth = deepest = 0

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal depth, deepest
        code = frame.f_code
        # Comprehensions are functions only in some versions of Python.
        if not code.co_filename.startswith(engine) or code.co_name.startswith("<"):
            return
        if event == "call":
            depth += 1
            deepest = max(deepest, depth)
            functions.setdefault((code.co_filename.removeprefix(engine), code.co_qualname))
        elif event == "return":
            depth -= 1

    sys.setprofile(note)
    try:
        for chunk in walk.followed:
            walk.feed(chunk)
    finally:
        sys.setprofile(None)
    return {"functions": list(functions), "depth": deepest}


def size(engine: Path) -> Iterator[tuple[str, int, int]]:
    """The lines and the classes of each folder ("room")."""
    for room in ROOMS:
        texts = [path.read_text(encoding="utf-8") for path in sorted((engine / room).rglob("*.py"))]
        classes = sum(isinstance(node, ast.ClassDef) for text in texts for node in ast.walk(ast.parse(text)))
        yield room, sum(text.count("\n") for text in texts), classes


def main() -> None:
    engine = Path(str(import_module("toolcalls").__file__)).parent
    for make in WALKS.values():
        # A first run that is not counted, because imports and caches of the first use are no part of the walk.
        follow(make(), str(engine))
    walks = {name: follow(make(), f"{engine}/") for name, make in WALKS.items()}
    json.dump({"walks": walks, "size": list(size(engine))}, sys.stdout)


if __name__ == "__main__":
    main()
