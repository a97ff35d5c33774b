"""Versions of the engine side by side: that of a tag, unpacked, and that of the working tree."""

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
    """The options of a script that compares the working tree with a tag."""
    parser = argparse.ArgumentParser(prog=name, description=description)
    parser.add_argument("--tag", default="before-rebuild", help="the version to compare with (default %(default)s)")
    return parser


@contextmanager
def unpacked(tag: str) -> Iterator[Path]:
    """The `addon` and `recordings` of a tag or commit; the script ends with a sentence where there is no such tag."""
    archive = subprocess.run(["git", "archive", tag, "addon", "recordings"], cwd=ROOT, capture_output=True)
    if archive.returncode:
        print(f"there is no tag or commit {tag!r}: git tag {tag} COMMIT", file=sys.stderr)
        raise SystemExit(2)
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(["tar", "-x", "-C", directory], input=archive.stdout, check=True)
        yield Path(directory)


def environment_of(addon: Path) -> dict[str, str]:
    """The environment of a process that sees this version of the engine and no other, and the scripts."""
    return {"PYTHONPATH": f"{addon}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
