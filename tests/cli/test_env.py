"""`toolfix env`: the lines for a shell, in bash and as text; tests/system/test_shells.py has zsh and fish."""

from __future__ import annotations

from pathlib import Path

from .commands import complaint, toolfix
from .shells import set_up_and_put_back


def test_the_lines_set_up_bash_and_put_it_back(tmp_path: Path) -> None:
    set_up_and_put_back("bash", tmp_path)


def test_fish_gets_its_own_words(tmp_path: Path) -> None:
    lines = toolfix("env", "--shell", "fish", "--confdir", str(tmp_path)).stdout.decode().splitlines()
    assert "set -gx HTTPS_PROXY 'http://127.0.0.1:8080';" in lines
    assert "set -e ALL_PROXY;" in lines


def test_a_place_that_cannot_be_written_is_one_sentence() -> None:
    said = complaint(toolfix("env", "--confdir", "/proc/toolfix"), 1)
    assert said.startswith("toolfix: /proc/toolfix cannot be used (")


def test_a_confdir_that_cannot_be_meant_is_an_error_and_creates_nothing(tmp_path: Path) -> None:
    result = toolfix("env", "--confdir", str(tmp_path / "typo" / "mitmproxy"))
    assert result.returncode == 1
    assert b"typo/mitmproxy cannot be used (No such file or directory)." in result.stderr
    assert not (tmp_path / "typo").exists()


def test_the_script_is_where_path_says() -> None:
    script = Path(toolfix("path").stdout.decode().strip())
    assert script.name == "toolfix.py"
    assert "addons = " in script.read_text(encoding="utf-8")
