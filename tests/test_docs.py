"""The documentation is true: what is generated has not drifted, what is linked exists, what is told works."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import click
import pytest

from scripts.writing_docs.commands import commands, page
from toolcalls.cli import COMMANDS, main
from toolcalls.cli.agents import AGENTS
from toolcalls.cli.environment import PROXY_VARIABLES
from toolcalls.proxy.advice import CA_VARIABLES, NODE

ROOT = Path(__file__).parents[1]
DOCS = sorted((ROOT / "docs").rglob("*.md"))


def test_the_help_of_every_command_is_in_the_docs() -> None:
    written = (ROOT / "docs/commands.md").read_text()
    assert written == page(), "docs/commands.md has drifted: run scripts/docs"
    assert [name for name, _ in commands()] == re.findall(r"^## toolfix (\w+)$", written, re.MULTILINE)
    assert len(commands()) == 10


def test_the_list_of_commands_says_what_the_help_of_each_says() -> None:
    context = click.Context(main)
    for name, sentence in COMMANDS.items():
        command = main.get_command(context, name)
        assert command is not None and command.get_short_help_str(100) == sentence


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_what_a_page_links_to_exists(path: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text()):
        assert (path.parent / target).exists(), target


def test_evidence_begins_with_one_line_for_people_and_has_no_path_of_a_machine() -> None:
    text = (ROOT / "docs/evidence.md").read_text()
    title, empty, line, after, *_ = text.splitlines()
    assert title.startswith("# ") and line[0].isupper() and line[-1] in ".?" and not empty and not after
    assert not re.findall(r"(?<![\w.-])/(?:tmp|work|home|root|Users|var|opt)/\S*", text)


def test_every_section_that_a_command_writes_is_on_the_evidence_page() -> None:
    text = (ROOT / "docs/evidence.md").read_text()
    assert re.findall(r"<!-- (\w+) -->\n", text) == re.findall(r"\n<!-- /(\w+) -->", text)
    assert re.findall(r"<!-- (\w+) -->\n", text) == ["bench", "fuzz", "mutations", "soak"]


def test_the_page_of_the_package_has_no_link_that_only_a_clone_can_follow() -> None:
    text = (ROOT / "PACKAGE.md").read_text()
    assert re.findall(r"\]\((?!https?:)([^)]+)", text) == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (project["readme"], project["license"]) == ("PACKAGE.md", "MIT")


def test_what_a_person_behind_a_shared_proxy_types_sets_what_run_sets() -> None:
    lines = (ROOT / "docs/team.md").read_text().partition("```sh\n")[2].partition("```")[0]
    done = subprocess.run(
        ["sh", "-euc", f"{lines}\nenv"], env={"HOME": "/h"}, capture_output=True, text=True, check=True
    )
    found = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert {found[name] for name in PROXY_VARIABLES} == {"http://toolfix.example.com:8080"}
    assert {found[name] for name in CA_VARIABLES.keys() - {NODE}} == {"/h/toolfix-bundle.pem"}
    assert (found[NODE], found["NODE_USE_ENV_PROXY"]) == ("/h/toolfix-ca.pem", "1")


def test_every_agent_has_its_section() -> None:
    text = (ROOT / "docs/agents.md").read_text()
    for agent in AGENTS.values():
        assert f"\n### {agent.name}\n" in text, agent.name
        assert f"toolfix run -- {agent.binary}" in text


def test_every_file_and_name_on_the_architecture_page_exists() -> None:
    engine = ROOT / "addon" / "toolcalls"
    sources = {path: path.read_text() for path in [*engine.rglob("*.py"), ROOT / "addon" / "toolfix.py"]}
    page = (ROOT / "docs/architecture.md").read_text()
    quoted = set(re.findall(r"`([^`\n]+)`", page))
    for name in filter(lambda name: re.fullmatch(r"[\w./]+\.py", name), quoted):
        found = [path for path in (*sources, ROOT / name) if path.exists() and path.as_posix().endswith(f"/{name}")]
        assert found, f"there is no file {name}"
    code = "\n".join(
        [*sources.values(), *(path.read_text() for path in (ROOT / "tests" / "must_not_run").glob("*.py"))]
    )
    foreign = {"Infinity", "NaN"}
    for name in filter(lambda name: re.fullmatch(r"[A-Z]\w+(?:\.\w+)?|[A-Z_]{4,}", name), quoted - foreign):
        for part in name.split("."):
            assert re.search(rf"\b(?:class|def) {part}\b|^ *(?:self\.)?{part}\b.* = ", code, re.MULTILINE), name


def test_the_architecture_page_has_a_row_for_every_room() -> None:
    page = (ROOT / "docs/architecture.md").read_text()
    rows = set(re.findall(r"^\| `(\w+)/` \| ", page.partition("## The rooms")[2], re.MULTILINE))
    assert rows == {path.parent.name for path in (ROOT / "addon/toolcalls").glob("*/*.py")}


def test_the_architecture_page_fits_two_screens() -> None:
    lines = (ROOT / "docs/architecture.md").read_text().splitlines()
    assert len(lines) <= 120 and max(map(len, lines)) <= 500


def test_every_test_that_the_test_command_names_exists() -> None:
    named = re.findall(r"(?<![\w/.*])[a-z0-9_/]*test_\w+\.py", (ROOT / "scripts/test").read_text())
    assert len(named) > 20
    assert [name for name in named if not (ROOT / "tests" / name.removeprefix("tests/")).exists()] == []


@pytest.mark.parametrize("path", [ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md", *DOCS], ids=lambda path: path.name)
def test_every_test_that_a_page_cites_exists(path: Path) -> None:
    cited = set(re.findall(r"test_\w+\.py", path.read_text()))
    assert cited - {file.name for file in (ROOT / "tests").rglob("test_*.py")} == set()
