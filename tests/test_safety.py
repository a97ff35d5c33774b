"""What the addon cannot do, whatever an upstream says: run anything, or listen to the network unasked."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.upstream import Upstream
from toolcalls.cli.proxy_process import listen

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


CONNECTING = {"http.client", "socket", "ssl", "urllib.request", "asyncio.open_connection", "socket.create_connection"}


def test_only_the_commands_open_a_connection() -> None:
    """The engine and the addon speak to nobody: mitmproxy does, to whom the agent names."""
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        names |= {name for name, _ in calls(path)}
        assert path.is_relative_to(COMMANDS) or not names & CONNECTING, path


WRITING = {
    "write_text", "write_bytes", "mkdir", "makedirs", "TemporaryDirectory", "NamedTemporaryFile",
    "mkstemp",
}  # fmt: skip
WRITERS = {
    "cli/agents.py": "doctor",
    "cli/demo.py": "demo",
    "cli/doctor.py": "doctor",
    "cli/environment.py": "confdir",
    "cli/run.py": "among the temporary files",
    "proxy/session_summary.py": "run",
    "recording/record.py": "toolfix_record",
    "recording/store.py": "toolfix_record",
}
"""The files of the addon that write to the disk, and the word by which SECURITY.md's table tells of it."""


def test_security_md_tells_of_everything_that_is_written() -> None:
    found = set()
    for path in FILES:
        for name, call in calls(path):
            opens = (name == "os.open" and "O_WRONLY" in ast.unparse(call)) or (
                name.endswith(("open", ".fdopen")) and _mode_of(call)[:1] in ("w", "a", "x")
            )
            if opens or name.rpartition(".")[2] in WRITING:
                found.add(str(path.relative_to(ADDON / "toolcalls")))
    assert found == set(WRITERS)
    text = (ADDON.parent / "SECURITY.md").read_text(encoding="utf-8")
    table = text.partition("## What is written where")[2].partition("\n## ")[0]
    assert all(word in table for word in WRITERS.values())


def _mode_of(call: ast.Call) -> str:
    modes = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
    return next((mode for mode in modes if mode in ("w", "wb", "a", "ab", "x", "xb")), "")


def test_every_command_listens_on_loopback() -> None:
    """`proxy` starts mitmdump in one of these places, `run`, `demo` and `doctor`, which make the socket, in the other."""
    found = 0
    for path in COMMANDS.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            words = [getattr(item, "value", None) for item in getattr(node, "elts", [])]
            if "--listen-host" in words:
                found += 1
                assert words[words.index("--listen-host") + 1] == "127.0.0.1", path
    assert found == 2
    with listen(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
    assert Upstream(lambda _seen: None)._host == "127.0.0.1"  # type: ignore[arg-type,return-value]
