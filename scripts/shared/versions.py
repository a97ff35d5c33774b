"""Two versions of the engine side by side: an earlier commit, unpacked, and the working tree."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


def comparing(name: str, description: str | None) -> argparse.ArgumentParser:
    """The options of a script that compares the working tree with an earlier version."""
    parser = argparse.ArgumentParser(prog=name, description=description)
    parser.add_argument("--tag", default="HEAD", help="the tag or commit to compare with (default %(default)s)")
    return parser


@contextmanager
def unpacked(tag: str) -> Iterator[Path]:
    """The `addon` and `recordings` of a tag or commit; exits with a message if there is none of that name."""
    archive = subprocess.run(["git", "archive", tag, "addon", "recordings"], cwd=ROOT, capture_output=True)
    if archive.returncode:
        print(f"There is no tag or commit {tag!r} in this clone.", file=sys.stderr)
        raise SystemExit(2)
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["tar", "-x", "-C", directory], input=archive.stdout, check=True)
        yield Path(directory)


def environment_of(addon: Path) -> dict[str, str]:
    """The environment of a process that imports this version of the engine, and the scripts."""
    return {"PYTHONPATH": f"{addon}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
