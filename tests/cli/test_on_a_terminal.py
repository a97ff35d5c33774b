"""What a person at a terminal sees: how input ends, a line end behind output, lines that end between words."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.terminal import screen_of
from toolcalls.cli import demo, filter, main

ROOT = Path(__file__).parents[2]
ADDON = ROOT / "addon"


def typed(words: list[str], text: str, tmp_path: Path) -> str:
    """The screen of a terminal of 80 columns, on which `text` is typed and ended with Ctrl-D."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    environ = {**os.environ, "PYTHONPATH": str(ADDON), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    environ.pop("COLUMNS", None)
    command = [sys.executable, "-m", "toolcalls.cli", *words]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ)
    os.close(theirs)
    screen = screen_of(ours, b"press Ctrl-D", f"{text}\n\x04".encode() if text else b"")
    assert process.wait(60) == 0, screen
    return re.sub(r"\x1b\[[\d;]*m", "", screen.decode().replace("\r\n", "\n"))


@pytest.mark.parametrize(
    ("words", "text", "out"),
    [
        (["repair"], "{'a': 1}", '{"a":1}\ntoolfix: mended: single quotes.\n'),
        (["repair"], '{"a": 1}', '{"a": 1}\ntoolfix: unchanged: this is valid JSON.\n'),
        (["filter"], "hello\x04", "hello\ntoolfix: unchanged: there is no tool call in it.\n"),
        (["filter"], "hello", "hello\ntoolfix: unchanged: there is no tool call in it.\n"),
    ],
)
def test_input_from_a_terminal_is_asked_for_and_the_output_ends_its_line(
    words: list[str], text: str, out: str, tmp_path: Path
) -> None:
    screen = typed(words, text, tmp_path)
    assert screen.startswith("Reading from the terminal: paste the text, then press Ctrl-D.\n")
    assert screen.endswith(out)


def test_lines_to_paste_begin_with_the_command_that_was_started() -> None:
    environ = {"PATH": os.environ["PATH"]}

    def said(*command: str, **more: str) -> str:
        done = subprocess.run(
            [*command, "run"], cwd=ROOT, env={**environ, **more}, capture_output=True, text=True, check=False
        )
        return done.stderr.splitlines()[-1]

    asked = "toolfix: name the command to run:"
    assert said("scripts/toolfix") == f"{asked} scripts/toolfix run -- claude"
    assert said(sys.executable, "-m", "toolcalls.cli", PYTHONPATH=str(ADDON)) == f"{asked} toolfix run -- claude"


def test_the_list_of_commands_fits_80_columns(tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(ADDON), "COLUMNS": "80"}
    words = [sys.executable, "-m", "toolcalls.cli", "--help"]
    shown = subprocess.run(words, env=environ, capture_output=True, text=True, check=True).stdout
    commands = shown.partition("Commands:\n")[2].splitlines()
    assert len(commands) == 10
    assert all(line.endswith(".") and not line.endswith("...") and len(line) <= 80 for line in commands)


@pytest.mark.parametrize("words", [["filter"], ["repair"], ["demo"]])
def test_ctrl_c_ends_it_without_a_word(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(filter, "read_stdin", interrupted)
    monkeypatch.setattr(demo, "_play", interrupted)
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, result.output) == (130, "")
