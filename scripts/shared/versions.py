"""Versions of the engine side by side: that of a tag, unpacked, and that of the working tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def unpack(tag: str, directory: Path) -> bool:
    """Put the `addon` directory of a tag or commit there; False where there is no such tag."""
    archive = subprocess.run(["git", "archive", tag, "addon"], cwd=ROOT, capture_output=True)
    if archive.returncode:
        return False
    subprocess.run(["tar", "-x", "-C", str(directory)], input=archive.stdout, check=True)
    return True


def environment_of(addon: Path) -> dict[str, str]:
    """The environment of a process that sees this version of the engine and no other, and the scripts."""
    return {"PYTHONPATH": f"{addon}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
