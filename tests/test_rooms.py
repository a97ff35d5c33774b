"""The rooms of the house: who may know whom."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ADDON = Path(__file__).parents[1] / "addon"
ENGINE = ADDON / "toolcalls"
FILES = sorted(ENGINE.rglob("*.py"))
OUTER = ("proxy", "recording", "cli")
"""Rooms that are no part of the engine: they meet mitmproxy, the disk, the user."""
ENGINE_FILES = [path for path in FILES if path.relative_to(ENGINE).parts[0] not in OUTER]
FOREIGN = {"mitmproxy", "json5", "click", "hypothesis", "jsonschema", "openai", "anthropic", "h2", "cryptography"}

MAY_KNOW = {
    # What stands alone.
    "__init__": "",
    "ids": "",
    "reasons": "",
    "policy": "",
    "shown": "",
    "tools": "",
    "wire": "sizes",
    "sizes": "",
    # One call.
    "outcome": "",
    "mend": "ids outcome policy reasons tools sizes",
    "textcalls": "mend reasons sizes tools",
    # One answer, one request.
    "payload": "mend reasons",
    "request": "ids mend outcome payload policy reasons tools wire sizes",
    "finish_reason": "mend",
    "fragments": "mend payload tools sizes",
    "alike": "sizes textcalls",
    "parts": "mend outcome",
    "call": "fragments mend parts payload reasons tools",
    "partial_args": "mend parts reasons",
    "calls": "call fragments mend partial_args parts payload reasons sizes tools",
    "live": "call calls fragments ids mend outcome parts payload reasons tools waiting",
    "sent": "call fragments mend payload tools",
    "waiting": "call mend parts payload textcalls tools",
    "answer_text": "mend parts policy request textcalls sizes waiting",
    "parse_failure": "mend outcome payload policy reasons request sizes textcalls wire",
    "answer": "answer_text call calls finish_reason live mend outcome parts policy reasons request sent sizes waiting",
    "protocols": "alike answer call calls finish_reason mend outcome parts payload policy reasons request sizes textcalls waiting wire",
    "sniff": "payload protocols sizes wire",
    "engine": "ids mend outcome parse_failure policy protocols request sizes sniff wire",
    "websocket": "engine outcome policy request wire",
    # The world outside.
    "recording": "__init__ engine outcome reasons policy request websocket",
    "proxy": "__init__ engine outcome policy reasons recording request shown sizes websocket wire",
    "cli": "__init__ call engine ids mend outcome policy proxy recording request shown sizes tools",
}
"""The rooms, and the modules that stand beside them, each with those that it may import. No way leads back."""


def room_of(path: Path) -> str:
    return path.relative_to(ENGINE).with_suffix("").parts[0]


def modules(path: Path) -> Iterator[str]:
    """Every module that a file imports, by its full name."""
    package = path.relative_to(ADDON).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            base = ".".join(filter(None, (start, node.module or "")))
            # `from toolcalls import policy` names the module; `from toolcalls import __version__` a value.
            yield from (f"{base}.{alias.name}" for alias in node.names) if base == "toolcalls" else (base,)


def rooms_known_by(path: Path) -> set[str]:
    names = (name.split(".") for name in modules(path))
    inner = {parts[1] for parts in names if parts[0] == "toolcalls" and len(parts) > 1}
    return {"__init__" if name == "__version__" else name for name in inner} - {room_of(path)}


def test_every_room_is_in_the_table() -> None:
    assert {room_of(path) for path in FILES} == set(MAY_KNOW)


def test_a_room_knows_only_those_that_it_may_know() -> None:
    surplus = {path: rooms_known_by(path) - set(MAY_KNOW[room_of(path)].split()) for path in FILES}
    assert {path: rooms for path, rooms in surplus.items() if rooms} == {}


def test_the_table_has_no_edge_that_nobody_uses() -> None:
    used: dict[str, set[str]] = {room: set() for room in MAY_KNOW}
    for path in FILES:
        used[room_of(path)] |= rooms_known_by(path)
    assert used == {room: set(known.split()) for room, known in MAY_KNOW.items()}


def test_no_way_leads_back() -> None:
    left = {room: set(known.split()) for room, known in MAY_KNOW.items()}
    while left:
        free = {room for room, known in left.items() if not known & set(left)}
        assert free, f"a circle of rooms: {sorted(left)}"
        left = {room: known for room, known in left.items() if room not in free}


def test_the_engine_knows_nothing_foreign() -> None:
    known = {path: {name.split(".")[0] for name in modules(path)} & FOREIGN for path in ENGINE_FILES}
    assert {path: names for path, names in known.items() if names} == {}


def test_recordings_do_not_meet_mitmproxy() -> None:
    for path in (ENGINE / "recording").rglob("*.py"):
        assert "mitmproxy" not in {name.split(".")[0] for name in modules(path)}, path


def test_the_engine_runs_on_the_standard_library_alone() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import toolcalls.engine, toolcalls.websocket; print('ok')"
    command = [sys.executable, "-S", "-c", code, str(ADDON)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "ok\n"


def test_a_file_fits_in_a_head() -> None:
    lines = {path: len(path.read_text().splitlines()) for path in ADDON.rglob("*.py")}
    assert {path: count for path, count in lines.items() if count > 450} == {}


def test_a_class_name_stands_for_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(path.relative_to(ENGINE)))
    assert {name for name, found in places.items() if len(found) > 1} == set()


def test_a_docstring_stands_alone() -> None:
    """One that begins "The same …" sends the reader to the one above it."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            value = node.value.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) else None
            assert not (isinstance(value, str) and value.startswith(("The same", "As in "))), (path, value)


def test_the_script_is_options_and_hooks() -> None:
    assert len((ADDON / "toolfix.py").read_text().splitlines()) <= 160
