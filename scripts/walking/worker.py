"""Measures the version of the engine whose `addon` directory is on the path: its walks and its size, as JSON."""

from __future__ import annotations

import ast
import json
import sys
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from .walks import WALKS, Walk


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


def size(addon: Path) -> dict[str, list[float]]:
    """For each folder ("room"), the files beside the folders, and all of it: lines, files, functions over 40 lines,
    the longest line, and the mean line in tenths of a character."""
    rooms: dict[str, list[str]] = {}
    for path in sorted(addon.rglob("*.py")):
        parts = path.relative_to(addon).parts
        room = parts[1] if len(parts) > 2 else "beside the rooms" if len(parts) == 2 else parts[0]
        rooms.setdefault(room, []).append(path.read_text(encoding="utf-8"))
    rooms["all"] = [text for texts in rooms.values() for text in texts]
    return {room: _figures(texts) for room, texts in rooms.items()}


def _figures(texts: list[str]) -> list[float]:
    lines = [line for text in texts for line in text.splitlines()]
    trees = [node for text in texts for node in ast.walk(ast.parse(text))]
    functions = [node for node in trees if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = sum((node.end_lineno or 0) - node.lineno >= 40 for node in functions)
    written = [len(line) for line in lines if line.strip()]
    return [len(lines), len(texts), long, max(written, default=0), round(sum(written) / max(len(written), 1), 1)]


def main() -> None:
    engine = Path(str(import_module("toolcalls").__file__)).parent
    for make in WALKS.values():
        # A first run that is not counted, because imports and caches of the first use are no part of the walk.
        follow(make(), str(engine))
    walks = {name: follow(make(), f"{engine}/") for name, make in WALKS.items()}
    json.dump({"walks": walks, "size": size(engine.parent)}, sys.stdout)


if __name__ == "__main__":
    main()
