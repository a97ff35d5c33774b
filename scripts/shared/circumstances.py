"""What the figures of a run depend on: the commit, the versions and the machine."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def circumstances(script: str) -> dict[str, Any]:
    """What the figures of this run depend on, by name."""
    return {
        "command": command(script, sys.argv[1:]),
        "commit": commit(),
        "python": platform.python_version(),
        "mitmproxy": version("mitmproxy"),
        "machine": f"{platform.system()} {platform.machine()}, {processor()}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "when": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def command(script: str, words: list[str]) -> str:
    """The command line without `--json FILE`, which is a path of one machine."""
    return " ".join([script, *re.sub(r"--json(=| )\S+ ?", "", " ".join(words)).split()])


def commit() -> str:
    """The commit that is checked out, with a plus sign if files differ from it; "" outside a clone."""
    done = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done.stdout.strip()


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())
