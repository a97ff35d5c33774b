"""The rooms of the house: who may know whom."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ADDON = Path(__file__).parents[1] / "addon"
ENGINE = ADDON / "toolcalls"
OUTER = ("recording", "cli")
ENGINE_FILES = sorted(path for path in ENGINE.rglob("*.py") if path.relative_to(ENGINE).parts[0] not in OUTER)
FOREIGN = {"mitmproxy", "json5", "click", "hypothesis", "jsonschema", "openai", "anthropic", "h2", "cryptography"}


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("." * node.level + (node.module or ""))
            names |= {"." * node.level + alias.name for alias in node.names if node.level}
    return names


@pytest.mark.parametrize("path", ENGINE_FILES, ids=lambda path: str(path.relative_to(ENGINE)))
def test_the_engine_knows_neither_mitmproxy_nor_recordings_nor_the_command(path: Path) -> None:
    names = imported(path)
    assert not {name.split(".")[0] for name in names} & FOREIGN
    assert not {name for name in names if name.lstrip(".").split(".")[0] in OUTER}


def test_the_engine_runs_on_the_standard_library_alone() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import toolcalls.engine, toolcalls.guard; print('ok')"
    command = [sys.executable, "-S", "-c", code, str(ADDON)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "ok\n"


def test_mending_and_text_calls_do_not_mix() -> None:
    for path in (ENGINE / "mend").rglob("*.py"):
        assert not any("textcalls" in name for name in imported(path)), path
    for path in (ENGINE / "textcalls").rglob("*.py"):
        assert not any(name.lstrip(".").startswith("mend") for name in imported(path)), path


@pytest.mark.parametrize("path", sorted(ADDON.rglob("*.py")), ids=lambda path: str(path.relative_to(ADDON)))
def test_a_file_fits_in_a_head(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 450
