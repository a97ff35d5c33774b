"""The README and its pages are true: their commands run, their tables are those of the code."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from scripts.writing_docs import options

ROOT = Path(__file__).parents[1]
PAGES = {
    path: (ROOT / path).read_text(encoding="utf-8")
    for path in (
        "README.md",
        "docs/mitmproxy.md",
        "docs/options.md",
        "docs/recordings.md",
        "docs/requests.md",
        "docs/troubleshooting.md",
    )
}
COMMANDS = [
    line
    for page in PAGES.values()
    for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    for line in block.splitlines()
    if line.strip() and not line.startswith("#")
]
QUICK = [command for command in COMMANDS if "scripts/toolfix" in command]


def test_the_options_table_is_that_of_the_code() -> None:
    assert options.page() == PAGES["docs/options.md"], "docs/options.md has drifted: run scripts/docs"
    assert options.table() in PAGES["docs/options.md"]


def test_the_readme_fits_a_screen_or_two_and_shows_every_page() -> None:
    assert len(PAGES["README.md"].splitlines()) <= 110
    linked = set(re.findall(r"\]\((docs/[a-z/]+\.md)", PAGES["README.md"]))
    assert linked == {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}


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


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_links_exists(page: str) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", PAGES[page]):
        assert (ROOT / page).parent.joinpath(target).exists(), target
