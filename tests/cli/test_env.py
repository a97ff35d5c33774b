"""`toolfix env` in real shells: there and back again."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .commands import ROOT, complaint, toolfix

VARIABLES = ("HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "NODE_USE_ENV_PROXY")


def shell(program: str, script: str) -> list[str]:
    if shutil.which(program) is None:
        pytest.skip(f"no {program} on this machine")
    environ = {
        **{name: value for name, value in os.environ.items() if "proxy" not in name.lower() and "CERT" not in name},
        "PYTHONPATH": str(ROOT / "addon"),
        "NO_PROXY": "localhost,it's.corp",
    }
    shown = " ".join(f'"${name}"' for name in VARIABLES)
    run = subprocess.run(
        [program, "-c", script.replace("SHOW", f"printf '%s\\n' {shown}")],
        env=environ, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return run.stdout.splitlines()


@pytest.mark.parametrize("program", ["bash", "zsh"])
def test_the_lines_set_up_a_shell_and_put_it_back(program: str, tmp_path: Path) -> None:
    ask = f"{sys.executable} -m toolcalls.cli env --shell {program} --confdir '{tmp_path}/it is'"
    lines = shell(program, f'eval "$({ask} --port 9999)"; SHOW; eval "$({ask})"; eval "$({ask} --unset)"; SHOW')
    assert lines[:4] == ["http://127.0.0.1:9999", "it's.corp", f"{tmp_path}/it is/toolfix-bundle.pem", "1"]
    assert lines[4:] == ["", "localhost,it's.corp", "", ""]


def test_the_lines_set_up_fish_and_put_it_back(tmp_path: Path) -> None:
    ask = f"{sys.executable} -m toolcalls.cli env --shell fish --confdir '{tmp_path}/it is'"
    lines = shell("fish", f"{ask} --port 9999 | source; SHOW; {ask} --unset | source; SHOW")
    assert lines[:4] == ["http://127.0.0.1:9999", "it's.corp", f"{tmp_path}/it is/toolfix-bundle.pem", "1"]
    assert lines[4:] == ["", "localhost,it's.corp", "", ""]


def test_the_line_of_the_help_sets_up_fish_where_another_shell_is_the_login_shell(tmp_path: Path) -> None:
    (line,) = re.findall(r"toolfix (env .*\| source) +fish", toolfix("env", "--help").stdout.decode())
    asked, _, source = line.partition(" | ")
    ask = f"SHELL=/bin/bash {sys.executable} -m toolcalls.cli {asked} --confdir '{tmp_path}'"
    lines = shell("fish", f"{ask} | {source}; SHOW; {ask} --unset | {source}; SHOW")
    assert lines[:2] == ["http://127.0.0.1:8080", "it's.corp"]
    assert lines[4:] == ["", "localhost,it's.corp", "", ""]


def test_fish_gets_its_own_words(tmp_path: Path) -> None:
    lines = toolfix("env", "--shell", "fish", "--confdir", str(tmp_path)).stdout.decode().splitlines()
    assert "set -gx HTTPS_PROXY 'http://127.0.0.1:8080';" in lines
    assert "set -e ALL_PROXY;" in lines


def test_a_place_that_cannot_be_written_is_one_sentence() -> None:
    assert "cannot be written" in complaint(toolfix("env", "--confdir", "/proc/toolfix"), 1)


def test_a_confdir_that_cannot_be_meant_is_an_error_and_creates_nothing(tmp_path: Path) -> None:
    result = toolfix("env", "--confdir", str(tmp_path / "typo" / "mitmproxy"))
    assert result.returncode == 2
    assert b"Is that a typo?" in result.stderr
    assert not (tmp_path / "typo").exists()


def test_the_script_is_where_path_says() -> None:
    script = Path(toolfix("path").stdout.decode().strip())
    assert script.name == "toolfix.py"
    assert "addons = " in script.read_text(encoding="utf-8")
