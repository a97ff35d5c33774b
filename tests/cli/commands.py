"""Running the command as a user does: a process, bytes in, bytes out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def toolfix(
    *arguments: str, stdin: bytes = b"", cwd: Path = ROOT, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "addon"), **(environment or {})}
    command = [sys.executable, "-m", "toolcalls.cli", *arguments]
    return subprocess.run(
        command, input=stdin, capture_output=True, cwd=cwd, env=environment, timeout=120, check=False
    )


def lines(result: subprocess.CompletedProcess[bytes]) -> list[Any]:
    assert result.returncode == 0, result.stderr.decode()
    return [json.loads(line) for line in result.stdout.splitlines()]


def complaint(result: subprocess.CompletedProcess[bytes], status: int = 2) -> str:
    """The one sentence on stderr; nothing on stdout."""
    assert result.returncode == status, result.stderr.decode()
    assert result.stdout == b""
    assert b"Traceback" not in result.stderr
    return result.stderr.decode().strip().splitlines()[-1]
