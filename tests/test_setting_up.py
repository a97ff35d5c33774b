"""How scripts/toolfix sets up its environment: uv or pip, one at a time, and what it says meanwhile."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SAYS = '#!/bin/sh\necho "{name} $*"\nexit {status}\n'


def program(path: Path, name: str, status: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SAYS.format(name=name, status=status))
    path.chmod(0o755)


def sh(script: str, path: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    lines = f'root={ROOT}\n. "$root/scripts/environment.sh"\n{script}'
    return subprocess.run(
        ["sh", "-euc", lines],
        env={"PATH": f"{path}:/usr/bin:/bin", **environ},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("uv", "environ", "said"),
    [
        (0, {}, ["uv pip install --quiet --python DIR/venv/bin/python x"]),
        (0, {"USE_UV": "0"}, ["pip -m pip install --quiet --quiet --disable-pip-version-check x"]),
        (1, {}, ["uv pip install --quiet --python DIR/venv/bin/python x",
                 "toolfix: uv could not install this (see above): trying pip",
                 "pip -m pip install --quiet --quiet --disable-pip-version-check x"]),
        (None, {}, ["pip -m pip install --quiet --quiet --disable-pip-version-check x"]),
    ],
)  # fmt: skip
def test_uv_installs_where_there_is_one_and_pip_where_it_cannot(
    uv: int | None, environ: dict[str, str], said: list[str], tmp_path: Path
) -> None:
    if uv is not None:
        program(tmp_path / "bin" / "uv", "uv", uv)
    program(tmp_path / "venv" / "bin" / "python", "pip")
    done = sh(f"pip_install {tmp_path}/venv x", tmp_path / "bin", **environ)
    assert done.returncode == 0
    assert done.stdout == ""
    assert done.stderr.replace(str(tmp_path), "DIR").splitlines() == said


def test_what_fails_keeps_its_exit_status(tmp_path: Path) -> None:
    program(tmp_path / "venv" / "bin" / "python", "pip", 3)
    assert sh(f"pip_install {tmp_path}/venv x", tmp_path / "bin").returncode == 3


def test_two_at_once_wait_for_each_other_and_the_second_says_so(tmp_path: Path) -> None:
    held = subprocess.Popen(
        ["flock", str(tmp_path / "venv.lock"), "sh", "-c", "echo held; sleep 2"], stdout=subprocess.PIPE
    )
    assert held.stdout and held.stdout.readline() == b"held\n"
    started = time.monotonic()
    done = sh(
        f"bring_up_to_date() {{ echo working >&2; }}\nenvironment {tmp_path}/venv python3 run", tmp_path / "bin"
    )
    assert held.wait(60) == 0
    assert time.monotonic() - started > 1
    assert done.stderr.splitlines() == [
        f"toolfix: waiting: {tmp_path}/venv is being set up by another command",
        "working",
    ]


def test_the_python_of_an_environment_of_ours_stands_for_the_one_that_it_was_made_with(tmp_path: Path) -> None:
    """It may be set aside, and an environment cannot make itself anew."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    found = sh(f"root={tmp_path}; supported_python", tmp_path / ".venv" / "bin")
    base = subprocess.run(
        [sys.executable, "-c", "import sys; print(sys._base_executable)"], capture_output=True, text=True, check=True
    )
    assert Path(found.stdout.strip()).resolve() == Path(base.stdout.strip()).resolve()


def test_a_link_to_the_script_starts_the_clone_that_it_is_in(tmp_path: Path) -> None:
    clone = tmp_path / "a clone"
    (clone / "scripts").mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "toolfix", clone / "scripts" / "toolfix")
    (clone / "scripts" / "environment.sh").write_text("supported_python() { :; }\nenvironment() { :; }\n")
    program(clone / ".venv" / "bin" / "toolfix", "started")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "far").symlink_to(clone / "scripts" / "toolfix")
    (tmp_path / "bin" / "toolfix").symlink_to("far")
    (tmp_path / "near").symlink_to("a clone/scripts/toolfix")
    for words in (["bin/toolfix", "x"], ["./near", "x"], [str(tmp_path / "bin" / "far"), "x"]):
        assert subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout == "started x\n"


@pytest.mark.parametrize("named", ["/nope", "false"])
def test_a_python_that_was_named_and_cannot_be_used_is_an_error(named: str, tmp_path: Path) -> None:
    done = sh("python=$(supported_python)", tmp_path, PYTHON=named)
    assert (done.returncode, done.stderr) == (
        1,
        f"toolfix: PYTHON={named} is not a Python of 3.11 or newer: name another, or unset PYTHON.\n",
    )


def test_a_python_that_was_named_is_taken(tmp_path: Path) -> None:
    own = str(sys._base_executable)  # type: ignore[attr-defined]
    assert sh("supported_python", tmp_path, PYTHON=own).stdout == f"{own}\n"


def test_a_clone_that_its_user_cannot_write_runs_if_it_is_set_up_and_else_says_who_can(tmp_path: Path) -> None:
    place = "/proc/venv"  # Nobody can write there, whoever runs this.
    done = sh(f"bring_up_to_date() {{ echo working >&2; }}\nenvironment {place} python3 run", tmp_path)
    assert (done.returncode, done.stderr) == (0, "working\n")
    done = sh(f"environment {place} {sys.executable} run", tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        "toolfix: /proc/venv must be set up, and you cannot write there: let its owner run scripts/toolfix, "
        "or make a clone of your own.\n"
    )
