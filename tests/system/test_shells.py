"""`toolfix env` in the shells that Debian does not install by itself."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.cli.commands import toolfix
from tests.cli.shells import in_shell, set_up_and_put_back


def test_the_lines_set_up_zsh_and_put_it_back(tmp_path: Path) -> None:
    set_up_and_put_back("zsh", tmp_path)


def test_the_lines_set_up_fish_and_put_it_back(tmp_path: Path) -> None:
    ask = f"{sys.executable} -m toolcalls.cli env --shell fish --confdir '{tmp_path}/it is'"
    lines = in_shell("fish", f"{ask} --port 9999 | source; SHOW; {ask} --unset | source; SHOW")
    assert lines[:4] == ["http://127.0.0.1:9999", "", f"{tmp_path}/it is/toolfix-bundle.pem", "1"]
    assert lines[4:] == ["", "localhost,it's.corp", "", ""]


def test_the_line_of_the_help_sets_up_fish_where_another_shell_is_the_login_shell(tmp_path: Path) -> None:
    (line,) = re.findall(r"toolfix (env .*\| source) +fish", toolfix("env", "--help").stdout.decode())
    asked, _, source = line.partition(" | ")
    ask = f"SHELL=/bin/bash {sys.executable} -m toolcalls.cli {asked} --confdir '{tmp_path}'"
    lines = in_shell("fish", f"{ask} | {source}; SHOW; {ask} --unset | {source}; SHOW")
    assert lines[:2] == ["http://127.0.0.1:8080", ""]
    assert lines[4:] == ["", "localhost,it's.corp", "", ""]
