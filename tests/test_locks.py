"""What scripts/toolfix installs: the versions that the tests passed with, where they fit, and otherwise it says so."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "scripts" / "locks"
NAMES = ("run", "test", "newest", "clients")


def text(lock: str) -> str:
    return (LOCKS / f"{lock}.txt").read_text(encoding="utf-8")


def pins(lock: str) -> dict[str, list[Requirement]]:
    """The lines of a lock by package: more than one where Pythons get different versions."""
    found: dict[str, list[Requirement]] = {}
    for line in re.findall(r"^[a-z].*?(?=\s*\\?$)", text(lock), re.MULTILINE):
        one = Requirement(line)
        found.setdefault(canonicalize_name(one.name), []).append(one)
    return found


def here(lock: str) -> dict[str, str]:
    """The versions that a lock has for the Python and the system of this test."""
    return {
        name: str(one.specifier).removeprefix("==")
        for name, lines in pins(lock).items()
        for one in lines
        if one.marker is None or one.marker.evaluate()
    }


@pytest.mark.parametrize("lock", NAMES)
def test_every_version_is_named_and_no_registry(lock: str) -> None:
    assert "://" not in text(lock) and "--index" not in text(lock)
    for lines in pins(lock).values():
        assert all(re.fullmatch(r"==[\w.]+", str(one.specifier)) for one in lines)


def test_what_running_needs_is_locked_by_hashes_build_tools_included() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    locked = here("run")
    for need in map(Requirement, needed):
        assert need.specifier.contains(locked[need.name])
    blocks = re.split(r"^(?=[a-z])", text("run"), flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in block for block in blocks)
    assert "pytest" not in locked and "pytest" in here("test")


@pytest.mark.parametrize("lock", ["test", "newest"])
def test_the_tests_are_locked_with_all_that_they_need(lock: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for need in map(Requirement, project["project"]["optional-dependencies"]["test"]):
        assert need.name in pins(lock)


def test_what_runs_is_what_was_tested() -> None:
    tested = pins("test")
    for name, lines in pins("run").items():
        assert {str(one.specifier) for one in lines} == {str(one.specifier) for one in tested[name]}, name


def test_the_environment_of_the_tests_has_the_versions_of_a_lock() -> None:
    stamp = (Path(sys.prefix) / ".stamp").read_text() if (Path(sys.prefix) / ".stamp").is_file() else ""
    _, series, lock, _, locked, *_ = [*stamp.split(), *[""] * 5]
    if locked != "1":  # LOCKED=0 scripts/test, or an environment of somebody's own.
        return
    assert series == "{}.{}".format(*sys.version_info)
    installed = {canonicalize_name(one.name): one.version for one in distributions()}
    wanted = here(lock)
    assert {name: installed.get(name) for name in wanted} == wanted


def installing(
    lock: str, series: str = "Python 3.12", system: str = "Linux", **environ: str
) -> tuple[int, list[str]]:
    """What scripts/environment.sh says and asks pip for: pip is replaced by one that fails where FAILS is in a line."""
    script = f"""
    root={ROOT}
    . "$root/scripts/environment.sh"
    uname() {{ echo {system}; }}
    pip_install() {{ shift; echo "pip $*" >&2; case "$*" in *"${{FAILS:-nothing}}"*) return 1 ;; esac; }}
    folder=$(mktemp -d)
    install_into "$folder" {lock} "{series}"
    status=$?
    rm -r "$folder"
    exit $status
    """
    environ = {"PATH": "/usr/bin:/bin", **environ}
    done = subprocess.run(["sh", "-c", script], env=environ, capture_output=True, encoding="utf-8", check=False)
    assert not done.stdout
    return done.returncode, [
        re.sub(r"\S*/tmp\S*/", "", line.replace(str(ROOT), ".")) for line in done.stderr.splitlines()
    ]


PROJECT = "pip --no-deps --no-build-isolation -e ."


@pytest.mark.parametrize("system", ["Linux", "Darwin"])
@pytest.mark.parametrize("series", ["Python 3.11", "Python 3.12", "Python 3.13"])
def test_where_the_lock_fits_nothing_is_left_to_the_resolver(series: str, system: str) -> None:
    assert installing("run", series, system) == (0, ["pip --no-deps -r .lock.txt", PROJECT])


def test_hashes_are_compared_for_those_who_ask() -> None:
    asked = installing("run", HASHES="1")
    assert asked == (0, ["pip --no-deps --require-hashes -r ./scripts/locks/run.txt", PROJECT])
    status, said = installing("test", HASHES="1")
    assert status and "has no hashes" in said[0]


@pytest.mark.parametrize(
    ("series", "system", "why"),
    [("Python 3.14", "Linux", "not for Python 3.14"), ("Python 3.1", "Linux", "not for Python 3.1"),
     ("Python 3.12", "FreeBSD", "not for FreeBSD")],
)  # fmt: skip
def test_where_it_does_not_fit_that_is_said(series: str, system: str, why: str) -> None:
    said = f"toolfix: the tested versions (scripts/locks) are {why}: installing the newest versions that fit instead."
    assert installing("run", series, system) == (0, [said, "pip -e ."])
    assert installing("clients", series, system)[1][1] == "pip -r ./tests/e2e/requirements.txt"
    status, lines = installing("run", series, system, HASHES="1")
    assert status and why in lines[0] and len(lines) == 1, "who asks for hashes gets nothing without them"


def test_versions_that_cannot_be_had_here_are_said_and_not_insisted_on() -> None:
    status, said = installing("run", FAILS="--no-deps")
    assert status == 0 and "cannot be installed here" in said[1] and said[2] == "pip -e ."
    assert installing("run", FAILS="--no-deps", HASHES="1")[0] != 0
    assert installing("run", FAILS="-")[0] != 0


def test_locked_0_takes_what_pip_finds() -> None:
    assert installing("test", LOCKED="0")[1][1] == "pip -e .[test]"
