"""What the addon cannot do, whatever an upstream says: run anything, or listen to the network unasked."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcalls.cli.proxy_process import ProxyProcess
from toolcalls.cli.upstream import Upstream

ADDON = Path(__file__).parents[1] / "addon"
FILES = sorted(ADDON.rglob("*.py"))
COMMANDS = ADDON / "toolcalls" / "cli"
RUNS = {"eval", "exec", "compile", "__import__"}
RUNNING = {"os.system", "os.popen", "pickle.load", "pickle.loads", "marshal.loads", "yaml.load", "shelve.open"}
PROCESSES = {"subprocess", "multiprocessing", "pty"}


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ADDON)))
def test_no_text_is_ever_run(path: Path) -> None:
    for name, call in calls(path):
        assert name not in RUNS | RUNNING, f"{path}:{call.lineno} calls {name}"
        assert not name.startswith(("os.exec", "os.spawn")) or path.is_relative_to(COMMANDS)
        shell = [word for word in call.keywords if word.arg == "shell"]
        assert not shell, f"{path}:{call.lineno} uses a shell"


def test_only_the_commands_start_processes() -> None:
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert path.is_relative_to(COMMANDS) or not names & PROCESSES, path


def test_every_command_listens_on_loopback() -> None:
    """`proxy`, `run`, `demo` and `doctor` start mitmdump in one of these places."""
    found = 0
    for path in COMMANDS.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            words = [getattr(item, "value", None) for item in getattr(node, "elts", [])]
            if "--listen-host" in words:
                found += 1
                assert words[words.index("--listen-host") + 1] == "127.0.0.1", path
    assert found >= 3
    default = ProxyProcess(Path("x"))._command
    assert default[default.index("--listen-host") + 1] == "127.0.0.1"
    assert Upstream(lambda _seen: None)._host == "127.0.0.1"  # type: ignore[arg-type,return-value]
