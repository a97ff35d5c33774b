"""What `toolfix demo` puts in colour: what changed, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from toolcalls.cli import demo, demo_screen, main
from toolcalls.recording import store

RECORDINGS = Path(__file__).parents[2] / "recordings"


def painted(text: str, other: str) -> str:
    """The text with what is in colour in brackets."""
    coloured = demo_screen._coloured(text, other, "red")
    return coloured.replace(click.style("", fg="red", reset=False), "[").replace("\x1b[0m", "]")


@pytest.mark.parametrize(
    ("text", "other", "seen"),
    [
        ("Bash {'a': 1}", 'Bash {"a": 1}', "Bash {[']a[']: 1}"),
        ("Bash {}", "Bash {}", "Bash {}"),
        ("Write {}", 'Write {"file_path": "deploy.sh", "content": "rm -rf build"', "Write {[}]"),
        ("I look. <call>x</call>", "Grep {}", "[I look. <call>x</call>]"),
        ("x" * 200, "x" * 200, "x" * 70 + "…"),
        ("x" * 69 + "'yes'", "x" * 69 + '"yes"', "x" * 69 + "[']…"),
    ],
)
def test_what_changed_is_in_colour_as_far_as_it_fits(
    text: str, other: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert painted(text, other) == seen


@pytest.mark.parametrize("right", [True, False])
def test_events_that_are_left_out_are_in_a_file_that_is_named(
    right: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = RECORDINGS / "messages" / "messages-args-container-as-string"
    recording = store.load(folder)
    demo_screen.show_raw(recording, recording.after or b"", recording.request, right=right)
    before, after = capsys.readouterr().out.split("  client got:\n")
    named = before.splitlines()[-1].rpartition(" more events, in ")[2]
    assert (Path.cwd() / named).read_bytes() == recording.before
    assert ("… 1 more event, in " in after) == right


def test_an_installed_toolfix_says_where_the_other_scenarios_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(RECORDINGS / "chat" / "chat-python-dict", tmp_path / "scenarios" / "chat-python-dict")
    monkeypatch.setattr(demo, "recordings_directory", lambda: tmp_path / "scenarios")
    result = CliRunner().invoke(main, ["demo", "no-such"])
    assert result.exit_code == 2
    assert result.output.splitlines()[-1] == (
        "Error: there is no scenario 'no-such' here: an installed toolfix has five (toolfix demo --list); "
        "a clone has all of them."
    )
