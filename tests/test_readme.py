"""The README is true: its commands run, its tables are those of the code."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from toolcalls.policy import OPTIONS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.strip() and not line.startswith("#")
]
QUICK = [command for command in COMMANDS if "scripts/toolfix" in command]


def options_table() -> str:
    rows = [f"| `{option.full_name}` | `{option.default or '(empty)'}` | {option.help} |" for option in OPTIONS]
    return "\n".join(["| option | default | meaning |", "| --- | --- | --- |", *rows]).replace("<think>", "`<think>`")


def test_the_options_table_is_that_of_the_code() -> None:
    found = re.search(r"<!-- options -->\n(.*?)\n<!-- /options -->", README, re.DOTALL)
    assert found and found[1] == options_table()


@pytest.mark.parametrize("command", QUICK)
def test_a_command_of_the_readme_runs(command: str) -> None:
    result = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr.decode()
    assert result.stdout


def test_the_test_command_is_what_ci_runs() -> None:
    assert "scripts/test" in COMMANDS
    assert "\nscripts/test\n" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("command", [command for command in COMMANDS if command.startswith("mitmdump")])
def test_a_mitmdump_line_of_the_readme_starts_the_proxy(command: str, tmp_path: Path) -> None:
    from toolcalls.cli.proxy_process import ProxyProcess

    words = command.split()[1:]
    assert words[:2] == ["-s", "addon/toolfix.py"]
    with ProxyProcess(tmp_path, [word.replace("@8081", "@0") for word in words[2:]]) as proxy:
        assert proxy.port


def test_every_file_that_the_readme_links_exists() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
