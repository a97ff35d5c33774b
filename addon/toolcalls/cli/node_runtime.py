"""Which Node is on the PATH, and whether its programs use a proxy."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping


def version(environ: Mapping[str, str]) -> tuple[int, int] | None:
    """The major and minor version; None if there is no Node that runs."""
    program = shutil.which("node", path=environ.get("PATH"))
    if program is None:
        return None
    try:
        text = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.match(r"v(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def uses_proxies(version: tuple[int, int]) -> bool:
    """Whether this Node honours NODE_USE_ENV_PROXY. Older ones ignore every proxy variable."""
    return version >= (24, 0) or (22, 21) <= version < (23, 0)
