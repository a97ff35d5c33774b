"""What `toolfix demo` puts in colour: what changed, and nothing else."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from toolcalls.cli import demo

from .commands import toolfix

RECORDINGS = Path(__file__).parents[2] / "recordings"


def painted(text: str, other: str) -> str:
    """The text with what is in colour in brackets."""
    coloured = demo._coloured(text, other, "red")
    return coloured.replace(click.style("", fg="red", reset=False), "[").replace("\x1b[0m", "]")


def test_the_list_is_a_table() -> None:
    head, first, *_ = toolfix("demo", "--list").stdout.decode().splitlines()
    assert head.split("  ")[0] == "OUTCOME" and head.endswith("  WHAT WENT WRONG")
    assert head.index("RECORDING") == first.index("chat-")


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
