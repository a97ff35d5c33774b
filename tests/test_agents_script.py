"""scripts/agents: the model that looks for an agent's shell among the tools that it declares."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.running_agents.broken_calls import BROKEN_CALLS, MARK, RUN, Tools
from scripts.running_agents.candidates import OTHERS
from scripts.running_agents.model import FINAL, UnknownTools
from scripts.running_agents.sessions import stop_leftovers
from tests.upstream import Seen
from toolcalls.cli.agents import AGENTS

CHAT = "/v1/chat/completions"


def request(*, stream: bool = True, **properties: str) -> Seen:
    schema = {"type": "object", "properties": {name: {"type": kind} for name, kind in properties.items()}}
    tool = {"type": "function", "function": {"name": "shell", "parameters": schema}}
    body: dict[str, Any] = {"stream": stream, "messages": [], "tools": [tool] if properties else []}
    return Seen("POST", CHAT, {}, json.dumps(body).encode(), "HTTP/1.1")


@pytest.mark.parametrize(
    ("properties", "arguments"),
    [
        ({"cwd": "string", "command": "string"}, {"command": RUN}),
        ({"cmd": "string"}, {"cmd": RUN}),
        ({"commands": "array"}, {"commands": [RUN]}),
    ],
)
def test_it_sends_the_shell_a_command_as_a_python_dict(
    properties: dict[str, str], arguments: dict[str, Any], tmp_path: Path
) -> None:
    answer = b"".join(UnknownTools(Tools(), BROKEN_CALLS[0], tmp_path)(request(stream=False, **properties)).chunks)
    (call,) = json.loads(answer)["choices"][0]["message"]["tool_calls"]
    assert call["function"] == {"name": "shell", "arguments": repr(arguments)}


def test_when_the_command_has_run_it_says_so_streamed_and_not(tmp_path: Path) -> None:
    model = UnknownTools(Tools(), BROKEN_CALLS[0], tmp_path)
    model(request(command="string"))
    assert not model.done()
    (tmp_path / MARK).write_text("ran\n")
    assert FINAL in b"".join(model(request(stream=False, command="string")).chunks).decode()
    assert model.done()


def test_what_a_session_leaves_running_is_stopped_and_nothing_else(tmp_path: Path) -> None:
    """A daemon that ignores SIGTERM, in a session of its own, as agents start theirs."""
    homes = [tmp_path / name for name in ("ours", "ours-too")]
    stubborn = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    )
    daemons = [
        subprocess.Popen(
            [sys.executable, "-c", stubborn], env={"HOME": str(home)}, start_new_session=True, stdout=subprocess.PIPE
        )
        for home in homes
    ]
    try:
        for daemon in daemons:
            assert daemon.stdout and daemon.stdout.readline()
        assert stop_leftovers(homes[0]) == [daemons[0].pid]
        assert daemons[0].wait(5) == -signal.SIGKILL
        assert daemons[1].poll() is None
        assert stop_leftovers(homes[0]) == []
    finally:
        daemons[1].kill()
        for daemon in daemons:
            daemon.communicate()


def test_every_agent_that_the_docs_have_a_line_for_is_tried() -> None:
    with_column = {"claude", "codex", "opencode", "qwen", "pi", "gemini"}
    assert {candidate.agent.binary for candidate in OTHERS} == {
        agent.binary for agent in AGENTS.values()
    } - with_column
